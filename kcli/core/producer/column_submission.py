"""Queues the tables of ``Producer.send_arrow`` one after the other, each like a call of its own (``submission.py``).

Apart from the other sends, which need neither the modules nor ctypes. Runs in the caller's thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from kcli.core import clock
from kcli.core.arrow.foreign import open_tables
from kcli.core.arrow.record_columns import RecordSchema
from kcli.core.classes import dataclass
from kcli.core.errors import ConfigError, KcliError, PartlyQueuedError, UnknownPartitionError
from kcli.core.producer.column_pieces import Selection, cut_table
from kcli.core.producer.column_placer import ColumnPlacer
from kcli.core.producer.origins import Rows, shifted
from kcli.core.producer.placer import Placer
from kcli.core.producer.serialization import row_too_large
from kcli.core.producer.submission import Submission, origins_of


@dataclass(frozen=True, slots=True)
class Destination:
    """Where rows go: to ``topic`` or that of their column, and to ``partition``, "keep", "by-key" or as they say."""

    topic: str | None
    partition: int | str | None

    @property
    def number(self) -> int | None:
        """The partition of all rows, if there is one."""
        return self.partition if isinstance(self.partition, int) else None

    def check(self, columns: RecordSchema) -> None:
        """Rejects what makes no sense, or what the columns do not provide."""
        if self.topic is None and "topic" not in columns:
            raise ConfigError(
                "the records have no topic",
                why="there is no column topic",
                do="name a topic, or add the column",
            )
        if self.partition == "keep" and "partition" not in columns:
            raise ConfigError(
                "the partitions cannot be kept",
                why="there is no column partition",
                do="add it, or leave the choice to the keys: by-key",
            )
        wrong = type(self.partition) is not int or self.partition < 0
        if wrong and self.partition not in (None, "keep", "by-key"):
            raise ConfigError(
                f"partition={self.partition!r}", why="it is neither a partition nor keep nor by-key"
            )


class ColumnSubmission:
    """Queues Arrow data for one call."""

    def __init__(
        self,
        submission: Submission,
        placer: Placer,
        destination: Destination,
        *,
        longest: int,
        origin: Any,
    ) -> None:
        self._submission = submission
        self._placer = placer
        self._destination = destination
        self._longest = longest
        self._origin = origin

    def submit(self, data: Any) -> int:
        """Queues all tables and returns the number of their rows; see ``Producer.send_arrow``."""
        field, tables = open_tables(data)
        schema = RecordSchema(field)
        self._destination.check(schema)
        row = 0
        try:
            for table in tables:
                records = schema.records(table)
                self._submit_table(
                    cut_table(records, self._destination.topic, self._submission.piece_size, self._longest),
                    row,
                )
                row += table.length
        except KcliError as error:
            if not row:
                raise
            self._submission.fail_transaction(error)
            raise PartlyQueuedError(row, error) from error
        return row

    def _submit_table(self, pieces: Sequence[Selection], first_row: int) -> None:
        """Queues the pieces of one table in order.

        Raises if the first piece cannot be queued. Of a later one, the rest of its topic is reported as failed, and the
        rest of the table where the error is not about the topic.
        """
        failed: dict[str, KcliError] = {}
        begun = False
        for piece in pieces:
            if piece.too_long:
                continue
            error = failed.get(piece.topic) or failed.get("")
            if error is None:
                try:
                    self._submit_piece(piece, first_row)
                except KcliError as caught:
                    if not begun:
                        raise
                    error = caught
                    of_topic = isinstance(caught, UnknownPartitionError) or self._submission.is_lost(
                        piece.topic
                    )
                    failed[piece.topic if of_topic else ""] = caught
            if error is not None:
                self._refuse(piece, first_row, error)
            begun = True
        for piece in pieces:
            if piece.too_long:
                number = first_row + piece.numbers()[0]
                self._refuse(piece, first_row, row_too_large(piece.topic, number, piece.size, self._longest))

    def _submit_piece(self, piece: Selection, first_row: int) -> None:
        origin, destination = self._origin, self._destination
        placer = ColumnPlacer(
            self._placer,
            piece,
            by_key=destination.partition == "by-key",
            now=clock.wall_ms(),
            refuse=partial(self._submission.refuse, piece.topic, origin),
            origin=origin,
            first_row=first_row,
        )
        self._submission.submit(
            piece.topic,
            len(piece),
            piece.size,
            lambda: placer.add_rows(destination.number),
            origins=origins_of(origin, self._rows(piece, first_row)),
        )

    def _refuse(self, piece: Selection, first_row: int, error: KcliError) -> None:
        self._submission.refuse(piece.topic, self._origin, self._rows(piece, first_row), piece.size, error)

    def _rows(self, piece: Selection, first_row: int) -> Rows:
        """The rows as those of the origin, counted over all tables; without a origin only their number matters."""
        return piece.numbers() if self._origin is None else shifted(piece.numbers(), first_row)
