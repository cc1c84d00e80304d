"""Lists that are longer than the terminal go through the pager; everything else goes straight out."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fake.cluster import FakeCluster
from tests.run import KCLI, environment, kcli_process

pexpect = pytest.importorskip("pexpect")


@pytest.fixture(scope="module")
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={f"topic-{number:02}": 1 for number in range(40)}) as found:
        yield found


def on_terminal(
    cluster: FakeCluster, *arguments: str, lines: int = 24, columns: int = 100, **more: str
) -> str:
    """What a terminal of this size shows; the pager marks what it is given."""
    environ = environment(cluster.bootstrap, TERM="xterm", NO_COLOR="1", **more)
    child = pexpect.spawn(
        KCLI[0],
        [*KCLI[1:], *arguments],
        env=environ,
        encoding="utf-8",
        timeout=30,
        dimensions=(lines, columns),
    )
    shown = child.read()
    child.close()
    assert child.exitstatus == 0, shown
    assert isinstance(shown, str)
    return shown


MARK = f"{sys.executable} -c \"import os,sys; print('PAGED', os.environ['LESS']); print(sys.stdin.read())\""


@pytest.mark.parametrize(
    "arguments", [["topics", "list"], ["topics", "offsets"], ["topics", "describe", "--match", "*"]]
)
def test_a_list_that_is_longer_than_the_terminal_is_paged(cluster: FakeCluster, arguments: list[str]) -> None:
    shown = on_terminal(cluster, *arguments, KCLI_PAGER=MARK)
    assert "PAGED FRX" in shown
    assert "topic-00" in shown
    assert "topic-39" in shown


def test_what_fits_and_what_is_not_wanted_is_not_paged(cluster: FakeCluster) -> None:
    assert "PAGED" not in on_terminal(cluster, "topics", "list", lines=60, KCLI_PAGER=MARK)
    assert "PAGED" not in on_terminal(cluster, "topics", "list", "--no-pager", KCLI_PAGER=MARK)
    assert "PAGED" not in on_terminal(cluster, "topics", "list", KCLI_PAGER="cat")
    assert "PAGED" in on_terminal(cluster, "topics", "list", PAGER=MARK)


def test_a_pager_that_is_not_there_costs_nothing(cluster: FakeCluster) -> None:
    assert "topic-39" in on_terminal(cluster, "topics", "list", KCLI_PAGER="no-such-pager-here")


def test_a_pipe_is_never_paged(cluster: FakeCluster, tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    os.environ["KCLI_PAGER"] = f"touch {touched}"
    try:
        done = kcli_process("topics", "list", bootstrap=cluster.bootstrap)
    finally:
        del os.environ["KCLI_PAGER"]
    assert done.stdout.count(b"topic-") == 40
    assert not touched.exists()


def test_quitting_the_pager_ends_it_quietly(cluster: FakeCluster) -> None:
    assert "Traceback" not in on_terminal(cluster, "topics", "list", KCLI_PAGER="head -n 3")
