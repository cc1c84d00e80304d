"""The files of an export as text: the same bytes that ``kcli consume`` prints."""

import re
from collections.abc import Iterator
from struct import Struct
from typing import BinaryIO

from kcli.output.record_data import CsvFormatter, NdjsonFormatter, RawFormatter
from kcli.output.records import Formatter

_BLOCK = 1 << 20
_LENGTH = Struct(">i")
_OFFSET = re.compile(rb'"offset":([0-9]+)')


def formatter_of(form: str) -> Formatter:
    """What makes text of batches."""
    if form == "csv":
        return CsvFormatter(b"", headers=True)
    return NdjsonFormatter() if form == "ndjson" else RawFormatter()


def count_records(file: BinaryIO, form: str) -> int:
    """The number of records in a complete file."""
    blocks = iter(lambda: file.read(_BLOCK), b"")
    if form == "ndjson":
        return sum(block.count(b"\n") for block in blocks)
    return _count_csv(blocks) if form == "csv" else _count_raw(blocks)


def _count_csv(blocks: Iterator[bytes]) -> int:
    """The number of lines that end outside of quotes, without the first."""
    lines, quoted = 0, False
    for block in blocks:
        for at, part in enumerate(block.split(b'"')):
            quoted ^= at > 0
            if not quoted:
                lines += part.count(b"\n")
    return lines - 1


def _count_raw(blocks: Iterator[bytes]) -> int:
    records, skip, rest = 0, 0, b""
    for block in blocks:
        data, at = rest + block, skip
        while at + _LENGTH.size <= len(data):
            at += _LENGTH.size + max(0, _LENGTH.unpack_from(data, at)[0])
            records += 1
        rest = data[at:]
        skip = max(0, at - len(data))
    return records


def offset_in(line: bytes, form: str) -> int:
    """The offset of a record in its line of ndjson, or row of csv; −1 if there is none."""
    if form == "csv":
        found = line.split(b",", 3)[2:3]
        return int(found[0]) if found and found[0].isdigit() else -1
    match = _OFFSET.search(line)
    return int(match[1]) if match else -1
