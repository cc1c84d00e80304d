"""Samples of the last minute that nobody took."""

from kcli.core.types import TopicPartition
from kcli.flows.groups.group_history import GroupHistory, LoggedCommit
from kcli.flows.groups.why import rows_at
from kcli.flows.lag.partition_lag import PartitionLag
from kcli.flows.lag.verdicts import History

TP = TopicPartition("t", 0)
NOW = 1_000_000


def row(committed: int | None = 5, end: int = 9, stable: int = 9) -> PartitionLag:
    lag = None if committed is None else end - committed
    return PartitionLag("g", TP, committed, end, 0, lag, None, "unknown", None, 0, None, "", stable=stable)


def history(*commits: tuple[int, int | None], complete: bool = True) -> GroupHistory:
    return GroupHistory(tuple(LoggedCommit(at, TP, offset) for at, offset in commits), complete=complete)


def offsets(rows: list[PartitionLag]) -> list[tuple[int | None, int | None, int | None, int | None]]:
    return [(one.committed, one.end, one.stable, one.lag) for one in rows]


def test_the_commit_of_that_time_is_the_last_before_it() -> None:
    known = history((NOW - 50_000, 2), (NOW - 10_000, 5))
    assert offsets(rows_at([row()], NOW - 20_000, known, {TP: 7})) == [(2, 7, 7, 5)]


def test_without_a_commit_in_a_whole_log_it_is_the_one_of_now() -> None:
    assert offsets(rows_at([row()], NOW - 20_000, history(), {TP: None})) == [(5, 9, 9, 4)]


def test_a_commit_that_is_not_known_is_left_out() -> None:
    assert rows_at([row()], NOW - 20_000, history((NOW - 10_000, 5)), {TP: 7}) == []
    assert rows_at([row()], NOW - 20_000, history(complete=False), {TP: 7}) == []
    assert rows_at([row()], NOW - 20_000, history((NOW - 30_000, None)), {TP: 7}) == []
    assert rows_at([row(None)], NOW - 20_000, history(), {TP: 7}) == []
    assert rows_at([row()], NOW - 20_000, history(), {}) == []


def test_the_end_is_never_below_the_commit_and_stable_never_beyond_the_end() -> None:
    assert offsets(rows_at([row(8, stable=8)], NOW - 20_000, history(), {TP: 3})) == [(8, 8, 8, 0)]


def test_a_group_that_commits_nothing_for_a_minute_is_stalled() -> None:
    made, known = History(), history()
    for before in (60_000, 40_000, 20_000):
        made.add_rows(NOW - before, "g", rows_at([row()], NOW - before, known, {TP: None}), "Stable")
    made.add_rows(NOW, "g", [row()], "Stable")
    assert made.verdict("g", "Stable", [row()]).word == "stalled"
