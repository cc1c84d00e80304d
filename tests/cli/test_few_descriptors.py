"""A process that may open few files: it says so, with the remedy, at once and without a storm of attempts (N18)."""

import os
import resource
import subprocess
from collections.abc import Iterator

import pytest

from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import batch
from tests.run import KCLI, environment

pytestmark = pytest.mark.case("N18")

SAYS = ("too many open files", "raise the limit of open files: `ulimit -n` shows it")


@pytest.fixture(scope="module")
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(6, topics={"t": 12}) as made:
        for number in range(12):
            made.append("t", number, batch(b"%d" % number))
        yield made


def limited(cluster: FakeCluster, files: int, *words: str) -> "subprocess.CompletedProcess[str]":
    """``kcli`` with at most so many descriptors, of which Python itself needs five or six."""
    return subprocess.run(
        ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh", *KCLI, *words, "--timeout", "1s"],
        env=environment(cluster.bootstrap), capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("line", ["topics list", "consume t -e", "consume t -e -g g"])
def test_a_client_that_cannot_begin_names_the_limit(cluster: FakeCluster, line: str) -> None:
    before, spent = len(cluster.connections), resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = limited(cluster, 6, *line.split())
    assert done.returncode == 3, done
    assert [words for words in SAYS if words not in done.stderr] == [], done.stderr
    assert "internal error" not in done.stderr
    assert len(cluster.connections) == before
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - spent < 3


@pytest.mark.parametrize("files", [8, 10])
def test_a_reader_that_reaches_some_brokers_names_the_limit(cluster: FakeCluster, files: int) -> None:
    done = limited(cluster, files, "consume", "t", "-e")
    assert done.returncode == 3, done
    assert [words for words in SAYS if words not in done.stderr] == [], done.stderr
    assert "advertised.listeners" not in done.stderr


def test_thirty_two_descriptors_are_enough_for_six_brokers_and_a_group(cluster: FakeCluster) -> None:
    done = limited(cluster, 32, "consume", "t", "-e", "-g", f"g{os.getpid()}")
    assert done.returncode == 0, done
    assert sorted(map(int, done.stdout.split())) == list(range(12))
