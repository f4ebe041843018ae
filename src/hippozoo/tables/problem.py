"""What is said of a table that cannot be used."""

from __future__ import annotations

__all__ = ["TableError"]


class TableError(ValueError):
    """A table cannot be used as it is; the message names the row, the column and what to do.

    Examples
    --------
    >>> from hippozoo.tables import read_table
    >>> try:
    ...     read_table("nowhere.csv")
    ... except TableError as error:
    ...     print(error)
    nowhere.csv: there is no such file; check the path.
    """
