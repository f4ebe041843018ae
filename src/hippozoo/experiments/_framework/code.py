"""Which code a unit was computed by: one short hash that words do not change."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import ModuleType

import hippozoo

_ROOT = Path(hippozoo.__file__).parent

# What draws, reports and runs units does not change their results.
_WITHOUT_EFFECT = ("hippozoo.plotting", "hippozoo._colours", "hippozoo.pages", "hippozoo.experiments._framework")
_EFFECTLESS_PACKAGES = ("hippozoo", "hippozoo.experiments")

# Where the computation of a unit begins.
_ENTRIES = ("run_unit", "Config")

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def code_hash(module: ModuleType) -> str:
    """A hash of the code that computes the units of an experiment.

    Of the experiment's own module only what `run_unit` and `Config` lead to counts: what assembles or draws does not.
    Of the modules of hippozoo that this imports, directly or not, all the code counts. Docstrings, comments and layout
    do not.

    Parameters
    ----------
    module
        An experiment that runs unit by unit.

    Examples
    --------
    >>> from hippozoo.experiments import load
    >>> code_hash(load("volterra").module) == code_hash(load("volterra").module)
    True
    >>> code_hash(load("volterra").module) == code_hash(load("digits").module)
    False
    """
    assert module.__file__ is not None, "an experiment is a file"
    tree = _parsed(Path(module.__file__))
    reached = _reached(tree, _ENTRIES)
    digest = sha256("\n".join(map(ast.unparse, reached)).encode())
    for name in sorted(_closure(reached, module.__name__)):
        digest.update(name.encode() + _source(name))
    return digest.hexdigest()[:12]


def _parsed(path: Path) -> ast.Module:
    """The syntax tree of a file, without docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | _Definition):
            continue
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return tree


def _reached(tree: ast.Module, entries: tuple[str, ...]) -> list[ast.stmt]:
    """The statements of a module that the entries lead to by name, in their order."""
    makers: dict[str, list[ast.stmt]] = {}
    for statement in tree.body:
        for name in _made(statement):
            makers.setdefault(name, []).append(statement)
    wanted, seen = list(entries), set[str]()
    chosen: set[int] = set()
    while wanted:
        name = wanted.pop()
        if name in seen:
            continue
        seen.add(name)
        for statement in makers.get(name, []):
            chosen.add(id(statement))
            wanted += [node.id for node in ast.walk(statement) if isinstance(node, ast.Name)]
    return [statement for statement in tree.body if id(statement) in chosen]


def _made(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement at the top of a module makes."""
    if isinstance(statement, _Definition):
        yield statement.name
    elif isinstance(statement, (ast.Import, ast.ImportFrom)):
        for alias in statement.names:
            yield alias.asname or alias.name.partition(".")[0]
    else:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id


def _closure(statements: list[ast.stmt], own: str) -> set[str]:
    """The modules of hippozoo that these statements need, and those need, and so on."""
    found: set[str] = set()
    wanted = [name for statement in statements for name in _imported(statement)]
    while wanted:
        name = wanted.pop()
        # Python runs the packages above a module before the module itself.
        for one in (name, *_parents(name)):
            if one not in found and one != own and _counts(one):
                found.add(one)
                wanted += _needs(one)
    return found


def _parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts))]


def _counts(name: str) -> bool:
    return name not in _EFFECTLESS_PACKAGES and not any(
        name == one or name.startswith(one + ".") for one in _WITHOUT_EFFECT
    )


@cache
def _source(name: str) -> bytes:
    return ast.unparse(_parsed(_file(name))).encode()


@cache
def _needs(name: str) -> tuple[str, ...]:
    tree = _parsed(_file(name))
    needed = list(_imported(tree))
    if _file(name).name == "__init__.py":
        # Names that a package fetches when they are asked for stand there as text.
        texts = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
        needed += [text for text in texts if isinstance(text, str) and _is_module(text)]
    return tuple(needed)


def _imported(tree: ast.AST) -> Iterator[str]:
    """The modules of hippozoo that a piece of code imports, at its top or inside functions, types aside."""
    for node in _walk_without_types(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if _is_module(alias.name))
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for name in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names)):
                if _is_module(name):
                    yield name


def _walk_without_types(tree: ast.AST) -> Iterator[ast.AST]:
    if isinstance(tree, ast.If) and isinstance(tree.test, ast.Name) and tree.test.id == "TYPE_CHECKING":
        return
    yield tree
    for child in ast.iter_child_nodes(tree):
        yield from _walk_without_types(child)


@cache
def _is_module(name: str) -> bool:
    return (name == "hippozoo" or name.startswith("hippozoo.")) and _file(name).exists()


def _file(name: str) -> Path:
    path = _ROOT.joinpath(*name.split(".")[1:])
    return path / "__init__.py" if (path / "__init__.py").exists() else path.with_suffix(".py")
