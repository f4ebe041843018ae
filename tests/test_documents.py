"""Documents stay true: links resolve, code runs, names and tests that are mentioned exist."""

import importlib
import re
from pathlib import Path

import pytest

import hippozoo

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted(
    path for pattern in ("*.md", "docs/**/*.md", "benchmarks/*.md", "examples/*.md") for path in ROOT.glob(pattern)
)
NAMES = [str(path.relative_to(ROOT)) for path in DOCUMENTS]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def prose(path):
    return FENCE.sub("", path.read_text(encoding="utf-8"))


def anchors(path):
    """The addresses of headings, as code hosts make them: small letters, no punctuation, dashes for blanks."""
    headings = re.findall(r"^#+ (.+)$", prose(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def python_blocks(path):
    """The code marked as Python, each with the line it starts at."""
    text = path.read_text(encoding="utf-8")
    return [(text[: match.start(2)].count("\n"), match[2]) for match in FENCE.finditer(text) if match[1] == "python"]


@pytest.mark.parametrize("path", DOCUMENTS, ids=NAMES)
def test_links_lead_somewhere(path):
    targets = re.findall(r"\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"", prose(path))
    for target in (one or other for one, other in targets):
        if re.match(r"https?://|mailto:", target):
            continue
        file, _, anchor = target.partition("#")
        linked = (path.parent / file) if file else path
        assert linked.exists(), f"{path.name} links to {target}, which is not there"
        if anchor and linked.suffix == ".md":
            assert anchor in anchors(linked), f"{path.name} links to {target}: no such heading"


@pytest.mark.parametrize(
    "path",
    [path for path in DOCUMENTS if python_blocks(path)],
    ids=[str(path.relative_to(ROOT)) for path in DOCUMENTS if python_blocks(path)],
)
def test_python_in_documents_runs(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__document__"}
    for line, code in python_blocks(path):  # one after the other, as one reads them
        exec(compile("\n" * line + code, path, "exec"), names)


@pytest.mark.parametrize("path", DOCUMENTS, ids=NAMES)
def test_documents_name_no_machine(path):
    assert not re.search(r"(?<![\w.])/(work|home|root|Users)/", path.read_text(encoding="utf-8"))


@pytest.mark.filterwarnings("ignore:.*the old name goes with version:DeprecationWarning")  # the table of moved names
@pytest.mark.parametrize("path", DOCUMENTS, ids=NAMES)
def test_names_of_the_library_exist(path):
    for name in sorted(set(re.findall(r"`(hippozoo(?:\.\w+)+)[`(]", prose(path)))):
        parts = name.split(".")
        for cut in range(len(parts), 0, -1):
            try:
                found = importlib.import_module(".".join(parts[:cut]))
                break
            except ModuleNotFoundError:
                continue
        for part in parts[cut:]:
            assert hasattr(found, part), f"{path.name} names {name}, which is not there"
            found = getattr(found, part)


@pytest.mark.parametrize("path", DOCUMENTS, ids=NAMES)
def test_tests_and_files_that_are_named_exist(path):
    for file, test in re.findall(r"`((?:tests|src|examples|docs|benchmarks)/[\w./]+)(?:::(\w+))?`", prose(path)):
        assert (ROOT / file).exists(), f"{path.name} names {file}, which is not there"
        if test:
            defined = re.search(rf"^ *def {test}\b", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
            assert defined, f"{path.name} names {file}::{test}, which is not there"


def test_the_map_of_the_tree_shows_what_there_is():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    tree = next(match[2] for match in FENCE.finditer(readme) if "src/hippozoo/" in match[2])
    folders = {0: ROOT}
    for line in tree.splitlines():
        indent, name = re.match(r"( *)(\S+)", line).groups()
        path = folders[max(depth for depth in folders if depth <= len(indent))] / name
        assert path.exists(), f"the map shows {name}, which is not there"
        folders = {depth: folder for depth, folder in folders.items() if depth <= len(indent)}
        if path.is_dir():
            folders[len(indent) + 2] = path


def test_the_versions_agree():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(rf"^version: {re.escape(hippozoo.__version__)}$", citation, re.MULTILINE)
    assert "## [Unreleased]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
