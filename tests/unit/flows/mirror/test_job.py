"""What an earlier run of a job left, compared with what is there now."""

import pytest

from kcli.core.types import TopicPartition
from kcli.flows.mirror.job import begun_later, check_continues
from kcli.flows.mirror.offset_map import OffsetMap
from kcli.flows.mirror.preflight import ConflictError
from kcli.flows.mirror.state import JobState, PartitionProgress, SavedJob, SavedPartition


def saved(*partitions: TopicPartition, topics: tuple[str, ...], mode: str = "keep") -> SavedJob:
    state = JobState(
        job="j", run="r", source="A", target="B", source_servers="", delivery="", partitions=mode,
        topics={name: name for name in topics}, started_ms=0, updated_ms=0, host="",
    )  # fmt: skip
    progress = PartitionProgress(
        target="t", target_partition=0, topic_id="", target_topic_id="", start=0, target_start=0, position=5,
        leader_epoch=-1, source_end=5, records=5, bytes=5, segments=0, runs="", updated_ms=0,
    )  # fmt: skip
    return SavedJob(state, {tp: SavedPartition(progress, OffsetMap(0, 0)) for tp in partitions})


T0, T1, T2, U0 = (
    TopicPartition("t", 0),
    TopicPartition("t", 1),
    TopicPartition("t", 2),
    TopicPartition("u", 0),
)


@pytest.mark.parametrize(
    ("job", "later"),
    [
        (None, set()),
        (saved(T0, T1, T2, U0, topics=("t", "u")), set()),
        (saved(T0, topics=("t", "u")), {T1, T2}),
        (saved(T0, T2, topics=("t", "u")), set()),
        (saved(T0, T1, T2, topics=("t",)), {U0}),
        (saved(topics=("t", "u")), set()),
    ],
    ids=[
        "a new job",
        "all have a position",
        "partitions were added, and one topic has no position at all",
        "a partition could not begin",
        "a new topic",
        "ended before its first position",
    ],
)
def test_what_has_appeared_since_the_last_run(job: SavedJob | None, later: set[TopicPartition]) -> None:
    assert begun_later([T0, T1, T2, U0], job) == later


@pytest.mark.parametrize("mode", ["keep", "by-key"])
def test_a_job_continues_with_the_partitions_with_which_it_began(mode: str) -> None:
    check_continues(None, by_key=mode == "by-key")
    check_continues(saved(topics=(), mode=mode), by_key=mode == "by-key")
    with pytest.raises(ConflictError) as raised:
        check_continues(saved(topics=(), mode=mode), by_key=mode != "by-key")
    assert raised.value.what == f"mirror job j was begun with --partitions {mode}"
    assert raised.value.exit_code == 7
