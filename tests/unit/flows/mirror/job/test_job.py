"""What an earlier run of a job left, compared with what is there now."""

import msgspec
import pytest

from kcli.core.positions import parse_range
from kcli.core.types import TopicPartition
from kcli.flows.mirror.copy.offset_map import OffsetMap
from kcli.flows.mirror.job.job import (
    begin_text,
    begun_later,
    check_begins,
    check_continues,
    check_routes_continue,
    default_name,
    taken_over,
)
from kcli.flows.mirror.job.state import (
    JobId,
    JobState,
    PartitionProgress,
    SavedJob,
    SavedPartition,
    job_record,
    load_jobs,
)
from kcli.flows.mirror.job.store import read_file_records
from kcli.flows.mirror.topics.preflight import ConflictError
from kcli.flows.mirror.topics.routes import Route, parse_rename
from kcli.flows.mirror.topics.survey import Selection
from tests.run import ROOT


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


# --- what a run wants, and what the job has ------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("", True),
        ("latest", True),
        ("latest:", True),
        ("earliest", False),
        ("5", False),
        ("@-1h", False),
    ],
)
def test_an_offset_contradicts_a_position_unless_the_copy_began_with_it(text: str, same: bool) -> None:
    job = saved(T0, topics=("t",))
    job = job._replace(state=msgspec.structs.replace(job.state, begun={"t": "latest"}))
    begin = begin_text(parse_range(text, 10**12) if text else None)
    check_begins(job, [Route("u", "u")], begin)  # it has no position of this one
    if same:
        check_begins(job, [Route("t", "t")], begin)
        return
    with pytest.raises(ConflictError) as raised:
        check_begins(job, [Route("t", "t")], begin)
    assert raised.value.why == "mirror job j has copied it up to offset 5 (t-0) and continues there"


def test_how_the_copy_of_an_earlier_version_began_is_not_known() -> None:
    check_begins(saved(T0, topics=("t",)), [Route("t", "t")], "latest")


def test_any_time_is_the_option_of_the_last_run() -> None:
    texts = {begin_text(parse_range(text, 10**12)) for text in ("@-1h", "@2001-01-01T00:00Z")}
    assert len(texts) == 1


def test_a_topic_has_one_target_in_a_job() -> None:
    job = saved(T0, topics=("t",))
    check_routes_continue(job, [Route("t", "t"), Route("u", "anything")])
    with pytest.raises(ConflictError, match="topic t would be copied to other"):
        check_routes_continue(job, [Route("t", "other")])


@pytest.mark.parametrize(
    ("selectors", "begins", "later"),
    [([], False, {U0}), (["t"], True, set()), (["*"], True, {U0}), (["^[a-z]$"], True, {U0})],
    ids=["without --offset", "added to -t", "a glob selected it", "an expression selected it"],
)
def test_a_topic_that_is_added_begins_at_the_offset_and_one_that_appeared_at_its_start(
    selectors: list[str], begins: bool, later: set[TopicPartition]
) -> None:
    job = saved(T0, topics=("t",))
    job = job._replace(state=msgspec.structs.replace(job.state, selectors=selectors))
    assert begun_later([T0, U0], job, begins=begins) == later


# --- version 1 ---------------------------------------------------------------------------------------

SOURCE = "sourceAAAAAAAAAAAAAAAAA"
OLD = ROOT / "tests/golden/mirror/state-v1.jsonl"


def old_jobs() -> dict[JobId, SavedJob]:
    """As the encoder of version 1 wrote them."""
    return load_jobs(read_file_records(str(OLD)))


def take(
    job: str, *selectors: str, renames: tuple[str, ...] = (), source: str = SOURCE
) -> tuple[set[str], set[str]]:
    """The positions that a job finds, and the names that it takes them from."""
    selection = Selection(selectors, [parse_rename(text) for text in renames])
    found, taken = taken_over(old_jobs(), JobId(source, job), selection, renames, source)
    positions = (
        set() if found is None else {f"{tp}>{one.progress.target}" for tp, one in found.partitions.items()}
    )
    return positions, set(taken.jobs)


BOTH, COPY = (
    default_name(SOURCE, ["orders", "payments"], []),
    default_name(SOURCE, ["orders"], ["orders=copy"]),
)
ORDERS = {"orders-0>orders", "orders-1>orders"}


@pytest.mark.parametrize(
    ("found", "positions", "names"),
    [
        (take("default", "orders"), ORDERS, {BOTH}),
        (take("default", "*"), {*ORDERS, "payments-0>payments"}, {BOTH}),
        (take("default", "^pay.*"), {"payments-0>payments"}, {BOTH}),
        (take("default", "orders", renames=("orders=copy",)), {"orders-0>copy"}, {COPY}),
        (take("default", "orders", renames=("orders=third",)), set(), set()),
        (take("default", "invoices", renames=("invoices=eu.invoices",)), set(), set()),
        (take("nightly", "orders"), {"invoices-0>eu.invoices"}, {"nightly"}),
        (take("other", "orders"), set(), set()),
        (take("other", "payments", "orders"), {*ORDERS, "payments-0>payments"}, {BOTH}),
        (take("default", "orders", source="elsewhere"), set(), set()),
    ],
    ids=[
        "one of its topics", "all of them", "by an expression", "another target", "no target of theirs",
        "a named job is not the default one", "the same name", "another name", "the same selection", "another source",
    ],
)  # fmt: skip
def test_what_is_taken_over_of_version_1(
    found: tuple[set[str], set[str]], positions: set[str], names: set[str]
) -> None:
    assert found == (positions, names)


def test_what_is_taken_over_is_moved_with_its_whole_map_and_nothing_is_left_twice() -> None:
    job = JobId(SOURCE, "default")
    records = [*read_file_records(str(OLD))]
    before = load_jobs(records)
    found, taken = taken_over(before, job, Selection(["orders"], []), (), SOURCE)
    assert found is not None
    records += [*taken.records(job), job_record(found.state)]
    after = load_jobs(records)
    for tp, one in found.partitions.items():
        assert [*after[job].partitions[tp].offsets.runs()] == [*one.offsets.runs()]
        assert after[job].partitions[tp].progress.position == one.progress.position
    assert len(after[job].partitions[TopicPartition("orders", 0)].offsets) == 1_100
    left = after[JobId("", BOTH)]
    assert ({*left.partitions}, left.state.topics) == ({("payments", 0)}, {"payments": "payments"})
    again, nothing = taken_over(after, job, Selection(["orders"], []), (), SOURCE)
    assert again == after[job]
    assert nothing.jobs == {}
    rest, taken = taken_over(after, job, Selection(["*"], []), (), SOURCE)
    assert rest is not None
    assert {tp.topic for tp in rest.partitions} == {"orders", "payments"}
    records += taken.records(job)
    assert JobId("", BOTH) not in load_jobs(records)
