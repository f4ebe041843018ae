"""What stops a watch, in a sentence that names the place and says what to do."""

from __future__ import annotations

__all__ = ["WatchError"]


class WatchError(ValueError):
    """The source, the database or a row cannot be used as asked; nothing was lost."""
