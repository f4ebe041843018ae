"""Tables of the user's own: chosen columns of a CSV or Parquet file, in chunks, checked row by row."""

from hippozoo.tables.panel import spread_panel
from hippozoo.tables.problem import TableError
from hippozoo.tables.table import CHUNK_ROWS, Rows, Table, read_table

__all__ = ["CHUNK_ROWS", "Rows", "Table", "TableError", "read_table", "spread_panel"]
