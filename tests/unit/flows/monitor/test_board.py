"""What readings show, one after another."""

from kcli.core.admin.brokers import ClusterDescription
from kcli.core.admin.topics import TopicInfo
from kcli.core.cluster.metadata import PartitionView
from kcli.core.types import TopicPartition
from kcli.flows.lag.partition_lag import INTERPOLATED, READ, RecordTime
from kcli.flows.lag.sample import GroupSample
from kcli.flows.monitor.board import RECENT_MS, Board
from kcli.flows.monitor.cluster_reading import ClusterFacts, Latency, Reading
from kcli.flows.monitor.snapshot import Snapshot
from kcli.flows.topics.sizes import TopicSize
from tests.unit.flows.monitor.readings import BROKERS, NOW, P0, P1, group, reading


def played(*readings: Reading) -> Snapshot:
    board = Board()
    return [board.add(one) for one in readings][-1]


def test_a_group_has_its_lag_its_members_and_those_that_read() -> None:
    line = played(reading(0, group("g", {P0: 3, P1: 5}, "a", "b", "idle"), ends={P0: 10, P1: 5})).groups[0]
    assert (line.group, line.type, line.state, line.topics) == ("g", "classic", "Stable", 1)
    assert (line.members, line.reading) == (3, 2)
    assert (line.summary.lag, line.summary.partitions) == (7, 2)
    assert line.verdict is None, "one reading shows no progress"


def test_an_empty_group_has_no_members_and_one_that_was_not_described_an_unknown_number() -> None:
    empty = GroupSample("g", "Empty", group("g", {P0: 1}).committed)
    unknown = empty._replace(group="h", state="Stable")
    lines = played(reading(0, empty, unknown, ends={P0: 1})).groups
    assert [(line.members, line.reading) for line in lines] == [(0, 0), (None, None)]


def test_rates_time_to_drain_and_recent_lags_follow_from_several_readings() -> None:
    board = Board()
    for second in range(0, 40, 2):
        shown = board.add(
            reading(second, group("g", {P0: 20 * second}, "a"), ends={P0: 2_000 + 10 * second, P1: 0})
        )
    line = shown.groups[0]
    assert (line.trend.consumed, line.trend.produced) == (20, 10)
    assert line.trend.eta == (2_000 - 10 * 38) / 10
    assert list(line.recent) == [2_000 - 10 * second for second in range(0, 40, 2)]
    assert line.verdict == "ok"
    assert (shown.totals.lag, shown.totals.produced, shown.totals.consumed) == (1_620, 10, 20)
    assert shown.totals.verdicts == {"ok": 1}
    assert [one.lag for one in shown.recent] == list(line.recent)


def test_what_is_older_than_five_minutes_is_forgotten() -> None:
    board = Board()
    board.follow("g")
    for second in range(0, 602, 2):
        shown = board.add(reading(second, group("g", {P0: second}, "a"), ends={P0: 1_000}))
    kept = RECENT_MS // 2_000 + 1
    assert len(shown.groups[0].recent) == len(shown.recent) == len(shown.lags[P0]) == kept
    assert shown.lags[P0][-1] == 400


def test_only_the_partitions_of_the_group_that_is_followed_are_kept() -> None:
    board = Board()
    one, other = group("g", {P0: 1}, "a"), group("h", {P1: 1}, "a")
    assert board.add(reading(0, one, other, ends={P0: 5, P1: 9})).lags == {}
    board.follow("h")
    assert board.add(reading(2, one, other, ends={P0: 5, P1: 9})).lags == {P1: [8]}
    board.follow("g")
    assert board.add(reading(4, one, other, ends={P0: 5, P1: 9})).lags == {P0: [4]}


def test_lag_in_time_is_of_the_groups_that_are_timed() -> None:
    times = {(P0, 3): RecordTime(NOW - 60_000, READ)}
    both = group("g", {P0: 3}, "a"), group("h", {P0: 4}, "a")
    lines = played(reading(0, *both, ends={P0: 10}, timed=frozenset("g"), times=times)).groups
    assert [line.summary.seconds for line in lines] == [60, None]


def test_lag_in_time_is_shown_as_it_was_while_a_later_one_is_looked_up_but_not_for_long() -> None:
    timed = {"ends": {P0: 100}, "timed": frozenset("g"), "times": {(P0, 3): RecordTime(NOW - 5_000, READ)}}
    board = Board()
    found = [board.add(reading(0, group("g", {P0: 3}, "a"), **timed)).groups[0].summary]
    found += [
        board.add(reading(second, group("g", {P0: 3 + second}, "a"), **timed)).groups[0].summary
        for second in (2, 30, 32)
    ]
    assert [(one.seconds, one.method) for one in found[:3]] == [
        (5, READ),
        (5, INTERPOLATED),
        (5, INTERPOLATED),
    ]
    assert found[3].seconds is None


def test_a_group_at_risk_stays_so_when_its_times_are_no_longer_looked_up() -> None:
    hour = 3_600_000
    timed = {
        "ends": {P0: 100}, "timed": frozenset("g"), "retention": {"t": hour},
        "times": {(P0, 3): RecordTime(NOW - hour + 1_000, READ)},
    }  # fmt: skip
    board, one = Board(), group("g", {P0: 3}, "a")
    assert board.add(reading(0, one, **timed)).groups[0].verdict == "loss risk"
    untimed = {**timed, "timed": frozenset(), "times": {}}
    shown = [board.add(reading(second, one, **untimed)) for second in (2, 4, 10)]
    assert shown[-1].groups[0].verdict == "loss risk"
    assert not [event for snapshot in shown for event in snapshot.events]


def test_topics_have_their_rate_their_readers_and_the_group_that_is_furthest_behind() -> None:
    other = TopicPartition("alone", 0)
    parts = (PartitionView(0, 1, replicas=(1, 2), isr=(1,)), PartitionView(1, -1, replicas=(2,), isr=()))
    topics = [
        TopicInfo("t", "", False, parts),
        TopicInfo("alone", "", False, (PartitionView(0, 2, replicas=(2,), isr=(2,)),)),
    ]
    facts = ClusterFacts(ClusterDescription("c", 1, BROKERS), 2, topics, {"t": TopicSize(5_000, 10_000)})
    both = group("g", {P0: 3, P1: 4}, "a"), group("h", {P0: 1}, "a")
    latencies = {1: Latency(3, 1.5, 2.0)}
    shown = played(
        reading(0, *both, ends={P0: 10, P1: 10, other: 7}, cluster=facts),
        reading(2, *both, ends={P0: 20, P1: 14, other: 7}, cluster=facts, latencies=latencies),
    )
    one, two = shown.topics
    assert (one.topic, one.partitions, one.under_replicated, one.offline) == ("t", 2, 2, 1)
    assert (one.records, one.size, one.produced, one.groups) == (34, 5_000, 7, 2)
    assert (one.worst, one.lag) == ("g", 27)
    assert (two.topic, two.records, two.size, two.groups, two.worst, two.lag) == (
        "alone",
        7,
        None,
        0,
        None,
        None,
    )
    assert two.produced == 0
    first, second = shown.brokers
    assert (first.broker.leaders, first.broker.replicas, first.broker.under_replicated) == (1, 1, 0)
    assert (second.broker.leaders, second.broker.under_replicated) == (1, 2)
    assert (first.controller, second.controller) == (False, True)
    assert (first.latency, second.latency) == (latencies[1], None)


def test_brokers_are_not_counted_unless_they_were_wanted() -> None:
    shown = played(reading(0, ends={}))
    assert [one.counted for one in shown.brokers] == [False, False]
    assert shown.topics == []


def test_a_group_that_comes_back_begins_anew() -> None:
    board = Board()
    for second in range(0, 20, 2):
        board.add(reading(second, group("g", {P0: 5}, "a"), ends={P0: 9}))
    board.add(reading(20, ends={P0: 9}))
    line = board.add(reading(22, group("g", {P0: 0}, "a"), ends={P0: 9})).groups[0]
    assert (line.verdict, list(line.recent)) == (None, [9])


def test_a_reading_that_follows_at_once_leaves_the_records_per_second_as_they_were() -> None:
    board = Board()
    for second, end in ((0, 0), (2, 20), (2.2, 20)):
        shown = board.add(reading(second, group("g", {P0: 0}, "a"), ends={P0: end}))
        if second:
            assert shown.totals.produced == 10
    shown = board.add(reading(4, group("g", {P0: 0}, "a"), ends={P0: 40}))
    assert shown.totals.produced == 10, "from the last reading that was compared with"
