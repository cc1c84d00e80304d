"""All kernels in Python, the specification of the C twin ``kernels._native``: bytes in; bytes, ints and lists out.

Only ``kernels/active.py`` imports this; all other modules import the functions from there, whichever twin is in use.
"""

from kcli.core.kernels.pure.arrow import arrow_columns
from kcli.core.kernels.pure.check_log import check_log
from kcli.core.kernels.pure.crc import crc32c, crc32c_patch
from kcli.core.kernels.pure.decode import decode_columns, decode_values, find_in_records
from kcli.core.kernels.pure.digest import digest_records
from kcli.core.kernels.pure.encode import (
    encode_keyed,
    encode_lines,
    encode_record,
    encode_rows,
)
from kcli.core.kernels.pure.encode_columns import (
    encode_columns,
    group_columns,
    group_values,
    measure_columns,
)
from kcli.core.kernels.pure.fill import fill_lines, mark_lines
from kcli.core.kernels.pure.headers import decode_headers, encode_headers
from kcli.core.kernels.pure.json_texts import json_texts
from kcli.core.kernels.pure.mark_runs import mark_runs
from kcli.core.kernels.pure.partition import murmur2, partition_keys
from kcli.core.kernels.pure.render import render_records
from kcli.core.kernels.pure.rows import read_rows
from kcli.core.kernels.pure.run import decode_run, join_run, walk_batches
from kcli.core.kernels.pure.scan import scan_batches
from kcli.core.kernels.pure.text import encode_slices, encode_text, group_slices, index_text

__all__ = [
    "arrow_columns",
    "check_log",
    "crc32c",
    "crc32c_patch",
    "decode_columns",
    "decode_headers",
    "decode_run",
    "decode_values",
    "digest_records",
    "encode_columns",
    "encode_headers",
    "encode_keyed",
    "encode_lines",
    "encode_record",
    "encode_rows",
    "encode_slices",
    "encode_text",
    "fill_lines",
    "find_in_records",
    "group_columns",
    "group_slices",
    "group_values",
    "index_text",
    "join_run",
    "json_texts",
    "mark_lines",
    "mark_runs",
    "measure_columns",
    "murmur2",
    "partition_keys",
    "read_rows",
    "render_records",
    "scan_batches",
    "walk_batches",
]
