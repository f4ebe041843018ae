"""Tables of the user's own: chosen columns of a CSV, JSON lines or Parquet file, in chunks, checked row by row."""

from hippozoo.tables.panel import read_panel
from hippozoo.tables.table import CHUNK_ROWS, Rows, Table, read_table
from hippozoo.tables.trouble import Place, TableError, Trouble, list_reasons, reason, word

__all__ = [
    "CHUNK_ROWS",
    "Place",
    "Rows",
    "Table",
    "TableError",
    "Trouble",
    "list_reasons",
    "read_panel",
    "read_table",
    "reason",
    "word",
]
