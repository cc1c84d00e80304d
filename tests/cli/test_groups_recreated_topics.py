"""Commands that set committed offsets, after a topic was deleted and created again: nothing of the one that is gone is
committed for the new one, and what is refused is named (case B8).
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcli.core.protocol.messages.offset_commit import OffsetCommitRequest
from kcli.core.protocol.messages.offset_fetch import OffsetFetchRequest
from kcli.core.types import OffsetAndMetadata, TopicPartition
from tests.committing import Kcli, commit, committed, offsets, put
from tests.fake.cluster import FakeCluster

pytestmark = pytest.mark.case("B8")

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
OLD = {T0: OffsetAndMetadata(12), T1: OffsetAndMetadata(15), U0: OffsetAndMetadata(18)}
VERSIONS = pytest.mark.parametrize("version", [9, 10], ids=["by name", "by id"])


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"t": 2, "u": 1}) as made:
        for each in OLD:
            put(made, *each)
        commit(made, "g", OLD)
        yield made


@pytest.fixture
def groups(cluster: FakeCluster, tmp_path: Path) -> Kcli:
    return Kcli(cluster, tmp_path / "state", "groups")


def recreate(cluster: FakeCluster) -> None:
    """The new topic has as many records as the old one had: by offsets alone nothing shows it."""
    cluster.recreate_topic("t")
    for each in (T0, T1):
        put(cluster, *each)


def test_an_undo_refuses_the_partitions_of_a_recreated_topic_by_name_and_restores_the_others(
    cluster: FakeCluster, groups: Kcli
) -> None:
    groups("rewind", "g", "--to", "earliest", "--all-topics", "--yes")
    assert offsets(cluster) == [0, 0, 0]
    recreate(cluster)
    done = groups("rewind", "g", "--undo", "--yes", code=6)
    assert committed(cluster) == {U0: OffsetAndMetadata(18)}
    for each in (T0, T1):
        assert f"{each}: the offset is not one of this topic: topic t was deleted and recreated" in done.out
    assert "warning: t-0 and 1 more refused: topic t was deleted and recreated since" in done.err
    assert "leave it out with --exclude-topic t; --to earliest, or a time, sets offsets" in done.err


def test_the_remedies_of_a_refused_undo_work(cluster: FakeCluster, groups: Kcli) -> None:
    groups("rewind", "g", "--to", "earliest", "--all-topics", "--yes")
    recreate(cluster)
    groups("rewind", "g", "--undo", "--exclude-topic", "t", "--yes")
    assert committed(cluster) == {U0: OffsetAndMetadata(18)}
    groups("rewind", "g", "--topic", "t", "--to", "earliest", "--yes")
    assert offsets(cluster) == [0, 0, 18]


def test_an_undo_does_not_delete_a_commit_in_a_recreated_topic(cluster: FakeCluster, groups: Kcli) -> None:
    """The old partition had none; the one that is there was made by a member of the group since."""
    commit(cluster, "h", {T0: OffsetAndMetadata(3)})
    groups("rewind", "h", "--to", "latest", "--yes")
    recreate(cluster)
    commit(cluster, "h", {T0: OffsetAndMetadata(7), T1: OffsetAndMetadata(8)})
    groups("rewind", "h", "--undo", "--yes", code=7)
    assert offsets(cluster, "h") == [7, 8]


def test_a_journal_of_an_older_version_has_no_ids_and_is_undone_as_before(
    cluster: FakeCluster, groups: Kcli
) -> None:
    groups("rewind", "g", "--to", "earliest", "--all-topics", "--yes")
    (path,) = groups.journals()
    journal = json.loads(path.read_text())
    assert all(row.pop("topic_id") for row in journal["partitions"])
    path.write_text(json.dumps(journal))
    groups("rewind", "g", "--undo", "--yes")
    assert committed(cluster) == OLD


@VERSIONS
def test_a_topic_that_is_recreated_between_plan_and_commit_gets_no_offset(
    version: int, cluster: FakeCluster, groups: Kcli
) -> None:
    cluster.cap_versions({OffsetCommitRequest: version})
    held = cluster.hold(OffsetFetchRequest, after=1)  # the check immediately before the commits
    process = groups.start("create", "new", "-t", "t", "-t", "u", "--from", "latest", "--yes")
    held.wait()
    recreate(cluster)
    held.release()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 5, err
    assert "2 partitions of group new failed" in err
    assert "t-0: topic t was deleted and created again: offset 20 is one of the topic that is gone" in err
    assert committed(cluster, "new").keys() == {U0}


def export(groups: Kcli, path: Path, form: str) -> None:
    path.write_text(groups("export", "g", "--format", form).out)


def test_a_file_with_topic_ids_is_not_imported_into_a_recreated_topic(
    cluster: FakeCluster, groups: Kcli, tmp_path: Path
) -> None:
    export(groups, tmp_path / "file", "ndjson")
    recreate(cluster)
    done = groups("import", str(tmp_path / "file"), "--yes", code=6)
    assert "t-0: the offset of the file is not one of this topic: topic t was deleted and rec" in done.out
    assert "--by time finds the offset by the time of its record" in done.err
    assert committed(cluster) == {U0: OffsetAndMetadata(18)}


def test_a_file_with_topic_ids_is_no_target_of_a_rewind_of_a_recreated_topic(
    cluster: FakeCluster, groups: Kcli, tmp_path: Path
) -> None:
    export(groups, tmp_path / "file", "ndjson")
    recreate(cluster)
    commit(cluster, "g", {T0: OffsetAndMetadata(1), U0: OffsetAndMetadata(1)})
    done = groups("rewind", "g", "--from-file", str(tmp_path / "file"), "--yes", code=6)
    assert "t-0: the offset is not one of this topic: topic t was deleted and recreated" in done.out
    assert offsets(cluster) == [1, 18]


def test_a_csv_file_says_nothing_of_topic_ids_so_its_offsets_are_taken(
    cluster: FakeCluster, groups: Kcli, tmp_path: Path
) -> None:
    """Kafka's format has four columns. What the help says of it."""
    export(groups, tmp_path / "file", "csv")
    recreate(cluster)
    groups("import", str(tmp_path / "file"), "--group", "g", "--yes")
    assert offsets(cluster) == [12, 15, 18]


@VERSIONS
def test_a_copy_takes_what_the_other_group_has_committed_in_the_new_topic(
    version: int, cluster: FakeCluster, groups: Kcli
) -> None:
    """Its commits of the old one are gone with it."""
    cluster.cap_versions({OffsetCommitRequest: version})
    recreate(cluster)
    commit(cluster, "g", {T0: OffsetAndMetadata(4)})
    groups("copy", "g", "h", "--yes")
    assert committed(cluster, "h") == {T0: OffsetAndMetadata(4), U0: OffsetAndMetadata(18)}
