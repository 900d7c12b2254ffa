"""Reads and writes tables: CSV, Parquet, Arrow, NPZ and JSON lines; rows are matched by id, never by their order.

Rows are counted from 1, without any header. All problems of a table are reported at once.
"""

from shiftbench.io.tables.columns import (
    expand,
    is_label,
    label_fault,
    number_columns,
    numbers,
    require,
    require_labels,
    require_names,
)
from shiftbench.io.tables.mixed import require_uniform
from shiftbench.io.tables.reading import notes_without, read_metadata, read_table, reading_notes, scan_parquet
from shiftbench.io.tables.rows import id_column, ids, line_up, native_ids, unusable_id
from shiftbench.io.tables.writing import sink, write_table

__all__ = [
    "expand",
    "id_column",
    "ids",
    "is_label",
    "label_fault",
    "line_up",
    "native_ids",
    "notes_without",
    "number_columns",
    "numbers",
    "read_metadata",
    "read_table",
    "reading_notes",
    "require",
    "require_labels",
    "require_names",
    "require_uniform",
    "scan_parquet",
    "sink",
    "unusable_id",
    "write_table",
]
