"""The groups in which ``produce --checkpoint`` keeps its place are taken for nobody's consumers."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kcli.core.types import OffsetAndMetadata, TopicPartition
from tests.committing import commit, committed
from tests.fake.cluster import FakeCluster
from tests.run import kcli, kcli_process, start

GROUP = "kcli-produce.t1"
T0 = TopicPartition("one", 0)
RUN = ("one", "--transactional-id", "t1", "--transaction-every", "2")


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"one": 1}) as made:
        commit(made, "billing", {T0: OffsetAndMetadata(0)})
        yield made


def produced(cluster: FakeCluster, tmp_path: Path, lines: int = 5) -> list[str]:
    """The command line that continues, after a run of so many lines that all of them are stored."""
    source = tmp_path / "lines"
    source.write_text("".join(f"{number}\n" for number in range(lines)))
    run = ["produce", *RUN, "--checkpoint", str(tmp_path / "at"), str(source)]
    done = kcli(*run, bootstrap=cluster.bootstrap)
    assert done.returncode == 0, done.stderr
    return run


def items(cluster: FakeCluster, *arguments: str, code: int = 0) -> list[Any]:
    done = kcli("groups", *arguments, "-o", "json", bootstrap=cluster.bootstrap)
    assert done.returncode == code, done.stderr
    found: list[Any] = json.loads(done.stdout)["items"]
    return found


def test_the_input_position_is_no_position_of_a_consumer(cluster: FakeCluster, tmp_path: Path) -> None:
    produced(cluster, tmp_path)
    place = committed(cluster, GROUP)[T0]
    assert place.offset == 0
    assert msgspec.json.decode(place.metadata)["unit"] == 5


def test_they_are_left_out_wherever_all_groups_are_meant(cluster: FakeCluster, tmp_path: Path) -> None:
    produced(cluster, tmp_path)
    assert [row["group"] for row in items(cluster, "list")] == ["billing"]
    assert [row["group"] for row in items(cluster, "list", "--topic", "one")] == ["billing"]
    assert [row["group"] for row in items(cluster, "list", "--match", "*")] == ["billing"]
    assert [row["group"] for row in items(cluster, "lag")] == ["billing"]
    assert [row["group"] for row in items(cluster, "describe", "--all")] == ["billing"]
    done = kcli("groups", "export", "--all", bootstrap=cluster.bootstrap)
    assert b"kcli-produce" not in done.stdout
    assert b"billing" in done.stdout


def test_they_are_shown_and_explained_when_they_are_named(cluster: FakeCluster, tmp_path: Path) -> None:
    produced(cluster, tmp_path)
    assert [row["group"] for row in items(cluster, "list", "--match", "kcli-produce*")] == [GROUP]
    (described,) = items(cluster, "describe", GROUP)
    assert described["note"] == (
        "not a consumer group: stores the progress of produce --checkpoint for transactional id t1"
    )
    assert [row["group"] for row in items(cluster, "describe", "--match", "kcli-produce*")] == [GROUP]
    exported = kcli("groups", "export", GROUP, bootstrap=cluster.bootstrap)
    assert exported.stdout.decode().splitlines() == ["one,0,0"]


def test_their_lag_is_none(cluster: FakeCluster, tmp_path: Path) -> None:
    produced(cluster, tmp_path)
    done = kcli("groups", "lag", GROUP, bootstrap=cluster.bootstrap)
    assert done.returncode == 1
    assert b"group kcli-produce.t1 has no lag" in done.stderr
    assert b"loss risk" not in done.stdout
    assert [row["group"] for row in items(cluster, "lag", "billing", GROUP, code=6)] == ["billing"]


def test_they_are_completed_when_their_first_word_was_typed(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    produced(cluster, tmp_path)

    def offered(word: str) -> list[str]:
        words = ("__complete", "groups", "zsh", word, "kcli", "groups", "lag")
        lines = kcli_process(*words, bootstrap=cluster.bootstrap).stdout.decode().splitlines()
        return [line.partition("\t")[0] for line in lines]

    assert offered("") == ["billing"]
    assert offered("k") == []
    assert offered("kcli-") == [GROUP]


def test_a_checkpoint_of_the_previous_version_is_resumed(cluster: FakeCluster, tmp_path: Path) -> None:
    """It had the line's number for an offset."""
    run = produced(cluster, tmp_path, 4)
    place = committed(cluster, GROUP)[T0]
    commit(cluster, GROUP, {T0: OffsetAndMetadata(4, place.metadata)})
    with (tmp_path / "lines").open("a") as source:
        source.write("4\n5\n")
    done = kcli(*run, bootstrap=cluster.bootstrap)
    assert done.returncode == 0, done.stderr
    stored = [int(record.value or b"") for record in cluster.log("one", 0).records(committed=True)]
    assert stored == list(range(6))
    assert committed(cluster, GROUP)[T0].offset == 0


def test_a_killed_run_continues_at_its_position(cluster: FakeCluster, tmp_path: Path) -> None:
    source = tmp_path / "lines"
    source.write_text("".join(f"{number}\n" for number in range(400)))
    run = ["produce", *RUN, "--checkpoint", str(tmp_path / "at"), str(source)]
    with start(*run, bootstrap=cluster.bootstrap) as process:
        cluster.wait_until(lambda: len(cluster.log("one", 0).records(committed=True)) >= 20)
        process.send_signal(signal.SIGKILL)
        process.wait(120)
    done = kcli(*run, bootstrap=cluster.bootstrap)
    assert done.returncode == 0, done.stderr
    stored = [int(record.value or b"") for record in cluster.log("one", 0).records(committed=True)]
    assert stored == list(range(400))
