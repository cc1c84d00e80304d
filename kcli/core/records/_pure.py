"""All kernels in Python, the specification of the C twin ``_native``: bytes in; bytes, ints and lists out.

Only ``kernels.py`` imports this; everybody else takes the functions from there, so that both twins are reached one way.
"""

from kcli.core.records._pure_decode import Columns, decode_columns, decode_values
from kcli.core.records._pure_encode import (
    Row,
    encode_keyed,
    encode_lines,
    encode_record,
    encode_rows,
)
from kcli.core.records._pure_headers import NO_HEADERS, decode_headers, encode_headers
from kcli.core.records._pure_partition import murmur2, partition_keys
from kcli.core.records._pure_run import decode_run, walk_batches

__all__ = [
    "NO_HEADERS",
    "Columns",
    "Row",
    "decode_columns",
    "decode_headers",
    "decode_run",
    "decode_values",
    "encode_headers",
    "encode_keyed",
    "encode_lines",
    "encode_record",
    "encode_rows",
    "murmur2",
    "partition_keys",
    "walk_batches",
]
