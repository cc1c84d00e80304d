"""A job that copies the other way is a conflict while it runs, and a warning afterwards."""

import pytest

from kcli.flows.mirror.job.state import RUNNING_MS, JobState
from kcli.flows.mirror.plan.loops import copies_of_target, returning_routes
from kcli.flows.mirror.topics.routes import Route

NOW = 1_700_000_000_000
ROUTES = [Route("orders", "eu.orders"), Route("sales", "sales")]


def job(**other: object) -> JobState:
    known: dict[str, object] = {
        "job": "back", "run": "r", "source": "B", "target": "A", "source_servers": "", "delivery": "",
        "partitions": "keep", "topics": {"eu.orders": "orders", "users": "users"}, "started_ms": 0,
        "updated_ms": NOW - 1, "host": "h",
    }  # fmt: skip
    return JobState(**{**known, **other})  # type: ignore[arg-type]


def check(state: JobState, *, headers: bool = False, target: str = "B") -> tuple[list[str], list[str]]:
    conflicts, warnings = returning_routes(ROUTES, [state], target, headers=headers, now=NOW)
    return [one.what for one in conflicts], [one.what for one in warnings]


@pytest.mark.case("M16")
def test_a_running_job_that_copies_the_target_back_is_an_endless_loop() -> None:
    conflicts, warnings = check(job())
    assert conflicts == ["mirror job back copies eu.orders of the target to orders: an endless loop"]
    assert not warnings


@pytest.mark.case("M16")
@pytest.mark.parametrize("over", [{"ended": True}, {"updated_ms": NOW - RUNNING_MS}])
def test_a_job_that_ended_or_was_killed_is_a_warning(over: dict[str, object]) -> None:
    conflicts, warnings = check(job(**over))
    assert not conflicts
    assert warnings == [
        "mirror job back has copied eu.orders of the target to orders: its records are copied back "
        "since they have no header with their origin"
    ]


@pytest.mark.case("M16")
@pytest.mark.parametrize(
    ("state", "headers", "target"),
    [
        (job(source="C"), False, "B"),
        (job(topics={"orders": "orders"}), False, "B"),
        (job(topics={"eu.orders": "other"}), False, "B"),
        (job(headers=True), True, "B"),
        (job(source=""), False, ""),
    ],
    ids=[
        "another cluster",
        "another topic",
        "another target",
        "headers on both ways",
        "cluster without an id",
    ],
)
def test_what_is_no_loop(state: JobState, headers: bool, target: str) -> None:
    assert check(state, headers=headers, target=target) == ([], [])


@pytest.mark.case("M16")
def test_a_job_with_headers_needs_them_on_the_way_back() -> None:
    _, warnings = check(job(headers=True, ended=True))
    assert warnings[0].endswith("its records are copied back unless --headers is given")


@pytest.mark.case("M16")
@pytest.mark.parametrize(("here", "there"), [(True, False), (False, True)])
def test_headers_on_one_way_only_do_not_end_a_loop(here: bool, there: bool) -> None:
    conflicts, _ = check(job(headers=there), headers=here)
    assert conflicts


@pytest.mark.case("M16")
@pytest.mark.parametrize(
    ("state", "target", "copies"),
    [
        (job(topics={"eu.orders": "orders", "same": "same"}), "B", {"orders"}),
        (job(source="C"), "B", set()),
        (job(source="A", topics={"t": "copy.t"}), "A", {"copy.t"}),
        (job(source=""), "", set()),
    ],
    ids=["another name", "another cluster", "within one cluster", "cluster without an id"],
)
def test_the_copies_that_patterns_leave_out(state: JobState, target: str, copies: set[str]) -> None:
    assert copies_of_target([state], target) == copies
