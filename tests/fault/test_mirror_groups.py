"""Committed offsets that a mirror translates: exact or unknown, whatever the log holds and however often it restarted."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.account.outcomes import Outcome
from kcli.core import Admin
from kcli.core.admin.topics import id_text
from kcli.core.error_codes import TOPIC_AUTHORIZATION_FAILED, UNSTABLE_OFFSET_COMMIT
from kcli.core.errors import KcliError
from kcli.core.protocol.messages.offset_commit import OffsetCommitRequest
from kcli.core.protocol.messages.offset_fetch import OffsetFetchRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.types import OffsetAndMetadata, ProducerRecord, TopicPartition
from kcli.flows.mirror.copy.offset_map import OffsetMap
from kcli.flows.mirror.groups.memory import GroupMemory
from kcli.flows.mirror.groups.offsets import Mapped
from kcli.flows.mirror.groups.selection import group_selectors
from kcli.flows.mirror.groups.sync import maps_of_job, sync_groups
from kcli.flows.mirror.job.state import JobId, SavedJob, load_jobs
from kcli.flows.mirror.topics.routes import STATE_TOPIC
from kcli.flows.rewind.mark import marked
from tests.committing import commit, committed
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import batch
from tests.fake.script import FOREVER
from tests.fault.mirror_command import Row, arguments, mirrored, running, until
from tests.fault.mirror_records import compacted
from tests.fault.producing import PATIENCE, quick
from tests.rewinding import QUICK, others, wait_for
from tests.run import Done, kcli_as_set_up

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
GROUP_AUTHORIZATION_FAILED, OFFSET_METADATA_TOO_LARGE = 30, 12


def rows_of(done: Done) -> dict[tuple[str, int], Row]:
    """The offsets in a report, by group and partition."""
    return {(row["group"], row["partition"]): row for row in json.loads(done.out)["groups"]}


def job_of(target: FakeCluster) -> SavedJob:
    records = target.log(STATE_TOPIC).records(committed=True)
    jobs = load_jobs((record.key, record.value) for record in records)
    return next(saved for job, saved in jobs.items() if job.job == "j")


def raw(request: Any) -> bytes:
    """The records of a produce request."""
    return b"".join(bytes(row.records or b"") for topic in request.topic_data for row in topic.partition_data)


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
        assert done.code == 6, done
        rows = rows_of(done)
        for group, offset in groups.items():
            found = target.committed_offsets(group)
            if offset <= end:
                assert found == {T0: expected(source, target, offset)}, (group, end)
                assert found[T0] <= target.log("t").end_offset, "the lag would be negative"
            else:
                assert found == {}
                assert (rows[group, 0]["status"], rows[group, 0]["source_offset"]) == ("missing", offset)
                assert (
                    rows[group, 0]["why"]
                    == f"all is copied up to offset {end}, the end of the source when it was seen last"
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
    assert done.code == 6, done
    for tp, offset in ((T0, 5), (T1, 0)):
        row = rows_of(done)["early", tp.partition]
        assert (row["status"], row["source_offset"], row["target_offset"]) == ("refused", offset, None)
        assert row["why"] == "the mirror began at offset 9, and what is before it was not copied"
    assert "group early, t-0, t-1: offsets were not set" in done.err
    assert "0 of 2 committed offsets set, 2 refused" in done.err
    assert target.committed_offsets("early") == {}
    commit(source, "end", {T1: OffsetAndMetadata(9)})
    mirrored(source, target, *delivery, *words[:-1], "end")
    assert target.committed_offsets("end") == {T1: 1}, "after what was there before the mirror"


@pytest.mark.case("M14")
@pytest.mark.parametrize("kept", [(), ("--checkpoint",)], ids=["in the topic", "in a file"])
def test_a_group_that_was_rewound_is_followed_while_the_offset_on_the_target_is_the_mirrors(
    source: FakeCluster, target: FakeCluster, kept: tuple[str, ...], tmp_path: Path
) -> None:
    words = ("--sync-groups", "g", *(w for w in kept for w in (w, str(tmp_path / "positions"))))
    for offset in (12, 3, 3, 13, 0):
        commit(source, "g", {T0: OffsetAndMetadata(offset, f"note {offset}")})
        done = mirrored(source, target, *words)
        assert done.code == 0, done
        row = rows_of(done)["g", 0]
        assert (row["source_offset"], row["target_offset"]) == (offset, expected(source, target, offset))
        assert committed(target, "g") == {T0: OffsetAndMetadata(row["target_offset"], f"note {offset}")}
        assert row["synced_at"]


@pytest.mark.case("M14")
def test_what_its_consumers_have_committed_on_the_target_is_left_alone(
    source: FakeCluster, target: FakeCluster
) -> None:
    words = ("--sync-groups", "g")

    def synced(offset: int) -> tuple[int, Row]:
        commit(source, "g", {T0: OffsetAndMetadata(offset)})
        done = mirrored(source, target, *words)
        return done.code, rows_of(done)["g", 0]

    assert synced(12)[0] == 0
    own = target.committed_offsets("g")[T0]
    commit(target, "g", {T0: OffsetAndMetadata(own + 1)})
    code, row = synced(12)
    assert (code, row["status"]) == (0, "unchanged")
    assert row["why"] == f"the group has committed offset {own + 1} on the target, which is later"
    for offset, there in ((3, own + 1), (12, own - 1), (14, own - 1)):
        commit(target, "g", {T0: OffsetAndMetadata(there)})
        code, row = synced(offset)
        assert (code, row["status"]) == (6, "refused")
        assert "its consumers have moved over" in row["why"]
        assert target.committed_offsets("g") == {T0: there}
    with Admin(bootstrap_servers=target.bootstrap) as admin:
        admin.delete_offsets({"g": [T0]})
    assert synced(3)[0] == 0
    assert target.committed_offsets("g") == {T0: expected(source, target, 3)}


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
    assert done.code == 6, done
    rows = rows_of(done)
    assert (rows["busy", 0]["status"], rows["idle", 0]["status"]) == ("refused", "done")
    assert rows["busy", 0]["why"] == "the group has members on the target, which commit themselves"
    assert "group busy, t-0: offset 20 was not set" in done.err
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


def test_a_group_that_does_not_exist_is_missing_with_near_names(
    source: FakeCluster, target: FakeCluster
) -> None:
    source.create_topic("u", 1)
    commit(source, "billing", {T0: OffsetAndMetadata(1)})
    commit(source, "elsewhere", {TopicPartition("u", 0): OffsetAndMetadata(0)})
    names = ("biling", "nothing-like-it", "elsewhere", "billing")
    done = mirrored(source, target, *(w for name in names for w in ("--sync-groups", name)))
    assert done.code == 6, done
    document = json.loads(done.out)
    assert {row["group"]: row["status"] for row in document["groups"]} == {
        "biling": "missing", "nothing-like-it": "missing", "elsewhere": "missing", "billing": "done",
    }  # fmt: skip
    nobody = "no group of that name has a member or a committed offset"
    assert not document["complete"]
    assert {(one["what"], one["why"]) for one in document["missing"]} == {
        ("group biling", nobody),
        ("group nothing-like-it", nobody),
        ("group elsewhere", "it has committed no offset of a mirrored partition"),
    }
    assert "did you mean billing?" in done.err
    assert "check --sync-groups and --from" in done.err
    dry = mirrored(source, target, *(w for name in names for w in ("--sync-groups", name)), "--dry-run")
    assert dry.code == 6, dry
    assert dry.err.count("no offset was set") == 3
    assert mirrored(source, target, "--sync-groups", "billing", "--dry-run").code == 0


def test_groups_are_excluded_from_patterns_only(source: FakeCluster, target: FakeCluster) -> None:
    commit(source, "billing", {T0: OffsetAndMetadata(7)})
    done = mirrored(source, target, "--sync-groups", "billing", "--exclude-groups", "*")
    assert (done.code, rows_of(done)["billing", 0]["status"]) == (0, "done")
    done = mirrored(source, target, "--exclude-groups", "*")
    assert done.code == 2, done
    assert "--exclude-groups without --sync-groups" in done.err


def test_patterns_select_the_groups_that_read_what_is_mirrored(
    source: FakeCluster, target: FakeCluster
) -> None:
    source.create_topic("u", 1)
    for group in ("pay-a", "pay-b", "pay-test", "audit", "__kcli.mirror.x", "kcli-produce.x"):
        commit(source, group, {T0: OffsetAndMetadata(7)})
    commit(source, "pay-other", {TopicPartition("u", 0): OffsetAndMetadata(0)})
    done = mirrored(
        source, target, "--sync-groups", "pay-*", "--exclude-groups", "^.*-test", "--sync-groups", "^none.*"
    )
    assert done.code == 6, done
    rows = json.loads(done.out)["groups"]
    assert {(row["group"], row["status"]) for row in rows} == {
        ("pay-a", "done"), ("pay-b", "done"), ("^none.*", "missing"),
    }  # fmt: skip
    assert "groups ^none.*: no offset was set" in done.err
    assert target.committed_offsets("pay-test") == target.committed_offsets("audit") == {}
    done = mirrored(source, target, "--sync-groups", "*")
    assert done.code == 0, done
    assert {row["group"] for row in json.loads(done.out)["groups"]} == {"pay-a", "pay-b", "pay-test", "audit"}
    assert target.committed_offsets("__kcli.mirror.x") == target.committed_offsets("kcli-produce.x") == {}
    done = mirrored(source, target, "--sync-groups", "pay-o*")
    (row,) = json.loads(done.out)["groups"]
    assert row["why"] == "of the 1 group that it selects none has committed an offset of a mirrored partition"


def test_a_group_whose_coordinator_is_away_is_missing_by_name_and_by_pattern(target: FakeCluster) -> None:
    with FakeCluster(1, topics={"t": 1, "__consumer_offsets": 4}) as source:
        source.append("t", 0, batch(*[b"x"] * 9))
        groups = [f"g{number}" for number in range(8)]
        for group in groups:
            commit(source, group, {T0: OffsetAndMetadata(5)})
        assert mirrored(source, target, "--sync-groups", "g*").code == 0
        source.lose_coordinator("group", 1)
        away = [group for group in groups if source.coordinator("group", group) < 0]
        assert 0 < len(away) < 8
        words = ("--sync-groups", "g*", "--sync-groups", away[0], "--timeout", "1s")
        done = mirrored(source, target, *words)
    assert done.code == 6, done
    document = json.loads(done.out)
    rows = {row["group"]: row for row in document["groups"]}
    assert sorted(rows) == groups
    for group, row in rows.items():
        assert row["status"] == ("missing" if group in away else "unchanged")
        assert (row["partition"], row["source_offset"], row["target_offset"]) == (0, 5, 5)
        assert row["synced_at"]
    assert not document["complete"]
    assert any("__consumer_offsets" in (one["where"] or "") for one in document["missing"])
    assert {f"group {group}" for group in away} <= {one["what"] for one in document["missing"]}


def test_an_offset_that_the_target_has_removed_is_refused(source: FakeCluster, target: FakeCluster) -> None:
    mirrored(source, target)
    target.delete_records("t", 0, 5)
    commit(source, "low", {T0: OffsetAndMetadata(0)})
    commit(source, "high", {T0: OffsetAndMetadata(20)})
    done = mirrored(source, target, "--sync-groups", "*")
    assert done.code == 6, done
    rows = rows_of(done)
    assert (rows["low", 0]["status"], rows["low", 0]["target_offset"]) == ("refused", 0)
    assert rows["low", 0]["why"] == "offset 0 was removed on the target: its log begins at 5"
    assert rows["high", 0]["status"] == "done"


def test_one_partition_of_a_commit_that_fails_leaves_the_others_done(
    source: FakeCluster, target: FakeCluster
) -> None:
    commit(source, "g", {T0: OffsetAndMetadata(7, "x"), T1: OffsetAndMetadata(0)})
    target.fail(OffsetCommitRequest, OFFSET_METADATA_TOO_LARGE, where=T0)
    done = mirrored(source, target, "--sync-groups", "g")
    assert done.code == 6, done
    rows = rows_of(done)
    assert (rows["g", 0]["status"], rows["g", 1]["status"]) == ("failed", "done")
    assert "OFFSET_METADATA_TOO_LARGE" in rows["g", 0]["why"]
    assert target.committed_offsets("g") == {T1: 0}
    assert "1 of 2 committed offsets set, 1 failed" in done.err
    again = mirrored(source, target, "--sync-groups", "g")
    assert again.code == 0, again
    assert {row["status"] for row in rows_of(again).values()} == {"done", "unchanged"}


def test_the_metadata_of_an_application_is_kept_and_the_mark_of_a_rewind_is_not(
    source: FakeCluster, target: FakeCluster
) -> None:
    """On the target no such rewind has been."""
    plain, own = OffsetAndMetadata(7), OffsetAndMetadata(0, "own")
    commit(source, "g", {T0: marked(plain, "20261130-111041-443aaa"), T1: own})
    assert mirrored(source, target, "--sync-groups", "g").code == 0
    found = target.with_groups(lambda groups: dict(groups.committed("g")))
    assert {tp: one.metadata for tp, one in found.items()} == {T0: "", T1: "own"}


def test_a_group_that_this_user_may_not_read_is_missing(source: FakeCluster, target: FakeCluster) -> None:
    commit(source, "g", {T0: OffsetAndMetadata(7)})
    commit(source, "secret", {T0: OffsetAndMetadata(7)})
    source.fail(OffsetFetchRequest, GROUP_AUTHORIZATION_FAILED, where="secret", times=FOREVER)
    done = mirrored(source, target, "--sync-groups", "secret", "--sync-groups", "g")
    assert done.code == 6, done
    rows = {row["group"]: row for row in json.loads(done.out)["groups"]}
    assert (rows["secret"]["status"], rows["g"]["status"]) == ("missing", "done")
    assert "GROUP_AUTHORIZATION_FAILED" in rows["secret"]["why"]
    assert rows["secret"]["topic"] is None


def test_a_group_that_this_user_may_not_set_has_failed(source: FakeCluster, target: FakeCluster) -> None:
    commit(source, "g", {T0: OffsetAndMetadata(7)})
    target.fail(OffsetCommitRequest, GROUP_AUTHORIZATION_FAILED, times=FOREVER)
    done = mirrored(source, target, "--sync-groups", "g")
    assert done.code == 6, done
    assert rows_of(done)["g", 0]["status"] == "failed"
    assert "GROUP_AUTHORIZATION_FAILED" in rows_of(done)["g", 0]["why"]


@pytest.mark.parametrize("applied", [True, False])
def test_a_commit_whose_answer_is_lost_is_judged_by_what_is_read_back(
    source: FakeCluster, target: FakeCluster, applied: bool
) -> None:
    """The commit is sent again until the deadline, and then read back."""
    commit(source, "g", {T0: OffsetAndMetadata(7)})
    (target.swallow if applied else target.drop)(OffsetCommitRequest, "reset", times=FOREVER)
    done = mirrored(source, target, "--sync-groups", "g", "--timeout", "1s")
    row = rows_of(done)["g", 0]
    if applied:
        assert (done.code, row["status"]) == (0, "done"), done
    else:
        assert (done.code, row["status"]) == (6, "unknown"), done
        assert row["why"].endswith("no offset was read back")
        assert "offset 7 may have been set or not" in done.err


def test_what_cannot_be_remembered_is_not_set(source: FakeCluster, target: FakeCluster) -> None:
    """Else a later run would take it for a commit of the group's consumers."""
    mirrored(source, target)
    commit(source, "g", {T0: OffsetAndMetadata(7)})
    target.fail(
        ProduceRequest,
        TOPIC_AUTHORIZATION_FAILED,
        times=FOREVER,
        when=lambda request: b'"of_job"' in raw(request),
    )
    done = mirrored(source, target, "--sync-groups", "g")
    assert done.code == 6, done
    assert rows_of(done)["g", 0]["status"] == "failed"
    assert f"the offsets of groups cannot be saved in {STATE_TOPIC}" in rows_of(done)["g", 0]["why"]
    assert target.committed_offsets("g") == {}


def test_the_open_transaction_of_a_group_is_waited_for_and_named(
    source: FakeCluster, target: FakeCluster
) -> None:
    commit(source, "g", {T0: OffsetAndMetadata(7), T1: OffsetAndMetadata(0)})
    source.fail(OffsetFetchRequest, UNSTABLE_OFFSET_COMMIT, where=T0, times=FOREVER)
    done = mirrored(source, target, "--sync-groups", "g", "--timeout", "1s")
    assert done.code == 6, done
    rows = rows_of(done)
    assert (rows["g", 0]["status"], rows["g", 1]["status"]) == ("missing", "done")
    assert "UNSTABLE_OFFSET_COMMIT" in rows["g", 0]["why"]


def test_a_commit_that_is_deleted_on_the_source_is_named(source: FakeCluster, target: FakeCluster) -> None:
    commit(source, "g", {T0: OffsetAndMetadata(7), T1: OffsetAndMetadata(0)})
    assert mirrored(source, target, "--sync-groups", "g").code == 0
    with Admin(bootstrap_servers=source.bootstrap) as admin:
        admin.delete_offsets({"g": [T0]})
    done = mirrored(source, target, "--sync-groups", "g")
    assert done.code == 6, done
    row = rows_of(done)["g", 0]
    assert (row["status"], row["source_offset"], row["target_offset"]) == (
        "missing",
        7,
        expected(source, target, 7),
    )
    assert row["why"] == "it is not committed on the source any more"


def test_lines_of_ndjson_have_the_offsets_after_the_partitions(
    source: FakeCluster, target: FakeCluster
) -> None:
    commit(source, "g", {T0: OffsetAndMetadata(7), T1: OffsetAndMetadata(0)})

    def printed(kind: str) -> str:
        words = arguments(source, target, "--until-caught-up", "--sync-groups", "g", "-o", kind)
        return kcli_as_set_up(*words).out

    kinds = [json.loads(line)["kind"] for line in printed("ndjson").splitlines()]
    assert kinds == ["MirrorPartition"] * 2 + ["MirrorGroupOffset"] * 2
    partitions, groups = printed("plain").split("\n\n")
    assert partitions.startswith("TOPIC ")
    assert [line.split()[0] for line in groups.splitlines()] == ["GROUP", "g", "g"]
    assert len(printed("csv").splitlines()) == 3


def test_without_a_source_the_offsets_are_those_that_the_job_has_seen(
    source: FakeCluster, target: FakeCluster
) -> None:
    """Also one that was beyond what was copied then."""
    end = source.log("t").end_offset
    mirrored(source, target)
    commit(source, "g", {T0: OffsetAndMetadata(end + 2, "note"), T1: OffsetAndMetadata(0)})
    done = mirrored(source, target, "--sync-groups", "g")
    assert {row["status"] for row in rows_of(done).values()} == {"missing", "done"}
    grow(source, 1)
    mirrored(source, target)
    saved = job_of(target)
    selectors = group_selectors(["*", "other"])
    with Admin(bootstrap_servers=target.bootstrap) as there:
        memory = GroupMemory(saved.state.id, saved.groups)
        account = sync_groups(None, there, selectors, maps_of_job(saved), memory)
    assert {(one.group, one.source): one.status for one in account.offsets} == {
        ("g", T0): Outcome.DONE,
        ("g", T1): Outcome.UNCHANGED,
        ("other", None): Outcome.MISSING,
    }
    assert committed(target, "g")[T0] == OffsetAndMetadata(expected(source, target, end + 2), "note")
    assert memory.synced_at.keys() == {"g"}


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
        maps = {T0: Mapped(T0, offsets, was)}
        (row,) = sync_groups(here, there, group_selectors(["g"]), maps, GroupMemory(JobId("", "j"))).offsets
    assert row.status is Outcome.FAILED
    assert "topic t was deleted and created again" in row.verdict.why
    assert target.committed_offsets("g") == {}
