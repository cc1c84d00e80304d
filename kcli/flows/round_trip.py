"""An end-to-end check: a file of lines is sent through a topic and read back, compared by digest.

One partition, so that the order is checked too.
"""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

from kcli.core.classes import dataclass
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.fetched import FetchedBatch
from kcli.core.consumer.subscription import Span
from kcli.core.hooks import NO_HOOKS, Hooks
from kcli.core.kernels import render_ops as op
from kcli.core.kernels.render_ops import Program
from kcli.core.options import ProducerOptions
from kcli.core.positions import OffsetSpec, RangeSpec
from kcli.core.producer.producer import Producer
from kcli.core.types import TopicPartition
from kcli.flows.consume.extent import GroupShare, Reading
from kcli.flows.consume.group_commits import GroupCommits
from kcli.flows.consume.run import ConsumeResult, consume
from kcli.flows.inputs.feed import Feed
from kcli.flows.inputs.input_format import InputFormat
from kcli.flows.produce.ack_tracker import AckTracker
from kcli.flows.produce.line_outcomes import Outcomes
from kcli.flows.produce.run import ProduceResult, ProduceRun, Sending
from kcli.flows.stop import Stop

_CHUNK_LINES = 10_000
_DIGITS = 10
_COMMIT_SECONDS = 5.0
_LINE: Program = ((op.BYTES, op.VALUE, op.RAW, b"", b""), (op.LITERAL, b"\n"))


@dataclass(frozen=True, slots=True)
class Written:
    """A file of generated lines; ``digest`` is the SHA-256 of its bytes."""

    lines: int
    size: int
    digest: str


def generate_lines(path: Path, lines: int, width: int, stop: Stop) -> Written:
    """Writes ``lines`` lines of ``width`` characters, all different, the same in each run."""
    digest = hashlib.sha256()
    with path.open("wb") as file:
        for first in range(0, lines, _CHUNK_LINES):
            if stop:
                break
            numbers = range(first, min(first + _CHUNK_LINES, lines))
            data = b"".join([_line(number, width) for number in numbers])
            digest.update(data)
            file.write(data)
    return Written(lines, path.stat().st_size, digest.hexdigest())


def line_number(line: bytes) -> int:
    """The number with which a generated line begins; −1 for a line that was not generated."""
    return int(line[:_DIGITS]) if line[:_DIGITS].isdigit() else -1


def _line(number: int, width: int) -> bytes:
    """The number, then digits of its multiple by a large odd constant: cheap, and different for each line."""
    seed = b"%020d" % (number * 0x9E3779B97F4A7C15 % 10**20)
    return (b"%010d " % number + seed * (width // 20 + 1))[:width] + b"\n"


def send_file(
    options: ProducerOptions,
    topic: str,
    path: Path,
    stop: Stop,
    progress: Callable[[int], None],
    *,
    hooks: Hooks = NO_HOOKS,
    timeout: float,
) -> ProduceResult:
    """Produces the lines of a file to partition 0; ``progress`` receives the number of records confirmed so far.

    ``timeout`` limits the first contact, in seconds.
    """
    tracker = AckTracker()
    outcomes = Outcomes(tracker, None)
    with Producer(options, hooks=hooks, on_delivery=outcomes.delivered) as producer:
        producer.connect([topic], timeout, timeout)
        form = InputFormat(longest=producer.options.max_request_size)
        run = ProduceRun(
            producer,
            Sending(topic, partition=0, longest=form.longest),
            stop=stop,
            progress=lambda _read, confirmed, _failed: progress(confirmed),
            tracker=tracker,
            outcomes=outcomes,
        )
        opened = lambda name: os.open(name, os.O_RDONLY | os.O_CLOEXEC)  # noqa: E731
        return run.run(Feed([str(path)], opened, form, stop, short=True).portions())


class DigestSink:
    """Receives the values as ``consume -o value`` would write them, and keeps only their digest."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()

    def batch(
        self,
        fetched: FetchedBatch,
        limit: int | None,
        selected: bytes | bytearray,  # noqa: ARG002 - a Sink's signature
    ) -> tuple[int, int]:
        """See Sink; nothing is filtered here."""
        batch, last = fetched.batch, -1
        if limit is None or limit >= batch.count:
            data, count = batch.values(fetched.first, fetched.stop - 1, b"\n", b"")
        else:
            data, count, last = batch.render(_LINE, fetched.first, fetched.stop - 1, limit=limit)
        self._digest.update(data)
        return count, last

    def flush(self) -> None:
        """Does nothing: nothing is buffered."""

    def check(self) -> None:
        """Does nothing: there is no output that could be closed."""

    @property
    def hexdigest(self) -> str:
        """The SHA-256 so far."""
        return self._digest.hexdigest()


def read_back(
    consumer: Consumer, topic: str, end: int, stop: Stop, progress: Callable[[int, int], None]
) -> tuple[ConsumeResult, str]:
    """Consumes partition 0 up to ``end``; returns the result and the digest of its lines."""
    sink = DigestSink()
    consumer.assign({TopicPartition(topic, 0): Span(0, end)})
    result = consume(
        consumer,
        Reading(consumer),
        sink,
        stop=stop,
        progress=lambda so_far: progress(so_far.records, so_far.bytes),
    )
    return result, sink.hexdigest


def read_in_group(
    consumer: Consumer,
    topic: str,
    records: int,
    stop: Stop,
    progress: Callable[[int, int], None],
    *,
    timeout: float,
    warn: Callable[[str], object],
) -> ConsumeResult:
    """Consumes ``records`` records as a member of the consumer's group, and commits the offset after them.

    ``warn`` receives failed commits that are repeated later; CommitFailedError if the last one fails.
    """
    commits = GroupCommits(consumer, interval=_COMMIT_SECONDS, enabled=True, warn=warn)
    share = GroupShare(
        consumer,
        RangeSpec(OffsetSpec("earliest")),
        commits,
        until_end=False,
        timeout=timeout,
        detail=lambda _text: None,
        warn=warn,
        failed=lambda error: warn(str(error)),
    )
    consumer.find_coordinator(timeout)
    share.begin([topic])
    return consume(
        consumer,
        share,
        DigestSink(),
        stop=stop,
        limit=records,
        progress=lambda so_far: progress(so_far.records, so_far.bytes),
    )
