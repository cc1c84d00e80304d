"""`kcli mirror`, killed at steps that a proxy before the target sees: a request that is not applied, or a response that
does not arrive.

A step holds one frame; the process is killed while it is held. Then the frame is dropped, or delivered: a process that is
gone cannot take back what it has written to a socket. ``LATE`` delivers it when the next process has its producer id.
"""

import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.end_txn import EndTxnRequest
from kcli.core.protocol.messages.init_producer_id import InitProducerIdRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.flows.mirror.topics.routes import STATE_TOPIC
from tests.proxy.exchange import BatchHead, Exchange, Fate
from tests.proxy.proxy import Proxy
from tests.proxy.rules import Hold
from tests.run import start

PATIENCE = 50.0
"""Seconds for a step to be reached, on a busy machine and with brokers that die. Less than the 60 after which a
transaction times out: no run has to wait for the end of what a kill left open.
"""
INTERVAL = 1.0
"""Seconds between two positions that are saved, or the length of a transaction."""
SLACK = 3.0
"""Seconds that the machine may take longer."""

DROP, DELIVER, LATE = "drop", "deliver", "late"
REQUEST, RESPONSE = "request", "response"
RECORDS, JOB, POSITION = "records", "job", "position"
"""What a Produce request carries; a run writes the record of the job first, and with each position it again."""


@dataclass(frozen=True)
class Step:
    """``nth`` is the range from which the number of the frame is chosen, from 1 on in each run.

    ``then``: what becomes of the frame after the kill. ``how``: ``none``: all such frames are held; ``begins``: only
    the first records of a transaction; ``arrives``: the response is delivered, and nothing after it; ``again``: the
    response is lost, and the kill is at the request that repeats it; ``stops``: while the frame is held the mirror is
    stopped by SIGTERM, and the kill is at the last thing that it does, its request or its response (``stop_at``).
    """

    name: str
    api: type[Request]
    at: str = REQUEST
    of: str = ""
    nth: tuple[int, int] = (1, 1)
    then: str = DROP
    how: str = ""
    stop_at: str = REQUEST


ANY = (1, 6)
POSITIONS = (1, 2)
COMMITS = (2, 3)
"""The first EndTxn of a run commits the record of the job."""
EXACTLY_ONCE = (
    Step("fetched", ProduceRequest, of=RECORDS, how="none"),
    Step("transaction begun", ProduceRequest, RESPONSE, RECORDS, POSITIONS, how="begins"),
    Step("records sent", ProduceRequest, of=RECORDS, nth=ANY, then=DELIVER),
    Step("initialising", InitProducerIdRequest),
    Step("acknowledged", ProduceRequest, RESPONSE, RECORDS, ANY, how="arrives"),
    Step("records sent, arrive late", ProduceRequest, of=RECORDS, nth=ANY, then=LATE),
    Step("before the position", ProduceRequest, of=POSITION, nth=POSITIONS),
    Step("position sent", ProduceRequest, of=POSITION, nth=POSITIONS, then=DELIVER),
    Step("position written", ProduceRequest, RESPONSE, POSITION, POSITIONS),
    Step("initialised", InitProducerIdRequest, RESPONSE),
    Step("EndTxn sent", EndTxnRequest, nth=COMMITS, then=DELIVER),
    Step("EndTxn sent, arrives late", EndTxnRequest, nth=COMMITS, then=LATE),
    Step("EndTxn, response lost", EndTxnRequest, RESPONSE, nth=COMMITS),
    Step("EndTxn, response lost, sent again", EndTxnRequest, RESPONSE, nth=COMMITS, how="again"),
    Step("stopping", ProduceRequest, RESPONSE, RECORDS, ANY, how="stops"),
)
AT_LEAST_ONCE = (
    Step("fetched", ProduceRequest, of=RECORDS, how="none"),
    Step("records sent", ProduceRequest, of=RECORDS, nth=ANY, then=DELIVER),
    Step("initialising", InitProducerIdRequest),
    Step("acknowledged", ProduceRequest, RESPONSE, RECORDS, ANY, how="arrives"),
    Step("records, response lost", ProduceRequest, RESPONSE, RECORDS, ANY),
    Step("records, response lost, sent again", ProduceRequest, RESPONSE, RECORDS, ANY, how="again"),
    Step("records sent, arrive late", ProduceRequest, of=RECORDS, nth=ANY, then=LATE),
    Step("before the job's record", ProduceRequest, of=JOB),
    Step("before the position", ProduceRequest, of=POSITION, nth=POSITIONS),
    Step("position sent", ProduceRequest, of=POSITION, nth=POSITIONS, then=DELIVER),
    Step("position written", ProduceRequest, RESPONSE, POSITION, POSITIONS),
    Step("initialised", InitProducerIdRequest, RESPONSE),
    Step("position, response lost, sent again", ProduceRequest, RESPONSE, POSITION, POSITIONS, how="again"),
    Step("stopping, before the position", ProduceRequest, RESPONSE, RECORDS, ANY, how="stops"),
    Step("stopping, position written", ProduceRequest, RESPONSE, RECORDS, ANY, how="stops", stop_at=RESPONSE),
)


@dataclass
class Run:
    """One process, and the time from which on the proxy's record is about it."""

    number: int
    process: "subprocess.Popen[bytes]"
    began: float
    output: Path
    killed: float = 0.0

    def said(self) -> str:
        """The end of its stderr."""
        return self.output.read_text(errors="replace")[-2_000:]


@dataclass
class Mirror:
    """The same command again and again; leaving it kills what still runs. ``target_topic``: where the records go."""

    command: list[str]
    proxy: Proxy
    target_topic: str
    exactly_once: bool
    rng: random.Random
    folder: Path
    runs: list[Run] = field(default_factory=list)
    _late: Hold | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        for run in self.runs:
            if run.process.poll() is None:
                self.kill(run)

    # --- a process -----------------------------------------------------------------------------------

    def start(self, *more: str) -> Run:
        """Starts the command, with more options."""
        number = len(self.runs) + 1
        output = self.folder / f"mirror-{number}.err"
        with output.open("wb") as file:
            process = start(*self.command, *more, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
        run = Run(number, process, time.monotonic(), output)
        self.runs.append(run)
        return run

    def kill(self, run: Run) -> None:
        """SIGKILL, and waits until it is gone."""
        run.killed = time.monotonic()
        run.process.kill()
        run.process.wait(PATIENCE)

    def stop(self, run: Run) -> None:
        """SIGTERM, as a user stops it."""
        run.process.send_signal(signal.SIGTERM)
        assert run.process.wait(PATIENCE) == 128 + signal.SIGTERM, run.said()
        assert "\nkcli: " not in run.said(), f"an error of a partition: {run.said()}"

    def finish(self) -> Run:
        """The command, until everything is copied."""
        run = self.start("--until-caught-up")
        self.deliver_late_frame(run)
        assert run.process.wait(PATIENCE) == 0, run.said()
        return run

    def wait(self, run: Run, found: Callable[[], Any], what: str) -> None:
        """Returns when ``found`` is true; the run must not end before."""
        deadline = time.monotonic() + PATIENCE
        while not found():
            assert run.process.poll() is None, f"run {run.number} ended, waiting for {what}: {run.said()}"
            assert time.monotonic() < deadline, (
                f"run {run.number}: no {what}: {run.said()}\n{self.proxy.tell(30)}"
            )
            time.sleep(0.02)

    def deliver_late_frame(self, run: Run) -> None:
        """Delivers what an earlier process wrote, when this one has its producer id."""
        if self._late is not None:
            self.wait(run, lambda: self.answered(run, InitProducerIdRequest), "producer id")
            self._deliver(self._late)
            self._late = None

    # --- a kill --------------------------------------------------------------------------------------

    def kill_at(self, step: Step) -> Run:
        """Starts the command and kills it at the step."""
        nth = self.rng.randint(*step.nth)
        hold = self._hold(step, nth)
        run = self.start()
        self.deliver_late_frame(run)
        self.wait(run, lambda: hold.held, step.name)
        if step.how == "arrives":
            self._kill_when_it_arrived(run, hold)
        elif step.how == "stops":
            self._kill_when_it_stops(run, step, hold)
        else:
            self.kill(run)
        if step.then == LATE:
            self._late = hold
        elif step.then == DELIVER:
            self._deliver(hold)
        else:
            hold.drop()
        return run

    def _hold(self, step: Step, nth: int) -> Hold:
        concerns = self._concerns(step.of)
        if step.how == "none":
            return self.proxy.hold(step.api, step.at, times=1_000, when=concerns)
        if step.how == "again":
            lost = self.proxy.swallow(step.api, nth=nth, when=concerns)
            return self.proxy.hold(step.api, REQUEST, when=lambda one: bool(lost.hits) and self._repeats(one))
        if step.how == "begins":
            return self.proxy.hold(
                step.api, step.at, nth=nth, when=lambda one: concerns(one) and self._begins_transaction(one)
            )
        return self.proxy.hold(step.api, step.at, nth=nth, when=concerns)

    def _kill_when_it_arrived(self, run: Run, hold: Hold) -> None:
        """Delivers the response, and lets nothing through that follows from it."""
        rest = [self._hold_all(ProduceRequest), self._hold_all(EndTxnRequest)]
        hold.release()
        self.wait(run, lambda: hold.held[0].fate is Fate.ANSWERED, "delivery of a response")
        self.kill(run)
        for one in rest:
            one.drop()

    def _kill_when_it_stops(self, run: Run, step: Step, hold: Hold) -> None:
        """SIGTERM while records are not confirmed; the kill is at what the mirror does last."""
        api, of = (EndTxnRequest, "") if self.exactly_once else (ProduceRequest, POSITION)
        run.process.send_signal(signal.SIGTERM)
        self.wait(run, lambda: not _is_pending(run.process.pid, signal.SIGTERM), "the signal")
        last = self.proxy.hold(api, step.stop_at, when=self._concerns(of))
        hold.release()
        self.wait(run, lambda: last.held, step.name)
        self.kill(run)
        last.drop()

    def _hold_all(self, api: type[Request]) -> Hold:
        return self.proxy.hold(api, REQUEST, times=1_000)

    def _deliver(self, hold: Hold) -> None:
        """Lets the frame go on, and waits until the broker has answered it."""
        hold.release()
        exchange = hold.held[0]
        self.proxy.wait_for(lambda: exchange.answered_at, PATIENCE, "a response to a dead client")

    # --- what the proxy has seen ---------------------------------------------------------------------

    def _concerns(self, of: str) -> Callable[[Exchange], bool]:
        def carries(batch: BatchHead) -> bool:
            if of == RECORDS:
                return batch.topic == self.target_topic
            return batch.topic == STATE_TOPIC and (batch.count > 1) == (of == POSITION)

        return lambda one: not of or any(map(carries, one.batches))

    def _repeats(self, exchange: Exchange) -> bool:
        """Whether it is sent again since its response was lost."""
        batches = {batch.place for batch in exchange.batches}
        lost = [one for one in self.proxy.exchanges(exchange.api) if one.swallowed]
        return bool(lost) and (not batches or bool(batches & {batch.place for batch in lost[-1].batches}))

    def _begins_transaction(self, exchange: Exchange) -> bool:
        """Whether no records were sent since the end of the transaction before."""
        for one in reversed(self.proxy.exchanges()):
            if one.at >= exchange.at:
                continue
            if one.is_for(EndTxnRequest) or one.is_for(InitProducerIdRequest):
                return True
            if one.is_for(ProduceRequest) and self._concerns(RECORDS)(one):
                return False
        return True

    def answered(self, run: Run, api: type[Request], of: str = "") -> list[Exchange]:
        """Requests of the run that the broker has answered without an error."""
        return [
            one
            for one in self._sent(run, api, of)
            if one.answered_at is not None and not any(one.errors.values())
        ]

    def all_stored_since(self, run: Run, partitions: Iterable[int], since: float) -> bool:
        """Whether records of all these partitions that were sent after ``since`` are stored."""
        stored = {
            partition
            for one in self.answered(run, ProduceRequest, RECORDS)
            if one.at > since
            for topic, partition in one.errors
            if topic == self.target_topic
        }
        return stored.issuperset(partitions)

    def unsaved(self, run: Run) -> int:
        """The records that a killed run may leave to be copied again: those that were sent, or not yet confirmed, within
        one interval before its last position, and everything since. All of them, where it wrote no position.
        """
        positions = self.answered(run, ProduceRequest, POSITION)
        since = positions[-1].at - INTERVAL if positions else run.began
        return sum(
            batch.count
            for one in self._sent(run, ProduceRequest, RECORDS)
            if one.reached and (one.at >= since or one.over_at is None or one.over_at >= since)
            for batch in one.batches
            if batch.topic == self.target_topic
        )

    def age(self, run: Run) -> float:
        """Seconds from the last position that the run wrote, else from its first records, to its kill."""
        written = (
            self.answered(run, ProduceRequest, POSITION)[-1:] or self._sent(run, ProduceRequest, RECORDS)[:1]
        )
        return run.killed - written[0].at if written else 0.0

    def _sent(self, run: Run, api: type[Request], of: str) -> list[Exchange]:
        """Until the next run: the proxy may read what a process has written only after its kill."""
        concerns = self._concerns(of)
        until = self.runs[run.number].began if run.number < len(self.runs) else time.monotonic()
        return [one for one in self.proxy.exchanges(api) if run.began <= one.at <= until and concerns(one)]


def _is_pending(pid: int, number: signal.Signals) -> bool:
    """Whether a signal was sent to the process and not delivered yet."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        name, _, mask = line.partition(":")
        if name in ("SigPnd", "ShdPnd") and int(mask, 16) >> (number - 1) & 1:
            return True
    return False
