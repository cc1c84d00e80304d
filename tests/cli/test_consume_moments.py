"""``kcli consume -g`` ended at random moments: by signals, by a reader that leaves, by a full disk.

Whatever the moment: the exit status is right, rows have no gaps, and nothing is committed that was not written. The seed
is in the name of a failing test: ``KCLI_MOMENTS_SEED`` takes it again.
"""

import os
import random
import resource
import signal
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fcntl import fcntl
from pathlib import Path

import pytest

from kcli.core.types import Record
from tests.batches import batch_of
from tests.fake.cluster import FakeCluster
from tests.run import KCLI, environment
from tests.warm_kcli import WarmPopen

pytestmark = pytest.mark.case("O2", "C1", "C2", "C3")

TRIES = int(os.environ.get("KCLI_MOMENTS", "200"))
SEED = int(os.environ.get("KCLI_MOMENTS_SEED", str(random.randrange(1 << 30))))
AT_ONCE = 4
PARTITIONS, BATCHES, EACH = 3, 60, 100
_SET_PIPE_SIZE = 1031
PIPE = 4096
SMALL = (
    *("-X", "fetch.max.bytes=20000", "-X", "max.partition.fetch.bytes=6000", "-X", "fetch.max.wait.ms=50"),
    *("-X", "auto.commit.interval.ms=1", "-X", "heartbeat.interval.ms=100"),
)


class Try:
    """One run in a group of its own, and what it has to leave behind."""

    def __init__(self, cluster: FakeCluster, number: int, seed: int, folder: Path) -> None:
        self.cluster = cluster
        self.group = f"g{number}"
        self.random = random.Random(seed)
        self.out = folder / f"{number}.out"
        self.name = f"try {number} of KCLI_MOMENTS_SEED={SEED}"

    def start(self, stdout: int, before: Callable[[], object] | None = None) -> "subprocess.Popen[bytes]":
        return WarmPopen(
            [*KCLI, "consume", "t", "-g", self.group, "-f", "%p %o\\n", *SMALL],
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            env=environment(self.cluster.bootstrap, PYTHONDONTWRITEBYTECODE="1"),
            preexec_fn=before,
        )

    def committed(self) -> dict[int, int]:
        return {tp.partition: offset for tp, offset in self.cluster.committed_offsets(self.group).items()}

    def signalled(self) -> None:
        """Everything that was written is committed, and the reverse."""
        number = self.random.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
        with self.out.open("wb") as file:
            process = self.start(file.fileno())
            if self.random.random() < 0.3:
                time.sleep(self.random.random())
            else:
                enough = self.random.randrange(1, 60_000)
                _wait(lambda: self.out.stat().st_size >= enough)
            process.send_signal(number)
            _, err = process.communicate(timeout=60)
        codes = (128 + number, -number)  # the second before it had anything to settle
        assert process.returncode in codes, (self.name, process.returncode, err)
        rows = self.rows()
        assert {p: n for p, n in self.committed().items() if n} == rows, (self.name, err)

    def left(self) -> None:
        """The reader goes: dead by SIGPIPE, silently."""
        process = self.start(subprocess.PIPE)
        assert process.stdout is not None
        fcntl(process.stdout.fileno(), _SET_PIPE_SIZE, PIPE)
        read, enough = 0, self.random.randrange(1, 60_000)
        while read < enough:
            read += len(os.read(process.stdout.fileno(), min(self.random.randrange(1, 5000), enough - read)))
        process.stdout.close()
        err = process.stderr.read() if process.stderr else b""
        process.wait(60)
        said = [
            line for line in err.splitlines() if not line.startswith(b"waiting for ")
        ]  # on a busy machine
        assert (process.returncode, said) == (-signal.SIGPIPE, []), self.name
        assert sum(self.committed().values()) * len(b"0 0\n") <= read + PIPE, self.name

    def full(self) -> None:
        """The n-th write fails."""
        room = self.random.randrange(1, 60_000)
        with self.out.open("wb") as file:
            process = self.start(
                file.fileno(), lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
            )
            _, err = process.communicate(timeout=60)
        assert (process.returncode, b"cannot write output" in err) == (1, True), (self.name, err)
        rows = self.rows()
        for partition, offset in self.committed().items():
            assert offset <= rows.get(partition, 0), (self.name, partition, err)

    def rows(self) -> dict[int, int]:
        """How many whole rows of each partition were written; they follow each other without a gap."""
        found: dict[int, int] = {}
        for line in self.out.read_bytes().split(b"\n")[:-1]:
            partition, offset = map(int, line.split())
            assert offset == found.get(partition, 0), self.name
            found[partition] = offset + 1
        return found


def _wait(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


@pytest.mark.long
@pytest.mark.case("O2", "C1", "C2", "C3")
@pytest.mark.parametrize("count", [24, pytest.param(TRIES, marks=pytest.mark.soak)], ids=["few", "many"])
def test_only_written_records_are_ever_committed(tmp_path: Path, count: int) -> None:
    with FakeCluster(1, topics={"t": PARTITIONS}) as cluster:
        for partition in range(PARTITIONS):
            for number in range(BATCHES):
                rows = [Record("t", partition, number * EACH + n, 1, 0, None, b"v") for n in range(EACH)]
                cluster.append("t", partition, bytes(batch_of(rows).raw))
        chance = random.Random(SEED)
        kinds = [Try.signalled, Try.left, Try.full]
        tries = [
            (kinds[n % len(kinds)], Try(cluster, n, chance.randrange(1 << 30), tmp_path))
            for n in range(count)
        ]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for done in [pool.submit(kind, one) for kind, one in tries]:
                done.result()
