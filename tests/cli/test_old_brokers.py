"""What brokers lack is named, with what to do, before any input is read: exit 7."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kcli.core.protocol.messages.create_topics import CreateTopicsRequest
from kcli.core.protocol.messages.end_txn import EndTxnRequest
from kcli.core.protocol.messages.init_producer_id import InitProducerIdRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from tests.fake.cluster import FakeCluster
from tests.fault.mirror_command import command

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


@pytest.mark.parametrize(
    ("more", "do"), [((), "target of a mirror needs"), (("--exactly-once",), "transactions need")]
)
def test_mirror_proposes_no_option_that_it_refuses(
    cluster: FakeCluster, more: tuple[str, ...], do: str
) -> None:
    cluster.hide(InitProducerIdRequest)
    with FakeCluster(nodes=1, topics={"t": 1}, cluster_id="source") as source:
        line = ("--from", source.bootstrap, "--to", cluster.bootstrap, "-t", "t", "--until-caught-up")
        done = command("mirror", *line, *more)
    assert (done.code, do in done.err, "-X" in done.err) == (7, True, False), done.err


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
