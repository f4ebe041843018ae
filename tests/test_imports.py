"""Who may import what: underscored modules belong to their package; the linter holds the rest."""

import ast
from pathlib import Path

import hippozoo

SOURCE = Path(hippozoo.__file__).parent


def imported(path):
    """The full names of the modules that a file imports, and of what it takes from them."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path} imports relatively; write the name in full"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def strangers(path):
    """What a file takes from underscored modules of packages that it is not in; those of the root are for all."""
    package = ("hippozoo", *path.relative_to(SOURCE).parent.parts)
    for name in imported(path):
        parts = name.split(".")
        if parts[0] != "hippozoo":
            continue
        for depth in range(2, len(parts)):
            module = SOURCE.joinpath(*parts[1 : depth + 1])
            exists = module.is_dir() or module.with_suffix(".py").exists()
            if parts[depth].startswith("_") and exists and package[:depth] != tuple(parts[:depth]):
                yield f"{path.relative_to(SOURCE)} imports {name}"


def test_no_file_imports_an_underscored_module_of_another_package():
    assert [found for path in sorted(SOURCE.rglob("*.py")) for found in strangers(path)] == []
