"""Writing files safely: whole or not at all, ordinary files only, one writer, and nothing left behind by the killed.

The content goes to a temporary file in the same folder, to the disk, and then takes the place of the old file in one
move. A temporary file is locked while its writer lives, so that whoever writes there next can tell leftovers.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # Windows has no such locks: there leftovers stay
    fcntl = None

__all__ = [
    "CannotWriteError",
    "demand_folder",
    "demand_writable",
    "make_folder",
    "naming",
    "open_locked",
    "remove_leftovers",
    "remove_locked",
    "write_whole",
]

_PREFIX, _SUFFIX = ".hippozoo-", ".tmp"
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)
_NO_WAITING = getattr(os, "O_NONBLOCK", 0)
_ADVICE = {
    errno.ENOSPC: "the disk is full; free some space and do it again",
    errno.EDQUOT: "your quota on this disk is used up; free some space and do it again",
    errno.EROFS: "the file system is read-only; pass another folder",
    errno.EACCES: "permission denied; pass another folder, or ask for the right to write there",
    errno.EPERM: "the system does not permit it; pass another folder",
    errno.ENAMETOOLONG: "its name is too long for this file system; pass a shorter one",
    errno.ELOOP: "it is a link that leads in a circle; pass another name",
}


class CannotWriteError(OSError):
    """A file cannot be written: the message names it, says why, and what to do."""

    def __init__(self, path: str | os.PathLike[str], reason: str, number: int | None = None) -> None:
        super().__init__(f"{os.fspath(path)} cannot be written: {reason}.")
        self.errno = number
        self.path = os.fspath(path)
        self.reason = reason

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path, self.reason, self.errno)


@contextlib.contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Errors of the system inside become a `CannotWriteError` that names this path."""
    try:
        yield
    except CannotWriteError:
        raise
    except OSError as error:
        reason = _ADVICE.get(error.errno or 0) or f"{error.strerror or error}; pass another file"
        raise CannotWriteError(path, reason, error.errno) from error
    except ValueError as error:  # a zero byte in the name
        raise CannotWriteError(path, f"{error}; pass another name") from error


def write_whole(path: str | os.PathLike[str], content: bytes | memoryview) -> None:
    """Put the content at `path`: after a crash at any moment, the old file or the new one is there.

    A link stays a link, and what it points to is replaced. The new file has the permissions of the old one.
    """
    with naming(path):
        target = _place(path)
        remove_leftovers(target.parent)
        with _temporary(target.parent) as (temporary, file):
            _write(file.fileno(), content)
            _take_after(target, file.fileno())
            os.fsync(file.fileno())
            if fcntl is None:
                file.close()  # Windows moves no open file
            temporary.replace(target)
        _sync_folder(target.parent)


def demand_writable(path: str | os.PathLike[str]) -> None:
    """Refuse a path that `write_whole` could not write, before the work is done and not after it."""
    with naming(path):
        _try_folder(_place(path).parent)


def demand_folder(path: str | os.PathLike[str]) -> Path:
    """Refuse a folder that `make_folder` could not make, before the work; nothing is created."""
    folder = Path(path)
    with naming(path):
        there = next(part for part in (folder.absolute(), *folder.absolute().parents) if part.exists())
        if not there.is_dir():
            raise CannotWriteError(path, f"{there} is a file, and a folder is wanted; pass another name")
        _try_folder(there)
    return folder


def make_folder(path: str | os.PathLike[str]) -> Path:
    """The folder, created where there is none; refused, before the work, where nothing can be written."""
    folder = demand_folder(path)
    with naming(path):
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def open_locked(path: str | os.PathLike[str], flags: int = 0) -> int:
    """A descriptor of this file, made where there is none, that nobody else has until it is closed.

    The lock goes with the process, so one that was killed leaves none. Who holds it may remove the file. On Windows
    there are no such locks, and two writers are not noticed. `flags` are further ones of `os.open`.
    """
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | flags, 0o644)
        mine = False
        try:
            if fcntl is not None:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Another holder may have ended, and removed the file, between the two lines above.
            mine = _is_at(descriptor, path)
            if mine:
                return descriptor
        finally:
            if not mine:
                os.close(descriptor)


def remove_locked(descriptor: int, path: str | os.PathLike[str]) -> None:
    """Remove a file that `open_locked` opened, and let the lock go: nobody else can have begun to write to it."""
    try:
        if _is_at(descriptor, path):
            with contextlib.suppress(PermissionError):  # Windows removes no open file
                Path(path).unlink()
    finally:
        os.close(descriptor)


def _is_at(descriptor: int, path: str | os.PathLike[str]) -> bool:
    """Whether this open file is still the one of that name."""
    try:
        return os.path.samestat(os.fstat(descriptor), Path(path).stat())
    except FileNotFoundError:
        return False


def remove_leftovers(folder: str | os.PathLike[str]) -> None:
    """Remove temporary files whose writers were killed; those of living ones, and of other users, stay."""
    if fcntl is None:
        return
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(_PREFIX) and entry.name.endswith(_SUFFIX):
                with contextlib.suppress(OSError):  # it lives, is gone by now, or is not ours to remove
                    _remove_if_dead(entry.path)


def _remove_if_dead(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | _NO_LINKS | _NO_WAITING)
    try:
        found = os.fstat(descriptor)
        if fcntl is not None and stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid():
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # held by its writer for as long as that lives
            Path(path).unlink()
    finally:
        os.close(descriptor)


def _place(path: str | os.PathLike[str]) -> Path:
    """The file itself, behind all links; refused unless it is an ordinary file or not there yet."""
    for followed in (Path(path), target := Path(os.path.realpath(path))):
        try:
            mode = followed.stat().st_mode
        except FileNotFoundError:
            continue
        except NotADirectoryError:
            break  # said below
        if not stat.S_ISREG(mode):
            is_device = stat.S_ISCHR(mode) or stat.S_ISBLK(mode)
            kind = "a folder" if stat.S_ISDIR(mode) else "a device" if is_device else "a pipe or socket"
            raise CannotWriteError(path, f"it is {kind} and no ordinary file; pass another path")
        if not mode & 0o222 or not os.access(followed, os.W_OK):
            raise CannotWriteError(
                path, f"it is write-protected (mode {stat.S_IMODE(mode):o}); make it writable, or pass another path"
            )
    if not target.parent.is_dir():
        raise CannotWriteError(path, f"there is no folder {Path(path).parent}; create it first")
    return target


def _try_folder(folder: Path) -> None:
    """Raise what writing there would raise."""
    remove_leftovers(folder)
    with _temporary(folder):
        pass


@contextlib.contextmanager
def _temporary(folder: Path) -> Iterator[tuple[Path, FileIO]]:
    """A new file in this folder, locked; removed at the end, unless it has been moved."""
    while True:
        path = folder / f"{_PREFIX}{secrets.token_hex(8)}{_SUFFIX}"
        file = FileIO(path, "xb")
        try:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX)
                # Whoever tidies up may have come between the two lines above.
                if os.fstat(file.fileno()).st_nlink == 0:
                    continue
            yield path, file
            return
        finally:
            if fcntl is None:
                file.close()  # Windows removes no open file
            path.unlink(missing_ok=True)
            file.close()


def _write(descriptor: int, content: bytes | memoryview) -> None:
    rest = memoryview(content).cast("B")
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _take_after(target: Path, descriptor: int) -> None:
    """Owner and permissions of the file that is replaced."""
    if os.name != "posix":
        return
    with contextlib.suppress(FileNotFoundError):
        old, new = target.stat(), os.fstat(descriptor)
        if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
            with contextlib.suppress(PermissionError):
                os.fchown(descriptor, old.st_uid, old.st_gid)
        os.fchmod(descriptor, stat.S_IMODE(old.st_mode))


def _sync_folder(folder: Path) -> None:
    # The new name itself must reach the disk; Windows neither allows nor needs this.
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems cannot
                raise
        finally:
            os.close(descriptor)
