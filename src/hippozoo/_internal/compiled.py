"""Compiled loops with a cache that may be missing, damaged or in nobody's reach: then they are compiled anew.

By itself Numba refuses to import where no cache can be written, and fails at every start on a truncated file. Here
either costs the seconds of compilation, and is said once. What is read was written whole, for this very source: a
checksum stands before every file.
"""

from __future__ import annotations

import hashlib
import inspect
import pickle
import re
import warnings
from collections.abc import Callable, Mapping
from functools import cache, update_wrapper
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile

import hippozoo

__all__ = ["compiled"]

_ADVICE = "Set NUMBA_CACHE_DIR to a folder of your own that can be written to have it kept."
_told = False
# No wrappers, and no counting of references: an inner function works in arrays that its caller holds.
_INNER: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "error_model": "numpy", "_nrt": False}
_USED = re.compile(rb"\bcompiled\(")
_IMPORTED = re.compile(rb"^from (hippozoo[\w.]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)


def compiled(
    *, inner: bool = False, tuples: Mapping[str, Any] | None = None, **options: Any
) -> Callable[[Callable[..., Any]], Any]:
    """``numba.njit`` with a cache where there can be one; the options are Numba's.

    A function that is called by compiled functions only is `inner`: without a wrapper for calls from Python it compiles
    faster, and its callers keep it in their cache. A test calls ``numba.njit(function.py_func)``. It counts no
    references, so that those who get views of arrays from it must not either (``_nrt=False``).

    `tuples` names the arguments that are named tuples, with their classes. Numba takes 1 to 3 µs to look at one in a
    call from Python, and 0.02 µs at an array, so they go in as their fields and are put together inside.
    """

    def decorate(decorated: Callable[..., Any]) -> Any:
        function = inspect.unwrap(decorated)  # without the checks of shapes that tests put around every function
        if inner:
            return numba.njit(**(_INNER | options))(function)
        if tuples:
            return _by_fields(function, tuples, options)
        dispatcher: Any = numba.njit(**options)(function)
        if not Path(inspect.getfile(function)).exists():  # typed at a prompt: there is no source to keep it with
            return dispatcher
        try:
            dispatcher._cache = _Cache(function)
        except (RuntimeError, OSError):  # Numba's words for: no folder can be written
            _tell_once(f"no folder can be written to keep compiled code, so it is compiled at every start. {_ADVICE}")
        return dispatcher

    return decorate


def _by_fields(function: Callable[..., Any], tuples: Mapping[str, Any], options: dict[str, Any]) -> Callable[..., Any]:
    """The function, called with named tuples, which are taken apart before the call and put together after it."""
    inner, arguments = f"_{function.__name__}", list(inspect.signature(function).parameters)
    apart = {name: [f"{name}_{field}" for field in kind._fields] for name, kind in tuples.items()}
    flat = ", ".join(", ".join(apart.get(name, [name])) for name in arguments)
    whole = ", ".join(f"{name}_({', '.join(apart[name])})" if name in apart else name for name in arguments)
    stars = ", ".join(f"*{name}" if name in apart else name for name in arguments)
    source = (
        f"def {inner}({flat}):\n    return inside({whole})\n"
        f"def {function.__name__}({', '.join(arguments)}):\n    return outside({stars})\n"
    )
    scope: dict[str, Any] = {f"{name}_": kind for name, kind in tuples.items()} | {"__name__": function.__module__}
    always: dict[str, Any] = _INNER | options | {"inline": "always"}
    scope["inside"] = numba.njit(**always)(function)
    # In the name of the source file, so that Numba finds a place for the cache.
    exec(compile(source, inspect.getfile(function), "exec"), scope)
    scope["outside"] = compiled(**options)(scope[inner])
    return update_wrapper(scope[function.__name__], function)


@cache
def _sources() -> str:
    """A fingerprint of all our loops: some call those of other files, of which Numba takes no notice."""
    return _fingerprint(Path(hippozoo.__file__).parent)


def _fingerprint(package: Path) -> str:
    """Of every file below `package` that holds a compiled function, and of the files that such a file imports from.

    Numba freezes imported constants into machine code, so their files count too. All files are read, and that takes
    a few milliseconds.
    """
    paths = {".".join(path.relative_to(package.parent).with_suffix("").parts): path for path in package.rglob("*.py")}
    sources = {name: path.read_bytes() for name, path in paths.items()}
    holds = {name for name, text in sources.items() if b"compiled(" in text and _USED.search(text)}
    for name in tuple(holds):
        for home, names in _IMPORTED.findall(sources[name]):
            module = home.decode()
            imported = {f"{module}.{one.decode()}" for one in re.findall(rb"\w+", names)}
            holds |= {module, *imported} & sources.keys()
    digest = hashlib.sha256()
    for name in sorted(holds):
        digest.update(name.encode() + b"\0" + hashlib.sha256(sources[name]).digest())
    return digest.hexdigest()


def _tell_once(text: str) -> None:
    global _told
    if not _told:
        _told = True
        warnings.warn(f"hippozoo: {text}", RuntimeWarning, stacklevel=3)


class _DamagedError(Exception):
    """A file of the cache is not what was written."""


class _CheckedFile(IndexDataCacheFile):
    """Numba's cache files, each behind the checksum of its content and of the source it belongs to."""

    def _load_index(self) -> Any:
        try:
            stamp, overloads = self._read(self._index_path)
        except FileNotFoundError:
            return {}
        return overloads if stamp == self._source_stamp else {}

    def _save_index(self, overloads: Any) -> None:
        self._put(self._index_path, (self._source_stamp, overloads))

    def _load_data(self, name: str) -> Any:
        stamp, data = self._read(self._data_path(name))
        if stamp != self._source_stamp:
            raise FileNotFoundError(name)  # an older one of that name: its writer died before it was replaced
        return data

    def _save_data(self, name: str, data: Any) -> None:
        self._put(self._data_path(name), (self._source_stamp, data))

    def _read(self, path: str) -> Any:
        everything = Path(path).read_bytes()
        promised, content = everything[:32], everything[32:]
        if hashlib.sha256(content).digest() != promised:
            raise _DamagedError(path)
        version, pickled = pickle.loads(content)
        # Of another Numba only the version is looked at; the rest may not be readable.
        return pickle.loads(pickled) if version == self._version else (None, {})

    def _put(self, path: str, thing: Any) -> None:
        content = pickle.dumps((self._version, self._dump(thing)))
        with self._open_for_write(path) as file:
            file.write(hashlib.sha256(content).digest() + content)


class _Cache(FunctionCache):
    """Numba's cache of one function; what goes wrong with it costs time, and nothing else."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = _CheckedFile(
            cache_path=self._cache_path,
            # A name of our own, so that files of plain Numba are neither read nor spoilt.
            filename_base=f"{self._impl.filename_base}.checked",
            source_stamp=(self._impl.locator.get_source_stamp(), _sources()),
        )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:
            self._give_up(error)
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except Exception as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        """Start the cache of this function afresh; if that fails too, do without."""
        if isinstance(error, _DamagedError):
            _tell_once(f"{error} is damaged, and what it held is compiled again.")
        else:
            _tell_once(f"compiled code cannot be kept in {self._cache_path} ({error}). {_ADVICE}")
        try:
            self.flush()
        except Exception:
            self.disable()
