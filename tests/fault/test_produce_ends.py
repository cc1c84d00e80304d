"""``kcli produce`` is ended at random moments: signals, a reader that leaves, a disk that is full, SIGKILL.

Whatever happens: the lines that are stored are the first ones of the input, each once and in order; at least those
are stored that were told of as confirmed; the exit code is right. All tries of a kind run side by side.
"""

import json
import random
import resource
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from kcli.core.protocol.messages.produce import ProduceRequest
from tests.fake.cluster import FakeCluster
from tests.lasting import Moment, lasted
from tests.run import KCLI, environment
from tests.warm_kcli import WarmPopen

TRIES = 12
LINES = 12_000
_PATIENCE = 120.0
_AT_ONCE = 4


@pytest.fixture(scope="module")
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(nodes=1) as cluster:
        yield cluster


def lines_of(count: int) -> list[bytes]:
    return [b"line %d" % number for number in range(count)]


class Try:
    """One run with its own topic, and input that comes in bursts until it is all there or nobody reads it."""

    def __init__(
        self, cluster: FakeCluster, name: str, *arguments: str, first: bool = True, **settings: Any
    ) -> None:
        self.cluster, self.topic = cluster, name
        if first:
            cluster.create_topic(name, 1)
        self.rng = random.Random(name)
        self.process = WarmPopen(
            [*KCLI, "produce", name, "-X", "batch.size=2000", *arguments],
            stdin=subprocess.PIPE,
            stdout=settings.pop("stdout", subprocess.PIPE),
            stderr=subprocess.PIPE,
            # Where files may not grow, Python 3.11 leaves half of a module's byte code.
            env=environment(cluster.bootstrap, PYTHONDONTWRITEBYTECODE="1"),
            **settings,
        )
        self._feeder = threading.Thread(target=self._feed, daemon=True)
        self._feeder.start()

    def _feed(self) -> None:
        data = b"\n".join(lines_of(LINES)) + b"\n"
        stdin = self.process.stdin
        assert stdin is not None
        try:
            while data:
                size = self.rng.randrange(1, 40_000)
                stdin.write(data[:size])
                stdin.flush()
                data = data[size:]
                time.sleep(self.rng.random() / 50)
            stdin.close()
        except (BrokenPipeError, ValueError):
            pass

    def sent_something(self) -> None:
        """Waits until a batch of it came in (or it ended), and then a while more."""
        end = time.monotonic() + _PATIENCE
        while self.process.poll() is None and time.monotonic() < end and not self.stored():
            time.sleep(0.01)
        time.sleep(self.rng.random() / 4)

    def stored(self, *, committed: bool = False) -> list[Any]:
        return self.cluster.log(self.topic, 0).values(committed=committed)

    def end(self) -> tuple[int, bytes, bytes]:
        self._feeder.join(_PATIENCE)
        process = self.process
        process.stdin = None
        out, err = process.communicate(timeout=_PATIENCE)
        assert b"Traceback" not in err, err.decode()
        return process.returncode, out or b"", err


def run_all(one: Callable[[int], None], tries: int = TRIES) -> None:
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(one, range(tries)))


def confirmed_of(out: bytes) -> tuple[int, int]:
    """Confirmed and unknown of the report; nothing is claimed where there is none."""
    if not out:
        return 0, 0
    [item] = json.loads(out)["items"]
    return item["confirmed"], item["unknown"]


def is_beginning(stored: list[Any], confirmed: int, unknown: int) -> None:
    assert stored == lines_of(len(stored)), "lost, doubled or out of order"
    assert confirmed <= len(stored) <= confirmed + unknown


@pytest.mark.case("C3", "R16")
@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGINT, 130),
        pytest.param(signal.SIGTERM, 143, marks=pytest.mark.long),
        pytest.param(signal.SIGHUP, 129, marks=pytest.mark.long),
    ],
    ids=["int", "term", "hup"],
)
def test_a_signal_ends_produce_with_everything_reported(
    cluster: FakeCluster, number: signal.Signals, code: int
) -> None:
    """The exit code is that of the signal, unless all was done before it came."""

    def one(index: int) -> None:
        run = Try(cluster, f"signal-{code}-{index}", "-o", "json")
        run.sent_something()
        run.process.send_signal(number)
        status, out, err = run.end()
        assert status in (code, -number, 0), err  # by the signal itself where nothing is left to be settled
        confirmed, unknown = confirmed_of(out)
        assert status or confirmed == LINES
        is_beginning(run.stored(), confirmed, unknown)

    run_all(one)


@pytest.mark.case("C3", "R16")
def test_a_second_signal_ends_it_at_once() -> None:
    """The brokers say nothing; the second signal ends it within a moment and says what is not known."""
    with FakeCluster(nodes=1) as cluster:
        held = cluster.hold(ProduceRequest)
        run = Try(cluster, "twice")
        held.wait(1, _PATIENCE)
        run.process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        assert run.process.poll() is None
        run.process.send_signal(signal.SIGTERM)
        began = Moment.now()
        status, _, err = run.end()
        assert lasted(began) < 3
    assert status == 143
    assert b"stopped at once: 0 records confirmed" in err


@pytest.mark.case("R16")
def test_a_reader_of_the_copy_that_leaves(cluster: FakeCluster) -> None:
    """Death by SIGPIPE, quietly, after what is under way is settled."""

    def one(index: int) -> None:
        run = Try(cluster, f"pipe-{index}", "--tee")
        assert run.process.stdout is not None
        run.process.stdout.read(run.rng.randrange(1, 100_000))
        run.process.stdout.close()
        run.process.stdout = None
        status, _, err = run.end()
        assert status in (-signal.SIGPIPE, 0), err
        assert b"kcli:" not in err
        stored = run.stored()
        assert stored == lines_of(len(stored))
        assert f"{len(stored):,} records confirmed".encode() in err

    run_all(one, 8)


@pytest.mark.case("C14", "R17")
@pytest.mark.parametrize("place", ["tee", "failed", "checkpoint"])
def test_a_file_that_accepts_no_more_bytes(cluster: FakeCluster, place: str, tmp_path: Path) -> None:
    """Files may not grow beyond some bytes; what was confirmed until then is counted, and the code tells."""

    def one(index: int) -> None:
        folder = tmp_path / str(index)
        folder.mkdir()
        limit = random.Random(index).randrange(50, 20_000)
        arguments, stdout = {
            "tee": (["--tee"], (folder / "copy").open("wb")),
            "failed": (["--failed", str(folder / "failed"), "-X", "max.request.size=9"], subprocess.PIPE),
            "checkpoint": (["--checkpoint", str(folder / "at")], subprocess.PIPE),
        }[place]
        if place == "checkpoint":
            limit = 100
        cap = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))  # noqa: E731
        run = Try(cluster, f"full-{place}-{index}", *arguments, stdout=stdout, preexec_fn=cap)
        status, _, err = run.end()
        assert status in (1, 6), (status, err)
        assert b"cannot write" in err
        assert b"file too large" in err.lower()
        stored = run.stored()
        assert stored == lines_of(len(stored))
        if place != "checkpoint":  # that one ends it before anything is read
            assert f"{len(stored):,} record{'' if len(stored) == 1 else 's'} confirmed".encode() in err

    run_all(one, 2)


@pytest.mark.case("C10", "R18")
@pytest.mark.parametrize(
    "transactional", [pytest.param(False, marks=pytest.mark.long), True], ids=["plain", "transactional"]
)
def test_killed_and_run_again(cluster: FakeCluster, transactional: bool, tmp_path: Path) -> None:
    """Nothing is lost; in transactions nothing is stored twice either."""

    def one(index: int) -> None:
        name = f"kill-{transactional}-{index}"
        arguments = ["--checkpoint", str(tmp_path / name)]
        if transactional:
            arguments += ["--transactional-id", name, "--transaction-every", "700"]
        run = Try(cluster, name, *arguments)
        run.sent_something()
        run.process.kill()
        run.end()
        again = Try(cluster, name, *arguments, first=False)
        status, _, err = again.end()
        assert status == 0, err
        stored = again.stored(committed=transactional)
        assert set(stored) == set(lines_of(LINES))
        if transactional:
            assert stored == lines_of(LINES)
        third = Try(cluster, name, *arguments, first=False)
        assert third.end()[0] == 0
        assert again.stored(committed=transactional) == stored

    run_all(one, 5)
