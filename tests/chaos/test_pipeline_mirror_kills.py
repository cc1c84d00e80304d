"""`kcli pipeline mirror --continuous`: workers and drivers are killed at random, while the source is written
in transactions (goals S8, S9; cases K1 to K4): another client reads the same records in the same order from both sides.
"""

import json
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil
import pytest

from tests.chaos.mirror_audit import CommittedReader, assert_equal, assert_judged, duplicates
from tests.chaos.transactional_source import TransactionalSource
from tests.chaos.workload import SEED
from tests.kafka import Kafka
from tests.run import kcli_process, ok, start

pytestmark = [pytest.mark.integration, pytest.mark.soak]

RECORDS = 160_000
PACE = 2_500.0  # records a second
PARTITIONS = 4
WORKER_KILLS, DRIVER_KILLS = 12, 4
PATIENCE = 90.0


class Driver:
    """The command, started again when it was killed."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self._command, self._folder = command, folder
        self._runs = 0
        self.begin()

    def begin(self) -> None:
        self._runs += 1
        self._output = self._folder / f"{self._runs}.err"
        with self._output.open("wb") as file:
            self.process = start(*self._command, stdin=subprocess.DEVNULL, stdout=file, stderr=file)

    def workers(self) -> Iterator[psutil.Process]:
        """The processes that run tasks; none between two slices."""
        assert self.process.poll() is None, self._output.read_text()
        for child in psutil.Process(self.process.pid).children():
            with suppress(psutil.NoSuchProcess):  # as a zombie is
                if "spawn_main" in " ".join(child.cmdline()):
                    yield child

    def kill_worker(self, rng: random.Random) -> bool:
        """SIGKILL to one of them that has run for a while, if there is one: it takes half a second to begin."""
        age = rng.uniform(0.3, 1.5)
        try:
            found = [worker for worker in self.workers() if time.time() - worker.create_time() >= age]
            if found:
                rng.choice(found).kill()
        except psutil.NoSuchProcess:
            return False
        return bool(found)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(PATIENCE)

    def stop(self) -> str:
        """As Ctrl-C does; what it said."""
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait(PATIENCE) == 130, self._output.read_text()
        return self._output.read_text()


@pytest.mark.case("K1", "K2", "K3", "K4")
def test_killed_workers_and_drivers_lose_and_repeat_nothing(kafka: Kafka, tmp_path: Path) -> None:
    rng = random.Random(SEED)
    topic = kafka.topic("killed", partitions=PARTITIONS)
    copy = kafka.unused_name("copy")
    sides = [
        "--from",
        kafka.bootstrap,
        "--to",
        kafka.bootstrap,
        "-t",
        topic,
        "--map-topic",
        f"{topic}={copy}",
    ]
    job = ["pipeline", "mirror", *sides, "--job", copy, "-o", "json", "--runner", "processes", "--local", "2"]
    with (
        TransactionalSource(
            kafka,
            topic,
            partitions=PARTITIONS,
            seed=SEED,
            total=RECORDS,
            backlog=RECORDS // 4,
            pace=PACE,
            transaction_size=50,
        ) as writer,
        CommittedReader(kafka.bootstrap, topic, PARTITIONS) as here,
        ExitStack() as drivers,
    ):
        driver = Driver([*job, "--continuous", "--slice", "1s"], tmp_path)
        drivers.callback(driver.kill)
        kills = [*["worker"] * WORKER_KILLS, *["driver"] * DRIVER_KILLS]
        rng.shuffle(kills)
        for what in kills:
            time.sleep(rng.uniform(1.0, 4.0))
            if what == "driver":
                driver.kill()
                driver.begin()
                continue
            end = time.monotonic() + PATIENCE
            while not driver.kill_worker(rng):
                assert time.monotonic() < end, "no task runs"
                time.sleep(rng.uniform(0.0, 0.05))
        writer.finish()
        with CommittedReader(kafka.bootstrap, copy, PARTITIONS) as so_far:
            copied = so_far.read()
        print(f"{copied:,} records were copied between the kills")
        print(
            f"{WORKER_KILLS} workers and {DRIVER_KILLS} drivers killed; {writer.committed:,} records committed"
        )
        assert copied > RECORDS // 4
        driver.stop()
        last = json.loads(ok(kcli_process(*job)))
        with CommittedReader(kafka.bootstrap, copy, PARTITIONS) as there:
            here.read()
            there.read()
            print(f"the last run copied {last['totals']['records']:,}; duplicates: {duplicates(there)}")
            assert_equal(here, there)
            assert_judged(writer, topic, there, SEED)
        assert json.loads(ok(kcli_process(*job)))["totals"]["records"] == 0
