"""What stops a watch, in a sentence that names the place and says what to do."""

from __future__ import annotations

from pathlib import Path

__all__ = ["LockedError", "WatchError", "read_secret"]


class WatchError(ValueError):
    """The source, the database or a row cannot be used as asked; nothing was lost."""


class LockedError(WatchError):
    """Another watch is writing to the database."""


def read_secret(file: Path, option: str) -> str:
    """What the file of an option holds, on one line."""
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise WatchError(f"{file}, the file of {option}, cannot be read: {error}.") from None
