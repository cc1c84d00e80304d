"""Limits of the process, too few file descriptors or too little memory: named, with the remedy, and nothing spins."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from kcli.core.types import Codec
from tests.fake.cluster import FakeCluster
from tests.hostile.bombs import MIB, legal, served
from tests.run import KCLI, environment

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the figures are those of Linux")

NODES = 8


@pytest.fixture(scope="module")
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(NODES, topics={"t": 2 * NODES}) as found:
        yield found


def limited(limit: str, *arguments: str, bootstrap: str) -> tuple[int, str]:
    """Exit status and stderr of kcli under ``ulimit``."""
    done = subprocess.run(
        ["sh", "-c", f'ulimit {limit}; exec "$@"', "sh", *KCLI, *arguments],
        input=b"line\n",
        capture_output=True,
        timeout=60,
        env=environment(bootstrap),
    )
    err = done.stderr.decode()
    assert "internal error" not in err
    assert "Traceback" not in err
    return done.returncode, err


@pytest.mark.case("N18")
@pytest.mark.parametrize(
    ("arguments", "expected"), [(("consume", "t", "-e"), 3), (("groups", "list"), 6)], ids=str
)
def test_too_few_descriptors_for_all_brokers(
    cluster: FakeCluster, arguments: tuple[str, ...], expected: int
) -> None:
    """Some brokers say which groups they have."""
    code, err = limited("-n 9", *arguments, "--timeout", "700ms", bootstrap=cluster.bootstrap)
    assert code == expected, err
    assert "too many open files" in err
    assert "  do: raise the limit of open files: `ulimit -n` shows it" in err
    assert "advertised.listeners" not in err


@pytest.mark.case("N18")
def test_no_descriptor_for_a_first_connection(cluster: FakeCluster) -> None:
    """The address is not to blame, nor a broker."""
    code, err = limited("-n 6", "topics", "list", "--timeout", "500ms", bootstrap=cluster.bootstrap)
    assert code == 3, err
    assert "  why: too many open files" in err
    assert "  do: raise the limit of open files" in err


@pytest.mark.case("N18")
@pytest.mark.parametrize("arguments", [("produce", "t"), ("topics", "list")], ids=str)
def test_no_descriptor_for_anything_else(cluster: FakeCluster, arguments: tuple[str, ...]) -> None:
    code, err = limited("-n 5", *arguments, "--timeout", "500ms", bootstrap=cluster.bootstrap)
    assert code == 3, err
    assert "kcli: no more files can be opened" in err
    assert "  do: raise the limit of open files" in err


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_memory_for_a_legal_batch_is_missing(codec: str) -> None:
    raw = legal(Codec[codec.upper()], 120 * MIB)
    with served({"large": raw}) as cluster:
        code, err = limited("-v 180000", "consume", "large", "-e", bootstrap=cluster.bootstrap)
    assert code == 1, err
    assert "kcli: out of memory" in err
    assert "ulimit -v" in err
    assert "damaged" not in err
