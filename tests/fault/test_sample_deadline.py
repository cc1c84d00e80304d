"""A broker falls silent while a sample is read: the sample ends in its time, says what it lacks, and has the rest.

The broker accepts connections and requests and answers nothing, as one that was stopped by SIGSTOP.
"""

from collections.abc import Iterator
from contextlib import nullcontext
from time import monotonic

import pytest

from kcli.core import Admin
from kcli.core.hooks import NO_HOOKS
from kcli.core.options import ClientOptions
from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.describe_cluster import DescribeClusterRequest
from kcli.core.protocol.messages.describe_configs import DescribeConfigsRequest
from kcli.core.protocol.messages.describe_groups import DescribeGroupsRequest
from kcli.core.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from kcli.core.protocol.messages.describe_quorum import DescribeQuorumRequest
from kcli.core.protocol.messages.fetch import FetchRequest
from kcli.core.protocol.messages.find_coordinator import FindCoordinatorRequest
from kcli.core.protocol.messages.list_groups import ListGroupsRequest
from kcli.core.protocol.messages.list_offsets import ListOffsetsRequest
from kcli.core.protocol.messages.metadata import MetadataRequest
from kcli.core.protocol.messages.offset_fetch import OffsetFetchRequest
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.exporter.collectors import choice
from kcli.exporter.collectors.reading import FactReader
from kcli.exporter.loop import Collecting, Loop, Readers
from kcli.flows.groups.commit_times import offsets_partition
from kcli.flows.lag.measure import ESTIMATE, EXACT, OFF, measure_lag
from kcli.flows.lag.sample import Wanted, sample_seconds
from kcli.flows.monitor.ages import Lookups
from kcli.flows.monitor.cluster_reading import Reading, View
from kcli.flows.monitor.latencies import Latencies
from kcli.flows.monitor.monitor import Monitor
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import batch
from tests.fake.script import FOREVER, When
from tests.lasting import Moment, lasted

PARTITIONS = 6
GROUPS = frozenset(f"g{number:02}" for number in range(12))
SECONDS, SLACK = 1.6, 1.0
AGAIN = 0.8
"""Seconds for a sample that knows the silent broker."""
VIEW = View(time=ESTIMATE, topics=True, brokers=True, all_timed=True)


def _is_lookup(request: ListOffsetsRequest) -> bool:
    """Of the time of a record, not of an end of a log."""
    return any(part.timestamp >= 0 for topic in request.topics for part in topic.partitions)


PHASES: dict[str, tuple[type[Request] | None, When]] = {
    "all": (None, None),
    "groups": (ListGroupsRequest, None),
    "descriptions": (DescribeGroupsRequest, None),
    "coordinators": (FindCoordinatorRequest, None),
    "commits": (OffsetFetchRequest, None),
    "ends": (ListOffsetsRequest, None),
    "topics": (MetadataRequest, None),
    "controller": (DescribeQuorumRequest, None),
    "sizes": (DescribeLogDirsRequest, None),
    "brokers": (DescribeClusterRequest, None),
    "times": (ListOffsetsRequest, _is_lookup),
    "records": (FetchRequest, None),
    "retention": (DescribeConfigsRequest, None),
}
"""What is read in a sample, in this order, and which requests to the broker are not answered."""
AT_ANY = ("coordinators", "topics", "controller", "brokers", "retention")
"""Asked of any broker: another one answers, or it was another one that was asked."""


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    """Each group has committed in all three partitions of ``t``, each of which is at one broker only."""
    with FakeCluster(3) as made:
        made.create_topic("__consumer_offsets", PARTITIONS, replication=1)
        made.create_topic("t", 3, replication=1)
        made.create_topic("unread", 3, replication=1)
        for number in range(3):
            made.append("t", number, batch(b"a", b"b"))
        commits = {TopicPartition("t", number): OffsetAndMetadata(1) for number in range(3)}
        with Admin(bootstrap_servers=made.bootstrap) as admin:
            admin.commit_offsets(dict.fromkeys(sorted(GROUPS), commits))
        yield made


@pytest.fixture
def admin(cluster: FakeCluster) -> Iterator[Admin]:
    with Admin(ClientOptions(bootstrap_servers=cluster.bootstrap), timeout=SECONDS) as made:
        yield made


class Later:
    """A clock whose readings are a minute apart: nothing is recent enough to be kept."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 60
        return self.now


def home(group: str) -> int:
    """The broker of a group."""
    return offsets_partition(group, PARTITIONS).partition % 3 + 1


def timed(monitor: Monitor, view: View) -> tuple[Reading, float]:
    """A reading, and its seconds. One in which this process had no processor for long is made again: the deadline is in
    seconds of the clock, so brokers that answer were not heard in time.
    """
    for _ in range(8):
        began = Moment.now()
        reading = monitor.read(view, 0.5)
        seconds = monotonic() - began
        if seconds - lasted(began) < 0.3:
            break
    return reading, seconds


def check_others(reading: Reading, silent: int) -> None:
    """What the other brokers have is there; nothing else is lacking without a word."""
    sample, whats = reading.sample, [str(part.error) for part in reading.missing]
    read = {one.group for one in sample.groups}
    assert read >= {group for group in GROUPS if home(group) != silent}
    assert sample.names == GROUPS
    assert reading.cluster.topics is not None
    assert {topic.name for topic in reading.cluster.topics} >= {"t", "unread"}
    for topic in ("t", "unread"):
        for number in range(3):
            end = reading.ends[TopicPartition(topic, number)].end
            if number + 1 != silent:
                assert end == (2 if topic == "t" else 0)
            assert end is not None or any(topic in what for what in whats)
    assert read == GROUPS or whats


@pytest.mark.parametrize("named", [False, True], ids=["found", "named"])
@pytest.mark.parametrize("silent", [1, 3])
@pytest.mark.parametrize("phase", PHASES)
def test_a_silent_broker_takes_its_own_figures_only(
    cluster: FakeCluster, admin: Admin, phase: str, silent: int, *, named: bool
) -> None:
    api, when = PHASES[phase]
    wanted = Wanted(sorted(GROUPS) if named else ())
    monitor = Monitor(admin, Latencies(NO_HOOKS), wanted, Later(), Lookups(again_ms=0))
    view = VIEW._replace(time=EXACT if phase == "records" else ESTIMATE)
    assert monitor.read(view._replace(time=OFF)).missing == []
    hold = cluster.hold(api, node=silent, times=FOREVER, when=when)
    reading, seconds = timed(monitor, view)
    assert seconds <= SECONDS + SLACK
    check_others(reading, silent)
    if phase in ("ends", "sizes", "commits") or phase == ("descriptions" if named else "groups"):
        assert reading.missing
    reading, seconds = timed(monitor, view)
    assert seconds <= AGAIN, "it is not waited for again"
    check_others(reading, silent)
    hold.release()
    monitor.read(view)
    reading, seconds = timed(monitor, view)
    assert reading.missing == [], "it answers, and is waited for"
    if phase not in AT_ANY:
        assert reading.times.keys() >= {(TopicPartition("t", number), 1) for number in range(3)}


@pytest.mark.parametrize("time", [ESTIMATE, EXACT])
def test_a_leader_that_dies_while_times_are_read_takes_no_round_of_each_lookup(
    cluster: FakeCluster, admin: Admin, time: str
) -> None:
    monitor = Monitor(admin, Latencies(NO_HOOKS), Wanted(), Later(), Lookups(again_ms=0))
    view = VIEW._replace(time=time)
    assert monitor.read(view._replace(time=OFF)).missing == []
    api, when = (FetchRequest, None) if time == EXACT else (ListOffsetsRequest, _is_lookup)

    def die(_request: Request) -> None:
        cluster.stop(3)

    cluster.intercept(api, die, node=3, when=when)
    for _ in range(2):
        reading, seconds = timed(monitor, view)
        assert seconds <= SECONDS + SLACK
        check_others(reading, 3)


def test_a_sample_of_the_exporter_has_one_deadline(cluster: FakeCluster, admin: Admin) -> None:
    readers = Readers(
        admin, Monitor(admin, Latencies(NO_HOOKS), Wanted(), Later()), FactReader(admin, choice.ALL)
    )
    loop = Loop(
        lambda: nullcontext(readers), Collecting(ESTIMATE, choice.ALL), interval=0.5, most=1_000, warn=str
    )
    assert loop.sample(readers) == []
    cluster.hold(None, node=3, times=FOREVER)
    for longest in (SECONDS + SLACK, AGAIN):
        began = monotonic()
        assert loop.sample(readers)
        assert monotonic() - began <= longest
        assert loop.state.page is not None


def test_a_watch_gives_each_sample_its_time(cluster: FakeCluster) -> None:
    """Named groups, some of which have a coordinator that is away: they do not delay the others each time."""
    for number in range(PARTITIONS):
        if number % 3 + 1 == 3:
            cluster.lose_coordinator("group", number)
    with Admin(bootstrap_servers=cluster.bootstrap, timeout=SECONDS) as admin:
        wanted = Wanted(sorted(GROUPS))
        for longest in (SECONDS + SLACK, AGAIN, AGAIN):
            began = monotonic()
            with admin.within(sample_seconds(admin, 0.5)):
                sample = measure_lag(admin, wanted, EXACT).sample
            assert monotonic() - began <= longest
            assert {one.group for one in sample.groups} == {one for one in GROUPS if home(one) != 3}
            assert sample.names == GROUPS


@pytest.mark.parametrize("time", [OFF, EXACT])
def test_a_controller_that_has_stopped_takes_no_figures_of_brokers(
    cluster: FakeCluster, admin: Admin, time: str
) -> None:
    """Each broker passes the request on to the controller, and answers nothing else on that connection meanwhile."""
    monitor = Monitor(admin, Latencies(NO_HOOKS), Wanted(), lookups=Lookups(again_ms=0))
    view = VIEW._replace(time=time, quorum=True)
    assert monitor.read(view).missing == []
    hold = cluster.hold(DescribeQuorumRequest, times=FOREVER)
    for longest in (SECONDS + SLACK, AGAIN, AGAIN):
        reading, seconds = timed(monitor, view)
        assert seconds <= longest
        assert reading.missing == []
        assert {one.group for one in reading.sample.groups} == GROUPS
        assert reading.parts.quorum is not None
        assert [part.error.what for part in reading.parts.quorum.lacks] == [
            "describing the controllers: no answer in time"
        ]
    hold.release()
    monitor.read(view)
    quorum = monitor.read(view).parts.quorum
    assert quorum is not None
    assert not quorum.lacks
