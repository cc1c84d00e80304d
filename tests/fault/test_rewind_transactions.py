"""A rewind of a group whose offsets are in an open transaction: it is named, waited for, and never overtaken."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kcli.core import Producer
from kcli.core.protocol.messages.describe_producers import DescribeProducersRequest
from kcli.core.types import OffsetAndMetadata, TopicPartition
from tests.cli.errors.typing_remedies import type_remedy
from tests.committing import Kcli, commit, committed, put
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.script import FOREVER

T0, T1 = (TopicPartition("t", number) for number in range(2))


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"t": 2, "__consumer_offsets": 1}) as made:
        for partition in range(2):
            put(made, "t", partition)
        commit(made, "g", {T0: OffsetAndMetadata(20)})
        yield made


@pytest.fixture
def rewind(cluster: FakeCluster, tmp_path: Path) -> Kcli:
    return Kcli(cluster, tmp_path / "state", "groups", "rewind")


@contextmanager
def transaction(cluster: FakeCluster, tp: TopicPartition = T0) -> Iterator[Producer]:
    """Open, with an offset of g in it."""
    with Producer(bootstrap_servers=cluster.bootstrap, transactional_id="pay-1") as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send_offsets_to_transaction({tp: 9}, "g")
        yield producer


def test_an_open_transaction_is_refused_and_its_producer_named(cluster: FakeCluster, rewind: Kcli) -> None:
    with transaction(cluster) as producer:
        for flag in ("--dry-run", "--yes"):
            done = rewind("g", "--to", "3", flag, code=7)
            assert "a transaction with the offsets of group g is open (t-0)" in done.err
            assert "transactional id pay-1 (producer " in done.err
            assert ", open for " in done.err
            assert "--wait waits for its end" in done.err
        assert "t-0" in done.err
        producer.abort_transaction()
    assert committed(cluster) == {T0: OffsetAndMetadata(20)}
    assert not rewind.journals()
    rewind("g", "--to", "3", "--yes")


def test_the_dry_run_shows_the_plan_all_the_same(cluster: FakeCluster, rewind: Kcli) -> None:
    with transaction(cluster) as producer:
        done = rewind("g", "--to", "3", "--dry-run", code=7)
        where = re.search(r"--topic (\S+) -p (\d+)", done.err)
        assert where is not None
        topic, number = where.groups()
        type_remedy(
            f"; `kcli txn describe --topic {topic} -p {number}` shows when it ends",
            done.err,
            cluster.bootstrap,
        )
        producer.abort_transaction()
    assert "Rewind group g" in done.out


def test_wait_reports_the_members_it_waits_for(cluster: FakeCluster, rewind: Kcli) -> None:
    """What the transaction has committed by then is what the plan goes from."""
    with transaction(cluster) as producer:
        process = rewind.start("g", "--to", "-2", "--wait", "--yes")
        assert process.stderr is not None
        line = next(line for line in process.stderr if "waiting" in line)
        assert "pay-1" in line
        time.sleep(0.3)
        assert process.poll() is None
        producer.commit_transaction()
        _out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert committed(cluster)[T0].offset == 7


def test_wait_ends_at_its_bound(cluster: FakeCluster, rewind: Kcli) -> None:
    with transaction(cluster) as producer:
        done = rewind("g", "--to", "3", "--wait=4s", "--yes", code=7)
        producer.abort_transaction()
    assert "is open (t-0)" in done.err
    assert committed(cluster) == {T0: OffsetAndMetadata(20)}


def test_a_first_commit_that_is_still_in_a_transaction_counts_too(cluster: FakeCluster, rewind: Kcli) -> None:
    """It is not among what the group has committed."""
    with transaction(cluster, T1) as producer:
        done = rewind("g", "--to", "3", "--topic", "t", "--yes", code=7)
        producer.abort_transaction()
    assert "is open (t-1)" in done.err


def test_a_short_transaction_is_waited_for_in_silence(cluster: FakeCluster, rewind: Kcli) -> None:
    with transaction(cluster) as producer:
        process = rewind.start("g", "--to", "3", "--yes")
        time.sleep(1.0)
        producer.abort_transaction()
        _out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err


def test_where_the_producer_may_not_be_seen_the_rest_is_reported(cluster: FakeCluster, rewind: Kcli) -> None:
    cluster.fail(DescribeProducersRequest, Code.TOPIC_AUTHORIZATION_FAILED, times=FOREVER)
    with transaction(cluster) as producer:
        done = rewind("g", "--to", "3", "--yes", code=7)
        producer.abort_transaction()
    assert "its producer could not be found: " in done.err
