"""Records on stdout for programs: JSON, CSV, kcat's JSON, raw values; see ``records.py``."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from kcli.core.consumer.fetched import FetchedBatch
from kcli.core.kernels import render_ops as op
from kcli.core.types import TopicPartition
from kcli.output.template import (
    BROKER,
    OF_SHARE_GROUPS,
    PARTITION,
    RECORD,
    TOPIC,
    Part,
    closing,
)

if TYPE_CHECKING:
    from kcli.output.decoding import Decoders


from kcli.output.records import ProgramFormatter, Rendered


class NdjsonFormatter(ProgramFormatter):
    """``-o ndjson``: one object a line."""

    is_json = True

    def __init__(self, decoders: "Decoders | None" = None, *, shared: bool = False) -> None:
        """``shared``: records of a share group have their delivery counts."""
        super().__init__(
            (*RECORD, *OF_SHARE_GROUPS) if shared else RECORD,
            decoders=decoders,
            closing=lambda marker: (*closing(marker), (op.LITERAL, b"\n")),
        )


class JsonFormatter(ProgramFormatter):
    """``-o json``: one document, closed also when a signal ends the reading."""

    is_json = True

    def __init__(
        self,
        head: Callable[[], bytes],
        tail: Callable[[], bytes],
        decoders: "Decoders | None" = None,
        *,
        shared: bool = False,
    ) -> None:
        record = (*RECORD, *OF_SHARE_GROUPS) if shared else RECORD
        super().__init__([(op.LITERAL, b",\n"), *record], decoders=decoders, closing=closing)
        self._head, self._tail = head, tail
        self._first = True

    def begin(self) -> bytes:
        """See Formatter."""
        return self._head()

    def end(self) -> bytes:
        """See Formatter."""
        return self._tail()

    def batch(self, fetched: FetchedBatch, limit: int | None, selected: bytes | bytearray) -> Rendered:
        """See Formatter; no comma before the first item."""
        return self.joined(super().batch(fetched, limit, selected))

    def move(self, broker: Callable[[TopicPartition], int]) -> None:
        """See Formatter."""
        super().move(broker)
        self._first = False

    def joined(self, rendered: Rendered) -> Rendered:
        """See Formatter."""
        if self._first and rendered.count:
            self._first = False
            return Rendered(rendered.data[1:], rendered.count, rendered.last)
        return rendered


class KcatFormatter(ProgramFormatter):
    """``-o kcat``: the lines of ``kcat -J``, bytes as they are; a header list is flat, and left out when empty."""

    is_json = needs_broker = True

    def __init__(self, broker: Callable[[TopicPartition], int], decoders: "Decoders | None" = None) -> None:
        super().__init__((*_KCAT_HEAD, *_KCAT_TIME, *_KCAT_TAIL), decoders=decoders, broker=broker)
        self._without_time = ProgramFormatter((*_KCAT_HEAD, *_KCAT_TAIL), decoders=decoders, broker=broker)

    def move(self, broker: Callable[[TopicPartition], int]) -> None:
        """See Formatter."""
        super().move(broker)
        self._without_time.move(broker)

    def batch(self, fetched: FetchedBatch, limit: int | None, selected: bytes | bytearray) -> Rendered:
        """See Formatter. Records of message format 0 have no timestamp, not even −1: kcat prints none."""
        if fetched.batch.timestamp_type < 0:
            return self._without_time.batch(fetched, limit, selected)
        return super().batch(fetched, limit, selected)


_KCAT_HEAD: tuple[Part, ...] = (
    (op.LITERAL, b'{"topic":"'),
    TOPIC,
    (op.LITERAL, b'","partition":'),
    PARTITION,
    (op.LITERAL, b',"offset":'),
    (op.NUMBER, op.OFFSET),
)


_KCAT_TIME: tuple[Part, ...] = (
    (op.LITERAL, b',"tstype":"'),
    (op.TIMESTAMP_TYPE, b"", b"create", b"logappend"),
    (op.LITERAL, b'","ts":'),
    (op.NUMBER, op.TIMESTAMP),
)


_KCAT_TAIL: tuple[Part, ...] = (
    (op.LITERAL, b',"broker":'),
    BROKER,
    (op.LITERAL, b","),
    (op.HEADERS, op.HEADERS_FLAT, b'"headers":', b","),
    (op.LITERAL, b'"key":'),
    (op.BYTES, op.KEY, op.JSON_AS_IS, b"null", b""),
    (op.LITERAL, b',"payload":'),
    (op.BYTES, op.VALUE, op.JSON_AS_IS, b"null", b""),
    (op.LITERAL, b"}\n"),
)


class RawFormatter(ProgramFormatter):
    """``-o raw``: the length in 4 bytes, big-endian, −1 for a null; then the value."""

    def __init__(self) -> None:
        super().__init__([(op.LENGTH, op.VALUE), (op.BYTES, op.VALUE, op.RAW, b"", b"")])


class CsvFormatter(ProgramFormatter):
    """``-o csv``: a header line, then a line per record; bytes that are not UTF-8 are base64 and marked so."""

    HEADER = b"topic,partition,offset,timestamp,key,value,headers,key_encoding,value_encoding\n"

    def __init__(self, null: bytes, *, headers: bool, decoders: "Decoders | None" = None) -> None:
        comma: Part = (op.LITERAL, b",")
        parts: list[Part] = [TOPIC, comma, PARTITION, comma, (op.NUMBER, op.OFFSET), comma]
        parts += [(op.NUMBER, op.TIMESTAMP, b""), comma]
        parts += [
            (op.BYTES, op.KEY, op.CSV, null, b""),
            comma,
            (op.BYTES, op.VALUE, op.CSV, null, b""),
            comma,
        ]
        parts += [(op.HEADERS, op.HEADERS_CSV), comma]
        parts += [(op.BYTES, op.KEY, op.NOT_TEXT, b"", b"base64"), comma]
        parts += [(op.BYTES, op.VALUE, op.NOT_TEXT, b"", b"base64"), (op.LITERAL, b"\n")]
        super().__init__(parts, decoders=decoders)
        self._headers = headers

    def begin(self) -> bytes:
        """See Formatter."""
        return self.HEADER if self._headers else b""
