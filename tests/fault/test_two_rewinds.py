"""Two rewinds of a group by two processes whose state folders know nothing of one another: two machines.

The first is held at one request; the second runs from its start to its end; then the first continues.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.core.protocol.messages.offset_commit import OffsetCommitRequest
from kcli.core.protocol.messages.offset_fetch import OffsetFetchRequest
from kcli.core.types import OffsetAndMetadata, TopicPartition
from tests.committing import Kcli, commit, committed, put
from tests.fake.cluster import FakeCluster

T0, T1 = (TopicPartition("t", number) for number in range(2))
OLD = {T0: OffsetAndMetadata(20), T1: OffsetAndMetadata(15)}


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"t": 2}) as made:
        for partition in range(2):
            put(made, "t", partition)
        commit(made, "g", OLD)
        yield made


@pytest.mark.case("X27")
@pytest.mark.parametrize(
    ("api", "after", "at", "codes"),
    [
        (OffsetFetchRequest, 1, "request", (7, 0)),
        (OffsetFetchRequest, 2, "answer", (6, 0)),
        (OffsetCommitRequest, 0, "request", (6, 0)),
        (OffsetCommitRequest, 0, "answer", (7, 0)),
        (OffsetFetchRequest, 3, "request", (7, 0)),
        (OffsetFetchRequest, 3, "answer", (7, 0)),
        (OffsetFetchRequest, 4, "request", (7, 0)),
    ],
    ids=[
        "before-the-look", "after-the-last-look", "before-the-commit", "after-the-commit",
        "before-the-read-back", "after-the-read-back", "before-the-later-look",
    ],
)  # fmt: skip
def test_two_machines_are_never_both_sure(
    cluster: FakeCluster, tmp_path: Path, api: Any, after: int, at: str, codes: tuple[int, int]
) -> None:
    first = Kcli(cluster, tmp_path / "first", "groups", "rewind", "g", "--yes", "-o", "json")
    second = Kcli(cluster, tmp_path / "second", "groups", "rewind", "g", "--yes", "-o", "json")
    held = cluster.hold(api, at, after=after, when=lambda sent: not getattr(sent, "require_stable", False))
    one = first.start("--to", "5")
    held.wait()
    two = second("--to", "3", code=codes[1])
    (journal,) = (path.stem for path in second.journals())
    held.release()
    out, err = one.communicate(timeout=60)
    assert one.returncode == codes[0], err
    statuses = {item["status"] for item in json.loads(out)["items"]}
    assert "done" not in statuses
    if codes[0] == 7:
        assert journal in err
        assert set(committed(cluster).values()) == {OffsetAndMetadata(3, f"kcli-rewind={journal}")}
    else:
        assert "another machine may have ended unseen" in err
        assert statuses == {"unknown"}
    assert {item["status"] for item in json.loads(two.out)["items"]} == {"done"}


@pytest.mark.parametrize(
    ("after", "at"), [(1, "answer"), (2, "request")], ids=["after-the-look", "before-the-last-look"]
)
def test_a_rewind_over_another_one_says_so_and_its_undo_restores_that(
    cluster: FakeCluster, tmp_path: Path, after: int, at: str
) -> None:
    """The second comes and goes between the first one's look and its commit, whose own look shows it."""
    first = Kcli(cluster, tmp_path / "first", "groups", "rewind", "g", "--yes", "-o", "json")
    second = Kcli(cluster, tmp_path / "second", "groups", "rewind", "g", "--yes", "-o", "json")
    stable = "require_stable"
    held = cluster.hold(
        OffsetFetchRequest, at, after=after, when=lambda sent: not getattr(sent, stable, False)
    )
    one = first.start("--to", "5")
    held.wait()
    second("--to", "3")
    (others,), theirs = (path.stem for path in second.journals()), committed(cluster)
    held.release()
    out, err = one.communicate(timeout=60)
    assert one.returncode == 7, err
    (own,) = (path.stem for path in first.journals())
    assert set(committed(cluster).values()) == {OffsetAndMetadata(5, f"kcli-rewind={own}")}
    items = json.loads(out)["items"]
    assert {(item["reason"], item["found"], item["undo"]) for item in items} == {("overwrote", 5, own)}
    assert {item["status"] for item in items} == {"failed"}
    assert {item["note"] for item in items} == {f"overwrote 3 (set by rewind {others})"}
    assert "2 of 2 partitions of group g had been set by another client before the commit" in err
    assert f"t-0 was at 20 in the plan, but the commit has replaced 3 (set by rewind {others})" in err
    assert f"`kcli groups rewind g --undo={own}` restores what was replaced" in err
    first(f"--undo={own}")
    assert committed(cluster) == theirs


def test_a_commit_that_may_have_been_replaced_unseen_makes_a_rewind_unsure(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    """Another client commits, the rewind commits over it, and neither response arrives: the next try finds its own."""

    def ahead(sent: Any) -> bool:
        return not getattr(sent, "require_stable", False)

    first = Kcli(cluster, tmp_path, "groups", "rewind", "g", "--yes", "-o", "json")
    held = cluster.hold(OffsetFetchRequest, after=2, when=ahead)
    cluster.swallow(OffsetFetchRequest, "skip", nth=3, when=ahead)
    one = first.start("--to", "5")
    held.wait()
    commit(cluster, "g", {T0: OffsetAndMetadata(9), T1: OffsetAndMetadata(9)})
    cluster.swallow(OffsetCommitRequest, "reset")
    held.release()
    out, err = one.communicate(timeout=60)
    assert one.returncode == 6, err
    assert {item["status"] for item in json.loads(out)["items"]} == {"unknown"}
    assert "no response" in err


@pytest.mark.parametrize("undone", [False, True], ids=["set", "deleted"])
def test_a_slow_link_does_not_make_a_rewind_unsure(
    cluster: FakeCluster, tmp_path: Path, undone: bool
) -> None:
    """Answers come one after the other, each 0.3 s late."""
    kcli = Kcli(cluster, tmp_path, "groups")
    if undone:
        kcli("copy", "g", "new", "--yes")
    cluster.delay(None, 0.3)
    line = ("rewind", "new", "--undo") if undone else ("rewind", "g", "--to", "3")
    items = kcli.items(*line, "--yes")
    assert {item["status"] for item in items} == {"done"}


def test_two_machines_at_the_same_time(cluster: FakeCluster, tmp_path: Path) -> None:
    """Both are sure only where the plan of one began at the offsets of the other: they came one after the other."""
    both = [
        Kcli(cluster, tmp_path / name, "groups", "rewind", "g", "--yes", "-o", "json")
        for name in ("one", "two")
    ]
    started = [kcli.start("--to", to) for kcli, to in zip(both, ("3", "5"), strict=True)]
    said = [process.communicate(timeout=60)[0] for process in started]
    codes = [process.returncode for process in started]
    assert set(codes) <= {0, 6, 7}
    assert len({commit.offset for commit in committed(cluster).values()}) == 1
    if codes == [0, 0]:
        from_offsets = [{item["committed"] for item in json.loads(text)["items"]} for text in said]
        assert from_offsets in ([{5}, {20, 15}], [{20, 15}, {3}])


def test_the_mark_of_a_rewind_is_no_metadata_of_the_application(cluster: FakeCluster, tmp_path: Path) -> None:
    """Described, exported, copied, rewound again and undone as if it were not there."""
    kcli = Kcli(cluster, tmp_path, "groups")
    kcli("rewind", "g", "--to", "3", "--topic", "t:0", "--yes")
    (journal,) = (path.stem for path in kcli.journals())
    assert committed(cluster)[T0].metadata == f"kcli-rewind={journal}"
    described = json.loads(kcli("describe", "g", "-o", "json").out)["items"]
    (rows,) = [group["partitions"] for group in described]
    assert (rows[0]["metadata"], rows[0]["note"]) == (None, f"set by rewind {journal}")
    exported = kcli("export", "g", "--format", "ndjson").out
    assert "kcli-rewind" not in exported
    kcli("copy", "g", "h", "--yes")
    assert committed(cluster, "h")[T0] == OffsetAndMetadata(3)
    kcli("rewind", "g", "--to", "4", "--topic", "t:0", "--yes")
    (second,) = {path.stem for path in kcli.journals()} - {journal} - _of(kcli, "h")
    assert committed(cluster)[T0].metadata == f"kcli-rewind={second}"
    kcli("rewind", "g", f"--undo={journal}", "--yes")
    assert committed(cluster) == OLD


def _of(kcli: Kcli, group: str) -> set[str]:
    return {path.stem for path in kcli.journals() if json.loads(path.read_text())["group"] == group}
