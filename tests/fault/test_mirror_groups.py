"""Committed offsets that a mirror translates: exact or unknown, whatever the log holds and however often it restarted."""

import json
from collections.abc import Iterator

import pytest

from kcli.core import Admin
from kcli.core.admin.topics import id_text
from kcli.core.errors import KcliError
from kcli.core.protocol.messages.offset_commit import OffsetCommitRequest
from kcli.core.types import OffsetAndMetadata, ProducerRecord, TopicPartition
from kcli.flows.mirror.offset_map import OffsetMap
from kcli.flows.mirror.sync_groups import FAILED, Mapped, sync_groups
from tests.committing import commit
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import batch
from tests.fault.mirror_command import arguments, mirrored, running, until
from tests.fault.mirror_records import compacted
from tests.fault.producing import PATIENCE, quick
from tests.rewinding import QUICK, others, wait_for

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
def source() -> Iterator[FakeCluster]:
    """Partition 0 has transactions, a third of them aborted, and compacted batches; each value is its own."""
    with FakeCluster(1, topics={"t": 2}) as made:
        grow(made, 0)
        yield made


@pytest.fixture
def target() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={}, cluster_id="there") as made:
        yield made


def grow(cluster: FakeCluster, turn: int) -> None:
    with quick(cluster, transactional_id="writer", batch_size=2_000) as producer:
        producer.init_transactions(PATIENCE)
        for number in range(3):
            producer.begin_transaction()
            for index in range(3):
                producer.send(ProducerRecord("t", b"%d.%d.%d" % (turn, number, index), partition=0))
            producer.flush(PATIENCE)
            (producer.abort_transaction if number == 1 else producer.commit_transaction)(PATIENCE)
            kept = {delta: (b"k", b"c%d.%d.%d" % (turn, number, delta), (), 0) for delta in (1, 2, 6)}
            cluster.append("t", 0, compacted(kept, 8, codec=number))


def expected(source: FakeCluster, target: FakeCluster, offset: int) -> int:
    """Where the first record at or after the source ``offset`` is on the target, judged by its value."""
    there = {record.value: record.offset for record in target.log("t").records(committed=True)}
    for record in source.log("t").records(committed=True):
        if record.offset >= offset:
            return there[record.value]
    return max(there.values()) + 1


@pytest.mark.case("M14", "M20")
def test_every_offset_is_translated_to_that_of_the_same_or_the_next_record(
    source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...]
) -> None:
    """Over three runs: the map is what the runs before have saved."""
    for turn in range(3):
        if turn:
            grow(source, turn)
        end = source.log("t").end_offset
        groups = {f"{turn}-{offset}": offset for offset in range(0, end + 4)}
        for group, offset in groups.items():
            commit(source, group, {T0: OffsetAndMetadata(offset, "note")})
        done = mirrored(source, target, *delivery, *(w for group in groups for w in ("--sync-groups", group)))
        assert done.code == 0, done
        for group, offset in groups.items():
            found = target.committed_offsets(group)
            if offset <= end:
                assert found == {T0: expected(source, target, offset)}, (group, end)
                assert found[T0] <= target.log("t").end_offset, "the lag would be negative"
            else:
                assert found == {}
                assert (
                    f"group {group}, t-0: offset {offset} was not set: copied so far: up to offset {end}"
                    in done.err
                )


@pytest.mark.case("M14")
def test_offsets_that_retention_has_removed_at_the_source_are_still_known(
    source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...]
) -> None:
    mirrored(source, target, *delivery)
    at = {offset: expected(source, target, offset) for offset in (0, 1, 7, 13)}
    source.delete_records("t", 0, 20)
    for offset in at:
        commit(source, f"g{offset}", {T0: OffsetAndMetadata(offset)})
    done = mirrored(source, target, *delivery, *(w for offset in at for w in ("--sync-groups", f"g{offset}")))
    assert done.code == 0, done
    assert {offset: target.committed_offsets(f"g{offset}")[T0] for offset in at} == at


@pytest.mark.case("M14")
def test_what_the_mirror_did_not_copy_is_unknown_and_an_empty_partition_is_at_its_end(
    source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...]
) -> None:
    commit(source, "early", {T0: OffsetAndMetadata(5), T1: OffsetAndMetadata(0)})
    target.create_topic("t", 2)
    target.append("t", 1, batch(b"older"))
    words = ("--offset", "9:", "--yes", "--sync-groups", "early")
    source.append("t", 1, batch(*[b"x"] * 9))
    done = mirrored(source, target, *delivery, *words)
    assert done.code == 0, done
    for tp, offset in ((T0, 5), (T1, 0)):
        assert f"group early, {tp}: offset {offset} was not set: the mirror began at offset 9" in done.err
    assert target.committed_offsets("early") == {}
    commit(source, "end", {T1: OffsetAndMetadata(9)})
    mirrored(source, target, *delivery, *words[:-1], "end")
    assert target.committed_offsets("end") == {T1: 1}, "after what was there before the mirror"


@pytest.mark.case("M14")
def test_an_offset_on_the_target_is_never_moved_backwards(source: FakeCluster, target: FakeCluster) -> None:
    commit(source, "g", {T0: OffsetAndMetadata(12)})
    words = ("--sync-groups", "g")
    mirrored(source, target, *words)
    first = target.committed_offsets("g")[T0]
    commit(source, "g", {T0: OffsetAndMetadata(3)})
    assert mirrored(source, target, *words).code == 0
    assert target.committed_offsets("g") == {T0: first}
    commit(source, "g", {T0: OffsetAndMetadata(13)})
    mirrored(source, target, *words)
    assert target.committed_offsets("g") == {T0: expected(source, target, 13)}


@pytest.mark.case("M15")
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_with_members_on_the_target_is_left_alone_which_is_said(
    source: FakeCluster, target: FakeCluster, protocol: str
) -> None:
    mirrored(source, target)
    commit(source, "busy", {T0: OffsetAndMetadata(20)})
    commit(source, "idle", {T0: OffsetAndMetadata(20)})
    options = {**QUICK, "enable_auto_commit": False, "group_protocol": protocol}
    with others(target.bootstrap, "t", "busy", 1, **options):
        wait_for(lambda: len(target.group_members("busy")) == 1 and target.group_state("busy") == "Stable")
        done = mirrored(source, target, "--sync-groups", "busy", "--sync-groups", "idle")
        assert target.committed_offsets("busy") == {}
    assert done.code == 0, done
    assert "group busy, t-0: offset 20 was not set: the group has members on the target" in done.err
    assert target.committed_offsets("idle") == {T0: expected(source, target, 20)}


@pytest.mark.case("M14")
def test_a_mirror_that_follows_its_source_syncs_groups_as_it_goes_and_when_it_is_stopped(
    source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    def there() -> int:
        with Admin(bootstrap_servers=target.bootstrap) as admin:
            found = admin.fetch_offsets({"g": [T0]})["g"]
        assert not isinstance(found, KcliError)
        stored = found[T0]
        return stored.offset if isinstance(stored, OffsetAndMetadata) else -1

    commit(source, "g", {T0: OffsetAndMetadata(3)})
    words = arguments(source, target, "--sync-groups", "g", "-X", "metadata.max.age.ms=200", *delivery)
    with running(monkeypatch, *words) as mirror:
        until(lambda: there() >= 0)
        assert there() == expected(source, target, 3)
        offset = source.log("t").end_offset
        commit(source, "g", {T0: OffsetAndMetadata(offset)})
        until(lambda: there() == expected(source, target, offset))
        mirror.stop()
        done = mirror.done()
    assert done.code == 130
    assert "committed offset" in done.err


def test_a_group_without_committed_offsets_is_a_warning(source: FakeCluster, target: FakeCluster) -> None:
    commit(source, "g", {T0: OffsetAndMetadata(1)})
    done = mirrored(source, target, "--sync-groups", "typo", "--sync-groups", "g")
    assert done.code == 0, done
    warning = "group {} has no committed offset of a mirrored partition on the source"
    assert warning.format("typo") in done.err
    assert warning.format("g") not in done.err
    assert warning.format("typo") in json.loads(done.out)["warnings"]


@pytest.mark.case("B8", "M14")
@pytest.mark.parametrize("version", [9, 10], ids=["by name", "by id"])
def test_a_target_that_is_recreated_after_the_copy_gets_no_translated_offset(
    version: int, source: FakeCluster, target: FakeCluster
) -> None:
    target.cap_versions({OffsetCommitRequest: version})
    target.create_topic("t", 1)
    was = id_text(target.topic_id("t"))
    target.recreate_topic("t", 1)
    commit(source, "g", {T0: OffsetAndMetadata(5)})
    offsets = OffsetMap(0, 0)
    offsets.append(0, 0, 20)
    offsets.advance(20)
    with (
        Admin(bootstrap_servers=source.bootstrap) as here,
        Admin(bootstrap_servers=target.bootstrap) as there,
    ):
        (row,), errors = sync_groups(here, there, ["g"], {T0: Mapped(T0, offsets, was)})
    assert (row.status, errors) == (FAILED, {})
    assert "topic t was deleted and created again" in row.why
    assert target.committed_offsets("g") == {}
