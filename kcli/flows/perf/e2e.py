"""From the producer to the consumer: each record is sent, stored, and received by a consumer of the same process.

Without a rate one record is in flight: the next is sent when the one before has been received, as in Kafka's tool. With a
rate a thread sends on a schedule (``load.py``), whatever has become of the records before.
"""

from __future__ import annotations

import time
from contextlib import ExitStack

from kcli.core.classes import dataclass
from kcli.core.consumer.consumer import Consumer
from kcli.core.errors import KcliError
from kcli.core.options import ConsumerOptions
from kcli.core.producer.producer import Producer
from kcli.flows.perf.deliveries import HandedOver
from kcli.flows.perf.failure import failure_of
from kcli.flows.perf.load import Load
from kcli.flows.perf.load_plan import LoadPart
from kcli.flows.perf.marks import prefix
from kcli.flows.perf.measurement import Measurement
from kcli.flows.perf.payload import Payload
from kcli.flows.perf.receptions import Receptions
from kcli.flows.perf.run_context import RunContext
from kcli.flows.perf.schedule import SLOT, Schedule
from kcli.flows.perf.topic_end import added_partitions, begin_at_end, read_to_end, shared_group

_LOOK = 0.1  # seconds between two looks at a request to stop
_STOP_PATIENCE = 4.0  # seconds for records in flight after a request to stop


@dataclass(frozen=True, slots=True)
class EndToEndPart:
    """``load``: what is sent; its plan has a run, and no other process. ``consumer``: with a group the consumer is its
    only member. ``patience``: seconds to wait for a record that was confirmed, until it counts as lost.
    """

    load: LoadPart
    consumer: ConsumerOptions
    patience: float = 10.0


def measure_end_to_end(part: EndToEndPart, context: RunContext) -> Measurement:
    """Runs the test to its end, or until it was stopped. Errors before the first record are raised."""
    plan = part.load.plan
    assert plan.run is not None
    payload = plan.payload()
    with ExitStack() as stack:
        consumer = stack.enter_context(Consumer(part.consumer, hooks=context.hooks))
        consumer.connect(part.load.timeout)
        begin_at_end(consumer, plan.topic, part.load.timeout)
        receptions = Receptions(prefix(plan.run, plan.number), payload.size_of, warmup=plan.warmup)
        producer = Producer(part.load.options, hooks=context.hooks, on_delivery=receptions.add)
        stack.callback(producer.close, timeout=0.0)
        producer.connect([plan.topic], part.load.timeout)
        kind = _OneByOne if plan.rate is None else _Scheduled
        return kind(part, payload, consumer, producer, receptions, context).measure()


class _SendAndReceive:
    """What both kinds share: receiving, and the end of the test."""

    def __init__(
        self,
        part: EndToEndPart,
        payload: Payload,
        consumer: Consumer,
        producer: Producer,
        receptions: Receptions,
        context: RunContext,
    ) -> None:
        self._plan, self._patience = part.load.plan, part.patience
        self._timeout = part.load.timeout
        self._payload = payload
        self._consumer = consumer
        self._producer = producer
        self._receptions = receptions
        self._context = context
        self._partitions = consumer.assignment
        self._heard = self._reported = 0.0
        self._used = 0.0

    def measure(self) -> Measurement:
        """Sends and receives; what was measured before an error is not lost."""
        receptions = self._receptions
        self._used = time.process_time()
        failure: KcliError | None = None
        try:
            self._send(self._context.begin())
            self._finish()
        except KcliError as error:
            if not receptions.decided:
                raise
            failure = error
        receptions.close()
        self._producer.close(timeout=0.0)
        self._report(last=True)
        found = self._end()
        if failure is not None:
            found.failure = found.failure or failure_of(failure)
        elif not (self._context.stopped() and receptions.missing):
            found.integrity = receptions.integrity()
        return found

    def _send(self, start: float) -> None:
        """Hands all records over."""
        raise NotImplementedError

    def _end(self) -> Measurement:
        found = self._receptions.end()
        found.cpu_seconds = time.process_time() - self._used
        return found

    def _receive(self, seconds: float) -> None:
        """Polls once."""
        batches = self._consumer.poll(seconds)
        now = time.monotonic()
        own = [self._receptions.receive(fetched, now) for fetched in batches]
        if any(own):
            self._heard = now  # records of others do not prolong the wait for a lost one
        if self._consumer.is_stable and self._consumer.assignment != self._partitions:
            raise shared_group(self._consumer, self._plan.topic, len(self._partitions))
        self._report()

    def _report(self, *, last: bool = False) -> None:
        now = time.monotonic()
        if last or now - self._reported >= _LOOK:
            self._reported = now
            self._context.report(self._receptions.drain())

    def _finish(self) -> None:
        """Waits until every record is confirmed or has failed, and every confirmed one was received; then reads what
        else is in the topic: a record may be there twice.
        """
        deadline = float("inf")
        while not self._producer.flush(0.0) and time.monotonic() < deadline:
            if self._context.stopped() and deadline == float("inf"):
                deadline = time.monotonic() + _STOP_PATIENCE
            self._receive(_LOOK)
        self._heard = time.monotonic()
        while self._receptions.missing and not self._gave_up():
            self._receive(_LOOK)
        if not self._context.stopped():
            read_to_end(self._consumer, self._timeout, self._receive, self._context.stopped)

    def _gave_up(self) -> bool:
        """Whether nothing has come for too long. What is in a partition that is not read is not lost: an error."""
        patience = min(self._patience, _STOP_PATIENCE) if self._context.stopped() else self._patience
        if time.monotonic() - self._heard < patience:
            return False
        topic, before = self._plan.topic, len(self._partitions)
        if (now := self._producer.partitions_of(topic)) > before:
            raise added_partitions(topic, now, before)
        return True


class _Scheduled(_SendAndReceive):
    """Records are sent at a rate."""

    def _send(self, start: float) -> None:
        plan = self._plan
        assert plan.rate is not None
        schedule = Schedule(start, plan.rate)
        together = max(1, int(SLOT / schedule.period))  # those count from when the first of them was due
        self._receptions.due = lambda number: schedule.intended(number - number % together)
        self._load = load = Load(plan, self._payload, self._producer, self._receptions)
        load.start(start)
        try:
            while not load.wait(0.0):
                self._receive(_LOOK)
                if self._context.stopped():
                    load.stop()
        except KcliError:
            load.stop()
            raise

    def _end(self) -> Measurement:
        return self._load.end()


class _OneByOne(_SendAndReceive):
    """A record is sent when the one before was received, or is given up."""

    def _send(self, start: float) -> None:  # noqa: ARG002 - a record is due when the one before has come
        plan, receptions = self._plan, self._receptions
        until, lost, sent = float("inf"), 0, 0
        receptions.due = self._due
        while (plan.records is None or sent < plan.records) and not self._context.stopped():
            now = time.monotonic()
            if now >= until or receptions.hopeless:
                return
            self._handed_over = now
            if sent == plan.warmup:
                receptions.begin(now)
                until = float("inf") if plan.seconds is None else now + plan.seconds
                self._used = time.process_time()
            self._hand_over(sent, now)
            sent += 1
            lost = self._wait_for(sent, lost)

    def _due(self, _number: int) -> float:
        return self._handed_over

    def _hand_over(self, number: int, now: float) -> None:
        line = self._payload.take(1)
        self._payload.number(line, number)
        origin = HandedOver(number, line.first, now, 0.0, number >= self._plan.warmup)
        self._heard = now
        try:
            self._producer.send_text(
                self._plan.topic,
                self._payload.text,
                start=line.start,
                end=line.end,
                delimiter=self._payload.delimiter,
                origin=origin,
            )
        except KcliError as error:
            self._receptions.refuse(1, error)

    def _wait_for(self, sent: int, lost: int) -> int:
        """Waits until the last record is decided, and received if it was confirmed; returns how many are missing now,
        of which ``lost`` were so before.
        """
        receptions = self._receptions
        while not self._context.stopped():
            if receptions.decided < sent:
                self._heard = time.monotonic()  # it may be stored any time: the producer knows for how long
            elif receptions.missing <= lost or self._gave_up():
                break
            if receptions.was_received(sent - 1):
                receptions.wait_decided(sent, _LOOK)
                self._receive(0.0)
            else:
                self._receive(_LOOK)
        return receptions.missing
