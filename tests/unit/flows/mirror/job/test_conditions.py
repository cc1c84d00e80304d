"""What ``mirror check`` demands of a job: every condition by itself, and what is not known does not hold."""

import msgspec
import pytest

from kcli.core.errors import NotFoundError
from kcli.core.types import TopicPartition
from kcli.flows.mirror.copy.offset_map import OffsetMap
from kcli.flows.mirror.job.check import ConditionError, job_of
from kcli.flows.mirror.job.conditions import Demand, Limits, Reading, checked_partition, conditions
from kcli.flows.mirror.job.lease import Instance, Instances
from kcli.flows.mirror.job.state import JobId, JobState, PartitionProgress, SavedGap, SavedJob, SavedPartition
from kcli.flows.mirror.job.status import KnownJob

TP = TopicPartition("t", 0)
NOW = 10_000_000
HOLDER = Instances(Instance("host", 7, 0))
AT_END, NONE = Reading(10), Limits()
NOBODY, UNKNOWN = Instances(), Instances(known=False)


def state(**changes: object) -> JobState:
    made = JobState(
        job="j", run="r", source="a", target="b", source_servers="a:1", delivery="", partitions="keep",
        topics={"t": "t"}, started_ms=0, updated_ms=NOW, host="h",
    )  # fmt: skip
    return msgspec.structs.replace(made, **changes)


def job(
    instances: Instances = HOLDER, *, age: float = 0, position: int = 10, now: str = "copying", gaps: int = 0
) -> KnownJob:
    progress = PartitionProgress(
        target="t", target_partition=0, topic_id="", target_topic_id="", start=0, target_start=0, position=position,
        leader_epoch=0, source_end=-1, records=0, bytes=0, segments=0, runs="", updated_ms=0, state=now, why="so",
        gaps=[SavedGap(1, 2, "", 0)] * gaps,
    )  # fmt: skip
    saved = SavedJob(
        state(updated_ms=NOW - round(age * 1000)), {TP: SavedPartition(progress, OffsetMap(0, 0))}
    )
    runs = None if not instances.known else instances.holder is not None
    return KnownJob(JobId("a", "j"), saved, instances, runs)


def failing(known: KnownJob, reading: Reading = AT_END, limits: Limits = NONE) -> dict[str, str]:
    partitions = [checked_partition(TP, known, reading, limits, NOW)]
    found = conditions(known, partitions, limits, NOW)
    assert [one.demand for one in found] == sorted({one.demand for one in found}, key=list(Demand).index)
    return {one.demand.value: one.why for one in found if not one.ok}


def test_a_job_that_runs_and_is_caught_up_meets_all() -> None:
    assert failing(job(), limits=Limits(0, 0.0)) == {}


@pytest.mark.parametrize(
    ("instances", "age", "seconds", "holds"),
    [
        (HOLDER, 0, None, True),
        (HOLDER, 300, None, True),
        (HOLDER, 301, None, False),
        (HOLDER, 120, 5.0, True),  # a job at rest saves once a minute
        (HOLDER, 121, 5.0, False),
        (HOLDER, 600, 600.0, True),
        (NOBODY, 0, None, False),
        (NOBODY, 119, 5.0, True),
        (NOBODY, 121, 5.0, False),
        (UNKNOWN, 0, None, False),
        (UNKNOWN, 0, 600.0, False),
        (HOLDER, -5, None, True),  # another machine's clock
    ],
)
def test_it_runs_where_a_process_has_it_and_saves(
    instances: Instances, age: float, seconds: float | None, holds: bool
) -> None:
    found = failing(job(instances, age=age), limits=Limits(None, seconds))
    assert ("running" not in found) is holds


@pytest.mark.parametrize(
    ("now", "holds"), [("copying", True), ("caught_up", True), ("waiting", False), ("ended", False)]
)
def test_each_partition_has_to_be_copied(now: str, holds: bool) -> None:
    found = failing(job(now=now))
    assert found == ({} if holds else {"partitions": f"t-0: {now}: so"})


def test_gaps_and_a_source_that_lost_what_follows() -> None:
    assert failing(job(gaps=2)) == {"gaps": "t-0: 2 gaps not acknowledged"}
    assert failing(job(), Reading(10, broken="gone"), Limits(5)) == {
        "partitions": "t-0: gone",
        "lag": "t-0: its lag is not known",
    }


@pytest.mark.parametrize(
    ("reading", "limits", "expected"),
    [
        (Reading(15), Limits(5), []),
        (Reading(15), Limits(4), ["lag"]),
        (Reading(15, NOW - 60_000), Limits(None, 60.0), []),
        (Reading(15, NOW - 60_001), Limits(None, 60.0), ["lag_time"]),
        (Reading(15, NOW + 60_001), Limits(None, 0.0), []),
        (Reading(15, None), Limits(None, 60.0), ["lag_time"]),
        (Reading(15, -1), Limits(None, 0.0), []),  # markers only
        (Reading(unknown="away"), Limits(), ["source"]),
        (Reading(unknown="away"), Limits(9, 9.0), ["source", "lag", "lag_time"]),
    ],
)
def test_lag_in_records_and_in_time(reading: Reading, limits: Limits, expected: list[str]) -> None:
    assert list(failing(job(), reading, limits)) == expected


def test_a_job_without_partitions_is_not_known_to_copy() -> None:
    found = conditions(job(), [], Limits(), NOW)
    assert [one.demand for one in found if not one.ok] == [Demand.PARTITIONS]


@pytest.mark.parametrize(
    ("source", "servers", "expected"),
    [
        ("a", "x:1", JobId("a", "j")),
        ("c", "x:1", JobId("", "old")),
        ("b", "x:1", NotFoundError),
        (None, "a:1", JobId("a", "j")),
        (None, "x:1", ConditionError),
    ],
)
def test_which_job_is_meant(source: str | None, servers: str, expected: object) -> None:
    jobs = {
        JobId("a", "j"): SavedJob(state(), {}),
        JobId("", "old"): SavedJob(state(source="c", source_servers="c:1"), {}),
        JobId("a", "other"): SavedJob(state(job="other"), {}),
    }
    if isinstance(expected, JobId):
        assert job_of(jobs, "j", source, servers) == expected
    else:
        with pytest.raises(expected):  # type: ignore[call-overload]
            job_of(jobs, "j", source, servers)
