"""One word for a group, rates and time to drain, from samples that follow each other."""

import pytest

from kcli.flows.lag.verdicts import History
from tests.unit.flows.lag.samples import NOW, P1, row


def watched(*samples: tuple[int, int], state: str = "Stable", step: int = 10_000, **more: object) -> History:
    """``samples`` are (committed, lag), ``step`` ms apart."""
    history = History()
    for number, (committed, lag) in enumerate(samples):
        history.add_rows(NOW + number * step, "g", [row(lag, committed=committed, **more)], state)
    return history


@pytest.mark.parametrize(("state", "word"), [("Empty", "empty"), ("Dead", "empty"), ("Stable", "ok")])
def test_markers_and_aborted_records_are_nothing_to_read(state: str, word: str) -> None:
    assert watched((5, 3), drained=True).verdict("g", state, [row(3, committed=5, drained=True)]) == word


@pytest.mark.parametrize(
    ("samples", "state", "verdict"),
    [
        ([(5, 0)], "Stable", "ok"),
        ([(5, 3)], "Stable", None),
        ([(5, 0)], "Empty", "empty"),
        ([(5, 3)], "Empty", "stopped"),
        ([(5, 3)], "Dead", "stopped"),
        ([(5, 3)], "PreparingRebalance", "rebalancing"),
        ([(5, 3)], "Reconciling", "rebalancing"),
        ([(5, 3), (5, 9)], "Stable", "stalled"),
        ([(5, 0), (5, 9)], "Stable", "slow"),
        ([(5, 3), (7, 9)], "Stable", "slow"),
        ([(5, 9), (9, 9)], "Stable", "ok"),
        ([(5, 9), (9, 5)], "Stable", "ok"),
        ([(5, 0), (5, 8), (13, 0), (13, 8)], "Stable", "ok"),
        ([(5, 0), (5, 8), (9, 6), (9, 16)], "Stable", "slow"),
        ([(5, 9), (2, 12)], "Stable", "rewound"),
        ([(5, 9), (2, 12), (9, 5)], "Empty", "rewound"),
        ([(5, 9), (7, 7)], "", None),
    ],
)
def test_the_word(samples: list[tuple[int, int]], state: str, verdict: str | None) -> None:
    committed, lag = samples[-1]
    assert watched(*samples, state=state).verdict("g", state, [row(lag, committed=committed)]) == verdict


def test_a_group_that_keeps_up_is_not_slow_because_of_when_it_was_read() -> None:
    """It reads 200 records a second and commits several times a second; its lag is what it has not committed yet."""
    lags = [20, 45, 30, 22, 60, 31, 25, 48]
    samples = [(1_000 + 200 * second - lag, lag) for second, lag in enumerate(lags)]
    history = watched(*samples, (2_570, 30), step=1_000)
    assert history.verdict("g", "Stable", [row(30, committed=2_570)]) == "ok"
    behind = [(1_000 + 150 * second, 20 + 50 * second) for second in range(10)]
    assert watched(*behind, step=1_000).verdict("g", "Stable", [row(470, committed=2_350)]) == "slow"


@pytest.mark.parametrize("state", ["Empty", "Dead", "Stable"])
def test_a_lag_that_is_not_known_is_not_nothing_to_read(state: str) -> None:
    known, leaderless = row(0, committed=5), row(None, committed=5, tp=P1)
    history = History()
    history.add_rows(NOW, "g", [known, leaderless], state)
    assert history.verdict("g", state, [known, leaderless]) is None


def test_known_lag_is_reported_even_if_other_values_are_unknown() -> None:
    rows = [row(3, committed=5), row(None, committed=5, tp=P1)]
    history = History()
    history.add_rows(NOW, "g", rows, "Empty")
    assert history.verdict("g", "Empty", rows) == "stopped"


def test_members_that_commit_every_five_seconds_are_not_called_stalled_before() -> None:
    assert watched((5, 3), (5, 9), step=5_000).verdict("g", "Stable", [row(9)]) is None


def test_a_risk_of_loss_comes_before_what_the_group_does() -> None:
    history = watched((5, 3))
    assert history.verdict("g", "Empty", [row(3, at_risk=True)]) == "loss risk"
    assert history.verdict("g", "Assigning", [row(3, at_risk=True)]) == "rebalancing"


def test_rates_and_the_time_to_drain() -> None:
    trend = watched((0, 1000), (300, 800)).trend("g")  # 300 read, 100 written in 10 s
    assert (trend.consumed, trend.produced, trend.net, trend.eta) == (30.0, 10.0, -20.0, 40.0)
    trend = watched((0, 10), (0, 20)).trend("g")
    assert (trend.consumed, trend.produced, trend.net, trend.eta) == (0.0, 1.0, 1.0, None)
    assert watched((0, 5), (5, 0)).trend("g").eta == 0.0
    assert watched((5, 0), (5, 0)).trend("g").eta == 0.0
    alone = watched((0, 10)).trend("g")
    assert (alone.consumed, alone.net, alone.eta) == (None, None, None)


def test_samples_older_than_a_minute_do_not_count() -> None:
    history = watched((50, 0), (10, 40), *[(10 + n, 40) for n in range(9)])
    assert history.verdict("g", "Stable", [row(40)]) == "ok"
    assert history.trend("g").consumed == pytest.approx(0.1)


def test_a_partition_that_comes_or_goes_moves_nothing() -> None:
    history = History()
    history.add_rows(NOW, "g", [row(5, committed=100)], "Stable")
    history.add_rows(NOW + 10_000, "g", [], "Stable")
    history.add_rows(NOW + 20_000, "g", [row(5, committed=100)], "Stable")
    assert history.trend("g").consumed == 0.0
    history.add_rows(NOW + 30_000, "g", [row(None, committed=3)], "Stable")
    assert history.verdict("g", "Stable", []) is None


@pytest.mark.parametrize(
    ("before", "now", "read"),
    [
        ("Stable", "Stable", True),
        ("Stable", "Empty", True),
        ("Empty", "Stable", True),
        ("Empty", "PreparingRebalance", True),
        ("", "", True),
        ("Empty", "Empty", False),
        ("Dead", "Empty", False),
        ("Empty", "Dead", False),
    ],
)
def test_commits_that_go_ahead_are_reading_where_members_were_there_before_or_after(
    before: str, now: str, read: bool
) -> None:
    """A rewind to a later offset, and an undo, are not: they would show a rate and a time to drain for a minute."""
    history = History()
    history.add_rows(NOW, "g", [row(1_000, committed=0)], before)
    history.add_rows(NOW + 10_000, "g", [row(100, committed=900)], now)
    trend = history.trend("g")
    assert (trend.consumed, trend.eta) == ((90.0, 100 / 90) if read else (None, None))
    assert trend.produced == 0.0


def test_a_reset_to_the_end_leaves_nothing_to_drain() -> None:
    trend = watched((0, 1_000), (1_000, 0), state="Empty").trend("g")
    assert (trend.consumed, trend.eta) == (None, 0.0)


def test_a_consumer_that_assigns_its_partitions_itself_reads_though_its_group_has_no_members() -> None:
    """It commits again and again, which nobody who resets offsets does."""
    samples = [(100 * number, 5_000 - 100 * number) for number in range(4)]
    trend = watched(*samples, state="Empty").trend("g")
    assert (trend.consumed, trend.eta) == (10.0, 470.0)
    assert watched(*samples[:3], state="Empty").trend("g").consumed is None


def test_members_that_have_just_joined_are_not_called_stalled_before_they_can_have_committed() -> None:
    history = watched(*[(5, 3)] * 5, state="Empty")
    for second, word in ((50, None), (55, None), (58, "stalled")):
        history.add_rows(NOW + second * 1_000, "g", [row(3, committed=5)], "Stable")
        assert history.verdict("g", "Stable", [row(3, committed=5)]) == word, second


@pytest.mark.parametrize(
    ("since", "until", "consumed"),
    [
        (11, 12, 10 + 0 + 10),
        (11, 22, 10 + 0 + 0),
        (10, 10, 0 + 0 + 10),
        (25, 45, 10 + 900 + 0),
        (40, 50, 10 + 900 + 10),
    ],
)
def test_steps_in_which_offsets_were_set_by_hand_are_no_reading(
    since: int, until: int, consumed: int
) -> None:
    """Of a group with members, whose offsets are set while they are held back: steps end at 10, 20 and 30 s."""
    history = watched((0, 5_000), (10, 4_990), (910, 4_090), (920, 4_080))
    history.exclude("g", NOW + since * 1_000, NOW + until * 1_000)
    assert history.trend("g").consumed == pytest.approx(consumed / 30)
    history.add_rows(NOW + 40_000, "g", [row(3_080, committed=1_920)], "Stable")
    consumed += 0 if until >= 30 else 1_000
    assert history.trend("g").consumed == pytest.approx(consumed / 40)
    history.exclude("other", NOW, NOW)
