"""Input into records, and what became of each line: counts, stops, errors, what a later run would begin at."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.core.errors import BrokerError, BufferFullError, ClosedError, KcliError, OutcomeUnknownError
from kcli.core.producer.origins import OriginRows
from kcli.core.producer.report import Report, Totals
from kcli.core.types import TopicPartition
from kcli.flows.inputs.feed import Feed, Portion
from kcli.flows.inputs.input_format import InputFormat
from kcli.flows.inputs.item import InputError, RowChunk, TextChunk
from kcli.flows.inputs.lines import LineFormat
from kcli.flows.produce import run as module
from kcli.flows.produce.ack_tracker import AckTracker
from kcli.flows.produce.failed_file import FailedFile
from kcli.flows.produce.line_outcomes import Outcomes
from kcli.flows.produce.run import ProduceResult, ProduceRun, Sending, wait_for_confirmations
from kcli.flows.stop import Stop


class StandIn:
    """A producer that settles everything at its n-th flush; ``refuse(value)`` says what brokers do not take."""

    def __init__(self, *, flushes: int = 1, refuse: Any = lambda _value: False) -> None:
        self.totals = Totals()
        self.sent: list[tuple[Any, ...]] = []
        self.origins: list[tuple[Any, int]] = []
        self.pushes = self.flushes = 0
        self.needed, self.refuse = flushes, refuse
        self.full_after: int | None = None
        self.interrupted = False
        self.told: Any = None
        self.at_close: KcliError = ClosedError("the producer was closed")

    def send_text(self, topic: str, text: bytes, *, start: int, end: int, origin: Any, **how: Any) -> int:
        lines = bytes(text[start:end]).split(how["delimiter"])
        lines = lines if lines[-1] else lines[:-1]
        self._queue([(None, line) for line in lines], origin, 0)
        self.pushes += how["push"]
        return len(lines)

    def send_rows(self, topic: str, rows: Any, *, origin: Any, first_row: int, **_how: Any) -> None:
        self._queue([(key, value) for key, value, _, _ in rows], origin, first_row)

    def _queue(self, records: Any, origin: Any, first_row: int) -> None:
        for at, record in enumerate(records):
            try:
                self._room()
            except KcliError as error:
                if not at:
                    raise
                rows = range(first_row + at, first_row + len(records))
                self.told(
                    Report(TopicPartition("t", -1), len(rows), 0, -1, error, [OriginRows(0, origin, rows)])
                )
                return
            self.sent.append(record)
            self.origins.append((origin, first_row + at))

    def _room(self) -> None:
        if self.full_after is not None and len(self.sent) >= self.full_after:
            raise ClosedError("stopped") if self.interrupted else BufferFullError("no room")

    def push(self) -> None:
        self.pushes += 1

    def flush(self, _timeout: float) -> bool:
        self.flushes += 1
        if self.flushes < self.needed:
            return False
        done = self.totals.confirmed + self.totals.failed
        for (_, value), (chunk, row) in list(zip(self.sent, self.origins, strict=True))[done:]:
            error = BrokerError(10, "produce to t-0") if self.refuse(value) else None
            report = Report(
                TopicPartition("t", 0), 1, 1, 0, error, [OriginRows(0, chunk, range(row, row + 1))]
            )
            self.totals.add_report(report)
            self.told(report)
        return True

    @property
    def outstanding(self) -> int:
        return len(self.sent) - self.totals.confirmed - self.totals.failed

    def interrupt(self) -> None:
        self.interrupted = True

    def close(self, timeout: float) -> None:
        """What is left is never sent."""
        done = self.totals.confirmed + self.totals.failed
        for chunk, row in self.origins[done:]:
            origins = [OriginRows(0, chunk, range(row, row + 1))]
            self.told(Report(TopicPartition("t", 0), 1, 1, -1, self.at_close, origins))


class Trial:
    """A run over files in ``folder``."""

    def __init__(
        self, folder: Path, producer: StandIn, *, stop: Stop | None = None, failed: bool = False
    ) -> None:
        self.folder, self.producer, self.stop = folder, producer, stop or Stop()
        self.tracker = AckTracker()
        self.file = FailedFile(str(folder / "failed"), "lines", several=False) if failed else None
        self.warned: list[str] = []
        self.outcomes = Outcomes(self.tracker, self.file, self.warned.append)
        producer.told = self.outcomes.delivered
        self.seen: list[tuple[int, int, int]] = []

    def run(self, portions: Any, **sending: Any) -> ProduceResult:
        run = ProduceRun(
            self.producer,  # type: ignore[arg-type]
            Sending("t", **sending),
            stop=self.stop,
            progress=lambda *now: self.seen.append(now),
            tracker=self.tracker,
            outcomes=self.outcomes,
        )
        return run.run(portions)

    def feed(
        self, data: bytes, kind: str = "lines", *, short: bool = True, keep: bool = True
    ) -> Iterator[Portion]:
        (self.folder / "input").write_bytes(data)
        form = InputFormat(kind, LineFormat(key_delimiter=None if short else b":"), longest=100, keep=keep)
        opened = lambda name: os.open(name, os.O_RDONLY)  # noqa: E731
        return Feed([str(self.folder / "input")], opened, form, self.stop, short=short).portions()

    def failed(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / "failed").read_bytes().splitlines()]


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds pass only by looking at the clock."""
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now.__setitem__(0, now[0] + 0.1) or now[0])
    return now


def test_all_lines_are_sent_and_counted(tmp_path: Path) -> None:
    trial = Trial(tmp_path, StandIn())
    result = trial.run(trial.feed(b"a\nb\nc"))
    assert trial.producer.sent == [(None, b"a"), (None, b"b"), (None, b"c")]
    assert (result.lines, result.confirmed, result.failed, result.unknown) == (3, 3, 0, 0)
    assert (result.error, result.input_error, result.first_bad) == (None, None, None)
    assert trial.tracker.position().unit == 3


def test_rows_go_with_their_keys(tmp_path: Path) -> None:
    trial = Trial(tmp_path, StandIn())
    result = trial.run(trial.feed(b"a:1\nb\n", short=False))
    assert trial.producer.sent == [(b"a", b"1"), (None, b"b")]
    assert result.confirmed == 2


def test_no_input_is_no_error(tmp_path: Path) -> None:
    trial = Trial(tmp_path, StandIn())
    result = trial.run([])
    assert (result.lines, result.confirmed, result.unknown, result.error) == (0, 0, 0, None)


@pytest.mark.case("C9")
def test_failures_are_written_down_with_line_and_reason(tmp_path: Path) -> None:
    trial = Trial(tmp_path, StandIn(refuse=lambda v: v.startswith(b"x")), failed=True)
    result = trial.run(trial.feed(b"a\nx1\nb\nx\xff\n"))
    assert (result.lines, result.confirmed, result.failed, result.error_line) == (4, 2, 2, 2)
    assert isinstance(result.error, BrokerError)
    first, second = trial.failed()
    assert (first["line"], first["code"], first["input"], first["format"]) == (
        2,
        "MESSAGE_TOO_LARGE",
        "x1",
        "lines",
    )
    assert (second["line"], second["input"], second["input_encoding"]) == (4, "eP8=", "base64")
    assert trial.tracker.position().unit == 4


def test_unrecorded_failures_are_where_a_later_run_begins(tmp_path: Path) -> None:
    trial = Trial(tmp_path, StandIn(refuse=lambda v: v == b"c"))
    trial.run(trial.feed(b"a\nb\nc\nd\n"))
    assert trial.tracker.position().unit == 2


@pytest.mark.case("C8")
def test_bad_input_is_reported_and_written_down_and_the_rest_is_sent(tmp_path: Path) -> None:
    trial = Trial(tmp_path, StandIn(), failed=True)
    lines = [b'{"value":"%d"}' % i for i in range(20)]
    lines[3] = b"{bad"
    result = trial.run(trial.feed(b"\n".join(lines), "ndjson", short=False))
    assert (result.lines, result.confirmed, result.failed, result.bad) == (20, 19, 1, 1)
    assert "line 4 of" in trial.warned[0]
    assert "column 2" in trial.warned[0]
    assert [(f["line"], f["code"], f["input"]) for f in trial.failed()] == [(4, "BAD_INPUT", "{bad")]
    assert trial.tracker.position().unit == 20


def test_bad_input_ends_the_run_where_that_is_requested(tmp_path: Path) -> None:
    trial = Trial(tmp_path, StandIn())
    data = b'{"value":"a"}\n{"value":"b"}\n{bad\n{"value":"c"}\n'
    result = trial.run(trial.feed(data, "ndjson", short=False), stop_at_bad=True)
    assert (result.lines, result.confirmed) == (2, 2)
    assert isinstance(result.input_error, InputError)
    assert "line 3" in str(result.input_error)
    assert trial.tracker.position().unit == 2


def test_slow_input_is_pushed_on_and_fast_input_is_not(tmp_path: Path) -> None:
    trial = Trial(tmp_path, StandIn())
    portions = list(trial.feed(b"a:b\n", short=False))
    portions[0].more = True
    trial.run(portions)
    assert trial.producer.pushes == 0
    trial.run(trial.feed(b"a\n"))
    assert trial.producer.pushes == 1


def test_progress_is_reported_while_reading_and_while_waiting(tmp_path: Path) -> None:
    trial = Trial(tmp_path, StandIn(flushes=3))
    trial.run(trial.feed(b"ab\ncd\n"))
    assert [size for size, _, _ in trial.seen] == [6, 6, 6, 6]


@pytest.mark.case("C6")
def test_what_was_read_before_an_input_error_is_confirmed_first(tmp_path: Path) -> None:
    trial = Trial(tmp_path, StandIn())

    def broken() -> Iterator[Portion]:
        yield from trial.feed(b"a\nb\n")
        raise InputError("cannot read stdin", why="Input/output error")

    result = trial.run(broken())
    assert (result.lines, result.confirmed) == (2, 2)
    assert isinstance(result.input_error, InputError)
    assert result.error is None


def test_a_copy_that_cannot_be_written_ends_the_reading(tmp_path: Path) -> None:
    trial = Trial(tmp_path, StandIn())

    def broken() -> Iterator[Portion]:
        yield from trial.feed(b"a\nb\n")
        raise BrokenPipeError(32, "Broken pipe")

    result = trial.run(broken())
    assert result.confirmed == 2
    assert isinstance(result.output_error, BrokenPipeError)


def test_a_full_memory_ends_it_and_shows_what_was_not_sent(tmp_path: Path) -> None:
    producer = StandIn()
    producer.full_after = 1
    trial = Trial(tmp_path, producer)
    result = trial.run(trial.feed(b"a\nb\nc\n"))
    assert (result.lines, result.confirmed, result.failed, result.unknown) == (3, 1, 2, 0)
    assert isinstance(result.error, BufferFullError)
    assert trial.tracker.position().unit == 1


def test_a_stop_ends_the_reading_and_confirms_what_is_in_flight(tmp_path: Path) -> None:
    trial = Trial(tmp_path, StandIn())

    def portions() -> Iterator[Portion]:
        yield from trial.feed(b"a\n")
        trial.stop.request()
        yield Portion()
        pytest.fail("it reads on after a stop")

    result = trial.run(portions())
    assert (result.lines, result.confirmed, result.unknown) == (1, 1, 0)


@pytest.mark.case("P18")
@pytest.mark.parametrize("short", [True, False])
def test_a_stop_reaches_a_producer_that_waits_for_memory(tmp_path: Path, *, short: bool) -> None:
    producer = StandIn()
    producer.full_after = 1
    trial = Trial(tmp_path, producer)
    portions = list(trial.feed(b"a\nb\n", short=short))
    trial.stop.wake(lambda: None)

    def stopped() -> Iterator[Portion]:
        trial.stop.request()
        yield from portions

    result = trial.run(stopped())
    assert result.input_error is None  # the user knows that it was stopped
    assert (result.lines, result.confirmed, result.failed, result.unknown) == (
        1,
        1,
        0,
        0,
    )  # the other was not read
    assert trial.tracker.position().unit == 1


def test_after_a_stop_the_patience_is_short(clock: list[float]) -> None:
    stop = Stop()
    stop.request()
    wait_for_confirmations(StandIn(flushes=10_000), stop, lambda: None)  # type: ignore[arg-type]
    assert module.STOP_PATIENCE <= clock[0] < 5.0


def test_without_a_stop_it_waits_as_long_as_it_takes() -> None:
    producer = StandIn(flushes=1000)
    producer.told = lambda _: None
    wait_for_confirmations(producer, Stop(), lambda: None)  # type: ignore[arg-type]
    assert producer.flushes == 1000


def test_a_dead_sender_ends_the_wait_with_its_error(tmp_path: Path) -> None:
    class Dead(StandIn):
        def flush(self, _timeout: float) -> bool:
            raise KcliError("the sender thread has died")

    trial = Trial(tmp_path, Dead())
    result = trial.run(trial.feed(b"a\n"))
    assert "has died" in str(result.input_error)
    assert result.unknown == 1


def test_chunks_say_what_their_rows_were(tmp_path: Path) -> None:
    trial = Trial(tmp_path, StandIn())
    trial.run(trial.feed(b"a\nb\n"))
    chunk = trial.producer.origins[0][0]
    assert isinstance(chunk, TextChunk)
    assert [(chunk.line(row), chunk.unit(row), chunk.raw(row)) for row in range(2)] == [
        (1, 0, b"a"),
        (2, 1, b"b"),
    ]
    [portion] = trial.feed(b'{"value":"a"}\n{\n\n{"value":"b"}\n', "ndjson", short=False)
    assert isinstance(portion.chunk, RowChunk)
    assert [(portion.chunk.line(row), portion.chunk.unit(row)) for row in range(2)] == [(1, 0), (4, 2)]


def test_a_bad_line_that_was_corrected_does_not_make_a_checkpoint_refuse_the_input(tmp_path: Path) -> None:
    """The checksum is of what precedes the bad line, which the user is asked to change."""
    trial = Trial(tmp_path, StandIn())
    data = b'{"value":"a"}\n{bad\n'
    form = InputFormat("ndjson")
    (tmp_path / "input").write_bytes(data)
    opened = lambda name: os.open(name, os.O_RDONLY)  # noqa: E731
    feed = Feed([str(tmp_path / "input")], opened, form, trial.stop, fingerprints=True)
    trial.run(feed.portions(), stop_at_bad=True)
    position = trial.tracker.position()
    assert (position.unit, position.offset) == (1, 0)


def test_rows_that_a_stop_left_in_the_producer_are_written_down(tmp_path: Path) -> None:
    """Nobody reads the input again: whether they are stored is unknown, or they were never sent."""
    for error, counts in (
        (OutcomeUnknownError("no answer"), (0, 3)),
        (ClosedError("the producer was closed"), (3, 0)),
    ):
        folder = tmp_path / type(error).__name__
        folder.mkdir()
        producer = StandIn(flushes=10_000)
        producer.at_close = error
        trial = Trial(folder, producer, failed=True)

        def stopped(trial: Trial = trial) -> Iterator[Portion]:
            yield from trial.feed(b"a\nb\nc\n")
            trial.stop.request()

        result = trial.run(stopped())
        assert (result.lines, result.confirmed, result.failed, result.unknown) == (3, 0, *counts)
        assert [entry["line"] for entry in trial.failed()] == [1, 2, 3]
        assert trial.tracker.position().unit == 3


def test_rows_that_a_stop_left_in_the_producer_are_left_to_the_run_that_resumes(tmp_path: Path) -> None:
    for error, counts in (
        (OutcomeUnknownError("no answer"), (3, 3)),
        (ClosedError("the producer was closed"), (0, 0)),
    ):
        folder = tmp_path / type(error).__name__
        folder.mkdir()
        producer = StandIn(flushes=10_000)
        producer.at_close = error
        trial = Trial(folder, producer, failed=True)
        trial.outcomes = Outcomes(trial.tracker, trial.file, resumable=True)
        producer.told = trial.outcomes.delivered

        def stopped(trial: Trial = trial) -> Iterator[Portion]:
            yield from trial.feed(b"a\nb\nc\n")
            trial.stop.request()

        result = trial.run(stopped())
        assert (result.lines, result.unknown) == counts
        assert (result.confirmed, result.failed) == (0, 0)
        assert trial.failed() == []
        assert trial.tracker.position().unit == 0


def test_what_the_producer_does_not_take_is_written_down_with_what_ended_the_run(tmp_path: Path) -> None:
    producer = StandIn()
    producer.full_after = 2
    trial = Trial(tmp_path, producer, failed=True)
    result = trial.run(
        portion for data in (b"a\nb\n", b"c\nd\n") for portion in trial.feed(data, short=False)
    )
    assert (result.lines, result.confirmed, result.failed, result.unknown) == (4, 2, 2, 0)
    assert isinstance(result.input_error, BufferFullError)
    assert [entry["input"] for entry in trial.failed()] == ["c", "d"]


def test_a_failed_file_that_is_full_ends_the_run_and_every_line_is_counted(tmp_path: Path) -> None:
    trial = Trial(tmp_path, StandIn(refuse=lambda v: v != b"a"))
    trial.outcomes = Outcomes(trial.tracker, FailedFile("/dev/full", "lines", several=False))
    trial.producer.told = trial.outcomes.delivered
    result = trial.run(trial.feed(b"a\nb\nc\nd\n"))
    assert (result.lines, result.confirmed, result.failed, result.unknown) == (4, 1, 3, 0)
    assert "cannot write /dev/full" in str(result.input_error)
    assert trial.tracker.position().unit == 1
