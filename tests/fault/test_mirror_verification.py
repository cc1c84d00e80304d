"""kcli mirror verify: what is a difference and what is none, with kills, other writers, compaction, retention, and a job
that runs meanwhile.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.types import ProducerRecord, Record
from kcli.flows.mirror.job.lease import Instances, this_instance
from kcli.flows.mirror.job.state import JobId
from kcli.flows.mirror.proof import compacted, digest
from kcli.flows.mirror.topics.routes import STATE_TOPIC
from tests.batches import batch_of
from tests.cli.errors.typing_remedies import type_remedy
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import batch
from tests.fault.mirror_command import arguments, mirrored, running, until, values
from tests.fault.producing import quick
from tests.lasting import Moment, lasted
from tests.run import Done, start
from tests.run import kcli_as_set_up as command

COMPACT = {"cleanup.policy": "compact"}


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcli.flows.mirror.proof.compare.CHUNK_RECORDS", 8)
    monkeypatch.setattr(digest, "CHUNK_RECORDS", 8)


@pytest.fixture
def source() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"t": 1}) as made:
        fill(made, 0, 20)
        yield made


@pytest.fixture
def target() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={}, cluster_id="there") as made:
        yield made


def fill(cluster: FakeCluster, first: int, stop: int, topic: str = "t") -> None:
    for number in range(first, stop):
        cluster.append(topic, 0, batch(b"%d" % number, timestamp=1_000 + number))


def put(cluster: FakeCluster, *records: tuple[bytes, bytes | None]) -> None:
    for number, (key, value) in enumerate(records):
        cluster.append("t", 0, batch(value, key=key, timestamp=number))


def verified(source: FakeCluster, target: FakeCluster, *more: str) -> Done:
    job = () if "--job" in more or "-t" in more else ("--job", "j")
    return command(
        "mirror", "verify", "--from", source.bootstrap, "--to", target.bootstrap, *job, "-o", "json", *more
    )


def held_by_this_process(_admin: object, jobs: Iterable[JobId]) -> dict[JobId, Instances]:
    """What the lease of a job that runs says."""
    return {job: Instances(this_instance()) for job in jobs}


def only_row(done: Done) -> dict[str, Any]:
    (row,) = done.items
    return row


def differences(done: Done) -> list[tuple[Any, ...]]:
    """Offsets, what and which side lacks it, of all that are listed."""
    return [
        (one["source_offset"], one["target_offset"], one["what"], one["lacking"])
        for one in json.loads(done.out)["differences"]
    ]


def holds_positions(target: FakeCluster, *, after: int) -> Any:
    """Holds what is written to the state topic after so many requests: the records are stored, their position is not."""

    def match(request: Any) -> bool:
        return any(
            one.name == STATE_TOPIC or one.topic_id == target.topic_id(STATE_TOPIC)
            for one in request.topic_data
        )

    return target.hold(ProduceRequest, after=after, when=match)


def kill_unsaved(source: FakeCluster, target: FakeCluster, stored: int) -> None:
    """A mirror that has stored so many records in all, and is killed before it saves their position."""
    hold = holds_positions(target, after=1)
    process = start(*arguments(source, target))
    try:
        until(lambda: target_values(target) >= stored)
        hold.wait(timeout=30)
    finally:
        process.kill()
        process.communicate(timeout=30)
    hold.remove()
    hold.lose()


# --- at least once, and other writers ----------------------------------------------------------------


def test_a_copy_is_equal_by_its_offsets(source: FakeCluster, target: FakeCluster) -> None:
    assert mirrored(source, target).code == 0
    done = verified(source, target)
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert (document["kind"], document["running"], document["differences"]) == (
        "MirrorVerification",
        False,
        [],
    )
    row = only_row(done)
    assert (row["result"], row["records"], row["compared_by"]) == ("equal", 20, "offset")
    assert row["digest_source"] == row["digest_target"]
    assert "1 of 1 partition equal, 20 records compared" in done.err
    again = command(*arguments(source, target, "--verify-only", "-o", "json"))
    assert (again.code, json.loads(again.out)["kind"]) == (0, "MirrorVerification")


@pytest.mark.parametrize("earlier", [0, 20], ids=["before its first position", "later"])
def test_what_a_killed_mirror_stored_twice_is_no_difference(
    source: FakeCluster, target: FakeCluster, earlier: int
) -> None:
    if earlier:
        assert mirrored(source, target).code == 0
        fill(source, 20, 40)
    total = len(values(source, "t"))
    for kill in range(1, 3):
        kill_unsaved(source, target, earlier + kill * (total - earlier))
    if earlier:
        done = verified(source, target)
        assert done.code == 0, done.err
        assert only_row(done)["ahead"] == 2 * (total - earlier)
    assert mirrored(source, target).code == 0
    assert len(values(target, "t")) == earlier + 3 * (total - earlier)
    done = verified(source, target)
    assert done.code == 0, done.err
    row = only_row(done)
    assert (row["result"], row["records"], row["repeated"]) == ("equal", total, 2 * (total - earlier))
    assert f"{2 * (total - earlier)} stored twice by the mirror" in done.err


def test_records_of_others_are_named_by_their_offsets_and_repetitions_are_not(
    source: FakeCluster, target: FakeCluster
) -> None:
    assert mirrored(source, target).code == 0
    fill(source, 20, 30)
    kill_unsaved(source, target, 30)
    fill(target, 100, 102)
    assert mirrored(source, target).code == 0
    fill(target, 103, 104)
    done = verified(source, target)
    assert done.code == 8
    type_remedy(
        "find out what else writes to the target; `kcli consume TOPIC -p N --offset SPEC` shows both records",
        done.err,
        target.bootstrap,
        TOPIC="t",
    )
    row = only_row(done)
    assert (row["result"], row["repeated"], row["different"]) == ("differs", 10, 3)
    assert row["digest_source"] != row["digest_target"]
    assert differences(done) == [
        (None, offset, "the source has no such record", "source") for offset in (30, 31, 42)
    ]


def test_every_record_that_differs_is_counted_and_the_first_ones_are_listed(
    source: FakeCluster, target: FakeCluster
) -> None:
    """Two chunks; those between them are equal."""
    assert mirrored(source, target).code == 0
    rewrite(target, lambda one: one._replace(value=b"other") if one.offset in (3, 4, 17) else one)
    done = verified(source, target)
    assert done.code == 8
    assert differences(done) == [(at, at, "different value", "none") for at in (3, 4, 17)]
    assert only_row(done)["different"] == 3
    (error,) = done.errors
    assert error["what"].endswith("differ from source offset 3, target offset 3 on")
    assert error["why"] == "different value; 3 records differ"


def test_a_record_that_either_side_lacks_shifts_no_other(source: FakeCluster, target: FakeCluster) -> None:
    assert mirrored(source, target).code == 0
    for cluster, gone in ((source, {5}), (target, {2, 11, 12})):
        rewrite(cluster, lambda record, gone=gone: None if record.offset in gone else record)
    done = verified(source, target)
    assert done.code == 8
    lacks, has = "the target has no record for it", "the source has no record for it"
    assert differences(done) == [
        (2, 2, lacks, "target"), (5, 5, has, "source"), (11, 11, lacks, "target"), (12, 12, lacks, "target"),
    ]  # fmt: skip
    assert only_row(done)["different"] == 4


def rewrite(cluster: FakeCluster, change: Callable[[Record], Record | None]) -> None:
    """Each record of the log becomes another one at the same offset, or is removed."""

    def write() -> None:
        log = cluster._place("t", 0).log
        found = [change(record) for one in log.batches for record in one.records()]
        log.replace([batch_of([record]) for record in found if record is not None])

    cluster._thread.call(write)


def test_what_was_not_copied_is_a_difference_unless_the_job_runs(
    source: FakeCluster, target: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert mirrored(source, target).code == 0
    fill(source, 20, 25)
    done = verified(source, target)
    assert done.code == 8
    assert differences(done) == [(20, None, "the target has no record for it", "target")]
    assert (only_row(done)["different"], only_row(done)["lag_records"]) == (5, 5)
    monkeypatch.setattr("kcli.flows.mirror.verification.read_instances", held_by_this_process)
    done = verified(source, target)
    assert done.code == 0, done.err
    assert only_row(done)["lag_records"] == 5
    assert "the job is running, 5 offsets behind" in done.err


@pytest.mark.parametrize("more", [(), ("--exactly-once",)], ids=["at least once", "exactly once"])
def test_a_running_job_is_verified_without_a_difference(
    source: FakeCluster, target: FakeCluster, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...]
) -> None:
    with running(monkeypatch, *arguments(source, target, *more)) as job:
        until(lambda: saved_position(target))
        for round_number in range(5):
            fill(source, 20 + 10 * round_number, 30 + 10 * round_number)
            done = verified(source, target)
            assert done.code == 0, done.err
            assert json.loads(done.out)["running"]
            assert differences(done) == []
        assert job.is_running
        target.append("t", 0, batch(b"of somebody else"))
        fill(source, 70, 80)
        until(lambda: verified(source, target).code)  # not behind an open transaction any more
        done = verified(source, target)
        assert done.code == 8, done.err
        assert [lacking for *_, lacking in differences(done)] == ["source"]
        job.stop()
        assert job.done().code in (130, 0)


def saved_position(target: FakeCluster) -> bool:
    try:
        return any(b'"position":' in (value or b"") for value in values(target, STATE_TOPIC))
    except KeyError:
        return False


def target_values(target: FakeCluster) -> int:
    try:
        return len(values(target, "t"))
    except KeyError:
        return 0


def test_an_open_transaction_of_the_job_is_not_waited_for(source: FakeCluster, target: FakeCluster) -> None:
    """A mirror that was killed leaves its transaction open, and the state topic with it."""
    assert mirrored(source, target, "--exactly-once").code == 0
    fill(source, 20, 30)
    hold = holds_positions(target, after=1)
    process = start(*arguments(source, target, "--exactly-once"))
    try:
        hold.wait(timeout=30)
    finally:
        process.kill()
        process.communicate(timeout=30)
    began = Moment.now()
    done = verified(source, target)
    assert lasted(began) < 20
    assert only_row(done)["records"] == 20
    assert only_row(done)["repeated"] == 0
    hold.remove()
    hold.lose()
    assert mirrored(source, target, "--exactly-once").code == 0
    done = verified(source, target)
    assert done.code == 0, done.err
    assert (only_row(done)["repeated"], only_row(done)["records"]) == (0, 30)


def test_aborted_records_of_others_are_none(source: FakeCluster, target: FakeCluster) -> None:
    assert mirrored(source, target).code == 0
    with quick(target, transactional_id="other") as producer:
        producer.init_transactions(20)
        producer.begin_transaction()
        producer.send(ProducerRecord("t", b"never", partition=0))
        producer.flush(20)
        producer.abort_transaction(20)
    fill(source, 20, 25)
    assert mirrored(source, target).code == 0
    done = verified(source, target)
    assert (done.code, only_row(done)["records"]) == (0, 25), done.err


def test_what_an_open_transaction_holds_back_is_said(source: FakeCluster, target: FakeCluster) -> None:
    assert mirrored(source, target).code == 0
    with quick(source, transactional_id="open") as producer:
        producer.init_transactions(20)
        producer.begin_transaction()
        producer.send(ProducerRecord("t", b"soon", partition=0))
        producer.flush(20)
        fill(source, 20, 23)
        done = verified(source, target)
        producer.commit_transaction(20)
    assert done.code == 8
    type_remedy("`kcli txn list` finds the transaction", done.err, source.bootstrap)
    assert "4 offsets from 20 on were not compared" in done.err
    assert (only_row(done)["held_back_on_source"], only_row(done)["result"]) == (4, "equal")


# --- retention, timestamps, headers ------------------------------------------------------------------


def test_what_the_retention_of_the_target_deleted_is_a_difference_of_its_own(
    source: FakeCluster, target: FakeCluster
) -> None:
    assert mirrored(source, target).code == 0
    target.delete_records("t", 0, 12)
    done = verified(source, target)
    assert done.code == 8
    row = only_row(done)
    assert (row["result"], row["deleted_on_target"], row["records"], row["different"]) == (
        "differs",
        12,
        8,
        0,
    )
    assert "lacks 12 records that were copied to it" in done.err
    source.delete_records("t", 0, 15)
    done = verified(source, target)
    assert done.code == 0, done.err
    row = only_row(done)
    assert (row["deleted_on_target"], row["removed_on_source"], row["records"]) == (0, 3, 5)


def test_timestamps_that_the_target_replaced_are_not_compared_and_the_rest_is(
    source: FakeCluster, target: FakeCluster
) -> None:
    assert mirrored(source, target).code == 0
    rewrite(target, lambda one: one._replace(timestamp=5, timestamp_type=1))
    for changes in (False, True):
        if changes:
            rewrite(target, lambda one: one if one.offset else one._replace(value=b"other"))
        done = verified(source, target)
        assert "topic t: timestamps are not compared: the target replaced them" in done.err
        assert done.err.count("not compared") == 1
        assert only_row(done)["not_compared"].startswith("timestamps: ")
        if not changes:
            assert done.code == 0, done.err
        else:
            assert differences(done) == [(0, 0, "different value", "none")]


def test_microseconds_that_became_milliseconds_are_named(target: FakeCluster) -> None:
    with FakeCluster(1, topics={"t": 1}) as source:
        moment = 1_700_000_000_000
        source.append("t", 0, batch(b"a", timestamp=moment))
        assert mirrored(source, target).code == 0
        rewrite(source, lambda one: one._replace(timestamp=1000 * moment + 7))
        done = verified(source, target)
        assert done.code == 0, done.err
        assert "topic t: timestamps are not compared: the copy has them in ms" in done.err


def test_the_headers_of_a_mirror_are_not_compared(source: FakeCluster, target: FakeCluster) -> None:
    done = mirrored(source, target, "--headers", "--verify")
    assert done.code == 0, done.err
    assert "1 of 1 partition equal, 20 records compared" in done.err
    assert verified(source, target).code == 0
    rewrite(target, lambda one: one._replace(timestamp=7) if one.offset == 19 else one)
    done = verified(source, target)
    assert done.code == 8
    assert differences(done) == [(19, 19, "different timestamp", "none")]


# --- compacted topics --------------------------------------------------------------------------------


@pytest.fixture
def keyed(target: FakeCluster) -> Iterator[FakeCluster]:
    """A compacted topic of the source, copied."""
    with FakeCluster(1, topics={}) as made:
        made.create_topic("t", 1, configs=COMPACT)
        put(made, (b"a", b"1"), (b"b", b"1"), (b"a", b"2"), (b"c", b"1"), (b"c", None), (b"d", b"1"))
        done = mirrored(made, target)
        assert done.code == 0, done.err
        yield made


@pytest.mark.parametrize("side", ["source", "target", "both"])
@pytest.mark.parametrize("tombstones", [True, False])
def test_compaction_of_one_side_is_no_difference(
    keyed: FakeCluster, target: FakeCluster, side: str, tombstones: bool
) -> None:
    for name, cluster in (("source", keyed), ("target", target)):
        if side in (name, "both"):
            cluster.compact("t", tombstones=tombstones)
    done = verified(keyed, target)
    assert done.code == 0, done.err
    row = only_row(done)
    assert (row["result"], row["records"], row["compared_by"]) == ("equal", 3, "key")
    assert row["digest_source"] == row["digest_target"]


def test_a_key_that_was_written_after_the_pinned_end_is_no_difference(
    keyed: FakeCluster, target: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The source has compacted what was copied away, since the job is behind."""
    put(keyed, (b"a", b"3"), (b"b", None), (b"z", b"1"))
    keyed.compact("t", tombstones=False)
    monkeypatch.setattr("kcli.flows.mirror.verification.read_instances", held_by_this_process)
    done = verified(keyed, target)
    assert differences(done) == [(None, 1, "the target has a key that the source does not have", "source")]
    put(keyed, (b"b", b"5"))
    done = verified(keyed, target)
    assert done.code == 0, done.err


@pytest.mark.parametrize("most", [500_000, 1])
def test_keys_that_differ_are_named(
    keyed: FakeCluster, target: FakeCluster, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(compacted, "KEYS_AT_ONCE", most)
    put(target, (b"e", b"new"), (b"a", b"changed"), (b"d", None))
    target.compact("t")
    done = verified(keyed, target)
    assert done.code == 8
    row = only_row(done)
    assert row["different"] == 3
    assert row["digest_source"] != row["digest_target"]
    assert sorted(differences(done), key=str) == sorted(
        [
            (None, 6, "the target has a key that the source does not have", "source"),
            (2, 7, "the target has another last record of its key", "none"),
            (5, None, "the target has no record of its key", "target"),
        ],
        key=str,
    )


def test_records_without_a_key_are_compared_as_well(source: FakeCluster, target: FakeCluster) -> None:
    """Only the copy is compacted; it has them from before."""
    assert mirrored(source, target).code == 0
    target.configure("t", **COMPACT)
    done = verified(source, target)
    assert done.code == 0, done.err
    rewrite(target, lambda one: one._replace(value=b"x") if one.offset == 19 else one)
    done = verified(source, target)
    assert done.code == 8
    what = "the source has 20 records without a key, and the target has others"
    assert differences(done) == [(None, None, what, "none")]


# --- which job, and what is missing ------------------------------------------------------------------


def test_a_partition_that_cannot_be_read_is_missing() -> None:
    with (
        FakeCluster(1, topics={"t": 2}) as source,
        FakeCluster(2, topics={"t": 2}, cluster_id="there") as target,
    ):
        for number in (0, 1):
            source.append("t", number, batch(b"1"))
            target.move_leader("t", number, number + 1)
        assert mirrored(source, target, "--yes").code == 0
        target.stop(target.leader("t", 1))
        done = command(
            "mirror", "verify", "--from", source.bootstrap, "--to", target.bootstrap, "--job", "j", "-o", "json",
            "--timeout", "3s",
        )  # fmt: skip
    assert done.code == 6, done.err
    document = json.loads(done.out)
    assert not document["complete"]
    assert [one["what"] for one in document["missing"]] == ["t-1"]
    assert [(one["partition"], one["result"]) for one in document["items"] if one["result"] == "equal"] == [
        (0, "equal")
    ]
    assert "1 of 2 partitions equal" in done.err


def test_without_a_name_the_only_job_of_the_source_is_meant(source: FakeCluster, target: FakeCluster) -> None:
    line = ["mirror", "verify", "--from", source.bootstrap, "--to", target.bootstrap]
    done = command(*line)
    assert done.code == 2
    assert "--job or -t is needed" in done.err
    assert mirrored(source, target, "--map-topic", "t=copy").code == 0
    done = command(*line, "-o", "json")
    assert done.code == 0, done.err
    assert only_row(done)["target"] == "copy"
    assert command(*line, "--job", "j", "-t", "t", "--map-topic", "t=x").code == 2
    done = command(*line, "--job", "none")
    assert done.code == 1
    type_remedy(
        "`kcli mirror status --to HOST:PORT` lists the jobs; -t TOPIC without --job compares topics",
        done.err,
        target.bootstrap,
    )
    assert command(*line, "--job", "none", "-t", "t", "--map-topic", "t=copy").code == 1
    assert mirrored(source, target, "--job", "k", "--map-topic", "t=other").code == 0
    done = command(*line)
    assert (done.code, "j, k" in done.err) == (2, True)
    with FakeCluster(1, topics={"t": 1}, cluster_id="third") as third:
        done = command("mirror", "verify", "--from", third.bootstrap, "--to", target.bootstrap, "--job", "j")
    assert done.code == 2
    assert "copies from cluster" in done.err


def test_a_topic_that_the_job_has_not_copied_is_compared_without_it(
    source: FakeCluster, target: FakeCluster
) -> None:
    assert mirrored(source, target).code == 0
    source.create_topic("u", 1)
    target.create_topic("u", 1)
    for cluster in (source, target):
        fill(cluster, 0, 5, "u")
    done = verified(source, target, "--job", "j", "-t", "u")
    assert (done.code, only_row(done)["result"], only_row(done)["compared_by"]) == (0, "equal", "order")
    source.append("u", 0, batch(b"x", timestamp=1_005))
    target.append("u", 0, batch(b"y", timestamp=1_005))
    done = verified(source, target, "--job", "j", "-t", "u")
    assert (done.code, differences(done)) == (8, [(5, 5, "different value", "none")])


def test_a_topic_that_the_source_no_longer_has_is_missing(source: FakeCluster, target: FakeCluster) -> None:
    source.create_topic("u", 1)
    assert mirrored(source, target, "-t", "t", "-t", "u").code == 0
    source.delete_topic("u")
    done = verified(source, target)
    assert done.code == 6, done.err
    assert [one["what"] for one in json.loads(done.out)["missing"]] == ["topic u"]


def test_topics_that_the_job_has_not_copied_are_compared_in_their_order(
    source: FakeCluster, target: FakeCluster
) -> None:
    for topic in "uv":
        source.create_topic(topic, 1)
        fill(source, 0, 5, topic)
    line = ["mirror", "verify", "--from", source.bootstrap, "--to", target.bootstrap, "-o", "json"]
    assert mirrored(source, target, "-t", "u", "--job", "another").code == 0
    document = json.loads(command(*line, "-t", "u").out)
    assert (document["job"], document["items"][0]["result"]) == (None, "equal")
    assert mirrored(source, target, "-t", "v", "--job", "default").code == 0
    done = command(*line, "-t", "u", "-t", "v")
    assert done.code == 0, done
    found = {row["topic"]: (row["result"], row["compared_by"]) for row in json.loads(done.out)["items"]}
    assert found == {"u": ("equal", "order"), "v": ("equal", "offset")}
    target.append("u", 0, batch(b"of somebody else"))
    assert command(*line, "-t", "u", "-t", "v").code == 8


@pytest.mark.parametrize("has_records", [False, True])
def test_a_partition_of_the_target_alone_is_equal_only_if_it_is_empty(
    source: FakeCluster, target: FakeCluster, has_records: bool
) -> None:
    for topic in "uv":
        source.create_topic(topic, 1)
        target.create_topic(topic, 2)
        fill(source, 0, 5, topic)
    fill(target, 0, 5, "u")
    assert mirrored(source, target, "-t", "v").code == 0
    if has_records:
        for topic in "uv":
            target.append(topic, 1, batch(b"of somebody else"))
    done = command(
        "mirror", "verify", "--from", source.bootstrap, "--to", target.bootstrap, "-o", "json", "-t", "u"
    )
    assert done.code == (8 if has_records else 0), done
    results = [(row["partition"], row["result"]) for row in done.items]
    assert results == [(0, "equal"), *[(1, "not_compared")] * has_records]
    if has_records:
        assert "the source has no u-1" in done.err
        type_remedy(
            "check -t, --map-topic and --from; `kcli consume u -p 1 -e` shows its records",
            done.err,
            target.bootstrap,
        )
    of_job = verified(source, target)  # it may have been there before the job
    assert (of_job.code, only_row(of_job)["result"]) == (0, "equal")
    warned = "v-1 of the target has records, and the source has no such partition"
    assert any(warned in one for one in json.loads(of_job.out)["warnings"]) is has_records


def test_an_exclude_leaves_out_topics_of_the_job(source: FakeCluster, target: FakeCluster) -> None:
    source.create_topic("u", 1)
    assert mirrored(source, target, "-t", "t", "-t", "u").code == 0
    target.append("u", 0, batch(b"of somebody else"))
    assert verified(source, target).code == 8
    done = verified(source, target, "--exclude", "u*")
    assert done.code == 0, done
    assert only_row(done)["topic"] == "t"
    assert verified(source, target, "--exclude", "*").code == 1


def test_a_gap_of_the_job_is_named_as_such(source: FakeCluster, target: FakeCluster) -> None:
    assert mirrored(source, target).code == 0
    fill(source, 100, 110)
    both = ("--from", source.bootstrap, "--to", target.bootstrap, "--job", "j")
    for accepted in (False, True):
        if not accepted:
            assert command("mirror", "reset", "t", *both, "--offset", "latest", "--yes").code == 0
        else:
            assert command("mirror", "accept-gap", "--all", *both[2:], "--yes").code == 0
        done = verified(source, target)
        assert done.code == 8, done
        assert "are a gap of the job: skipped by mirror reset" in done.err
        assert "`kcli mirror reset t --from HOST:PORT --to HOST:PORT --offset SPEC`" in done.err
    assert command("mirror", "reset", "t", *both, "--offset", "10", "--yes").code == 0
    assert mirrored(source, target).code == 0
    assert verified(source, target).code == 0
