"""Rows of partitions added up."""

from kcli.flows.lag.summary import summaries_by, summary
from tests.unit.flows.lag.samples import P0, P1, row


def test_sums_and_the_worst() -> None:
    rows = [
        row(5, seconds=9.0, margin=100.0),
        row(7, seconds=60.0, margin=50.0, method="interpolated"),
        row(0, seconds=0.0),
        row(3, seconds=2.0, lost=4, note="4 offsets are lost"),
    ]
    found = summary(rows)
    assert (found.partitions, found.lag, found.seconds, found.method) == (4, 15, 60.0, "interpolated")
    assert (found.margin, found.lost, found.note) == (50.0, 4, "4 offsets are lost")


def test_what_is_unknown_is_not_zero() -> None:
    found = summary([row(5, seconds=None, method="unknown"), row(None, seconds=None)])
    assert (found.lag, found.seconds, found.method) == (5, None, "unknown")
    assert found.note == "1 of 2 partitions unknown"
    found = summary([row(None, seconds=None)])
    assert (found.lag, found.seconds) == (None, None)
    found = summary([])
    assert (found.partitions, found.lag, found.seconds, found.note) == (0, None, None, "no committed offsets")


def test_partitions_without_a_commit_are_counted_and_do_not_change_the_sum() -> None:
    found = summary(
        [row(5), row(None, committed=None, judged=False), row(None, committed=None, judged=False)]
    )
    assert (found.partitions, found.lag) == (3, 5)
    assert found.note == "2 of 3 partitions without a commit"


def test_drained_is_known_to_be_no_time_behind() -> None:
    found = summary([row(0), row(0)])
    assert (found.lag, found.seconds, found.method) == (0, 0.0, "read")


def test_repeated_notes_are_printed_once_and_many_are_counted() -> None:
    assert summary([row(1, note="a"), row(1, note="a"), row(1, note="b")]).note == "a; b"
    assert summary([row(1, note=text) for text in "abcde"]).note == "a; b; c; and 2 more"


def test_by_a_key_in_the_order_in_which_they_come() -> None:
    rows = [row(1, tp=P1), row(2, tp=P0), row(3, tp=P1)]
    found = summaries_by(rows, lambda one: one.tp)
    assert [(tp, one.lag) for tp, one in found.items()] == [(P1, 4), (P0, 2)]
