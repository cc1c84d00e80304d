"""The records of a mirror's state: what was written is what is loaded, after compaction too."""

import random

import msgspec
import pytest

from kcli.core.errors import CorruptRecordsError
from kcli.core.types import TopicPartition
from kcli.flows.mirror.copy.offset_map import RUNS_PER_SEGMENT, OffsetMap
from kcli.flows.mirror.job.state import (
    JobId,
    JobState,
    PartitionProgress,
    StateRecord,
    job_record,
    load_jobs,
    partition_records,
)

TP = TopicPartition("orders", 3)
J = JobId("from", "j")


def state(job: str = "j") -> JobState:
    return JobState(
        job=job,
        run="r",
        source="from",
        target="to",
        source_servers="a:1",
        delivery="at-least-once",
        partitions="keep",
        topics={"orders": "copy"},
        started_ms=1,
        updated_ms=2,
        host="h",
    )


def progress(offsets: OffsetMap, stored: int = 0) -> PartitionProgress:
    return PartitionProgress(
        target="copy",
        target_partition=3,
        topic_id="s",
        target_topic_id="t",
        start=offsets.start,
        target_start=offsets.target_start,
        position=offsets.position,
        leader_epoch=7,
        source_end=offsets.position + 9,
        records=10,
        bytes=1000,
        segments=stored,
        runs="",
        updated_ms=5,
    )


def compacted(records: list[StateRecord], rng: random.Random) -> list[StateRecord]:
    """What a compacted log may show: of each key the last record, and any of the earlier ones."""
    last = {record.key: index for index, record in enumerate(records)}
    return [r for index, r in enumerate(records) if last[r.key] == index or rng.random() < 0.3]


@pytest.mark.parametrize("seed", range(3))
def test_a_map_that_grows_over_many_checkpoints_is_loaded_whole(seed: int) -> None:
    rng = random.Random(seed)
    offsets, written, stored = OffsetMap(5, 50), [job_record(state())], 0
    for _ in range(40):
        for _ in range(rng.randrange(150)):
            offsets.append(
                offsets.position + rng.randrange(2),
                offsets.target_end + rng.randrange(3),
                rng.randrange(1, 5),
            )
        offsets.advance(offsets.position + rng.randrange(2))
        records = partition_records(J, TP, progress(offsets, stored), offsets)
        written += records
        stored = msgspec.json.decode(records[-1].value or b"", type=PartitionProgress).segments
        (job,) = load_jobs(compacted(written, rng)).values()
        found = job.partitions[TP]
        assert list(found.offsets.runs()) == list(offsets.runs())
        assert (found.offsets.position, found.offsets.start) == (offsets.position, 5)
        assert found.progress.position == offsets.position
    assert len(offsets) > 2 * RUNS_PER_SEGMENT
    assert job.state == state()


def test_a_checkpoint_writes_one_small_record_however_long_the_map_is() -> None:
    offsets = OffsetMap(0, 0)
    for _ in range(20 * RUNS_PER_SEGMENT + 3):
        offsets.append(offsets.position + 1, offsets.target_end, 1)
    records = partition_records(J, TP, progress(offsets, offsets.last_segment), offsets)
    assert len(records) == 1
    assert len(records[0].value or b"") < 1000


def test_jobs_do_not_mix() -> None:
    one, two = OffsetMap(0, 0), OffsetMap(0, 0)
    one.append(0, 0, 5)
    two.append(0, 0, 7)
    written = [job_record(state("a")), job_record(state("b"))]
    written += partition_records(JobId("from", "a"), TP, progress(one), one)
    written += partition_records(JobId("from", "b"), TP, progress(two), two)
    jobs = load_jobs(written)
    assert {key.job: job.partitions[TP].offsets.target_end for key, job in jobs.items()} == {"a": 5, "b": 7}


def test_a_missing_segment_is_reported() -> None:
    offsets = OffsetMap(0, 0)
    for _ in range(RUNS_PER_SEGMENT + 3):
        offsets.append(offsets.position + 1, offsets.target_end, 1)
    written = [job_record(state()), *partition_records(J, TP, progress(offsets), offsets)]
    with pytest.raises(CorruptRecordsError, match="state of job j for orders-3 is incomplete"):
        load_jobs([written[0], written[-1]])


def test_what_kcli_did_not_write_is_ignored() -> None:
    others = [(None, b"x"), (b"key", b"x"), (b"\xff", b"x"), (b'{"topic":"t"}', b"x"), (b"k", None)]
    assert load_jobs(others) == {}
    assert set(load_jobs([*others, job_record(state())])) == {J}


@pytest.mark.parametrize(
    ("value", "message"),
    [(b'{"version":3}', "has version 3"), (b"{", "cannot be read"), (b'{"version":2}', "cannot")],
)
def test_a_state_of_a_later_version_or_a_damaged_one_is_refused(value: bytes, message: str) -> None:
    with pytest.raises(CorruptRecordsError, match=message):
        load_jobs([(job_record(state()).key, value)])


def test_the_end_of_what_stays_caught_up_was_seen_when_the_job_was_written_last() -> None:
    """Its own record is not written again; that of a partition that is not caught up is as old as it says."""
    offsets = OffsetMap(0, 0)
    seen = {}
    for what in ("caught_up", "waiting", "copying"):
        saved = msgspec.structs.replace(progress(offsets), state=what, end_seen_ms=7)
        records = [
            job_record(msgspec.structs.replace(state(), polled_ms=100)),
            *partition_records(J, TP, saved, offsets),
        ]
        seen[what] = load_jobs(records)[J].partitions[TP].progress.end_seen_ms
    assert seen == {"caught_up": 100, "waiting": 7, "copying": 7}
