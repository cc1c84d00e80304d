"""Exports to an object store whose processes and connections are killed at random moments, judged by others.

    python -m tests.chaos.pipeline_drill --kills 60 --seed 1 [--only append]

``SCENARIOS``: a whole export, and a chain of nights by ``--append`` (with ``--compact`` in half of them), each in
processes and on a cluster of Spark. A run is killed when a request reaches the store, which number of the run's requests
is drawn: ``driver`` is the command, with or without its JVM, ``worker`` a process that runs a task, ``executor`` a JVM of
it, ``daemon`` the process that forks Python workers, ``store`` the connections, of which for some seconds each request or
answer is cut. The same command runs again until it ends with 0. Then DuckDB reads what the manifest names, and at the end
Spark's own connector reads the topics: see ``pipeline_judges.py``. Drills of other writers are tests: the Makefile names
them.

The store is gofakes3 where that is on the path (``go install github.com/johannesboyne/gofakes3/cmd/gofakes3@v1.2.0``),
else moto. The last lines are a table; the exit status is 1 when a record is missing or twice, or anything is left over.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import psutil

from tests.chaos.pipeline_judges import Contents, Written, connector, named_files, of_files
from tests.kafka import QUICK_JVM, TEST_PROPERTIES, Kafka, sandboxed
from tests.pipeline.object_stores import (
    BUCKET,
    QUICK_S3_ENVIRONMENT,
    S3,
    Asked,
    environment,
    faulty,
    quick_s3_server,
)
from tests.run import start

if TYPE_CHECKING:
    from tests.pipeline.standalone import Standalone

PARTITIONS = 4
WIDTH = 2_000  # bytes of a value
EXPORTED, NIGHTLY = (
    8_000,
    5_000,
)  # records of a partition: 16 MB are three requests of an upload; at most, of a night
KILLS_OF_A_CASE = 3
LEAST_NIGHTS, NIGHTS = 3, 10
_PATIENCE = 600.0
_ATTEMPTS = 12
_LONGEST_OUTAGE = 12.0
_LEASE = "_kcli_lease.json"


class Scenario(NamedTuple):
    """``kinds``: what can be killed of it."""

    name: str
    spark: bool
    append: bool
    kinds: tuple[str, ...]


SCENARIOS = (
    Scenario("export, processes", False, False, ("driver", "worker", "store")),
    Scenario("export, Spark", True, False, ("driver", "executor", "daemon", "worker", "store")),
    Scenario("--append, processes", False, True, ("driver", "worker", "store")),
    Scenario("--append, Spark", True, True, ("driver", "executor", "daemon", "worker", "store")),
)


@dataclass
class Gate:
    """What becomes of requests on their way to the store. Called by the threads of the proxy."""

    chance: random.Random
    lock: threading.Lock = field(default_factory=threading.Lock)
    count: int = 0
    at: int = 0
    strike: Callable[[], bool] | None = None
    cut_until: float = 0.0

    def begin(self, at: int, strike: Callable[[], bool] | None) -> None:
        """A run begins: ``strike`` is called with its request of that number, and with each that follows until it returns
        True.
        """
        with self.lock:
            self.count, self.at, self.strike, self.cut_until = 0, at, strike, 0.0

    def cut(self) -> bool:
        """Connections break for a while."""
        self.cut_until = time.monotonic() + self.chance.uniform(0.5, _LONGEST_OUTAGE)
        return True

    def __call__(self, asked: Asked) -> str:
        with self.lock:
            if not asked.path.endswith(_LEASE):
                self.count += 1
                if self.strike is not None and self.count >= self.at and self.strike():
                    self.strike = None
                    return self.chance.choice(("", "lost", "cut"))
            if time.monotonic() < self.cut_until:
                return self.chance.choice(("cut", "lost", "half", "503"))
            return ""


class Trials:
    """All runs of a scenario. ``wrong`` has what judges found, a sentence each."""

    def __init__(
        self, world: "World", scenario: Scenario, kills: Sequence[str], chance: random.Random
    ) -> None:
        self.scenario = scenario
        self.killed: Counter[str] = Counter()
        self.runs = self.cases = self.records = 0
        self.wrong: list[str] = []
        self._world, self._kills, self._chance = world, list(kills), chance
        self._requests = 12  # of a run that ended
        self.written = Written(world.kafka.bootstrap, world.kafka.topic("drill", partitions=PARTITIONS))

    def run(self) -> None:
        """Cases until all kills are done, or something is wrong."""
        if self.scenario.append:
            prefix = f"nights-{self.written.topic}"
            nights = max(LEAST_NIGHTS, min(NIGHTS, len(self._kills)))
            while (self._kills or self.cases < nights) and not self.wrong:
                for partition in range(PARTITIONS):
                    self._fill(
                        partition, self._chance.choice((0, 1, self._chance.randrange(NIGHTLY), NIGHTLY))
                    )
                compact = ("--compact",) if self._chance.random() < 0.5 else ()
                self._case(prefix, "--append", *compact)
            self._world.store.remove(prefix)
            return
        for partition in range(PARTITIONS):
            self._fill(partition, EXPORTED)
        while (self._kills or not self.cases) and not self.wrong:
            prefix = f"export-{self.cases}-{self.written.topic}"
            self._case(prefix)
            self._world.store.remove(prefix)

    def _fill(self, partition: int, count: int) -> None:
        self.written.write(partition, [self._chance.randbytes(WIDTH) for _ in range(count)])

    def _case(self, prefix: str, *flags: str) -> None:
        """Runs one command until it ends with 0, killed a few times; and judges what is there then."""
        self.cases += 1
        kills_before = sum(self.killed.values())
        for _ in range(_ATTEMPTS):
            may_kill = self._kills and sum(self.killed.values()) < kills_before + KILLS_OF_A_CASE
            code = self._once(prefix, flags, self._kills[0] if may_kill else "")
            if code == 0:
                self._judge(prefix)
            if code == 0 or self.wrong:
                return
        self.wrong.append(f"{prefix}: it did not end with 0 in {_ATTEMPTS} runs")

    def _once(self, prefix: str, flags: Sequence[str], kill: str) -> int:
        """Whether the run was killed shows ``killed``; its exit code."""
        world, self.runs = self._world, self.runs + 1
        words = [
            "-b",
            world.kafka.bootstrap,
            "pipeline",
            "export",
            self.written.topic,
            f"s3://{BUCKET}/{prefix}",
        ]
        how = world.on_spark() if self.scenario.spark else ["--runner", "processes", "--local", "2"]
        log = world.folder / f"{prefix}-{self.runs}.log"
        begun = threading.Event()
        process: list[psutil.Process] = []

        def strike() -> bool:
            begun.wait()
            if not self._strike(process[0], kill):
                return False
            self.killed[kill] += 1
            self._kills.pop(0)
            return True

        world.gate.begin(self._chance.randint(1, self._requests), strike if kill else None)
        with log.open("wb") as file:
            run = start(*words, *how, *flags, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
        process.append(psutil.Process(run.pid))
        begun.set()
        code = run.wait(_PATIENCE)
        struck, count = world.gate.strike is None and kill, world.gate.count
        world.gate.begin(0, None)
        if code == 0:
            self._requests = max(4, count)
        elif not struck or code not in (-9, 1, 3, 6):
            text = log.read_text(errors="replace")[-1_500:]
            self.wrong.append(
                f"{prefix}, run {self.runs} ended with {code} after a kill of {kill or 'nothing'}: {text}"
            )
        print(
            f"  {prefix} run {self.runs}: {f'{kill} killed' if struck else 'not killed'}, exit code {code}",
            flush=True,
        )
        return code

    def _strike(self, process: psutil.Process, kill: str) -> bool:
        """Kills one; False if there is none now."""
        if kill == "store":
            return self._world.gate.cut()
        with suppress(psutil.NoSuchProcess):
            if kill == "driver":
                below = process.children(recursive=True) if self._chance.random() < 0.5 else []
                for one in (process, *below):
                    with suppress(psutil.NoSuchProcess):
                        one.kill()
                return True
            found = self._found(process, kill)
            if found:
                self._chance.choice(found).kill()
                return True
        return False

    def _found(self, process: psutil.Process, kill: str) -> list[psutil.Process]:
        if not self.scenario.spark:
            return [one for one in process.children() if "spawn_main" in " ".join(one.cmdline())]
        if kill == "executor":
            return self._world.spark.executors()
        daemons = self._world.spark.daemons()
        return (
            daemons
            if kill == "daemon"
            else [child for one in daemons for child in one.children(recursive=True)]
        )

    def _judge(self, prefix: str) -> None:
        store = self._world.store
        files = store.files(prefix)
        with tempfile.TemporaryDirectory(dir=self._world.folder) as folder:
            found = of_files(files, Path(folder))
        self.wrong += [f"{prefix}, DuckDB: {text}" for text in differences(self.written.contents, found)]
        self.records += sum(one.count for one in found.values())
        named = {"_kcli_manifest.json", *named_files(files)}
        left = {path for path in files.keys() - named if not path.startswith("_kcli_manifest-")}
        self.wrong += [f"{prefix}: {path} is left over" for path in sorted(left)]
        self.wrong += [
            f"{prefix}: an upload of {key} is left over" for key in store.uploads() if prefix in key
        ]


def differences(expected: Contents, found: Contents) -> Iterator[str]:
    """What is missing, twice, or another record."""
    for partition in sorted(expected.keys() | found.keys()):
        wanted, there = expected.get(partition), found.get(partition)
        if wanted is None or there is None:
            yield f"partition {partition} has {there}, not {wanted}"
        elif wanted != there:
            missing, twice = wanted.distinct - there.distinct, there.count - there.distinct
            digests = f"digest {there.digest:x}, not {wanted.digest:x}"
            yield f"partition {partition}: {missing} missing, {twice} twice ({digests})"


@dataclass
class World:
    """``gate`` is between the store and all that run; ``spark`` is started by the first scenario that needs it."""

    kafka: Kafka
    store: S3
    gate: Gate
    folder: Path
    stack: ExitStack
    cluster: "Standalone | None" = None

    @property
    def spark(self) -> "Standalone":
        """The cluster."""
        from tests.pipeline.standalone import standalone  # loads pyspark

        if self.cluster is None:
            self.cluster = self.stack.enter_context(standalone(self.folder))
        return self.cluster

    def on_spark(self) -> list[str]:
        """The options of a job on it."""
        from tests.pipeline.standalone import on_spark  # loads pyspark

        return on_spark(self.spark)


@contextmanager
def world(chance: random.Random) -> Iterator[World]:
    """Kafka, a store, and a proxy in front of it, to which the environment leads."""
    gate = Gate(chance)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kcli-drill-")))
        store = stack.enter_context(quick_s3_server())
        port = stack.enter_context(faulty(store.port, gate))
        os.environ.update(environment(port) | QUICK_S3_ENVIRONMENT)
        kafka = stack.enter_context(sandboxed(extra=TEST_PROPERTIES, jvm_options=QUICK_JVM))
        yield World(kafka, store, gate, folder, stack)


def dealt(kills: int, scenarios: Sequence[Scenario], chance: random.Random) -> dict[Scenario, list[str]]:
    """Kills for each scenario: of every kind before there is a second one of any."""
    found: dict[Scenario, list[str]] = {one: [] for one in scenarios}
    for number in range(kills):
        one = scenarios[number % len(scenarios)]
        known = Counter(kind for kinds in found.values() for kind in kinds)
        own = Counter(found[one])
        found[one].append(min(one.kinds, key=lambda kind: (own[kind], known[kind], chance.random())))
    return found


def main(arguments: Sequence[str]) -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="tests.chaos.pipeline_drill", description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=12, help="of all scenarios together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="scenarios whose names contain this")
    wishes = parser.parse_args(arguments)
    chance = random.Random(wishes.seed)
    scenarios = [one for one in SCENARIOS if wishes.only in one.name]
    done: list[Trials] = []
    began = time.monotonic()
    with world(chance) as there:
        for scenario, kills in dealt(wishes.kills, scenarios, chance).items():
            print(f"{scenario.name}: {', '.join(kills) or 'nothing'} to be killed", flush=True)
            done.append(Trials(there, scenario, kills, chance))
            done[-1].run()
        with connector(there.kafka.bootstrap) as judge:
            said = f"Spark's connector: not here: {judge}"
            if not isinstance(judge, str):
                said = "Spark's connector finds the same records in the topics"
                for one in done:
                    found = list(differences(one.written.contents, judge.contents(one.written.topic)))
                    one.wrong += [f"{one.written.topic}, Spark's connector: {text}" for text in found]
                    said = "Spark's connector finds other records: see above" if found else said
    for one in done:
        for text in one.wrong:
            print(f"WRONG {one.scenario.name}: {text}")
    show(done)
    print(f"{said}; seed {wishes.seed}, {time.monotonic() - began:.0f} s")
    return 1 if any(one.wrong for one in done) else 0


def show(done: Sequence[Trials]) -> None:
    """The table."""
    head = (
        "scenario",
        "exports",
        "runs",
        "records",
        *sorted({kind for one in done for kind in one.scenario.kinds}),
        "wrong",
    )
    rows = [
        [
            one.scenario.name,
            *map(str, (one.cases, one.runs, one.records)),
            *(str(one.killed[kind]) if kind in one.scenario.kinds else "" for kind in head[4:-1]),
            str(len(one.wrong)),
        ]
        for one in done
    ]
    for row in (head, *rows):
        print("  ".join([f"{row[0]:20}", *(f"{cell:>9}" for cell in row[1:])]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
