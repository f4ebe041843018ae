"""What stops a watch, in a sentence that names the place and says what to do."""

from __future__ import annotations

__all__ = ["LockedError", "WatchError"]


class WatchError(ValueError):
    """The source, the database or a row cannot be used as asked; nothing was lost."""


class LockedError(WatchError):
    """Another watch is writing to the database."""
