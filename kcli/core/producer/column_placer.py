"""Adds rows of Arrow columns to the open batches of their partitions; the kernels encode them, so no Python runs per row.

Runs in the same thread as the ``Placer``. Rows that name their partition go there, the others where the partitioner says;
if none has a key they fill one batch after the other (KIP-794). Only partitioners other than murmur2 see keys as objects.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import Any

from kcli.core.classes import replace
from kcli.core.errors import ConfigError, KcliError
from kcli.core.kernels.active import group_columns, group_values
from kcli.core.producer.batch import ProducerBatch
from kcli.core.producer.column_pieces import Selection
from kcli.core.producer.origins import OriginRows, Refuse, shifted
from kcli.core.producer.partitioner import ANYWHERE
from kcli.core.producer.placer import Placer
from kcli.core.types import TopicPartition

_UNNAMED = -(1 << 62)  # in place of a partition, where a row names none


class ColumnPlacer:
    """Adds the rows of one selection. ``now`` is the timestamp of a row that has none; ``refuse``: see ``placer.py``.

    ``first_row``: the number of the table's first row among the rows of ``origin``.
    """

    def __init__(
        self,
        placer: Placer,
        selection: Selection,
        *,
        by_key: bool,
        now: int,
        refuse: Refuse,
        origin: Any = None,
        first_row: int = 0,
    ) -> None:
        self._placer = placer
        self._selection = selection
        self._topic = selection.topic
        self._named = None if by_key else selection.partitions
        self._now = now
        self._refuse = refuse
        self._origin = origin
        self._first_row = first_row

    def add_rows(self, partition: int | None) -> None:
        """Queues the rows, in order within each partition. Raises only before any of them is queued."""
        placer, selection, topic = self._placer, self._selection, self._topic
        if partition is not None:
            placer.check(TopicPartition(topic, partition))
            self._add(partition, selection)
        elif self._named is None and selection.columns.keys is None and not placer.spreads_nulls:
            self._add(None, selection)
        elif self._named is None and not placer.spreads_nulls and placer.partition_count(topic) == 1:
            self._add(0, selection)
        else:
            for number, rows in self._by_partition():
                own = replace(selection, rows=rows, start=0, stop=len(rows) // 4)
                self._add(None if number == ANYWHERE else number, own)

    def _add(self, partition: int | None, rows: Selection) -> None:
        """Adds rows to one partition; without one to the current sticky partition, and to another after each batch."""
        start = rows.start

        def fill(batch: ProducerBatch) -> int:
            first = batch.count
            taken = batch.builder.append_columns(rows.columns, rows.rows, start, rows.stop, self._now)
            if self._origin is not None and taken:
                batch.origins.append(
                    OriginRows(first, self._origin, self._numbers(rows, start, start + taken))
                )
            return taken

        try:
            while start < rows.stop:
                to = self._placer.sticky_partition(self._topic, 0) if partition is None else partition
                taken = self._placer.append(TopicPartition(self._topic, to), fill)
                start += taken
                if partition is not None:
                    continue
                if start < rows.stop:
                    self._placer.unstick(self._topic)
                else:
                    self._placer.count(self._topic, self._size(taken))
        except (KcliError, ValueError) as error:
            left = rows.stop - start
            size = self._size(left)
            cause = (
                error
                if isinstance(error, KcliError)
                else ConfigError("the Arrow data changed", why=str(error))
            )
            self._refuse(self._numbers(rows, start, rows.stop), size, cause)

    def _size(self, count: int) -> int:
        """The bytes of ``count`` rows of average size."""
        return self._selection.size * count // max(1, len(self._selection))

    def _numbers(self, rows: Selection, start: int, stop: int) -> Any:
        found = replace(rows, start=start, stop=stop).numbers()
        return found if self._origin is None else shifted(found, self._first_row)

    def _by_partition(self) -> Sequence[tuple[int, bytes]]:
        """The rows of each partition. Some without a key are in order with the others: they go to one partition."""
        if not self._placer.is_murmur2:
            return self._by_other_partitioner()
        groups = self._by_murmur2(ANYWHERE)
        without_key = len(dict(groups).get(ANYWHERE, b"")) // 4
        if without_key and len(groups) > 1:
            share = self._size(without_key)
            groups = self._by_murmur2(self._placer.sticky_partition(self._topic, share))
        return groups

    def _by_murmur2(self, sticky: int) -> Sequence[tuple[int, bytes]]:
        some, partitions = self._selection, self._placer.partition_count(self._topic)
        return group_columns(some.columns, self._named, some.rows, some.start, some.stop, partitions, sticky)

    def _by_other_partitioner(self) -> Sequence[tuple[int, bytes]]:
        """Asks the partitioner for each row that names no partition, in the order of the rows."""
        order = list(self._selection.numbers())
        chosen = dict(self._named_partitions())
        keys = dict(self._keys())
        unnamed = [row for row in order if row not in chosen]
        if unnamed:
            numbers = self._placer.partitions(
                self._topic, [keys.get(row) for row in unnamed], self._selection.size
            )
            chosen.update(zip(unnamed, numbers, strict=True))
        groups: dict[int, array[int]] = {}
        for row in order:
            groups.setdefault(chosen[row], array("i")).append(row)
        return [(number, rows.tobytes()) for number, rows in groups.items()]

    def _named_partitions(self) -> Iterator[tuple[int, int]]:
        if self._named is None:
            return
        some = self._selection
        columns = some.columns._replace(keys=None)
        groups = group_columns(columns, self._named, some.rows, some.start, some.stop, 1, _UNNAMED)
        for number, own in groups:
            if number != _UNNAMED:
                yield from ((row, number) for row in array("i", own))

    def _keys(self) -> Iterator[tuple[int, bytes | None]]:
        some, columns = self._selection, self._selection.columns
        if columns.keys is not None:
            for key, own in group_values(columns.keys, columns.length, some.rows, some.start, some.stop):
                yield from ((row, key) for row in array("i", own))
