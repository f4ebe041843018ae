"""Finding experiments by name, without importing them before they are needed."""

from __future__ import annotations

import ast
import dataclasses
import difflib
import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

from hippozoo_studies.framework.plain import canonical, plain

#: Where studies are looked for; what comes first wins a name.
_PACKAGES = ("hippozoo_studies.paper", "hippozoo_studies.beyond", "hippozoo_studies.own")


class UnknownExperimentError(LookupError):
    """The name is none of an experiment; the message suggests one."""


class BrokenExperimentError(RuntimeError):
    """The module exists but cannot be run: a package is missing, or a part of the experiment is."""


def _modules() -> dict[str, Path | None]:
    """Name on the command line -> source file; modules with a leading underscore are helpers."""
    return {name: file for name, (_, file) in _found().items()}


def _found() -> dict[str, tuple[str, Path]]:
    """Name on the command line -> the module's full name and its source file."""
    found: dict[str, tuple[str, Path]] = {}
    for package in _PACKAGES:
        for folder in importlib.import_module(package).__path__:
            for module in pkgutil.iter_modules([folder]):
                if not module.name.startswith("_"):
                    file = f"{module.name}/__init__.py" if module.ispkg else f"{module.name}.py"
                    home = f"{package}.{module.name}", Path(folder) / file
                    found.setdefault(module.name.replace("_", "-"), home)
    return dict(sorted(found.items()))


def names() -> list[str]:
    """The names that `hippozoo reproduce` takes.

    Examples
    --------
    >>> all("_" not in name for name in names())
    True
    """
    return list(_modules())


def describe() -> dict[str, str]:
    """What each experiment is, from the first line of its docstring; nothing is imported.

    Examples
    --------
    >>> list(describe()) == names()
    True
    """
    return {name: _first_line(file) for name, file in _modules().items()}


def _first_line(file: Path | None) -> str:
    try:
        docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) if file else None
    except (OSError, SyntaxError, ValueError):
        return "(its source cannot be read)"
    return (docstring or "").partition("\n")[0]


def check_name(name: str) -> str:
    """The name itself if there is such an experiment, else an error with the nearest name.

    Examples
    --------
    >>> check_name("nonsense")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    hippozoo_studies.framework.registry.UnknownExperimentError: unknown experiment 'nonsense'...
    """
    known = names()
    if name in known:
        return name
    near = difflib.get_close_matches(name.lower().replace("_", "-"), known, n=1, cutoff=0.5)
    suggestion = f"; did you mean {near[0]!r}?" if near else "."
    raise UnknownExperimentError(f"unknown experiment {name!r}{suggestion} All: {', '.join(known) or '(none)'}.")


@dataclass(frozen=True)
class Experiment:
    """An experiment module, checked to have all its parts."""

    name: str
    module: ModuleType

    @cached_property
    def has_units(self) -> bool:
        """Whether it runs unit by unit."""
        return hasattr(self.module, "units")

    @cached_property
    def paper(self) -> dict[str, Any]:
        """The paper's figures, same keys as the metrics where it has them."""
        return plain(self.module.PAPER, "PAPER")

    @cached_property
    def selects(self) -> tuple[str, ...]:
        """The config fields that only choose which units there are; they are no part of the fingerprint."""
        return tuple(getattr(self.module, "SELECTS", ("seeds",)))

    def config(self, *, quick: bool = False, seeds: Sequence[int] | None = None, config: Any = None) -> Any:
        """The configuration given, the full one or the quick one, with the seeds asked for."""
        if config is None:
            config = self.module.QUICK if quick else self.module.Config()
        elif not isinstance(config, self.module.Config):
            right = f"{self.module.__name__}.Config"
            raise TypeError(f"config is a {type(config).__name__}; experiment {self.name!r} takes a {right}.")
        if seeds is None:
            return config
        if not hasattr(config, "seeds"):
            raise ValueError(f"experiment {self.name!r} has no randomness, so it takes no seeds; leave --seeds out.")
        if not seeds:
            raise ValueError(f"seeds={seeds!r} names none; pass at least one, or leave seeds out.")
        return dataclasses.replace(config, seeds=tuple(seeds))

    def seeds(self, config: Any) -> list[int]:
        """The seeds of a configuration; none where nothing is random."""
        return list(getattr(config, "seeds", ()))

    def fingerprint(self, config: Any) -> str:
        """A short text that differs wherever units must not be mixed."""
        fields = {
            field.name: getattr(config, field.name)
            for field in dataclasses.fields(config)
            if field.name not in self.selects
        }
        revision = getattr(self.module, "REVISION", 1)
        content = canonical({"experiment": self.name, "revision": revision, "config": fields})
        return sha256(content.encode()).hexdigest()[:12]

    def function(self, name: str) -> Callable[..., Any]:
        """A function of the module."""
        return getattr(self.module, name)


def load(name: str) -> Experiment:
    """Import an experiment by its name on the command line.

    Examples
    --------
    >>> load("nonsense")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    hippozoo_studies.framework.registry.UnknownExperimentError: unknown experiment 'nonsense'...
    """
    check_name(name)
    try:
        module = importlib.import_module(_found()[name][0])
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] in ("hippozoo", "hippozoo_studies"):
            raise
        raise BrokenExperimentError(
            f"experiment {name!r} needs the package {error.name!r}, which is not installed; install it, "
            "or the extra of hippozoo that brings it (see the extras in the README)."
        ) from error
    _check_parts(name, module)
    return Experiment(name, module)


def _check_parts(name: str, module: ModuleType) -> None:
    needed = ["PAPER", "Config", "QUICK", "report"]
    needed += ["run_unit", "assemble"] if hasattr(module, "units") else ["run"]
    missing = [part for part in needed if not hasattr(module, part)]
    if missing:
        raise BrokenExperimentError(
            f"experiment {name!r} lacks {', '.join(missing)}; it has PAPER, Config, QUICK, report, and "
            "either run or units, run_unit and assemble. See the guide in hippozoo_studies."
        )
    config = module.Config
    if not dataclasses.is_dataclass(config) or not getattr(config, "__dataclass_params__").frozen:  # noqa: B009
        raise BrokenExperimentError(
            f"Config of experiment {name!r} is not a frozen dataclass; add @dataclass(frozen=True)."
        )
    fields = {field.name for field in dataclasses.fields(config)}
    if "seeds" not in getattr(module, "SELECTS", ("seeds",)) and "seeds" in fields:
        raise BrokenExperimentError(f"SELECTS of experiment {name!r} leaves out 'seeds'; add it.")
    strange = set(getattr(module, "SELECTS", ())) - fields
    if strange:
        raise BrokenExperimentError(f"SELECTS of experiment {name!r} names {sorted(strange)}, no fields of its Config.")
    if not isinstance(module.PAPER, Mapping):
        raise BrokenExperimentError(f"PAPER of experiment {name!r} is no dict; use the keys of the metrics.")
