"""A duration as a person says it."""

from __future__ import annotations

__all__ = ["duration_text"]


def duration_text(seconds: float) -> str:
    """A duration as a person says it.

    Examples
    --------
    >>> duration_text(7.2), duration_text(400.0), duration_text(9000.0)
    ('7 s', '7 min', '2 h 30 min')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds // 3600:.0f} h {seconds % 3600 // 60:.0f} min"
