"""All kernels in Python, the specification of the C twin ``_native``: bytes in; bytes, ints and lists out.

Only ``kernels.py`` imports this; everybody else takes the functions from there, so that both twins are reached one way.
"""

from kcli.core.records._pure_crc import crc32c, crc32c_patch
from kcli.core.records._pure_decode import decode_columns, decode_values
from kcli.core.records._pure_encode import (
    encode_keyed,
    encode_lines,
    encode_record,
    encode_rows,
)
from kcli.core.records._pure_find import find_in_records
from kcli.core.records._pure_headers import decode_headers, encode_headers
from kcli.core.records._pure_partition import murmur2, partition_keys
from kcli.core.records._pure_render import render_records
from kcli.core.records._pure_run import decode_run, walk_batches
from kcli.core.records._pure_text import encode_slices, encode_text, group_slices, index_text

__all__ = [
    "crc32c",
    "crc32c_patch",
    "decode_columns",
    "decode_headers",
    "decode_run",
    "decode_values",
    "encode_headers",
    "encode_keyed",
    "encode_lines",
    "encode_record",
    "encode_rows",
    "encode_slices",
    "encode_text",
    "find_in_records",
    "group_slices",
    "index_text",
    "murmur2",
    "partition_keys",
    "render_records",
    "walk_batches",
]
