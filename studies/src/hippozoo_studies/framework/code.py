"""Which code a unit was computed by: one short hash that words do not change."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import hippozoo
from hippozoo._internal.files import write_whole

#: The packages whose code counts, and where they lie; the second is this one.
_ROOTS = {"hippozoo": Path(hippozoo.__file__).parent, "hippozoo_studies": Path(__file__).parents[1]}

# What draws, reports and runs units does not change their results.
_WITHOUT_EFFECT = (
    "hippozoo.plotting",
    "hippozoo._internal.colours",
    "hippozoo.apps.pages",
    "hippozoo_studies.framework",
)
_EFFECTLESS_PACKAGES = ("hippozoo", "hippozoo_studies", "hippozoo_studies.paper", "hippozoo_studies.beyond")

# Where the computation of a unit begins.
_ENTRIES = ("run_unit", "Config")

# A file is parsed once in its life: what counts of it is kept, by its content, where Python keeps compiled files.
_KEPT = Path(__file__).parent / "__pycache__" / f"code-facts.{sys.implementation.cache_tag}.json"

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def code_hash(module: ModuleType) -> str:
    """A hash of the code that computes the units of an experiment.

    Of the experiment's own module only what `run_unit` and `Config` lead to counts: what assembles or draws does not.
    Of the modules of both packages that this imports, directly or not, all the code counts. Docstrings, comments
    and layout do not.

    Parameters
    ----------
    module
        An experiment that runs unit by unit.

    Examples
    --------
    >>> from hippozoo_studies import load
    >>> code_hash(load("volterra").module) == code_hash(load("volterra").module)
    True
    >>> code_hash(load("volterra").module) == code_hash(load("digits").module)
    False
    """
    assert module.__file__ is not None, "an experiment is a file"
    tree = _parsed(Path(module.__file__).read_bytes())
    reached = _reached(tree, _ENTRIES)
    digest = sha256("\n".join(map(ast.unparse, reached)).encode())
    for name, facts in sorted(_closure(reached, module.__name__).items()):
        digest.update(f"{name} {facts.digest}\n".encode())
    return digest.hexdigest()[:12]


class _Facts(NamedTuple):
    """What counts of one file: a digest of its code, and the modules that it may need."""

    digest: str
    needs: tuple[str, ...]


def _parsed(source: bytes) -> ast.Module:
    """The syntax tree of a file, without docstrings."""
    tree = ast.parse(source)
    for node in (tree, *_statements(tree.body)):
        if isinstance(node, ast.Module | _Definition) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return tree


def _statements(body: Iterable[ast.AST]) -> Iterator[ast.stmt]:
    """All statements, also inside others, without what stands there for types only; expressions are not entered."""
    for node in body:
        if isinstance(node, ast.stmt):
            yield node
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            yield from _statements(node.orelse)
            continue
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            yield from _statements(getattr(node, part, ()))


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


def _closure(statements: list[ast.stmt], own: str) -> dict[str, _Facts]:
    """The modules of both packages that these statements need, and those need, and so on."""
    kept = _Kept()
    found: dict[str, _Facts] = {}
    wanted = list(_imported(statements))
    while wanted:
        name = wanted.pop()
        # Python runs the packages above a module before the module itself.
        for one in (*_parents(name), name):
            if one not in found and one != own and _counts(one) and (file := _file(one)) is not None:
                found[one] = kept.facts(file)
                wanted += found[one].needs
    kept.write()
    return found


class _Kept:
    """Facts by the content of files, in memory and on the disk; without a place to write, in memory only."""

    def __init__(self) -> None:
        self.known: dict[str, _Facts] = {}
        self.new = False
        with suppress(OSError, ValueError, TypeError, AttributeError):  # not there, or torn: it is made anew
            content = json.loads(_KEPT.read_text(encoding="utf-8"))
            self.known = {key: _Facts(digest, tuple(needs)) for key, (digest, needs) in content.items()}

    def facts(self, file: Path) -> _Facts:
        """Those of this file."""
        source = file.read_bytes()
        is_package = file.name == "__init__.py"
        key = f"{sha256(source).hexdigest()}{'-package' * is_package}"
        if key not in self.known:
            self.known[key], self.new = _look_at(source, is_package=is_package), True
        return self.known[key]

    def write(self) -> None:
        if self.new and not sys.dont_write_bytecode:
            with suppress(OSError):
                _KEPT.parent.mkdir(exist_ok=True)
                write_whole(_KEPT, json.dumps(self.known).encode())


def _look_at(source: bytes, *, is_package: bool) -> _Facts:
    tree = _parsed(source)
    needs = list(_imported(tree.body))
    if is_package:
        # Names that a package fetches when they are asked for stand there as text.
        texts = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
        needs += [text for text in texts if isinstance(text, str) and text.partition(".")[0] in _ROOTS]
    return _Facts(sha256(ast.unparse(tree).encode()).hexdigest(), tuple(dict.fromkeys(needs)))


def _parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts))]


def _counts(name: str) -> bool:
    return name not in _EFFECTLESS_PACKAGES and not any(
        name == one or name.startswith(one + ".") for one in _WITHOUT_EFFECT
    )


def _imported(body: Iterable[ast.AST]) -> Iterator[str]:
    """What code may import from both packages, at its top or inside functions; some of it are names in modules."""
    for node in _statements(body):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        yield from (name for name in names if name.partition(".")[0] in _ROOTS)


def _file(name: str) -> Path | None:
    """Where a module lies; None where the name is none of a module."""
    package, *parts = name.split(".")
    path = _ROOTS[package].joinpath(*parts)
    candidates = (path / "__init__.py", path.with_suffix(".py"))
    return next((one for one in candidates if one.is_file()), None)
