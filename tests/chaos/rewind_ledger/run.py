"""One cell from its members' first join to the judgement."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from kcli.core import Admin
from kcli.core.errors import KcliError
from kcli.core.types import OffsetAndMetadata, TopicSpec
from tests.chaos.rewind_ledger.cells import AT_LATE_COMMIT, Cell, Event
from tests.chaos.rewind_ledger.flow import Flow
from tests.chaos.rewind_ledger.judge import TAIL, Fact, judge
from tests.chaos.rewind_ledger.team import Team, now
from tests.kafka import Kafka

READY, HANG, LAST = 70.0, 150.0, 45.0
"""Seconds for a group to get to work; that a rewind may take; and for its partitions to be read in the end."""
_LOOK = 0.05
_SIGNALS = {"kill": signal.SIGKILL, "terminate": signal.SIGTERM, "stop": signal.SIGSTOP}


class VoidError(Exception):
    """The cell did not come to its rewind; nothing can be said."""


@dataclass(frozen=True)
class Judged:
    """One partition: what the rewind reported, and what was the case."""

    partition: int
    status: str
    fact: Fact
    committed: int | None = None
    new: int | None = None


@dataclass
class Outcome:
    """What became of a cell. ``void``: why it did not come to its rewind."""

    cell: Cell
    judged: list[Judged] = field(default_factory=list)
    code: int | None = None
    seconds: float = 0.0
    rewind_seconds: float = 0.0
    void: str = ""
    error: str = ""
    notes: list[str] = field(default_factory=list)

    @property
    def faults(self) -> list[str]:
        """What must not be."""
        found = [
            f"partition {one.partition} reported held and was not: {one.fact.why}"
            for one in self.judged
            if one.status == "held" and one.fact.held is False
        ]
        if self.code is None and not self.void:
            found.append(f"the rewind did not end in {HANG:.0f} s")
        sure = ("held", "done", "unchanged")  # without held: nobody was there
        if self.code == 0 and any(one.status not in sure for one in self.judged):
            found.append("exit status 0 though not every partition was held")
        return found


def run_cell(kafka: Kafka, flow: Flow, cell: Cell, kcli: Sequence[str], keep: Path | None = None) -> Outcome:
    """``kcli``: the command under test. ``keep``: a folder for everything that was heard."""
    outcome, began = Outcome(cell), now()
    topic = kafka.unused_name(f"rewinds{cell.number}")
    run = _Run(kafka, flow, cell, topic, outcome)
    try:
        with Admin(bootstrap_servers=kafka.bootstrap) as admin:
            _raise(admin.create_topics([TopicSpec(topic, partitions=cell.partitions)]))
        run.go(kcli)
    except Exception as error:  # noqa: BLE001 - one cell must not end the others
        outcome.void = f"{type(error).__name__}: {error}"
    finally:
        flow.stop(topic)
        run.team.end()
        outcome.notes += run.team.notes
        outcome.seconds = now() - began
    if keep:
        keep.mkdir(parents=True, exist_ok=True)
        log = [str(cell), *run.marks, *run.team.ledger.lines, *map(str, outcome.judged), outcome.void]
        (keep / f"cell-{cell.number}.txt").write_text("\n".join(log) + "\n")
    with suppress(KcliError), Admin(bootstrap_servers=kafka.bootstrap) as admin:
        admin.delete_topics([topic])
    return outcome


def _raise(done: dict[str, KcliError | None]) -> None:
    for error in done.values():
        if error is not None:
            raise error


class _Run:
    def __init__(self, kafka: Kafka, flow: Flow, cell: Cell, topic: str, outcome: Outcome) -> None:
        self._kafka, self._flow, self._cell, self._topic, self._outcome = kafka, flow, cell, topic, outcome
        self.group = f"{topic}-group"
        self.team = Team(kafka, cell, topic, self.group)
        self.marks: list[str] = []
        self._rng = Random(cell.number)
        self._killed = False

    def go(self, kcli: Sequence[str]) -> None:
        self._gather()
        began, code, said = self._rewind(kcli)
        reported = began + self._outcome.rewind_seconds
        if self._cell.exposure != AT_LATE_COMMIT:
            self._wait(
                lambda: now() >= self._quiet_at(), self._cell.long_seconds * 3, "the end of the long batch"
            )
            self._wait_seconds(2 * self._cell.quickest + 1.5)
        self._expose()
        items = _items(said)
        if not items:
            status = "refused" if code == 7 else f"exit {code}"
            self._outcome.judged = [Judged(p, status, Fact(None)) for p in range(self._cell.partitions)]
            return

        def judged() -> list[Judged]:
            return [self._judge(item, began, reported) for item in items]

        end = now() + LAST
        while any(one.fact.held is None for one in judged()) and now() < end:
            self._pass()
        self._outcome.judged = judged()

    # --- before ---------------------------------------------------------------------------------------------

    def _gather(self) -> None:
        """The group is at work: every partition is read to its end, and committed beyond what is asked for."""
        cell = self._cell
        already = 150 if cell.habit == "record" else 1_200
        self._flow.begin(self._topic, cell.partitions, cell.rate, already)
        for number in range(len(cell.clients)):
            self.team.start(number)
        self._wait(lambda: self._at_work(already), READY, "the group at work")
        self._wait_seconds(cell.settle + 2 * cell.quickest)
        if cell.long_batch is not None:
            self.team.ask_for_long_batch(cell.long_batch, cell.long_seconds)
            self._wait(lambda: bool(self.team.ledger.long_since), 20, "a long batch in work")
            self._wait_seconds(self._rng.uniform(0.2, 1.5))

    def _at_work(self, already: int) -> bool:
        """Asks the broker only when the ledger looks good."""
        owners = [owned for owned in self.team.ledger.owners().values() if owned]
        all_read = all(
            self.team.ledger.position(partition) >= already for partition in range(self._cell.partitions)
        )
        if len(owners) < len(self._cell.clients) or not all_read:
            return False
        time.sleep(0.5)
        committed = self._committed()
        return len(committed) == self._cell.partitions and min(committed.values()) >= already * 0.9

    def _committed(self) -> dict[int, int]:
        with Admin(bootstrap_servers=self._kafka.bootstrap) as admin:
            found = admin.fetch_offsets({self.group: None})[self.group]
        if isinstance(found, KcliError):
            return {}
        return {
            tp.partition: commit.offset
            for tp, commit in found.items()
            if isinstance(commit, OffsetAndMetadata)
        }

    # --- the rewind, and what happens meanwhile -----------------------------------------------------------------

    def _rewind(self, kcli: Sequence[str]) -> tuple[float, int, str]:
        actions = [action for event in self._cell.events for action in self._actions(event)]
        began = now() + max(0.0, *(-at for at, _, _ in actions), 0.0)
        actions.append((0.0, "the rewind begins", lambda: None))
        actions.sort(key=lambda one: one[0])
        process: subprocess.Popen[str] | None = None
        with tempfile.TemporaryDirectory() as state:
            out, err = Path(state) / "out", Path(state) / "err"
            while actions or process is None or not self._outcome.rewind_seconds:
                if actions and now() >= began + actions[0][0]:
                    _, name, action = actions.pop(0)
                    self.marks.append(f"{now():.3f} {name}")
                    action()
                    if name == "the rewind begins":
                        began = now()
                        process = self._start(kcli, state, out, err)
                self._kill_at_late_commit()
                if process and process.poll() is not None and not self._outcome.rewind_seconds:
                    self._outcome.rewind_seconds = now() - began
                    self.marks.append(f"{now():.3f} the rewind has ended: {process.returncode}")
                if process and process.poll() is None and now() > began + HANG:
                    process.kill()
                    process.wait()
                    self._outcome.rewind_seconds = now() - began
                    self._outcome.error = f"hung: {err.read_text()[-300:]}"
                    return began, -9, ""
                self._pass()
            self._outcome.code = process.returncode
            self._outcome.error = err.read_text().strip()
            self.marks += [out.read_text(), err.read_text()]
            return began, process.returncode, out.read_text()

    def _start(self, kcli: Sequence[str], state: str, out: Path, err: Path) -> "subprocess.Popen[str]":
        with out.open("w") as stdout, err.open("w") as stderr:
            return subprocess.Popen(
                [
                    *kcli,
                    *("-b", self._kafka.bootstrap, "groups", "rewind", self.group),
                    *(f"--to={self._cell.target}", "--live", "--yes", "-o", "json"),
                ],
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                text=True,
                env={**os.environ, "XDG_STATE_HOME": state},
            )

    def _actions(self, event: Event) -> list[tuple[float, str, Callable[[], object]]]:
        team, member = self.team, event.member
        if event.kind == "join":
            return [(event.at, "a member joins", team.join)]
        which = _SIGNALS[event.kind]
        found: list[tuple[float, str, Callable[[], object]]] = [
            (event.at, f"{event.kind} member {member}", lambda: team.signal(member, which))
        ]
        if event.back and event.kind == "stop":
            found.append((event.at + event.back, "it continues", lambda: team.signal(member, signal.SIGCONT)))
        elif event.back:
            found.append((event.at + event.back, "it is started again", lambda: team.start(member)))
        return found

    # --- afterwards ------------------------------------------------------------------------------------------------

    def _quiet_at(self) -> float:
        """When every batch that was in work at the beginning of the rewind was committed."""
        begun = self.team.ledger.long_since
        return begun[-1] + self._cell.long_seconds + 2 * self._cell.quickest + 1.0 if begun else 0.0

    def _expose(self) -> None:
        """A rebalance, after which every partition is read for a while."""
        cell = self._cell
        new_protocol = cell.protocol == "consumer"
        settled = 6.0 if new_protocol else 2.0
        if cell.exposure == AT_LATE_COMMIT:
            self._wait(self._kill_at_late_commit, cell.long_seconds * 2, "a late commit", must=False)
            settled += 10.0 if new_protocol else cell.session_ms / 1000
        alive = self.team.alive
        self.marks.append(f"{now():.3f} {cell.exposure}")
        if not alive or cell.exposure in ("a join", AT_LATE_COMMIT):
            self.team.join()
        else:
            one = self._rng.choice(alive)
            kill = cell.exposure == "a kill"
            self.team.signal(one, signal.SIGKILL if kill else signal.SIGTERM)
            if kill:
                settled += 10.0 if new_protocol else cell.session_ms / 1000
            self._wait_seconds(0.5)
            self.team.start(one)
        self._wait_seconds(settled + cell.quickest)
        since = now()
        partitions = range(cell.partitions)
        last = self.team.ledger.last
        self._wait(lambda: all(last(p) > since for p in partitions), LAST, "reads in the end", must=False)
        self._wait_seconds(TAIL + 0.5)

    def _kill_at_late_commit(self) -> bool:
        """Kills the member with the long batch when it has committed after its end; whether that was done."""
        cell, begun = self._cell, self.team.ledger.long_since
        if cell.exposure != AT_LATE_COMMIT or cell.long_batch is None or self._killed or not begun:
            return self._killed
        if cell.long_batch not in self.team.alive:
            return False
        reader = self.team.reader(cell.long_batch)
        if self.team.ledger.committed_at(reader) >= begun[-1] + cell.long_seconds:
            self.team.signal(cell.long_batch, signal.SIGKILL)
            self.marks.append(f"{now():.3f} {reader} has committed late and is killed")
            self._killed = True
        return self._killed

    def _judge(self, item: Any, began: float, reported: float) -> Judged:
        partition, new = item["partition"], item["new"]
        fact = judge(self.team.ledger.runs(partition), new, began=began, reported=reported)
        return Judged(partition, _word(item), fact, item["committed"], new)

    # --- time ------------------------------------------------------------------------------------------------------

    def _pass(self) -> None:
        self.team.supervise()
        time.sleep(_LOOK)

    def _wait_seconds(self, seconds: float) -> None:
        end = now() + seconds
        while now() < end:
            self._pass()

    def _wait(self, true: Callable[[], bool], seconds: float, what: str, *, must: bool = True) -> None:
        end = now() + seconds
        while not true():
            if now() > end:
                if must:
                    raise VoidError(f"no {what} in {seconds:.0f} s: {self.team.ledger.owners()}")
                return
            self._pass()


def _word(item: Any) -> str:
    """What is said of a partition of a group with members, or of one without: ``held``, ``overwritten``, ``done``."""
    said: str = item["reason"] if item["reason"] in ("held", "overwritten") else item["status"]
    return said


def _items(said: str) -> list[Any]:
    try:
        document = json.loads(said)
    except ValueError:
        return []
    return [item for item in document.get("items", []) if "status" in item and item["new"] is not None]


PYTHON_KCLI = (sys.executable, "-m", "kcli")
