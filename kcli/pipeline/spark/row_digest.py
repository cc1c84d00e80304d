"""A digest of the records that rows make, whatever their order and the tables that they come in. It detects accidents: it
is not cryptographic.

The sum of the squares of the records' digests (``digest_records``) modulo 2^127 - 1. Those are sums over the words of a
record: without the square, records that exchange a part of them had the same sum.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from kcli.core.arrow.foreign import open_tables
from kcli.core.arrow.record_columns import RecordSchema
from kcli.core.kernels.active import digest_records, encode_columns
from kcli.core.kernels.arrow_ops import INT32_MAX, ArrowPart
from kcli.core.kernels.shapes import NO_RECORDS, RecordColumns

_PRIME = (1 << 127) - 1
_PARTITION = (
    0x9E3779B97F4A7C15F39CC0605CEDC835  # what a partition adds to the digest of its record, times its number
)
_AT_ONCE = 8 << 20  # bytes of records that are encoded for it
_ANY = -1


class RowDigest:
    """``records`` and ``value`` of the tables that have passed through."""

    def __init__(self) -> None:
        self.records = 0
        self._sum = 0

    @property
    def value(self) -> str:
        """32 hexadecimal digits."""
        return f"{self._sum % _PRIME:032x}"

    def through(self, tables: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The same tables, each added when it has been used: what cannot be records is refused there."""
        for table in tables:
            yield table
            self.add(table)

    def add(self, table: pa.RecordBatch) -> None:
        """Adds records as ``Producer.send_arrow`` sends them. A null timestamp is that: not the time of now."""
        field, arrays = open_tables(table)
        schema = RecordSchema(field)
        digests: list[int] = []
        for array in arrays:
            digests.extend(_digests(schema.records(array).columns))
        self.records += len(digests)
        if "partition" in table.schema.names:
            digests = [
                digest + _PARTITION * (1 + (_ANY if number is None else number))
                for digest, number in zip(digests, table.column("partition").to_pylist(), strict=True)
            ]
        self._sum = (self._sum + sum(digest * digest for digest in digests)) % _PRIME


def _digests(columns: RecordColumns) -> Iterator[int]:
    start, room = 0, _AT_ONCE
    while start < columns.length:
        payload, count, _, _, latest = encode_columns(columns, None, start, columns.length, 0, 0, 0, room)
        room = _AT_ONCE if count else INT32_MAX  # of one that is larger
        if not count:
            continue
        part: Any = ArrowPart(payload, count, 0, count - 1, 0, latest, 0, -1, 0, count - 1)
        for piece in digest_records(part, True, NO_RECORDS, 1, 1):
            yield int.from_bytes(piece[0], "little")
        start += count
