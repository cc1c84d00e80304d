"""Records on stdout, a batch at a time: values, a table that grows, JSON, CSV, hex, or a format of the user's.

A formatter turns the wanted part of a batch into bytes, most of them by a render program without an object per
record; ``RecordSink`` writes them. On a terminal everything that came from a record is made visible first; elsewhere
bytes stay as they are.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from kcli.core.classes import NamedTuple, dataclass
from kcli.core.consumer.fetched import FetchedBatch
from kcli.core.kernels import render_ops as op
from kcli.core.kernels.render_ops import Program
from kcli.core.records.isolation import is_abort_marker
from kcli.core.types import Record, TopicPartition
from kcli.output.sanitise import visible, visible_json
from kcli.output.stdout import Output
from kcli.output.template import (
    Extra,
    Part,
    Template,
    Wanted,
    bind,
)

if TYPE_CHECKING:
    from kcli.output.decoding import Decoders


ALL = b""
"""For ``selected``: no record is left out."""


@dataclass(slots=True, eq=False, repr=False)
class Rendered:
    """``count`` records as bytes; ``last`` is the offset of the last one, −1 where the whole batch is meant."""

    data: bytes | memoryview
    count: int
    last: int = -1


class Formatter:
    """Makes bytes of records; ``begin`` and ``end`` frame them. ``is_json``: unsafe characters become JSON's escapes;
    ``is_visible``: there are none.
    """

    is_json = is_visible = False
    needs_broker = False

    def move(self, broker: Callable[[TopicPartition], int]) -> None:
        """It is in a process of its own now, and each batch may be any: what depends on those before is in ``joined``.
        ``broker``: the broker of a partition, for formats that need it.
        """

    def joined(self, rendered: "Rendered") -> "Rendered":
        """What another process has formatted, as what follows the batches before it."""
        return rendered

    def begin(self) -> bytes:
        """What precedes the first record."""
        return b""

    def batch(self, fetched: FetchedBatch, limit: int | None, selected: bytes | bytearray) -> Rendered:
        """At most ``limit`` of the selected records; ``selected`` has a byte per record, see ``render_records``."""
        raise NotImplementedError

    def end(self) -> bytes:
        """What follows the last record."""
        return b""


class _Handed(NamedTuple):
    """``records`` records up to offset ``last`` that were handed to the output, of which they are bytes ``start`` to
    ``end``.
    """

    start: int
    end: int
    records: int
    last: int
    fetched: FetchedBatch
    selected: Callable[[], bytes | bytearray]


class Written(NamedTuple):
    """What has left this process: ``records`` are whole ones, ``last`` has the offset of the last one by partition."""

    bytes: int
    records: int
    last: dict[TopicPartition, int]


class RecordSink:
    """Writes the output of a formatter; a context manager, so that a document is always closed. ``before`` is called
    ahead of records.
    """

    def __init__(
        self, out: Output, formatter: Formatter, *, escape: bool, before: Callable[[], None] | None = None
    ) -> None:
        self._out = out
        self._formatter = formatter
        self._before = before
        self._escape = escape and not formatter.is_visible
        self._begun = False
        self._size = self._records = 0  # records: of what is flushed
        self._handed: list[_Handed] = []  # since the last flush
        self._last: dict[TopicPartition, int] = {}

    def __enter__(self) -> "RecordSink":
        return self

    def __exit__(self, _kind: object, error: object, _trace: object) -> None:
        if isinstance(error, OSError) or (error is not None and not self._begun):
            return
        self._begin()
        self._write(self._formatter.end())
        self._out.flush()

    def batch(
        self, fetched: FetchedBatch, limit: int | None = None, selected: bytes | bytearray = ALL
    ) -> tuple[int, int]:
        """Writes at most ``limit`` records of the batch; how many, and the offset of the last (−1: of the batch)."""
        rendered = self._formatter.batch(fetched, limit, selected)
        self._put(fetched, rendered, lambda: selected)
        return rendered.count, rendered.last

    def put_rendered(
        self, fetched: FetchedBatch, rendered: Rendered, selected: Callable[[], bytes | bytearray]
    ) -> None:
        """Writes what another process has formatted."""
        self._put(fetched, self._formatter.joined(rendered), selected)

    def _put(
        self, fetched: FetchedBatch, rendered: Rendered, selected: Callable[[], bytes | bytearray]
    ) -> None:
        self._begin()
        start, self._size = self._size, self._size + len(rendered.data)
        if rendered.count:
            last = min(fetched.stop, fetched.batch.next_offset) - 1 if rendered.last < 0 else rendered.last
            self._handed.append(_Handed(start, self._size, rendered.count, last, fetched, selected))
            if self._before is not None:
                self._before()
        self._write(rendered.data)

    def flush(self) -> None:
        """Flushes buffered output."""
        self._out.flush()
        for handed in self._handed:
            self._records += handed.records
            self._last[handed.fetched.tp] = handed.last
        self._handed.clear()

    def written(self) -> Written:
        """What has left this process, after an error of the output that has cut a record."""
        size, records, last = self._out.counted, self._records, dict(self._last)
        for handed in self._handed:
            count, offset = handed.records, handed.last
            if handed.end > size:
                count, offset = self._fitting(handed, size - handed.start)
            if count:
                records += count
                last[handed.fetched.tp] = offset
            if count < handed.records:
                break
        return Written(size, records, last)

    def _fitting(self, handed: _Handed, size: int) -> tuple[int, int]:
        """How many of the records fit in ``size`` bytes, and the offset of the last one."""

        def rendered(count: int) -> Rendered:
            return self._formatter.batch(handed.fetched, count, handed.selected())

        count = bisect_right(range(handed.records), size, key=lambda count: len(rendered(count + 1).data))
        return count, rendered(count).last if count else -1

    def check(self) -> None:
        """BrokenPipeError if the reader has closed the pipe."""
        self._out.check_reader()

    def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            if not self._escape:
                self._out.count()
            head = self._formatter.begin()
            self._size += len(head)
            self._write(head)

    def _write(self, data: bytes | memoryview) -> None:
        if not data:
            return
        if self._escape:
            text = bytes(data).decode("utf-8", "backslashreplace")
            self._out.text(visible_json(text) if self._formatter.is_json else visible(text))
        else:
            self._out.write(data)


def wanted_records(
    fetched: FetchedBatch, limit: int | None, selected: bytes | bytearray = ALL
) -> Iterator[Record]:
    """The selected records of the batch, at most ``limit``."""
    left = limit if limit is not None else fetched.batch.count
    for index, record in enumerate(fetched.batch.records(*fetched.tp)):
        if fetched.first <= record.offset < fetched.stop and (not selected or selected[index]):
            if left <= 0:
                return
            left -= 1
            yield record


def marker_of(fetched: FetchedBatch) -> str | None:
    """COMMIT or ABORT for the end of a transaction, which is no record; None for records."""
    if not fetched.batch.is_control:
        return None
    return "ABORT" if is_abort_marker(fetched.batch) else "COMMIT"


class ProgramFormatter(Formatter):
    """Formats by a render program: ``parts`` become one program per partition.

    ``broker`` returns the id of a partition's broker, for formats that contain it.
    """

    def __init__(
        self,
        parts: Sequence[Part],
        extras: Sequence[Extra] = (),
        *,
        decoders: "Decoders | None" = None,
        closing: Callable[[str | None], Sequence[Part]] = lambda _marker: (),
        broker: Callable[[TopicPartition], int] = lambda _tp: -1,
    ) -> None:
        self._extras = list(extras)
        self._parts = decoders.columns(parts, self._extras) if decoders is not None else list(parts)
        self._closing = closing
        self._broker = broker
        self._programs: dict[tuple[TopicPartition, str | None, int, int], Program] = {}

    def batch(self, fetched: FetchedBatch, limit: int | None, selected: bytes | bytearray) -> Rendered:
        """See Formatter."""
        batch = fetched.batch
        extras: list[Sequence[bytes | None]] = []
        if self._extras:
            wanted = Wanted(fetched, batch.columns(), limit, selected)
            extras = [extra(wanted) for extra in self._extras]
        found = batch.render(
            self._program(fetched),
            fetched.first,
            fetched.stop - 1,
            limit=-1 if limit is None else limit,
            selected=selected,
            extras=extras,
        )
        return Rendered(*found)

    def move(self, broker: Callable[[TopicPartition], int]) -> None:
        """See Formatter."""
        self._broker = broker

    def _program(self, fetched: FetchedBatch) -> Program:
        case = (fetched.tp, marker_of(fetched), self._broker(fetched.tp), fetched.deliveries)
        program = self._programs.get(case)
        if program is None:
            tp, marker, broker, deliveries = case
            parts = [*self._parts, *self._closing(marker)]
            program = self._programs[case] = bind(parts, tp, broker, deliveries)
        return program


class ValueFormatter(ProgramFormatter):
    """``-o value``: the value and a delimiter; whole batches straight from their bytes. The end of a transaction, whose
    value is no text, is COMMIT or ABORT.
    """

    def __init__(self, delimiter: bytes, null: bytes, decoders: "Decoders | None" = None) -> None:
        super().__init__(
            [(op.BYTES, op.VALUE, op.RAW, null, b""), (op.LITERAL, delimiter)], decoders=decoders
        )
        self._delimiter = delimiter
        self._null = null
        self._marker = ProgramFormatter(
            [], closing=lambda marker: [(op.LITERAL, (marker or "").encode() + delimiter)]
        )

    def batch(self, fetched: FetchedBatch, limit: int | None, selected: bytes | bytearray) -> Rendered:
        """See Formatter."""
        batch = fetched.batch
        if batch.is_control:
            return self._marker.batch(fetched, limit, selected)
        if self._extras or selected or (limit is not None and limit < batch.count):
            return super().batch(fetched, limit, selected)
        return Rendered(*batch.values(fetched.first, fetched.stop - 1, self._delimiter, self._null))


class TemplateFormatter(ProgramFormatter):
    """``-f FORMAT``."""

    def __init__(self, template: Template, decoders: "Decoders | None" = None) -> None:
        super().__init__(template.parts, template.extras, decoders=decoders)
