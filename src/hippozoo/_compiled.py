"""Compiled loops with a cache that may be missing, damaged or in nobody's reach: then they are compiled anew.

Numba keeps machine code between runs, in ``__pycache__`` beside the source, in the user's cache folder, or in
NUMBA_CACHE_DIR. By itself it refuses to import where none of these can be written, and fails at every start on a
truncated file. Here either costs the seconds of compilation, and is said once. What is read was written whole, for this
very source: a checksum stands before every file.
"""

from __future__ import annotations

import hashlib
import inspect
import pickle
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile

__all__ = ["compiled"]

_ADVICE = "Set NUMBA_CACHE_DIR to a folder of your own that can be written to have it kept."
_told = False


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """``numba.njit`` with a cache where there can be one; the options are Numba's.

    Examples
    --------
    >>> @compiled()
    ... def double(x):
    ...     return 2 * x
    >>> double(21)
    42
    """

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher: Any = numba.njit(**options)(function)
        if not Path(inspect.getfile(function)).exists():  # typed at a prompt: there is no source to keep it with
            return dispatcher
        try:
            dispatcher._cache = _Cache(function)
        except (RuntimeError, OSError):  # Numba's words for: no folder can be written
            _tell_once(f"no folder can be written to keep compiled code, so it is compiled at every start. {_ADVICE}")
        return dispatcher

    return decorate


@cache
def _sources() -> str:
    """A fingerprint of all our loops: some call those of other files, of which Numba takes no notice."""
    package = Path(__file__).parent
    contents = [path.read_bytes() for path in sorted(package.rglob("_kernels.py"))]
    return hashlib.sha256(b"".join(hashlib.sha256(content).digest() for content in contents)).hexdigest()


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
