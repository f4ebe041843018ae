"""Documents stay true: links resolve, code runs, names and tests that are mentioned exist."""

import importlib
import re
from pathlib import Path

import pytest
import typer

import hippozoo
from hippozoo.apps.cli import COMMANDS, build

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted(
    path for pattern in ("*.md", "docs/**/*.md", "benchmarks/*.md", "examples/*.md") for path in ROOT.glob(pattern)
)
NAMES = [str(path.relative_to(ROOT)) for path in DOCUMENTS]
DIRECTIVE = re.compile(r"^```\{.*?^```$", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def prose(path):
    return FENCE.sub("", path.read_text(encoding="utf-8"))


def anchors(path):
    """The addresses of headings, as code hosts make them: small letters, no punctuation, dashes for blanks."""
    headings = re.findall(r"^#+ (.+)$", prose(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def blocks(path):
    """The code of a document: language, the line it starts at, text."""
    # Directives of the site go, their lines stay.
    text = DIRECTIVE.sub(lambda match: "\n" * match[0].count("\n"), path.read_text(encoding="utf-8"))
    return [(match[1], text[: match.start(2)].count("\n"), match[2]) for match in FENCE.finditer(text)]


def python_blocks(path):
    """The code marked as Python, each with the line it starts at."""
    return [(line, code) for language, line, code in blocks(path) if language == "python"]


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


WITH_CODE = [path for path in DOCUMENTS if python_blocks(path)]
# Shape checks at every call stand in the way of torch.export: tests/compiled runs these pages, without them.
EXPORTING = [path for path in WITH_CODE if ".exportable()" in "".join(code for _, code in python_blocks(path))]


def run_document(path):
    """Run its Python, one block after the other, as one reads it."""
    names = {"__name__": "__document__"}
    for line, code in python_blocks(path):
        exec(compile("\n" * line + code, path, "exec"), names)


@pytest.mark.parametrize("path", [path for path in WITH_CODE if path not in EXPORTING], ids=lambda path: path.name)
def test_python_in_documents_runs(path, tmp_path, monkeypatch):
    if path.name == "add-an-expert.md":
        pytest.skip("tests/ensemble/test_add_an_expert.py runs it, in a copy of the package")
    monkeypatch.chdir(tmp_path)
    run_document(path)


# Why a block in this language is not run. Python has no entry: all of it runs.
NOT_RUN = {
    "sh": "commands of make, pip and others; what they name is looked up below",
    "text": "a tree of files, a signature, or what a command prints",
    "json": "what a command prints",
    "ini": "a file of another program",
    "toml": "a file of another program",
    "yaml": "a file of another program",
}


@pytest.mark.parametrize("path", DOCUMENTS, ids=NAMES)
def test_every_block_of_code_runs_or_says_by_its_language_why_not(path):
    for language, line, _ in blocks(path):
        assert language == "python" or language in NOT_RUN, (
            f"{path.name}:{line}: a block in {language or 'no language'!r}; mark code as python, so that it runs, "
            f"and other blocks as one of {', '.join(NOT_RUN)}"
        )
    text = FENCE.sub("", DIRECTIVE.sub("", path.read_text(encoding="utf-8")))
    indented = re.findall(r"\n\n((?: {4}|\t)(?![-*0-9 ]).*)", text)
    assert not indented, (
        f"{path.name}: indented code would not be run: {indented[0].strip()!r}; put it between ``` lines"
    )


def commands(path):
    """Lines of shell, without prompts, comments and what pipes do with them."""
    for language, line, code in blocks(path):
        if language == "sh":
            for number, text in enumerate(code.splitlines(), start=line + 1):
                yield number, re.split(r" #|\||>>|;", text)[0].strip()


@pytest.mark.parametrize("path", DOCUMENTS, ids=NAMES)
def test_commands_in_documents_exist(path):
    known = typer.main.get_command(build()).commands
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for line, text in commands(path):
        where = f"{path.name}:{line}: {text}"
        if found := re.search(r"(?:^|/|\s)hippozoo (\w[\w-]*)(.*)", text):
            assert found[1] in known, f"{where}: no such command"
            options = {
                one for parameter in known[found[1]].params for one in (*parameter.opts, *parameter.secondary_opts)
            }
            for option in re.findall(r"(?<=\s)(--?[a-z][\w-]*)", found[2]):
                assert option in options | {"--help", "-h"}, f"{where}: no such option {option}"
        if found := re.match(r"make (\w+)", text):
            assert found[1] in targets, f"{where}: no such target"
        if found := re.match(r"(?:\S*/)?python ((?:studies/)?examples/\w+\.py|docs/\w+\.py)", text):
            assert (ROOT / found[1]).exists(), f"{where}: no such script"
        if found := re.match(r"(?:\S*/)?python -m (benchmarks(?:\.\w+)?)(?: (\w+))?", text):
            name = found[1].replace(".", "/") if "." in found[1] else "benchmarks/bench_" + (found[2] or "memory")
            assert (ROOT / f"{name}.py").exists(), f"{where}: no such benchmark"


def pages_listed_in(index):
    """The pages that the tables of contents of an index name, one below the other; no reference, no decisions."""
    tables = "\n".join(re.findall(r"```\{toctree\}\n(.*?)```", index.read_text(encoding="utf-8"), re.DOTALL))
    names = re.findall(r"^([a-z][\w/-]*)$", tables, re.MULTILINE)
    pages = [index.parent / f"{name}.md" for name in names if name not in ("decisions", "reference/index")]
    return [page for one in pages for page in ([one, *pages_listed_in(one)] if one.name == "index.md" else [one])]


def pages_of_the_site():
    return pages_listed_in(ROOT / "docs" / "index.md")


def test_every_page_is_in_the_table_of_contents():
    there = {path for folder in ("docs", "docs/studies") for path in (ROOT / folder).glob("*.md")}
    assert there == {*pages_of_the_site(), ROOT / "docs" / "index.md", ROOT / "docs" / "decisions.md"}


WITHOUT_PICTURE = {
    "appendix-small-samples.md": "a derivation",
    "glossary.md": "words",
    "add-an-expert.md": "code",
    "coming-from.md": "names side by side",
    "watch-details.md": "tables",
    "flink.md": "commands",
    "trust.md": "numbers",
}


@pytest.mark.parametrize("path", pages_of_the_site(), ids=lambda path: path.name)
def test_every_page_has_a_picture(path):
    pictures = re.findall(r"!\[([^\]]*)\]\(([^)]+\.(?:png|svg))\)", path.read_text(encoding="utf-8"))
    assert pictures or path.name in WITHOUT_PICTURE, f"{path.name} has no picture"
    for words, file in pictures:
        assert words.strip(), f"{path.name}: {file} is not described for those who cannot see it"
        assert (path.parent / file).stat().st_size < 500_000, f"{path.name}: {file} is large; see docs/pictures.py"


def test_every_picture_of_the_documents_can_be_made_again():
    pages = "".join(path.read_text(encoding="utf-8") for path in DOCUMENTS)
    scripts = [*ROOT.glob("docs/*.py"), *ROOT.glob("benchmarks/*.py"), *ROOT.glob("src/hippozoo/**/*.py")]
    code = "".join(path.read_text(encoding="utf-8") for path in scripts)
    # A screenshot; the picture that `hippozoo suggest` writes; a copy of one in results/microscope.
    by_hand = {"forecast-page", "serve-page", "suggest-pulse-wave", "microscope-speech"}
    for picture in (ROOT / "docs" / "images").glob("*.png"):
        name = re.sub(r"-(light|dark)$", "", picture.stem)
        made = f'"{name}' in code or f'savefig("{name}.png"' in pages
        assert made or name in by_hand, f"{picture.name} is made by no code"


@pytest.mark.parametrize("path", DOCUMENTS, ids=NAMES)
def test_documents_name_no_machine(path):
    assert not re.search(r"(?<![\w.])/(work|home|root|Users)/", path.read_text(encoding="utf-8"))


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
    named = r"`((?:tests|src|studies|examples|docs|benchmarks)/[\w./]+)(?:::(\w+))?`"
    for file, test in re.findall(named, prose(path)):
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
    assert f"## [{hippozoo.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_map_of_the_readme_names_every_package_and_command():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    tree = re.search(r"```text\nsrc/hippozoo/\n(.*?)```", readme, re.DOTALL)[1]
    assert tree.count("\n") <= 20
    packages = {path.parent.name for path in (ROOT / "src" / "hippozoo").glob("*/__init__.py")} - {"_internal"}
    assert packages <= set(re.findall(r"(\w+)/", tree))
    told = re.search(r"the commands (.+?), and their pages", tree)[1].split(", ")
    assert set(told) == set(COMMANDS)
