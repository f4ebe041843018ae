"""Links of a page to files and folders of the repository outside docs/.

On a code host such a link opens the file. On the site, which is opened from disk, the files go along: a file is copied
beside the pages, a folder becomes a page that lists its files.
"""

from __future__ import annotations

import re
import shutil
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"((?<!!)\[[^\]]*\]\(|href=\")((?:\.\./)+[^)\s\"#]*)")
SHOWN = (".md", ".json", ".png", ".svg", ".csv", ".py", ".txt", ".toml", ".jsonl", ".cff")


def _point_into_the_site(app: Any, name: str, source: list[str]) -> None:
    """Turn every link that leaves docs/ into one to the copy, and note what must be copied."""
    here = Path(app.env.doc2path(name)).parent
    up = "../" * name.count("/")

    def replace(match: re.Match[str]) -> str:
        target = (here / match[2]).resolve()
        inside = target.is_relative_to(app.srcdir)
        if inside or not target.exists() or not target.is_relative_to(ROOT):
            return match[0]
        relative = target.relative_to(ROOT)
        app.repository_files.add(relative)
        end = "/index.html" if target.is_dir() else ""
        # The scheme is one of conf.py's, which MyST lets through; pictures are copied by Sphinx itself.
        scheme = "repository:" if match[1].endswith("](") else ""
        return f"{match[1]}{scheme}{up}repository/{relative}{end}"

    source[0] = LINK.sub(replace, source[0])


def _copy(app: Any, problem: Exception | None) -> None:
    """Bring along what the pages link to."""
    if problem or app.builder.format != "html":
        return
    for relative in sorted(app.repository_files):
        origin, goal = ROOT / relative, Path(app.outdir) / "repository" / relative
        if origin.is_file():
            goal.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(origin, goal)
            continue
        files = sorted(path for path in origin.iterdir() if path.is_file() and path.suffix in SHOWN)
        goal.mkdir(parents=True, exist_ok=True)
        for path in files:
            shutil.copy2(path, goal / path.name)
        rows = "".join(f'<li><a href="{escape(path.name)}">{escape(path.name)}</a></li>' for path in files)
        title = escape(str(relative))
        (goal / "index.html").write_text(
            f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f"<title>{title}</title><h1>{title}</h1><ul>{rows}</ul></html>",
            encoding="utf-8",
        )


def setup(app: Any) -> dict[str, bool]:
    """Hook into reading and writing."""
    app.repository_files = set()
    app.connect("source-read", _point_into_the_site)
    app.connect("build-finished", _copy)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
