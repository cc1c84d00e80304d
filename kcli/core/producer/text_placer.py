"""Adds lines of text to the open batches of their partitions; the kernels split them, so no Python code runs per line.

Runs in the same thread as the ``Placer``. A single pass if all lines go to one partition, or fill one after the other;
if keys choose the partition, the lines are indexed first and then encoded partition by partition.
"""

from typing import Any

from kcli.core.classes import NamedTuple, dataclass
from kcli.core.errors import KcliError
from kcli.core.kernels.active import group_slices, index_text
from kcli.core.kernels.shapes import NO_HEADERS, SLICE_BYTES, Text, gather_slices, slice_columns
from kcli.core.producer.batch import ProducerBatch
from kcli.core.producer.origins import OriginRows, Refuse, Rows, packed_rows, shifted
from kcli.core.producer.placer import Placer
from kcli.core.producer.serialization import bytes_of, line_too_long
from kcli.core.records.text_cut import line_count, line_length
from kcli.core.types import TopicPartition


class TextFormat(NamedTuple):
    """How a line becomes a record; see ``kernels/pure/text.py``. ``key`` applies to all lines."""

    delimiter: bytes = b"\n"
    key_delimiter: bytes | None = None
    key: bytes | None = None
    headers: bytes = NO_HEADERS
    null_marker: bytes | None = None
    empty_is_null: bool = False
    longest: int = 1 << 30


@dataclass(slots=True, eq=False, repr=False)
class Region:
    """``text[start:end]``, whole lines. ``first_row``: the number of its first line among the rows of ``origin``."""

    text: Text
    start: int
    end: int
    origin: Any = None
    first_row: int = 0


class TextPlacer:
    """Adds one region to the placer's partitions and batches. ``refuse``: see ``placer.py``."""

    def __init__(
        self, placer: Placer, topic: str, region: Region, how: TextFormat, timestamp: int, refuse: Refuse
    ) -> None:
        self._placer = placer
        self._topic = topic
        self._region = region
        self._how = how
        self._timestamp = timestamp
        self._refuse = refuse

    def add_lines(self, partition: int | None) -> int:
        """Queues the lines of the region and returns how many lines it has, refused ones included.

        Raises only before any of them is queued: see ``placer.py``.
        """
        placer, how, topic, region = self._placer, self._how, self._topic, self._region
        text, end = region.text, region.end
        if partition is not None:
            placer.check(TopicPartition(topic, partition))
        if partition is None and how.key_delimiter is None and not placer.spreads_nulls:
            partition = None if how.key is None else placer.partitions(topic, [how.key], 0)[0]
            straight = True
        elif partition is None and not placer.spreads_nulls and placer.partition_count(topic) == 1:
            partition, straight = 0, True
        else:
            straight = partition is not None
        position, row = region.start, region.first_row
        while position < end:
            if (
                end - position > how.longest
                and (size := line_length(text, position, end, how.delimiter)) > how.longest
            ):
                self._refuse(range(row, row + 1), size, line_too_long(topic, size, how.longest))
                position, row = min(end, position + size + len(how.delimiter)), row + 1
                continue
            if straight:
                try:
                    taken, position = self._fill_batch(partition, position, row)
                except KcliError as error:
                    left = line_count(text, position, end, how.delimiter)
                    self._refuse(range(row, row + left), end - position, error)
                    return row + left - region.first_row
            else:
                taken, position = self._add_by_key(position, row)
            row += taken
        return row - region.first_row

    def _fill_batch(self, partition: int | None, start: int, row: int) -> tuple[int, int]:
        """Adds as many lines as fit into one batch of the partition, or of the current sticky one."""
        region, how, position = self._region, self._how, start

        def fill(batch: ProducerBatch) -> int:
            nonlocal position
            builder = batch.builder
            first = builder.count
            taken, position = builder.append_text(
                region.text,
                start,
                region.end,
                self._timestamp,
                delimiter=how.delimiter,
                longest=how.longest,
                key_delimiter=how.key_delimiter,
                key=how.key,
                headers=how.headers,
                null_marker=how.null_marker,
                empty_is_null=how.empty_is_null,
            )
            if region.origin is not None and taken:
                batch.origins.append(OriginRows(first, region.origin, range(row, row + taken)))
            batch.full = position < region.end
            return taken

        placer = self._placer
        if partition is not None:
            return placer.append(TopicPartition(self._topic, partition), fill), position
        sticky = placer.sticky(self._topic, 0)
        taken = placer.accumulator.append(sticky, fill)  # a partition that there is
        if position < region.end:
            placer.unstick(self._topic)  # its batch is full: on to another partition (KIP-794)
        else:
            placer.count(self._topic, position - start)
        return taken, position

    def _add_by_key(self, start: int, row: int) -> tuple[int, int]:
        """Adds each line to the partition of its key."""
        region, how = self._region, self._how
        slices, taken, position = index_text(
            region.text,
            start,
            region.end,
            how.delimiter,
            how.key_delimiter,
            how.null_marker,
            how.empty_is_null,
            how.longest,
        )
        for number, own, packed in self._by_partition(slices):
            self._add_slices(TopicPartition(self._topic, number), own, shifted(packed_rows(packed), row))
        return taken, position

    def _by_partition(self, slices: bytes) -> list[tuple[int, bytes, bytes]]:
        placer, topic, text, key = self._placer, self._topic, self._region.text, self._how.key
        count = len(slices) // SLICE_BYTES
        if placer.is_murmur2:
            sticky = placer.sticky_partition(topic, len(slices))
            return group_slices(text, slices, placer.partition_count(topic), sticky)
        keys = [key] * count if key is not None else slice_columns(text, slices, 0, count)[0]
        return gather_slices(slices, placer.partitions(topic, keys, len(slices)))

    def _add_slices(self, tp: TopicPartition, own: bytes, rows: Rows) -> None:
        start, text, how = 0, self._region.text, self._how

        def fill(batch: ProducerBatch) -> int:
            first = batch.count
            if how.key is None:
                taken = batch.builder.append_slices(text, own, start, self._timestamp, headers=how.headers)
            else:
                values = slice_columns(text, own, start, len(rows))[1]
                keys = [how.key] * len(values)
                taken = batch.builder.append_keyed(keys, values, 0, self._timestamp, headers=how.headers)
            if self._region.origin is not None and taken:
                batch.origins.append(OriginRows(first, self._region.origin, rows[start : start + taken]))
            return taken

        try:
            while start < len(rows):
                start += self._placer.append(tp, fill)
        except KcliError as error:
            keys, values = slice_columns(text, own, start, len(rows) - start)
            self._refuse(rows[start:], bytes_of(keys) + bytes_of(values), error)
