"""One word for a group, rates and time to drain, from samples that follow each other."""

import random
from itertools import pairwise

import pytest

from kcli.flows.lag.partition_lag import PartitionLag
from kcli.flows.lag.verdicts import History, worst
from tests.unit.flows.lag.samples import NOW, P1, row


def word(history: History, rows: list[PartitionLag], state: str = "Stable") -> str | None:
    return history.verdict("g", state, rows).word


def watched(*samples: tuple[int, int], state: str = "Stable", step: int = 10_000, **more: object) -> History:
    """``samples`` are (committed, lag), ``step`` ms apart."""
    history = History()
    for number, (committed, lag) in enumerate(samples):
        history.add_rows(NOW + number * step, "g", [row(lag, committed=committed, **more)], state)
    return history


@pytest.mark.parametrize(("state", "word"), [("Empty", "empty"), ("Dead", "empty"), ("Stable", "ok")])
def test_markers_and_aborted_records_are_nothing_to_read(state: str, word: str) -> None:
    assert watched((5, 3), drained=True).verdict("g", state, [row(3, committed=5, drained=True)]).word == word


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
        ([(5, 3), (5, 9)], "Stable", None),
        ([(5, 3), (5, 9), (5, 9), (5, 9)], "Stable", "stalled"),
        ([(5, 0), (5, 9)], "Stable", "ok"),
        ([(5, 0), (5, 9), (5, 9), (5, 9), (5, 9)], "Stable", "stalled"),
        ([(5, 3), (7, 9)], "Stable", "ok"),
        ([(5, 9), (9, 9)], "Stable", "ok"),
        ([(5, 9), (9, 5)], "Stable", "ok"),
        ([(5, 0), (5, 8), (13, 0), (13, 8)], "Stable", "ok"),
        ([(5, 9), (2, 12)], "Stable", "rewound"),
        ([(5, 9), (2, 12), (9, 5)], "Empty", "rewound"),
        ([(5, 9), (7, 7)], "", None),
    ],
)
def test_the_word(samples: list[tuple[int, int]], state: str, verdict: str | None) -> None:
    committed, lag = samples[-1]
    assert word(watched(*samples, state=state), [row(lag, committed=committed)], state) == verdict


def test_a_group_that_keeps_up_is_not_slow_because_of_when_it_was_read() -> None:
    """It reads 200 records a second and commits several times a second; its lag is what it has not committed yet."""
    lags = [20, 45, 30, 22, 60, 31, 25, 48] * 8
    samples = [(1_000 + 200 * second - lag, lag) for second, lag in enumerate(lags)]
    assert word(watched(*samples, step=1_000), [row(48)]) == "ok"


def test_a_group_that_reads_less_than_is_written_is_slow_until_it_has_made_up_for_it() -> None:
    behind = [(1_000 + 100 * second, 20 + 100 * second) for second in range(45)]
    history = watched(*behind, step=1_000)
    assert word(history, [row(4_420)]) == "slow"
    for second in range(45, 90):
        lag = 4_420 - 100 * (second - 44)
        history.add_rows(
            NOW + second * 1_000, "g", [row(max(0, lag), committed=5_400 + 300 * (second - 44))], "Stable"
        )
    assert word(history, [row(0)]) == "ok"


def test_a_few_records_are_no_lag_that_grows() -> None:
    samples = [(minute, min(minute, 3)) for minute in range(30)]
    assert word(watched(*samples, step=60_000), [row(3)]) == "ok"


def test_a_group_that_commits_each_minute_is_not_stalled_between_two_commits() -> None:
    samples = [(100 * (second // 60), 100 + second % 60) for second in range(0, 360, 5)]
    history = History()
    words = set()
    for number, (committed, lag) in enumerate(samples):
        rows = [row(lag, committed=committed)]
        history.add_rows(NOW + number * 5_000, "g", rows, "Stable")
        words.add(word(history, rows) if number * 5 > 60 else "ok")
    assert words == {"ok"}


def test_records_behind_the_last_stable_offset_are_held() -> None:
    """And readers of uncommitted records, which have read beyond it, are not."""
    history = History()
    for second in range(0, 50, 10):
        rows = [row(2 * second, committed=5, stable=5), row(second, committed=9, stable=5, tp=P1)]
        history.add_rows(NOW + second * 1_000, "g", rows, "Stable")
    judged = history.verdict("g", "Stable", rows)
    assert judged.partitions == ["held", "stalled"]
    assert judged.why == "1 of 2: t-1 no commit for 30s while 30 arrived"


@pytest.mark.parametrize("state", ["Empty", "Dead", "Stable"])
def test_a_lag_that_is_not_known_is_not_nothing_to_read(state: str) -> None:
    known, leaderless = row(0, committed=5), row(None, committed=5, tp=P1)
    history = History()
    history.add_rows(NOW, "g", [known, leaderless], state)
    assert word(history, [known, leaderless], state) == "unread"


def test_known_lag_is_reported_even_if_other_values_are_unknown() -> None:
    rows = [row(3, committed=5), row(None, committed=5, tp=P1)]
    history = History()
    history.add_rows(NOW, "g", rows, "Empty")
    judged = history.verdict("g", "Empty", rows)
    assert (judged.word, judged.partitions) == ("stopped", ["stopped", "unread"])


def test_members_that_commit_every_five_seconds_are_not_called_stalled_before() -> None:
    assert word(watched((0, 3), (5, 3), (5, 9), step=5_000), [row(9)]) == "ok"


def test_a_risk_of_loss_comes_before_what_the_group_does() -> None:
    history = watched((5, 3))
    assert word(history, [row(3, at_risk=True)], "Empty") == "loss risk"
    assert word(history, [row(3, at_risk=True)], "Assigning") == "rebalancing"


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
    assert history.trend("g").consumed == pytest.approx(0.1)


def test_a_partition_that_comes_or_goes_moves_nothing() -> None:
    history = History()
    history.add_rows(NOW, "g", [row(5, committed=100)], "Stable")
    history.add_rows(NOW + 10_000, "g", [], "Stable")
    history.add_rows(NOW + 20_000, "g", [row(5, committed=100)], "Stable")
    assert history.trend("g").consumed == 0.0
    history.add_rows(NOW + 30_000, "g", [row(None, committed=3)], "Stable")
    assert word(history, []) is None


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
    for second, expected in ((50, None), (65, None), (80, "stalled")):
        history.add_rows(NOW + second * 1_000, "g", [row(3, committed=5)], "Stable")
        assert word(history, [row(3, committed=5)]) == expected, second


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


def test_sums_of_the_window_are_those_of_its_points() -> None:
    """Commits that go on, stand still, go back and are forgotten; a pause begins anew."""
    history, expected = History(), random.Random(20)
    samples: list[tuple[int, int]] = []
    now = committed = end = 0
    for _ in range(400):
        now += expected.choice((500, 2_000, 9_000))
        committed = max(0, committed + expected.choice((0, 0, 3, 50, -2)))
        end = max(committed, end + expected.choice((0, 7)))
        if expected.random() < 0.05 and samples and now - samples[-1][0] > 8_000:
            history.resume(NOW + now, "g")
            samples = []
        history.add_rows(NOW + now, "g", [row(end - committed, committed=committed)], "Stable")
        samples = [one for one in samples if one[0] >= now - 60_000] + [(now, committed)]
        steps = [after - before for (_, before), (_, after) in pairwise(samples)]
        trend = history.trend("g")
        if len(samples) == 1:
            assert trend.consumed is None
            continue
        seconds = (samples[-1][0] - samples[0][0]) / 1000
        assert trend.consumed == sum(step for step in steps if step > 0) / seconds


def test_commits_that_went_back_are_news_for_a_minute() -> None:
    history = watched((50, 0), (20, 30), step=10_000)
    assert history.verdict("g", "Stable", [row(30)]).why == "t-0 went back by 30 offsets"
    for second in range(20, 90, 10):
        history.add_rows(
            NOW + second * 1_000, "g", [row(30 - second // 10, committed=20 + second // 10)], "Stable"
        )
        assert word(history, [row(1)]) == ("rewound" if second < 70 else "ok")


def test_the_verdict_on_a_group_is_the_worst_of_its_partitions() -> None:
    history = History()
    for second in range(0, 50, 10):
        rows = [row(0, committed=second), row(5, committed=7, tp=P1)]
        history.add_rows(NOW + second * 1_000, "g", rows, "Stable")
        judged = history.verdict("g", "Stable", rows)
    assert judged.word == "stalled"
    assert judged.partitions == ["ok", "stalled"]
    assert judged.since_ms == NOW + 30_000
    assert judged.shares == {"stalled": 10_000}


def test_what_is_not_known_is_worse_than_ok_and_better_than_any_trouble() -> None:
    assert worst(["ok", None, "empty"]) is None
    assert worst(["ok", None, "unread"]) == "unread"
    assert worst(["empty", "ok"]) == "ok"
    assert worst([]) is None
