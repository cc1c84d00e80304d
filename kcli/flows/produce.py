"""From lines to confirmed records: read, split keys, queue, and say in the end what became of them.

Nothing is lost silently: every line that was read is confirmed, failed with a reason, or counted as unknown.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from kcli.core.errors import ClosedError, KcliError
from kcli.core.producer.producer import Producer
from kcli.core.records.kernels import NO_HEADERS
from kcli.flows.rows import Chunk, InputError
from kcli.flows.stop import Stop

STOP_PATIENCE = 4.5
"""Seconds that a stopped produce waits for confirmations that are under way."""
_TICK = 0.1


@dataclass(frozen=True, slots=True)
class LineFormat:
    """How a line becomes a record. ``key`` is for all; ``key_delimiter`` splits at its first occurrence."""

    key: bytes | None = None
    key_delimiter: bytes | None = None
    headers: bytes = NO_HEADERS
    partition: int | None = None
    empty_is_null: bool = False
    null_marker: bytes | None = None

    @property
    def plain(self) -> bool:
        """Whether a line is a value just as it is."""
        return self.key_delimiter is None and not self.empty_is_null and self.null_marker is None


@dataclass(frozen=True, slots=True)
class ProduceResult:
    """``lines`` were read. ``failed`` records were refused or never sent; of ``unknown`` ones the brokers had
    not said anything when the run ended."""

    lines: int
    confirmed: int
    failed: int
    unknown: int
    bytes: int
    seconds: float
    error: KcliError | None
    input_error: KcliError | None = None


Progress = Callable[[int, int, int], None]
"""Called with bytes read, records confirmed and records failed so far."""


def produce(
    producer: Producer,
    topic: str,
    chunks: Iterable[Chunk],
    how: LineFormat,
    *,
    stop: Stop,
    progress: Progress,
) -> ProduceResult:
    """Sends all lines and waits for their confirmation; a stop ends the reading, then what is under way.

    Errors of the input end the reading too: what was read before is confirmed first, then they are reported.
    """
    started = time.monotonic()
    lines = read = 0
    input_error: KcliError | None = None
    too_long: KcliError | None = None
    totals = producer.totals
    stop.wake(producer.interrupt)
    try:
        for chunk in chunks:
            lines += len(chunk.lines) + chunk.refused
            if chunk.refused and too_long is None:
                too_long = line_too_long(chunk.first_refused, producer.options.max_request_size)
            read += chunk.size
            send(producer, topic, chunk.lines, how)
            if not chunk.more:
                producer.push()
            progress(read, totals.confirmed, totals.failed)
            if stop:
                break
    except ClosedError as error:
        if not stop:
            input_error = error
    except KcliError as error:
        input_error = error
    try:
        settle(producer, stop, lambda: progress(read, totals.confirmed, totals.failed))
    except KcliError as error:
        input_error = input_error or error
    progress(read, totals.confirmed, totals.failed)
    return ProduceResult(
        lines,
        totals.confirmed,
        lines - totals.confirmed - producer.outstanding,
        producer.outstanding,
        totals.bytes,
        time.monotonic() - started,
        totals.first_error or too_long,
        input_error,
    )


def line_too_long(number: int, longest: int) -> InputError:
    """The error for the first line that was left out."""
    return InputError(
        f"line {number} has more than {longest:,} bytes",
        why="it does not fit a record (max.request.size)",
        do="check the delimiter (-D), or raise -X max.request.size and the topic's max.message.bytes",
    )


def send(producer: Producer, topic: str, lines: Sequence[bytes], how: LineFormat) -> None:
    """Queues lines as records."""
    if how.plain:
        producer.send_lines(topic, lines, key=how.key, headers=how.headers, partition=how.partition)
        return
    keys: list[bytes | None]
    values: list[bytes | None]
    if how.key_delimiter is None:
        keys, values = [how.key] * len(lines), list(lines)
    else:
        delimiter = how.key_delimiter
        pairs = [line.partition(delimiter) for line in lines]
        keys = [key if found else how.key for key, found, _ in pairs]
        values = [value if found else key for key, found, value in pairs]
    producer.send_keyed(
        topic, _nulls(keys, how), _nulls(values, how), headers=how.headers, partition=how.partition
    )


def _nulls(values: list[bytes | None], how: LineFormat) -> list[bytes | None]:
    if how.empty_is_null:
        values = [value or None for value in values]
    if how.null_marker is not None:
        marker = how.null_marker
        values = [None if value == marker else value for value in values]
    return values


def settle(producer: Producer, stop: Stop, tick: Callable[[], None]) -> None:
    """Waits until everything is confirmed or has failed; after a stop only for a few seconds."""
    patience: float | None = None
    while not producer.flush(_TICK):
        tick()
        if stop:
            patience = patience or time.monotonic() + STOP_PATIENCE
            if time.monotonic() >= patience:
                return
