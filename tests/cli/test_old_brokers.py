"""What brokers lack is named, with what to do, before any input is read: exit 7."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.core.protocol.messages.api_versions import ApiVersionsRequest
from kcli.core.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kcli.core.protocol.messages.create_partitions import CreatePartitionsRequest
from kcli.core.protocol.messages.create_topics import CreateTopicsRequest
from kcli.core.protocol.messages.delete_groups import DeleteGroupsRequest
from kcli.core.protocol.messages.delete_topics import DeleteTopicsRequest
from kcli.core.protocol.messages.describe_configs import DescribeConfigsRequest
from kcli.core.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from kcli.core.protocol.messages.describe_quorum import DescribeQuorumRequest
from kcli.core.protocol.messages.elect_leaders import ElectLeadersRequest
from kcli.core.protocol.messages.end_txn import EndTxnRequest
from kcli.core.protocol.messages.init_producer_id import InitProducerIdRequest
from kcli.core.protocol.messages.join_group import JoinGroupRequest
from kcli.core.protocol.messages.list_config_resources import ListConfigResourcesRequest
from kcli.core.protocol.messages.offset_delete import OffsetDeleteRequest
from kcli.core.protocol.messages.offset_fetch import OffsetFetchRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.protocol.messages.unregister_broker import UnregisterBrokerRequest
from kcli.core.types import OffsetAndMetadata, TopicPartition
from tests.cli.errors.typing_remedies import type_remedy
from tests.committing import commit
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.raw_client import batch
from tests.fake.script import FOREVER
from tests.fault.administering import Member
from tests.fault.mirror_command import mirrored
from tests.run import kcli_as_set_up as command

Age = Callable[[FakeCluster], object]


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(nodes=1, topics={"t": 1}) as made:
        yield made


def without_producer_ids(cluster: FakeCluster) -> None:
    cluster.hide(InitProducerIdRequest)


def without_transactions(cluster: FakeCluster) -> None:
    cluster.hide(EndTxnRequest)


def without_zstd(cluster: FakeCluster) -> None:
    cluster.cap_versions({ProduceRequest: 6})


def of_0_10(cluster: FakeCluster) -> None:
    cluster.cap_versions({ProduceRequest: (0, 2)})
    cluster.hide(InitProducerIdRequest)


def without_defaults(cluster: FakeCluster) -> None:
    cluster.cap_versions({CreateTopicsRequest: 3})


@pytest.mark.parametrize("dry_run", [(), ("--dry-run",)])
@pytest.mark.parametrize(
    ("age", "flags", "what", "do"),
    [
        (without_producer_ids, (), "does not offer InitProducerId", "produce: --no-idempotent"),
        (
            without_producer_ids,
            ("--transactional-id", "x"),
            "does not offer InitProducerId",
            "transactions need",
        ),
        (
            without_transactions,
            ("--transactional-id", "x"),
            "does not offer EndTxn",
            "transactions need brokers",
        ),
        (without_zstd, ("-z", "zstd"), "does not take zstd", "-z lz4"),
        (without_zstd, ("-X", "compression.type=zstd", "--no-idempotent"), "does not take zstd", "-z lz4"),
        (of_0_10, (), "share no version of Produce", "Kafka 0.11 or later"),
        (of_0_10, ("--no-idempotent", "-H", "a=b"), "share no version of Produce", "Kafka 0.11 or later"),
    ],
)
def test_produce_refuses_before_it_reads(
    cluster: FakeCluster,
    tmp_path: Path,
    age: Age,
    flags: tuple[str, ...],
    what: str,
    do: str,
    dry_run: tuple[str, ...],
) -> None:
    """What is in the pipe is still there for the next run."""
    age(cluster)
    os.mkfifo(tmp_path / "in")
    pipe = os.open(tmp_path / "in", os.O_RDWR | os.O_NONBLOCK)
    os.write(pipe, b"line\n")
    done = command("produce", "t", str(tmp_path / "in"), *flags, *dry_run, "-b", cluster.bootstrap)
    assert (done.code, done.out) == (7, "")
    assert what in done.err.splitlines()[0]
    assert do in done.err.splitlines()[2]
    assert not cluster.seen(ProduceRequest)
    assert os.read(pipe, 100) == b"line\n"
    os.close(pipe)


@pytest.mark.parametrize(
    ("age", "flags"), [(without_producer_ids, ("--no-idempotent",)), (without_zstd, ("-z", "lz4"))]
)
def test_the_remedies_of_produce_help(
    cluster: FakeCluster, tmp_path: Path, age: Age, flags: tuple[str, ...]
) -> None:
    age(cluster)
    (tmp_path / "in").write_bytes(b"line\n")
    assert command("produce", "t", str(tmp_path / "in"), *flags, "-b", cluster.bootstrap).code == 0
    assert cluster.log("t", 0).values() == [b"line"]


@pytest.mark.parametrize("dry_run", [(), ("--dry-run",)])
@pytest.mark.parametrize(
    ("line", "do"),
    [
        ("mirror --until-caught-up", "target of a mirror needs"),
        ("mirror --until-caught-up --exactly-once", "transactions need"),
        ("pipeline mirror --runner inline", "transactions need"),
        ("pipeline mirror --runner inline --delivery at-least-once", "target of a mirror needs"),
    ],
)
def test_a_mirror_is_refused_before_it_creates_and_proposes_no_option_that_it_refuses(
    cluster: FakeCluster, line: str, do: str, dry_run: tuple[str, ...]
) -> None:
    cluster.hide(InitProducerIdRequest)
    with FakeCluster(1, topics={"new": 1}, cluster_id="source") as source:
        source.append("new", 0, batch(b"1"))
        sides = ("--from", source.bootstrap, "--to", cluster.bootstrap, "-t", "new")
        done = command(*line.split(), *sides, *dry_run)
    assert (done.code, do in done.err, "-X" in done.err) == (7, True, False), done.err
    assert "does not offer InitProducerId" in done.err
    assert "the target is created" in done.err + done.out
    assert not cluster.seen(CreateTopicsRequest)


def test_a_comparison_needs_no_producer_ids(cluster: FakeCluster) -> None:
    cluster.hide(InitProducerIdRequest)
    with FakeCluster(1, topics={"t": 1}, cluster_id="source") as source:
        sides = ("--from", source.bootstrap, "--to", cluster.bootstrap, "-t", "t")
        assert command("mirror", *sides, "--verify-only").code == 0


@pytest.mark.parametrize("kind", ["produce", "e2e"])
def test_perf_refuses_before_it_sends(cluster: FakeCluster, kind: str) -> None:
    cluster.hide(InitProducerIdRequest)
    line = ("perf", kind, "-t", "t", "--num-records", "10", "-b", cluster.bootstrap)
    done = command(*line)
    assert (done.code, "-X enable.idempotence=false" in done.err) == (7, True), done.err
    assert command(*line, "-X", "enable.idempotence=false").code == 0


@pytest.mark.parametrize("dry_run", [(), ("--dry-run",)])
@pytest.mark.parametrize("flags", [(), ("--partitions", "1"), ("--replication-factor", "1")])
def test_topics_are_created_with_defaults_only_where_brokers_have_some(
    cluster: FakeCluster, flags: tuple[str, ...], dry_run: tuple[str, ...]
) -> None:
    without_defaults(cluster)
    done = command("topics", "create", "new", *flags, *dry_run, "-b", cluster.bootstrap)
    assert done.code == 7
    assert "could not create topic new: brokers before 2.4 have no default" in done.err
    assert "--partitions 1 --replication-factor 1" in done.err
    assert not cluster.seen(CreateTopicsRequest)
    both = ("--partitions", "1", "--replication-factor", "1")
    assert command("topics", "create", "new", *both, *dry_run, "-b", cluster.bootstrap).code == 0


def without_group_deletion(cluster: FakeCluster) -> None:
    cluster.hide(DeleteGroupsRequest)


def without_offset_deletion(cluster: FakeCluster) -> None:
    cluster.hide(OffsetDeleteRequest)


def without_elections(cluster: FakeCluster) -> None:
    cluster.hide(ElectLeadersRequest)


def without_unclean_elections(cluster: FakeCluster) -> None:
    cluster.cap_versions({ElectLeadersRequest: 0})


@pytest.mark.parametrize("how", ["--dry-run", "--yes", ""])
@pytest.mark.parametrize(
    ("age", "line", "what"),
    [
        (without_group_deletion, "groups delete g", "does not offer DeleteGroups"),
        (without_group_deletion, "groups delete --match g*", "does not offer DeleteGroups"),
        (without_offset_deletion, "groups delete-offsets g -t t", "does not offer OffsetDelete"),
        (without_elections, "elect-leaders", "does not offer ElectLeaders"),
        (without_elections, "elect-leaders --unclean", "does not offer ElectLeaders"),
        (without_unclean_elections, "elect-leaders --unclean", "cannot do what this ElectLeaders requests"),
    ],
)
def test_a_plan_is_refused_before_it_is_shown_where_brokers_lack_the_act(
    age: Age, line: str, what: str, how: str
) -> None:
    """These requests have no ``validateOnly``: a plan that no broker can carry out would end with 0 in a dry run."""
    with FakeCluster(2, topics={"t": 3}) as cluster:
        commit(cluster, "g", {TopicPartition("t", 0): OffsetAndMetadata(0)})
        cluster.move_leader("t", 0, 2)
        cluster.move_leader("t", 2, -1 if "unclean" in line else 2)
        age(cluster)
        done = command(*line.split(), *how.split(), "-b", cluster.bootstrap)
    assert (done.code, done.out) == (7, ""), done
    assert what in done.err.splitlines()[0]


@pytest.mark.parametrize("dry_run", ["--dry-run", "--yes"])
def test_a_group_that_brokers_cannot_hold_is_refused_by_the_plan(
    cluster: FakeCluster, tmp_path: Path, dry_run: str
) -> None:
    commit(cluster, "g", {TopicPartition("t", 0): OffsetAndMetadata(0)})
    cluster.append("t", 0, batch(b"record"))
    Member(cluster, "g")
    cluster.cap_versions({JoinGroupRequest: 3})
    rewind = ("groups", "rewind", "g", "--to", "latest", "--all-topics", "-b", cluster.bootstrap)
    done = command(*rewind, "--live", dry_run)
    assert done.code == 7, done
    assert "kcli: group g cannot be rewound while it runs" in done.err
    assert "cannot do what this JoinGroup requests" in done.err
    assert "Undo afterwards" not in done.out + done.err
    stopping = command(*rewind, dry_run)
    assert (stopping.code, "--live" in stopping.err) == (7, False), stopping
    assert "do: stop them and try again" in stopping.err
    (tmp_path / "g.csv").write_text("g,t,0,1\n")
    done = command("groups", "import", str(tmp_path / "g.csv"), dry_run, "-b", cluster.bootstrap)
    assert "do: stop its members and try again" in done.err
    assert (done.code, "--live" in done.err) == (7, False), done


@pytest.mark.parametrize("dry_run", ["--dry-run", "--yes"])
def test_an_undo_that_would_delete_commits_is_refused_where_brokers_keep_them(
    cluster: FakeCluster, dry_run: str
) -> None:
    assert (
        command("groups", "create", "g", "-t", "t", "--from", "latest", "--yes", "-b", cluster.bootstrap).code
        == 0
    )
    without_offset_deletion(cluster)
    done = command("groups", "rewind", "g", "--undo", dry_run, "-b", cluster.bootstrap)
    assert done.code == 7, done
    assert "does not offer OffsetDelete" in done.err


def test_groups_are_synced_from_brokers_that_cannot_wait_for_transactions(cluster: FakeCluster) -> None:
    """Before 2.5. What they return is never ahead of the group."""
    cluster.append("t", 0, batch(b"record"))
    commit(cluster, "g", {TopicPartition("t", 0): OffsetAndMetadata(1)})
    cluster.cap_versions({OffsetFetchRequest: 6})
    with FakeCluster(1, topics={}, cluster_id="there") as target:
        done = mirrored(cluster, target, "--sync-groups", "g")
        assert (done.code, "1 of 1 committed offset set" in done.err) == (0, True), done


def without_sources(cluster: FakeCluster) -> None:
    """Kafka 0.11 and 1.0: their DescribeConfigs says not where a value comes from."""
    cluster.cap_versions({DescribeConfigsRequest: (0, 0)})


def without_sizes(cluster: FakeCluster) -> None:
    cluster.hide(DescribeLogDirsRequest)


@pytest.mark.parametrize(
    ("age", "line", "what"),
    [
        (without_sources, "topics describe t", "share no version of DescribeConfigs"),
        (without_sizes, "topics list --with-size", "does not offer DescribeLogDirs"),
        (without_sizes, "cluster describe --log-dirs", "does not offer DescribeLogDirs"),
    ],
)
def test_what_is_shown_without_the_part_that_brokers_lack_is_partly_done(
    cluster: FakeCluster, age: Age, line: str, what: str
) -> None:
    age(cluster)
    done = command(*line.split(), "-b", cluster.bootstrap)
    assert (done.code, what in done.err) == (6, True), done
    assert done.out


@pytest.mark.parametrize("old", [True, False])
def test_a_topic_that_is_never_deleted_says_what_enables_that(cluster: FakeCluster, old: bool) -> None:
    """Before Kafka 1.0 brokers accept the request, do nothing and answer at its deadline, by default."""
    if old:
        cluster.hide(CreatePartitionsRequest)
    cluster.fail(DeleteTopicsRequest, Code.REQUEST_TIMED_OUT, times=FOREVER)
    done = command("topics", "delete", "t", "--yes", "--timeout", "1s", "-b", cluster.bootstrap)
    assert (done.code, "delete.topic.enable=true" in done.err) == (3, old), done


def test_a_checkpoint_that_the_next_run_could_not_read_is_refused_before_any_record(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    (tmp_path / "in").write_bytes(b"line\n")
    cluster.cap_versions({OffsetFetchRequest: 6})
    line = ("produce", "t", str(tmp_path / "in"), "--transactional-id", "x", "-b", cluster.bootstrap)
    done = command(*line, "--checkpoint", str(tmp_path / "checkpoint"))
    assert (done.code, "do: leave out one of them" in done.err) == (7, True), done
    assert not cluster.seen(ProduceRequest)
    assert command(*line).code == 0


def without_lists_of_configs(cluster: FakeCluster) -> None:
    cluster.hide(ListConfigResourcesRequest)


def with_lists_of_metrics_only(cluster: FakeCluster) -> None:
    """Kafka 3.7 to 4.0."""
    cluster.cap_versions({ListConfigResourcesRequest: 0})


def without_a_quorum(cluster: FakeCluster) -> None:
    """With ZooKeeper."""
    cluster.hide(DescribeQuorumRequest)


def without_consumer_groups(cluster: FakeCluster) -> None:
    cluster.hide(ConsumerGroupHeartbeatRequest)


@pytest.mark.parametrize(
    ("line", "do"),
    [
        ("configs describe groups g", "use Kafka 4 or later"),
        ("configs alter groups g --set consumer.session.timeout.ms=50000 --yes", "use Kafka 4 or later"),
        ("configs describe client-metrics m", "use Kafka 3.7 or later"),
        ("configs alter client-metrics m --set interval.ms=5000 --yes", "use Kafka 3.7 or later"),
    ],
)
def test_a_kind_of_configuration_that_brokers_do_not_know_is_refused_at_once(
    cluster: FakeCluster, line: str, do: str
) -> None:
    """Kafka 1.1 and 2.0 return the resource with the kind 0."""

    def forget(_request: object, answer: Any) -> None:
        for row in answer.results:
            row.resource_type, row.error_code, row.configs = 0, Code.INVALID_REQUEST, []

    def without_features(_request: object, answer: Any) -> None:
        answer.supported_features = []

    cluster.replace(ApiVersionsRequest, without_features, times=FOREVER)
    cluster.replace(DescribeConfigsRequest, forget, times=FOREVER)
    done = command(*line.split(), "--timeout", "1s", "-b", cluster.bootstrap)
    assert (done.code, "has no configuration on these brokers" in done.err, do in done.err) == (
        7,
        True,
        True,
    ), done


def test_client_metrics_are_set_where_brokers_list_only_what_is_set(cluster: FakeCluster) -> None:
    """Kafka 3.7 to 4.0."""

    def without_defaults_of_metrics(_request: object, answer: Any) -> None:
        for row in answer.results:
            row.configs = [one for one in row.configs if one.config_source != 5]

    cluster.replace(DescribeConfigsRequest, without_defaults_of_metrics, times=FOREVER)
    alter = ("configs", "alter", "client-metrics", "m", "-b", cluster.bootstrap, "--yes")
    done = command(*alter, "--set", "interval.ms=5000", "--set", "metrics=org.apache.kafka")
    assert done.code == 0, done
    assert command(*alter, "--unset", "interval.ms").code == 0
    done = command("configs", "describe", "client-metrics", "m", "-b", cluster.bootstrap, "-o", "json")
    assert [(row["key"], row["value"]) for row in done.items] == [("metrics", "org.apache.kafka")]
    refused = command(*alter, "--set", "intervall.ms=5000")
    assert (refused.code, "did you mean interval.ms?" in refused.err) == (2, True), refused


@pytest.mark.parametrize(
    ("age", "line", "do"),
    [
        (without_lists_of_configs, "configs list client-metrics", "since Kafka 3.7"),
        (without_lists_of_configs, "configs list groups", "since Kafka 4.1"),
        (with_lists_of_metrics_only, "configs list groups", "since Kafka 4.1"),
        (without_a_quorum, "quorum describe", "since Kafka 3.3"),
        (
            without_consumer_groups,
            "consume t -g g -X group.protocol=consumer -e",
            "group.protocol=classic works with all brokers",
        ),
    ],
)
def test_what_brokers_do_not_offer_has_a_version_that_does(
    cluster: FakeCluster, age: Age, line: str, do: str
) -> None:
    age(cluster)
    done = command(*line.split(), "-b", cluster.bootstrap)
    assert (done.code, do in done.err) == (7, True), done


def test_what_is_said_where_brokers_list_nothing_helps(cluster: FakeCluster) -> None:
    with_lists_of_metrics_only(cluster)
    without_a_quorum(cluster)
    done = command("configs", "list", "groups", "-b", cluster.bootstrap)
    type_remedy(
        "use newer brokers, or name the groups: `kcli configs describe groups NAME`",
        done.err,
        cluster.bootstrap,
        NAME="g",
    )
    done = command("quorum", "describe", "-b", cluster.bootstrap)
    type_remedy("`kcli cluster describe` shows which broker is the controller", done.err, cluster.bootstrap)


@pytest.mark.parametrize("how", ["--dry-run", "--yes"])
def test_brokers_are_not_unregistered_with_zookeeper(cluster: FakeCluster, how: str) -> None:
    cluster.hide(UnregisterBrokerRequest)
    done = command("brokers", "unregister", "9", how, "-b", cluster.bootstrap)
    assert (done.code, "does not offer UnregisterBroker" in done.err) == (7, True), done
