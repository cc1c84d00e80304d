"""A job in one line: its state is the worst of its partitions, and who runs it."""

import msgspec
import pytest

from kcli.core.types import TopicPartition
from kcli.flows.mirror.copy.offset_map import OffsetMap
from kcli.flows.mirror.job.job_line import job_line
from kcli.flows.mirror.job.lease import Instance, Instances
from kcli.flows.mirror.job.state import JobId, JobState, PartitionProgress, SavedGap, SavedJob, SavedPartition
from kcli.flows.mirror.job.status import KnownJob

NOW = 10_000_000
HOLDER = Instances(Instance("host-1", 7, 9_000), (Instance("host-2", 8, 9_500),))
NOBODY, NOT_KNOWN = Instances(), Instances(known=False)


def job(
    *states: str,
    instances: Instances = HOLDER,
    end: int = 110,
    gaps: int = 0,
    topic: str = "t",
    **changes: object,
) -> KnownJob:
    state = JobState(
        job="j", run="r", source="a", target="b", source_servers="a:1", delivery="exactly once", partitions="keep",
        topics={"t": "t"}, started_ms=0, updated_ms=NOW - 1_000, host="gone", pid=5, selected=["t"],
    )  # fmt: skip
    partitions = {
        TopicPartition(topic, number): SavedPartition(
            PartitionProgress(
                target="t", target_partition=0, topic_id="", target_topic_id="", start=0, target_start=0,
                position=100 - number, leader_epoch=0, source_end=end, records=0, bytes=0, segments=0, runs="",
                updated_ms=NOW, state=one, state_since_ms=1, why=f"why of {one}" if one in ("waiting", "ended") else "",
                end_seen=end, end_seen_ms=NOW - 2_000 - number, gaps=[SavedGap(1, 2, "", 0)] * gaps,
            ),
            OffsetMap(0, 0),
        )
        for number, one in enumerate(states)
    }  # fmt: skip
    runs = None if not instances.known else instances.holder is not None
    return KnownJob(
        JobId("a", "j"), SavedJob(msgspec.structs.replace(state, **changes), partitions), instances, runs
    )


@pytest.mark.parametrize(
    ("states", "state", "why"),
    [
        (("caught_up", "copying"), "copying", ""),
        (("caught_up",), "caught_up", ""),
        (("copying", "waiting", "waiting"), "waiting", "why of waiting (2 partitions)"),
        (("waiting", "ended"), "ended", "why of ended (1 partition)"),
        ((), "new", ""),
    ],
)
def test_of_a_job_that_runs_it_is_the_worst_of_its_partitions(
    states: tuple[str, ...], state: str, why: str
) -> None:
    found = job_line(job(*states), NOW)
    assert (found.state, found.why) == (state, why)
    assert found.partitions == len(states)
    assert (found.running, found.host, found.pid, found.standbys) == (True, "host-1", 7, 1)


@pytest.mark.parametrize(
    ("known", "state"),
    [
        (job("copying", instances=NOBODY), "stopped"),
        (job("copying", instances=NOBODY, ended=True), "done"),
        (job("copying", "ended", instances=NOBODY, ended=True), "ended"),
        (job("copying", "ended", instances=NOBODY, ended=True, selected=["other"]), "done"),
        (job(instances=NOBODY, ended=True), "new"),
        (job("copying", instances=NOT_KNOWN), "unknown"),
        (job("copying", updated_ms=NOW - 300_000), "silent"),
        (job("copying", instances=NOBODY, promoted_ms=5), "promoted"),
    ],
)
def test_who_runs_it_comes_before_what_partitions_have_saved(known: KnownJob, state: str) -> None:
    assert job_line(known, NOW).state == state


def test_lag_is_the_sum_and_not_known_where_one_is_not() -> None:
    found = job_line(job("copying", "copying"), NOW)
    assert (found.lag, found.seen_ms) == (10 + 11, NOW - 2_001)
    assert job_line(job("copying", "copying", end=-1), NOW).lag is None


def test_what_is_not_selected_any_more_does_not_count() -> None:
    found = job_line(job("copying", topic="old"), NOW)
    assert (found.partitions, found.lag, found.worst) == (0, 0, ())


def test_gaps_that_nobody_has_acknowledged_are_said() -> None:
    found = job_line(job("copying", gaps=2), NOW)
    assert (found.gaps, found.why) == (2, "2 gaps not acknowledged")


def test_the_worst_partitions_are_named_first_and_not_too_many() -> None:
    found = job_line(job("caught_up", "copying", "waiting", *["caught_up"] * 30), NOW)
    assert [one.state for one in found.worst[:3]] == ["waiting", "copying", "caught_up"]
    assert len(found.worst) == 12
    assert found.partitions == 33
