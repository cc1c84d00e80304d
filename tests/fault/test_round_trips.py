"""How many round trips a command needs, one after the other, and how many connections: what it takes far away.

Counted by a clock that moves by one while what brokers have answered is on its way (``tests/fake/distance.py``).
A machine under load can only add to a count, so one that is too high is counted again.
"""

import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple

import pytest

from kcli.core import Admin, Consumer
from kcli.core.cluster.offsets import OffsetInfo
from kcli.core.errors import WrongClusterError
from kcli.core.protocol.messages.api_versions import ApiVersionsRequest
from kcli.core.protocol.messages.find_coordinator import FindCoordinatorRequest
from kcli.core.protocol.messages.list_offsets import ListOffsetsRequest
from kcli.core.protocol.messages.metadata import MetadataRequest
from kcli.core.types import OffsetAndMetadata, TopicPartition
from tests.certificates import Authority
from tests.committing import commit, put
from tests.fake.cluster import FakeCluster
from tests.fake.distance import Distance
from tests.fake.sasl import Sasl
from tests.run import KCLI, environment
from tests.warm_kcli import WarmPopen


class Far(NamedTuple):
    """Round trips, and connections. TLS adds one to those before the first answer, SCRAM another one; over TLS more."""

    trips: int
    connections: int = 1


LINES = {
    "topics list": Far(2),
    "topics describe t": Far(3),
    "topics offsets t": Far(2),
    "consume t -n 1": Far(3, 2),
    "consume t -e": Far(3),
    "consume t -e -g new": Far(11, 3),
    "produce t {dir}/line": Far(2),
    "produce t {dir}/line -X enable.idempotence=false": Far(2),
    "groups list": Far(2),
    "groups lag": Far(4),
    "groups lag g": Far(5),
    "groups describe g": Far(4),
    "groups rewind g --to earliest --dry-run": Far(6),
    "cluster describe": Far(3, 2),
}
SECURED = {
    "tls": (1, ("security.protocol=SSL",)),
    "scram": (1, ("security.protocol=SASL_PLAINTEXT", "sasl.mechanism=SCRAM-SHA-256")),
    "scram over tls": (4, ("security.protocol=SASL_SSL", "sasl.mechanism=SCRAM-SHA-256")),
    "plain over tls": (3, ("security.protocol=SASL_SSL", "sasl.mechanism=PLAIN")),
}
TRIES = 10
PARTITIONS = 3


@contextmanager
def far_cluster(folder: Path, kind: str) -> Iterator[tuple[FakeCluster, Distance, list[str]]]:
    """A cluster with records and groups, behind a distance; and the options that it takes."""
    with FakeCluster(1, topics={"t": PARTITIONS}) as cluster:
        for partition in range(PARTITIONS):
            put(cluster, "t", partition)
        for group in ("g", "h"):
            committed = {TopicPartition("t", n): OffsetAndMetadata(10) for n in range(PARTITIONS)}
            commit(cluster, group, committed)
        options = list(SECURED[kind][1]) if kind else []
        if "SSL" in "".join(options):
            authority = Authority(folder)
            cluster.use_tls(authority.broker("127.0.0.1"))
            options.append(f"ssl.ca.location={authority.ca}")
        if "sasl" in "".join(options):
            cluster.settings.sasl = Sasl(users={"alice": "secret"})
            options += ["sasl.username=alice", "sasl.password=secret"]
        (folder / "options").write_text("".join(f"{option}\n" for option in options))
        (folder / "options").chmod(0o600)
        with Distance(cluster) as distance:
            yield cluster, distance, ["-F", str(folder / "options")]


def counted(line: str, folder: Path, kind: str) -> Far:
    (folder / "line").write_text("one\n")
    homes = {f"XDG_{name}_HOME": str(folder / name) for name in ("CONFIG", "STATE", "CACHE")}
    with far_cluster(folder, kind) as (cluster, distance, options):
        before = len(cluster.connections)
        process = WarmPopen(
            [*KCLI, *shlex.split(line.format(dir=folder)), *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=environment(cluster.bootstrap, **homes),
        )  # fmt: skip
        distance.watch(process.pid)
        _out, err = process.communicate(timeout=120)
        assert process.returncode == 0, (line, err)
        return Far(distance.clock, len(cluster.connections) - before)


def fewest(line: str, wanted: Far, folder: Path, kind: str = "") -> Far:
    found: list[Far] = []
    for _ in range(TRIES):
        found.append(counted(line, Path(mkdtemp(dir=folder)), kind))
        if found[-1].trips == wanted.trips and found[-1].connections <= wanted.connections:
            return wanted  # whether a second connection is needed may be a matter of time
    return min(found)


def test_round_trips(tmp_path: Path) -> None:
    assert {line: fewest(line, wanted, tmp_path) for line, wanted in LINES.items()} == LINES


@pytest.mark.parametrize("kind", SECURED)
def test_secured_connections_add_only_what_the_first_one_needs(kind: str, tmp_path: Path) -> None:
    more = SECURED[kind][0]
    lines = ("topics list", "consume t -e", "produce t {dir}/line", "groups lag g")
    wanted = {line: LINES[line]._replace(trips=LINES[line].trips + more) for line in lines}
    assert {line: fewest(line, far, tmp_path, kind) for line, far in wanted.items()} == wanted


@pytest.mark.parametrize("highest", [8, 10])
def test_a_broker_without_the_versions_that_are_expected_is_connected_to_again(highest: int) -> None:
    """It closes the connection at what went ahead; nobody is told, and there is no pause."""
    with FakeCluster(1, topics={"t": 1}) as cluster:
        cluster.cap_versions({MetadataRequest: highest})
        with Admin(bootstrap_servers=cluster.bootstrap) as admin:
            admin.foresee(topics=True, groups=["g"], permissions=True)
            assert [topic.name for topic in admin.list_topics()] == ["t"]
        assert len(cluster.connections) == 2
        assert {one.version for one in cluster.seen(MetadataRequest)} == {highest}


def test_what_went_ahead_without_an_answer_does_not_go_ahead_again() -> None:
    """As where something between drops what is sent before it has answered."""
    with FakeCluster(1, topics={"t": 1}) as cluster:
        lost = cluster.swallow(MetadataRequest, times=1)
        options = {"socket_connection_setup_timeout_ms": 1_000, "request_timeout_ms": 1_000}
        with Admin(bootstrap_servers=cluster.bootstrap, **options) as admin:
            assert [topic.name for topic in admin.list_topics()] == ["t"]
        assert lost.count == 1
        first, *_, last = cluster.seen(MetadataRequest)
        assert first.connection != last.connection
        assert (first.version, last.version) == (11, MetadataRequest.versions[1])


def test_brokers_of_two_versions_get_what_each_of_them_has() -> None:
    """What one has reported is expected of the other, until it has reported its own."""
    with FakeCluster(2, topics={"t": 2}) as cluster:
        cluster.cap_versions({ListOffsetsRequest: 7}, node=2)
        with Admin(bootstrap_servers=cluster.address(1)) as admin:
            wanted = dict.fromkeys((TopicPartition("t", n) for n in range(2)), -1)
            assert all(isinstance(one, OffsetInfo) for one in admin.list_offsets(wanted).values())
        versions = {one.node: one.version for one in cluster.seen(ListOffsetsRequest)}
        assert versions == {1: ListOffsetsRequest.versions[1], 2: 7}


@pytest.mark.parametrize(("groups", "requests"), [(3, 3), (300, 1)])
def test_many_groups_are_looked_up_by_one_request(groups: int, requests: int) -> None:
    """Before the versions of the broker are known each would be a request of its own."""
    names = [f"g{number}" for number in range(groups)]
    with FakeCluster(1, topics={"t": 1}) as cluster, Admin(bootstrap_servers=cluster.bootstrap) as admin:
        admin.foresee(groups=names)
        assert list(admin.describe_groups(names)) == names
        assert len(cluster.seen(FindCoordinatorRequest)) == requests


def test_what_was_foreseen_is_asked_for_again_where_it_is_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcli.core.cluster.cluster._FRESH", -1.0)
    monkeypatch.setattr("kcli.core.cluster.cluster._ROUND_TRIPS", 0)
    with FakeCluster(1, topics={"t": 1}) as cluster, Admin(bootstrap_servers=cluster.bootstrap) as admin:
        admin.foresee(topics=True)
        admin.connect()
        cluster.wait_for(MetadataRequest, 2, settled=True)
        cluster.create_topic("new", 1)
        admin.cluster.sleep(0.01)
        assert {topic.name for topic in admin.list_topics()} == {"t", "new"}


def test_a_topic_that_is_newer_than_what_was_foreseen_is_looked_up() -> None:
    with FakeCluster(1, topics={"t": 1}) as cluster, Admin(bootstrap_servers=cluster.bootstrap) as admin:
        admin.foresee(topics=True)
        admin.connect()
        cluster.wait_for(MetadataRequest, 2, settled=True)
        cluster.create_topic("new", 1)
        cluster.add_partitions("t", 2)
        found = admin.describe_topics(["t", "new"], [TopicPartition("t", 1)])
        assert {name: len(one.partitions) for name, one in found.items()} == {"t": 2, "new": 1}  # type: ignore[union-attr]


def test_nothing_is_foreseen_before_the_cluster_is_known_to_be_the_one_that_is_meant() -> None:
    with FakeCluster(1, topics={"t": 1}) as cluster:
        with Consumer(bootstrap_servers=cluster.bootstrap, group_id="g", cluster_id="another") as consumer:
            consumer.foresee(["t"], joins=True)
            with pytest.raises(WrongClusterError):
                consumer.connect(10.0)
        assert [one.kind for one in cluster.requests] == [ApiVersionsRequest, MetadataRequest]
        assert cluster.requests[-1].request.topics == []  # type: ignore[attr-defined]
