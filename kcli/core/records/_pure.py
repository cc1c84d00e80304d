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
from kcli.core.records._pure_text import (
    SLICE_BYTES,
    Text,
    encode_slices,
    encode_text,
    gather_slices,
    group_slices,
    index_text,
    slice_columns,
)

__all__ = [
    "NO_HEADERS",
    "SLICE_BYTES",
    "Columns",
    "Row",
    "Text",
    "decode_columns",
    "decode_headers",
    "decode_values",
    "encode_headers",
    "encode_keyed",
    "encode_lines",
    "encode_record",
    "encode_rows",
    "encode_slices",
    "encode_text",
    "gather_slices",
    "group_slices",
    "index_text",
    "murmur2",
    "partition_keys",
    "slice_columns",
]
