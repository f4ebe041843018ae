"""The frame of a page: head, style, pieces, pictures and script, in one file that opens from disk."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from hippozoo._internal.extras import needs
from hippozoo._internal.files import write_whole
from hippozoo.apps.pages.look import ROLES, style
from hippozoo.apps.pages.pictures import painted
from hippozoo.apps.pages.text import json_for_script, shown

__all__ = ["Page", "policy"]


class Page:
    """A page that is put together piece by piece and written as one file.

    Parameters
    ----------
    title
        Heading of the page, plain text.
    pictures_beside
        Whether it shows pictures from files beside it; else all of them are in the page itself.

    Examples
    --------
    >>> page = Page("Load & weather")
    >>> page.add("<p>Two columns.</p>")
    >>> "<h1>Load &amp; weather</h1>" in page.html()
    True
    """

    def __init__(self, title: str, *, pictures_beside: bool = False) -> None:
        self.title, self.pictures_beside = title, pictures_beside
        self._pieces: list[str] = []
        self._figures: list[tuple[str, Any]] = []
        self._scripts: list[str] = []
        self._styles: list[str] = []

    def add(self, html: str) -> None:
        """Append HTML; text from elsewhere goes through `shown` first."""
        self._pieces.append(html)

    def add_picture(self, figure: Any, alternative: str, *, name: str) -> None:
        """Append a Bokeh figure; `alternative` says in words what it shows, for those who cannot see it."""
        needs("bokeh", extra="pages", feature="an interactive page")
        self._figures.append((name, figure))
        self._pieces.append(
            f'<div class="picture" role="img" aria-label="{shown(alternative)}" id="{shown(name)}"></div>'
        )

    def add_script(self, script: str) -> None:
        """Append a script that runs once all pictures are there; ``page.model(id)`` finds a model of Bokeh's."""
        self._scripts.append(script)

    def add_style(self, css: str) -> None:
        """Append rules of this page's own, after the style sheet of all pages."""
        self._styles.append(css)

    def html(self) -> str:
        """The whole page as text."""
        figures = [figure for _, figure in self._figures]
        roles = painted(figures) if figures else []
        items, library = [], ""
        if figures:
            from bokeh.embed import json_item
            from bokeh.embed.bundle import bundle_for_objs_and_resources
            from bokeh.resources import Resources

            library = "\n".join(bundle_for_objs_and_resources(figures, Resources(mode="inline")).js_raw)
            items = [(name, json_item(figure)) for name, figure in self._figures]
        constants = (
            f"const ROLES={json_for_script(ROLES)},PAINTED={json_for_script(roles)},ITEMS={json_for_script(items)};"
        )
        own = (Path(__file__).parent / "page.js").read_text(encoding="utf-8")
        after = "".join(f"page.ready.then(() => {{{one}}});\n" for one in self._scripts)
        scripts = [_closed(one) for one in (library, f"{constants}\n{own}{after}") if one]
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            f'<meta http-equiv="Content-Security-Policy" content="{policy(scripts, self.pictures_beside)}">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f'<link rel="icon" href="data:,"><title>{shown(self.title)}</title>'
            f"<style>{style()}{''.join(self._styles)}</style></head>\n"
            f'<body><button type="button" class="theme">Light / dark</button><h1>{shown(self.title)}</h1>\n'
            + "\n".join(self._pieces)
            + "".join(f"\n<script>{one}</script>" for one in scripts)
            + "</body></html>\n"
        )

    def write(self, path: str | Path) -> Path:
        """Write the page, whole or not at all."""
        write_whole(path, self.html().encode())
        return Path(path)


def policy(scripts: Sequence[str], pictures_beside: bool = False) -> str:
    """A content security policy: these scripts run and no other, and nothing is fetched or sent.

    Styles are free, since Bokeh writes its own while it draws; `pictures_beside` allows those of the page's folder.

    >>> policy([]).split("; ")[:2]
    ["default-src 'none'", "script-src 'none'"]
    """
    hashes = " ".join(f"'sha256-{b64encode(sha256(one.encode()).digest()).decode()}'" for one in scripts)
    own = " 'self' file:" if pictures_beside else ""
    return (
        f"default-src 'none'; script-src {hashes or chr(39) + 'none' + chr(39)}; style-src 'unsafe-inline'; "
        f"img-src data: blob:{own}; font-src data:; base-uri 'none'; form-action 'none'"
    )


def _closed(script: str) -> str:
    """A script in which no text ends the element it stands in; a browser reads every line end as a newline."""
    return script.replace("</script", "<\\/script").replace("\r\n", "\n").replace("\r", "\n")
