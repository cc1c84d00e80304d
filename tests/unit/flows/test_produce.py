"""Lines into records, and what became of them: counts, stops, errors of the input."""

from collections.abc import Iterator
from typing import Any

import pytest

from kcli.core.errors import BrokerError, BufferFullError, ClosedError, KcliError
from kcli.core.producer.producer import Totals
from kcli.flows import produce as module
from kcli.flows.produce import LineFormat, produce, send, settle
from kcli.flows.rows import Chunk, InputError
from kcli.flows.stop import Stop


class StandIn:
    """A producer that confirms a record at each flush, or everything at once, or nothing."""

    def __init__(self, *, flushes: int = 1, fail: int = 0) -> None:
        self.totals = Totals()
        self.lines: list[tuple[Any, ...]] = []
        self.keyed: list[tuple[Any, ...]] = []
        self.pushes = self.flushes = self.sent = 0
        self.needed, self.fail = flushes, fail
        self.full_after: int | None = None
        self.interrupted = False

    def send_lines(self, topic: str, values: list[bytes], **how: Any) -> None:
        if self.full_after is not None and self.sent >= self.full_after:
            raise ClosedError("stopped") if self.interrupted else BufferFullError("no room")
        self.lines.append((topic, list(values), how))
        self.sent += len(values)

    def send_keyed(self, topic: str, keys: list[Any], values: list[Any], **how: Any) -> None:
        self.keyed.append((topic, list(keys), list(values), how))
        self.sent += len(values)

    def push(self) -> None:
        self.pushes += 1

    def flush(self, timeout: float) -> bool:
        self.flushes += 1
        if self.flushes < self.needed:
            return False
        self.totals.failed = min(self.fail, self.sent)
        self.totals.confirmed = self.sent - self.totals.failed
        if self.totals.failed:
            self.totals.first_error = BrokerError(10, "produce to t-0")
        return True

    @property
    def outstanding(self) -> int:
        return self.sent - self.totals.confirmed - self.totals.failed

    def interrupt(self) -> None:
        self.interrupted = True


def chunk(*lines: bytes, first: int = 1, more: bool = False) -> Chunk:
    return Chunk(list(lines), first, sum(map(len, lines)) + len(lines), more)


def run(
    producer: StandIn, chunks: Any, how: LineFormat | None = None, stop: Stop | None = None, seen: Any = None
) -> Any:
    progress = (lambda *now: seen.append(now)) if seen is not None else (lambda *_: None)
    return produce(
        producer, "t", chunks, how or LineFormat(), stop=Stop() if stop is None else stop, progress=progress
    )  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds pass only by flushing."""
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now.__setitem__(0, now[0] + 0.1) or now[0])
    return now


def test_all_lines_are_sent_and_counted() -> None:
    producer = StandIn()
    result = run(producer, [chunk(b"a", b"b"), chunk(b"c", first=3)])
    assert [lines for _, lines, _ in producer.lines] == [[b"a", b"b"], [b"c"]]
    assert (result.lines, result.confirmed, result.failed, result.unknown) == (3, 3, 0, 0)
    assert result.error is None
    assert result.input_error is None


def test_no_input_is_no_error() -> None:
    result = run(StandIn(), [])
    assert (result.lines, result.confirmed, result.unknown, result.error) == (0, 0, 0, None)


def test_failures_are_counted_with_the_first_error() -> None:
    result = run(StandIn(fail=2), [chunk(b"a", b"b", b"c")])
    assert (result.lines, result.confirmed, result.failed, result.unknown) == (3, 1, 2, 0)
    assert isinstance(result.error, BrokerError)


def test_slow_input_is_pushed_on_and_fast_input_is_not() -> None:
    producer = StandIn()
    run(producer, [chunk(b"a", more=True), chunk(b"b", more=True), chunk(b"c")])
    assert producer.pushes == 1


def test_progress_is_told_while_reading_and_while_waiting() -> None:
    seen: list[Any] = []
    run(StandIn(flushes=3), [chunk(b"ab"), chunk(b"cd")], seen=seen)
    assert [size for size, _, _ in seen] == [3, 6, 6, 6, 6]


def test_what_was_read_before_an_input_error_is_confirmed_first() -> None:
    def broken() -> Iterator[Chunk]:
        yield chunk(b"a", b"b")
        raise InputError("cannot read stdin", why="Input/output error")

    result = run(StandIn(), broken())
    assert (result.lines, result.confirmed) == (2, 2)
    assert isinstance(result.input_error, InputError)
    assert result.error is None


def test_a_full_memory_ends_it_and_shows_what_was_not_sent() -> None:
    producer = StandIn()
    producer.full_after = 1
    result = run(producer, [chunk(b"a"), chunk(b"b", b"c", first=2), chunk(b"d", first=4)])
    assert (result.lines, result.confirmed, result.failed, result.unknown) == (3, 1, 2, 0)
    assert isinstance(result.input_error, BufferFullError)


def test_a_stop_ends_the_reading_and_confirms_what_is_under_way() -> None:
    stop, producer = Stop(), StandIn()

    def chunks() -> Iterator[Chunk]:
        yield chunk(b"a")
        stop.request()
        yield chunk(b"b", first=2)
        pytest.fail("it reads on after a stop")

    result = run(producer, chunks(), stop=stop)
    assert (result.lines, result.confirmed, result.unknown) == (2, 2, 0)


def test_a_stop_reaches_a_producer_that_waits_for_memory() -> None:
    stop, producer = Stop(), StandIn()
    producer.full_after = 1

    def chunks() -> Iterator[Chunk]:
        yield chunk(b"a")
        stop.request()
        yield chunk(b"b", first=2)

    result = run(producer, chunks(), stop=stop)
    assert producer.interrupted
    assert result.input_error is None  # the user knows that it was stopped
    assert (result.confirmed, result.failed, result.unknown) == (1, 1, 0)  # never sent


def test_after_a_stop_the_patience_is_short(clock: list[float]) -> None:
    stop = Stop()
    stop.request()
    producer = StandIn(flushes=10_000)
    settle(producer, stop, lambda: None)  # type: ignore[arg-type]
    assert module.STOP_PATIENCE <= clock[0] < 5.0


def test_without_a_stop_it_waits_as_long_as_it_takes(clock: list[float]) -> None:
    producer = StandIn(flushes=1000)
    settle(producer, Stop(), lambda: None)  # type: ignore[arg-type]
    assert producer.flushes == 1000


def test_a_dead_sender_ends_the_wait_with_its_error() -> None:
    class Dead(StandIn):
        def flush(self, timeout: float) -> bool:
            raise KcliError("the sender thread has died")

    with pytest.raises(KcliError, match="has died"):
        settle(Dead(), Stop(), lambda: None)  # type: ignore[arg-type]


# --- from a line to key and value ---------------------------------------------------------------------------------


def keyed(how: LineFormat, *lines: bytes) -> list[tuple[Any, Any]]:
    producer = StandIn()
    send(producer, "t", list(lines), how)  # type: ignore[arg-type]
    [(_, keys, values, _)] = producer.keyed
    return list(zip(keys, values, strict=True))


def test_a_plain_line_is_a_value() -> None:
    producer = StandIn()
    send(producer, "t", [b"a:b", b""], LineFormat(key=b"k", partition=3))  # type: ignore[arg-type]
    assert producer.lines == [("t", [b"a:b", b""], {"key": b"k", "headers": b"\0", "partition": 3})]


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        (b"k:v", b"k", b"v"),
        (b"k:v:w", b"k", b"v:w"),
        (b"k:", b"k", b""),
        (b":v", b"", b"v"),
        (b":", b"", b""),
        (b"no delimiter", None, b"no delimiter"),
        (b"", None, b""),
    ],
)
def test_a_key_is_what_stands_before_the_first_delimiter(
    line: bytes, key: bytes | None, value: bytes
) -> None:
    assert keyed(LineFormat(key_delimiter=b":"), line) == [(key, value)]


def test_a_line_without_a_delimiter_gets_the_key_of_all() -> None:
    assert keyed(LineFormat(key=b"all", key_delimiter=b":"), b"v", b"k:v") == [(b"all", b"v"), (b"k", b"v")]


def test_a_delimiter_may_have_several_bytes() -> None:
    assert keyed(LineFormat(key_delimiter=b"=>"), b"a=b=>c=>d") == [(b"a=b", b"c=>d")]


def test_empty_can_mean_null_in_keys_and_values() -> None:
    assert keyed(LineFormat(key_delimiter=b":", empty_is_null=True), b":", b"k:", b":v") == [
        (None, None),
        (b"k", None),
        (None, b"v"),
    ]


def test_a_marker_can_mean_null_and_empty_stays_empty() -> None:
    how = LineFormat(key_delimiter=b":", null_marker=b"NULL")
    assert keyed(how, b"NULL:NULL", b":", b"k:NULL NULL") == [(None, None), (b"", b""), (b"k", b"NULL NULL")]


@pytest.mark.parametrize(
    ("how", "plain"),
    [
        (LineFormat(), True),
        (LineFormat(key=b"k"), True),
        (LineFormat(key_delimiter=b":"), False),
        (LineFormat(empty_is_null=True), False),
        (LineFormat(null_marker=b"N"), False),
    ],
)
def test_which_formats_take_the_short_way(how: LineFormat, *, plain: bool) -> None:
    assert how.plain is plain
