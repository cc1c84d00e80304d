"""What a job remembers of groups: what is written before a commit is what a later run reads."""

import json

import pytest

from kcli.account.outcomes import Outcome
from kcli.core.errors import KcliError
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.mirror.copy.offset_map import OffsetMap
from kcli.flows.mirror.groups.memory import Decision, GroupMemory
from kcli.flows.mirror.groups.offsets import Mapped, Verdict
from kcli.flows.mirror.job.state import JobId, JobState, SavedJob, StateRecord, job_record, load_jobs

JOB = JobId("a", "j")
T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
STATE = JobState(
    job="j", run="r", source="a", target="b", source_servers="", delivery="", partitions="keep", topics={},
    started_ms=0, updated_ms=0, host="",
)  # fmt: skip


def planned(
    group: str, tp: TopicPartition, offset: int, *, topic_id: str = "", there: int | None = None
) -> Decision:
    mapped = Mapped(TopicPartition(f"{tp.topic}-copy", tp.partition), OffsetMap(0, 0), topic_id)
    seen = OffsetAndMetadata(offset, "note")
    return Decision(group, tp, mapped, seen, there, Verdict(Outcome.PLANNED, offset + 100))


def loaded(records: list[StateRecord]) -> SavedJob:
    return load_jobs([job_record(STATE), *records])[JOB]


def test_a_later_run_knows_what_was_written() -> None:
    written: list[StateRecord] = []
    memory = GroupMemory(JOB, {}, written.extend)
    memory.remember([planned("g", T0, 5), planned("g", T1, 6), planned("g", U0, 7), planned("h", T0, 8)], 99)
    assert len(written) == 3, "one for each topic of a group"
    later = GroupMemory(JOB, loaded(written).groups)
    assert later.groups() == {"g", "h"}
    known = later.commits("g", [T0, T1, U0])
    assert {tp: (one.source_offset, one.metadata, one.made, one.made_ms) for tp, one in known.items()} == {
        T0: (5, "note", (105,), 99),
        T1: (6, "note", (106,), 99),
        U0: (7, "note", (107,), 99),
    }
    assert later.commits("h", [T1]) == {}


def test_versions_that_know_nothing_of_groups_leave_the_records_alone() -> None:
    """They read each record whose key has a ``job``."""
    written: list[StateRecord] = []
    GroupMemory(JOB, {}, written.extend).remember([planned("g", T0, 5)], 1)
    assert json.loads(written[0].key) == {"of_job": "j", "group": "g", "topic": "t", "source": "a"}
    value = json.loads(written[0].value or b"")
    assert (value["kind"], value["version"]) == ("MirrorGroup", 1)
    assert loaded([]).groups == {}


def test_only_topics_with_news_are_written() -> None:
    written: list[StateRecord] = []
    memory = GroupMemory(JOB, {}, written.extend)
    first = [planned("g", T0, 5), planned("g", T1, 5), planned("g", U0, 7)]
    memory.remember(first, 1)
    written.clear()
    same = [
        one._replace(there=one.verdict.offset, verdict=one.verdict._replace(status=Outcome.UNCHANGED))
        for one in first
    ]
    memory.remember(same, 2)
    assert written == []
    memory.remember([planned("g", T1, 9, there=105), *same[2:]], 3)
    assert len(written) == 1
    known = GroupMemory(JOB, loaded(written).groups).commits("g", [T0, T1])
    assert (known[T0].made, known[T1].made) == ((105,), (105, 109)), "the other partition is still in it"


def test_offsets_of_another_target_topic_are_not_the_jobs_own() -> None:
    written: list[StateRecord] = []
    memory = GroupMemory(JOB, {}, written.extend)
    one = planned("g", T0, 5, topic_id="A")
    memory.remember([one], 1)
    assert memory.known("g", T0, one.mapped) is not None
    assert memory.known("g", T0, one.mapped._replace(topic_id="")) is not None, "brokers have no ids"
    assert memory.known("g", T0, one.mapped._replace(topic_id="B")) is None
    assert memory.known("g", T0, one.mapped._replace(target=T0)) is None
    memory.remember([planned("g", T1, 6, topic_id="B")], 2)
    assert memory.commits("g", [T0, T1]).keys() == {T1}


def test_what_could_not_be_written_is_not_known() -> None:
    def write(_records: object) -> None:
        raise KcliError("no")

    memory = GroupMemory(JOB, {}, write)
    with pytest.raises(KcliError, match="no"):
        memory.remember([planned("g", T0, 5)], 1)
    assert memory.groups() == set()
