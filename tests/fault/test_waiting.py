"""What a consumer says while it gets nothing: an open transaction, a topic that does not exist."""

import itertools
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from kcli.core import Consumer, OpenTransaction, Producer
from kcli.core.consumer import missing_topics, open_transactions
from kcli.core.consumer.subscription import Span
from kcli.core.errors import NotFoundError, TransactionStateError
from kcli.core.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
)
from kcli.core.protocol.messages.fetch import FetchRequest
from kcli.core.protocol.messages.metadata import MetadataRequest
from tests.cli.errors.typing_remedies import type_remedy
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.raw_client import batch
from tests.fake.script import FOREVER
from tests.fault.consuming import options
from tests.fault.fetching import T0, T1, T2, fetches, put, quick_reader, read, watch
from tests.fault.producing import PATIENCE, quick, send
from tests.fault.watching import Heard, kcli_after
from tests.lasting import Moment, lasted

WAITS = "read_committed waits at offset"


@pytest.fixture(params=[True, False], ids=["sessions", "no sessions"])
def cluster(request: pytest.FixtureRequest) -> Iterator[FakeCluster]:
    with FakeCluster(3, topics={"t": 3}, fetch_sessions=request.param) as made:
        yield made


@pytest.fixture
def alone() -> Iterator[FakeCluster]:
    """Where sessions make no difference."""
    with FakeCluster(1, topics={"t": 3}) as made:
        yield made


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds become tenths of them."""
    monkeypatch.setattr(open_transactions, "REPORT_AFTER", 0.2)
    monkeypatch.setattr(open_transactions, "_CHECK_INTERVAL", 0.05)
    monkeypatch.setattr(missing_topics, "REPORT_AFTER", 0.2)


@contextmanager
def opened(cluster: FakeCluster, *partitions: int) -> Iterator[Producer]:
    """One record in each of the partitions, in a transaction that stays open."""
    with quick(cluster, transactional_id="x") as producer:
        producer.init_transactions()
        producer.begin_transaction()
        for partition in partitions:
            send(producer, "t", partition, b"open")
        assert producer.flush(PATIENCE)
        yield producer
        with suppress(TransactionStateError):  # unless the test has ended it
            producer.abort_transaction()


def until(consumer: Consumer, condition: Callable[[], object]) -> None:
    """Polls until it holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        consumer.poll(0.05)


def said(heard: Heard) -> list[str]:
    return [text for text in heard.said("warning") if WAITS in text]


def taken_back(heard: Heard) -> list[str]:
    return [text for text in heard.said("info") if "no longer waits" in text]


def writer_of(cluster: FakeCluster) -> int:
    return cluster.transactions["x"].producer_id


# --- behind an open transaction (P17) ------------------------------------------------------------------------------


@pytest.mark.case("P17")
def test_a_reader_reports_where_it_waits_and_for_which_producer(cluster: FakeCluster) -> None:
    """The offset, the producer, since when; once; and it is taken back when the transaction ends."""
    heard = Heard()
    put(cluster, T0, b"plain")
    with opened(cluster, 0) as producer, quick_reader(cluster, heard) as consumer:
        put(cluster, T0, b"behind")
        before = int(time.time() * 1000)
        consumer.assign({T0: Span(0)})
        assert read(consumer, 1) == [b"plain"]
        until(consumer, lambda: said(heard))
        assert watch(consumer, 0.6) == []
        number = writer_of(cluster)
        (text,) = said(heard)
        assert text.startswith(f"t-0: {WAITS} 1 since 20")
        assert f"for producer {number} (epoch 0) whose transaction is open since offset 1" in text
        assert text.endswith(
            "; readers with isolation.level=read_uncommitted do not wait"
        )  # a mirror cannot be one
        wrote = cluster.log("t", 0).batches[1].max_timestamp
        assert consumer.waiting() == {
            T0: OpenTransaction(1, 1, 3, consumer.waiting()[T0].since_ms, number, 0, wrote)
        }
        assert before - 5 <= consumer.waiting()[T0].since_ms <= int(time.time() * 1000)
        assert taken_back(heard) == []
        producer.commit_transaction()
        assert read(consumer, 2) == [b"open", b"behind"]
        assert taken_back(heard) == ["t-0: read_committed no longer waits at offset 1"]
        assert consumer.waiting() == {}
    asked = cluster.seen(DescribeProducersRequest)
    assert [seen.node for seen in asked] == [cluster.leader("t", 0)]
    with opened(cluster, 0):
        type_remedy(
            "`kcli txn describe --topic t -p 0` shows whether its transaction.timeout.ms ends it or it hangs, and "
            "`kcli txn abort --topic t -p 0` ends it",
            text,
            cluster.bootstrap,
        )


@pytest.mark.case("P17")
def test_it_is_reported_again_after_a_while(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has missed the first word gets another one, with what is known by then."""
    monkeypatch.setattr(open_transactions, "REPORT_AGAIN", 0.5)
    heard = Heard()
    with opened(cluster, 0), quick_reader(cluster, heard) as consumer:
        consumer.assign({T0: Span(0)})
        until(consumer, lambda: len(said(heard)) >= 3)
    times = [at for at, _, text in heard.lines if WAITS in text]
    assert all(later - earlier >= 0.45 for earlier, later in itertools.pairwise(times))


@pytest.mark.case("P17")
def test_one_producer_in_many_partitions_is_named_once(cluster: FakeCluster) -> None:
    """And its end is told when the last partition continues."""
    heard = Heard()
    with opened(cluster, 0, 1, 2) as producer, quick_reader(cluster, heard) as consumer:
        consumer.assign({T0: Span(0), T1: Span(0), T2: Span(0)})
        number = writer_of(cluster)
        until(consumer, lambda: [one.producer_id for one in consumer.waiting().values()] == [number] * 3)
        assert len(said(heard)) == 1
        producer.commit_transaction()
        assert read(consumer, 3) == [b"open"] * 3
        until(consumer, lambda: consumer.waiting() == {})
        assert len(taken_back(heard)) == 1


@pytest.mark.case("P17")
def test_a_transaction_that_ends_in_time_is_not_reported(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No word, and no request."""
    monkeypatch.setattr(open_transactions, "REPORT_AFTER", 60.0)
    heard = Heard()
    with opened(cluster, 0) as producer, quick_reader(cluster, heard) as consumer:
        consumer.assign({T0: Span(0)})
        until(consumer, consumer.waiting)
        assert consumer.waiting()[T0].producer_id == -1
        producer.commit_transaction()
        assert read(consumer, 1) == [b"open"]
    assert said(heard) == taken_back(heard) == []
    assert cluster.seen(DescribeProducersRequest) == []


@pytest.mark.case("P17")
def test_a_read_uncommitted_reader_waits_for_nothing(cluster: FakeCluster) -> None:
    """Read_uncommitted has nothing to explain."""
    heard = Heard()
    with opened(cluster, 0), quick_reader(cluster, heard, isolation_level="read_uncommitted") as consumer:
        consumer.assign({T0: Span(0)})
        assert read(consumer, 1) == [b"open"]
        assert watch(consumer, 0.5) == []
        assert consumer.waiting() == {}
    assert said(heard) == []


@pytest.mark.case("P17")
def test_a_broker_that_lacks_the_api_leaves_the_producer_out(cluster: FakeCluster) -> None:
    """The rest is reported all the same."""
    cluster.hide(DescribeProducersRequest)
    heard = Heard()
    with opened(cluster, 0), quick_reader(cluster, heard) as consumer:
        consumer.assign({T0: Span(0)})
        until(consumer, lambda: said(heard))
        assert "for a producer whose transaction is open since offset 0" in said(heard)[0]
        assert consumer.waiting()[T0].producer_id == -1


@pytest.mark.case("P17")
@pytest.mark.parametrize("code", [Code.NOT_LEADER_OR_FOLLOWER, Code.TOPIC_AUTHORIZATION_FAILED])
def test_a_leader_that_refuses_leaves_the_producer_out(cluster: FakeCluster, code: int) -> None:
    """What may pass is asked again first."""

    def refuse(_request: DescribeProducersRequest, answer: DescribeProducersResponse) -> None:
        for topic in answer.topics:
            for row in topic.partitions:
                row.error_code, row.active_producers = int(code), []

    cluster.replace(DescribeProducersRequest, refuse)
    heard = Heard()
    with opened(cluster, 0), quick_reader(cluster, heard) as consumer:
        consumer.assign({T0: Span(0)})
        until(consumer, lambda: said(heard))
        assert "for a producer whose" in said(heard)[0]
    tries = 2 if code == Code.NOT_LEADER_OR_FOLLOWER else 1
    assert len(cluster.seen(DescribeProducersRequest)) == tries


@pytest.mark.case("P17")
def test_a_refusal_that_passes_costs_a_while_only(cluster: FakeCluster) -> None:
    """The producer is named after all."""
    cluster.fail(DescribeProducersRequest, Code.NOT_LEADER_OR_FOLLOWER)
    heard = Heard()
    with opened(cluster, 0), quick_reader(cluster, heard) as consumer:
        consumer.assign({T0: Span(0)})
        until(consumer, lambda: said(heard))
        assert f"for producer {writer_of(cluster)} " in said(heard)[0]


@pytest.mark.case("P17")
def test_a_leader_that_never_answers_holds_nothing_up(cluster: FakeCluster) -> None:
    """Polls return in time, and other partitions are read on."""
    held = cluster.hold(DescribeProducersRequest)
    heard = Heard()
    with opened(cluster, 0), quick_reader(cluster, heard) as consumer:
        consumer.assign({T0: Span(0), T1: Span(0)})
        until(consumer, lambda: cluster.seen(DescribeProducersRequest))
        start = Moment.now()
        consumer.poll(0.1)
        assert lasted(start) < 1.5
        put(cluster, T1, b"others")
        assert read(consumer, 1) == [b"others"]
        assert said(heard) == []
        held.release()
        until(consumer, lambda: said(heard))


@pytest.mark.case("P17")
@pytest.mark.parametrize("move", ["pause", "seek", "assign", "close"])
def test_nothing_is_reported_of_what_is_not_read_any_more(cluster: FakeCluster, move: str) -> None:
    """The answer comes when the partition is paused, read elsewhere, taken away, or the consumer is closed."""
    held = cluster.hold(DescribeProducersRequest)
    heard = Heard()
    with opened(cluster, 0), quick_reader(cluster, heard) as consumer:
        consumer.assign({T0: Span(0)})
        until(consumer, lambda: cluster.seen(DescribeProducersRequest))
        if move == "pause":
            consumer.pause(T0)
        elif move == "seek":
            consumer.seek(T0, 1)
        elif move == "assign":
            consumer.assign({T1: Span(0)})
        else:
            consumer.close()
        if move != "close":
            assert move == "pause" or consumer.waiting() == {}
            watch(consumer, 0.1)
            assert consumer.waiting() == {}
        held.release()
        if move != "close":
            watch(consumer, 0.4)
    assert said(heard) == taken_back(heard) == []


@pytest.mark.case("P17")
def test_a_paused_reader_gets_the_report_all_the_same(cluster: FakeCluster) -> None:
    """The leader's answer comes while the partition is read elsewhere, before anything of that has come."""
    held = cluster.hold(DescribeProducersRequest)
    heard = Heard()
    with opened(cluster, 0), quick_reader(cluster, heard) as consumer:
        put(cluster, T0, b"behind")
        consumer.assign({T0: Span(0)})
        until(consumer, lambda: held.count)
        fetching = cluster.hold(FetchRequest, times=FOREVER)
        until(consumer, lambda: fetching.count)
        consumer.seek(T0, 1)
        held.release()
        watch(consumer, 0.3)
        consumer.seek(T0, 0)
        fetching.release()
        until(consumer, lambda: said(heard))


@pytest.mark.case("P17")
def test_a_reader_between_the_transaction_and_the_end_waits_too(cluster: FakeCluster) -> None:
    """Its place is behind the transaction's first record."""
    heard = Heard()
    with opened(cluster, 0), quick_reader(cluster, heard) as consumer:
        put(cluster, T0, b"one", b"two")
        consumer.assign({T0: Span(2)})
        until(consumer, lambda: said(heard))
        assert f"t-0: {WAITS} 2 since" in said(heard)[0]
        assert "open since offset 0" in said(heard)[0]
        found = consumer.waiting()[T0]
        assert (found.offset, found.last_stable_offset, found.high_watermark) == (2, 0, 3)


@pytest.mark.case("P17")
def test_a_reader_with_buffered_records_does_not_wait(cluster: FakeCluster) -> None:
    """The fetcher is ahead of the application, which has its records yet to come."""
    heard = Heard()
    put(cluster, T0, *[b"plain"] * 5)
    with opened(cluster, 0), quick_reader(cluster, heard, max_poll_records=1) as consumer:
        consumer.assign({T0: Span(0)})
        read(consumer, 1)
        time.sleep(0.4)
        assert read(consumer, 1) == [b"plain"]
        assert said(heard) == []
        until(consumer, lambda: said(heard))
        assert consumer.position(T0) == 5


@pytest.mark.case("P17")
def test_a_wait_makes_no_hot_loop(cluster: FakeCluster) -> None:
    """Fetches continue at their own pace, and one request is enough."""
    with opened(cluster, 0), quick_reader(cluster) as consumer:
        consumer.assign({T0: Span(0)})
        until(consumer, lambda: cluster.seen(DescribeProducersRequest))
        before = len(fetches(cluster))
        watch(consumer, 0.8)
        assert len(fetches(cluster)) - before <= 28
        assert len(cluster.seen(DescribeProducersRequest)) == 1


@pytest.mark.case("P17")
def test_consume_reports_the_open_transaction_it_waits_for(alone: FakeCluster) -> None:
    """``kcli consume`` says it on stderr."""
    code = "import kcli.core.consumer.open_transactions as waiting\nwaiting.REPORT_AFTER = 0.3"
    put(alone, T0, b"plain")
    with opened(alone, 0):
        done = kcli_after(code, "consume", "t", "-p", "0", "--idle-timeout", "4s", "-b", alone.address(1))
        assert (done.returncode, done.stdout) == (0, b"plain\n")
        told = [line for line in done.stderr.decode().splitlines() if WAITS in line]
        assert len(told) == 1
        assert told[0].startswith(f"warning: t-0: {WAITS} 1 since")


# --- a topic that does not exist -----------------------------------------------------------------------------------


def missing(heard: Heard) -> list[str]:
    return [text for text in heard.said("warning") if "does not exist" in text]


def subscriber(cluster: FakeCluster, heard: Heard, **wishes: Any) -> Consumer:
    return Consumer(hooks=heard.hooks, **options(cluster, **wishes))


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_missing_topic_is_reported_once_and_read_when_it_appears(alone: FakeCluster, protocol: str) -> None:
    """No error: whoever creates it may come later. The nearest name is a help for the one who has misspelt it."""
    alone.create_topic("orders")
    heard = Heard()
    with subscriber(alone, heard, group_protocol=protocol, enable_auto_commit=True) as consumer:
        consumer.subscribe(["ordrs", "t"])
        until(consumer, lambda: missing(heard))
        watch(consumer, 0.6)
        (text,) = missing(heard)
        assert text.startswith("topic ordrs does not exist; it is subscribed to")
        assert "did you mean orders?" in text
        put(alone, T0, b"others are read")
        assert read(consumer, 1) == [b"others are read"]
        alone.create_topic("ordrs")
        alone.append("ordrs", 0, batch(b"here"))
        assert read(consumer, 1) == [b"here"]
        assert "topic ordrs exists now" in heard.said("info")
        assert len(missing(heard)) == 1


def test_a_topic_that_is_created_in_time_is_not_reported(
    alone: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(missing_topics, "REPORT_AFTER", 60.0)
    heard = Heard()
    with subscriber(alone, heard) as consumer:
        consumer.subscribe(["new"])
        watch(consumer, 0.4)
        alone.create_topic("new")
        alone.append("new", 0, batch(b"here"))
        assert read(consumer, 1) == [b"here"]
    assert missing(heard) == []
    asked: list[Any] = [seen.request for seen in alone.seen(MetadataRequest)]
    assert not any(request.topics is None for request in asked), "names are asked for only where they help"


def test_an_unknown_name_without_a_near_one_is_reported_alone(alone: FakeCluster) -> None:
    heard = Heard()
    with subscriber(alone, heard) as consumer:
        consumer.subscribe(["quite-another"])
        until(consumer, lambda: missing(heard))
        assert "check the topic name" in missing(heard)[0]


def test_a_completion_without_a_reachable_broker_is_reported_without_names(alone: FakeCluster) -> None:
    alone.create_topic("orders")
    alone.drop(MetadataRequest, when=lambda request: request.topics is None, then="reset", times=FOREVER)
    heard = Heard()
    with subscriber(alone, heard) as consumer:
        consumer.subscribe(["ordrs"])
        until(consumer, lambda: missing(heard))
        assert "did you mean" not in missing(heard)[0]


def test_a_changed_subscription_is_sent_again(alone: FakeCluster) -> None:
    heard = Heard()
    with subscriber(alone, heard) as consumer:
        consumer.subscribe(["one"])
        until(consumer, lambda: len(missing(heard)) == 1)
        consumer.subscribe(["one", "two"])
        until(consumer, lambda: len(missing(heard)) == 2)
        consumer.unsubscribe()
        consumer.subscribe(["one"])
        until(consumer, lambda: len(missing(heard)) == 3)
    assert [text.split()[1] for text in missing(heard)] == ["one", "two", "one"]


def test_a_pattern_misses_nothing(alone: FakeCluster) -> None:
    heard = Heard()
    with subscriber(alone, heard) as consumer:
        consumer.subscribe(re.compile("ordr.*"))
        watch(consumer, 0.6)
    assert missing(heard) == []


def test_an_assigned_topic_that_does_not_exist_is_an_error_once(alone: FakeCluster) -> None:
    """Who names partitions takes them for there: this is no time to wait in silence."""
    heard = Heard()
    with quick_reader(alone, heard) as consumer:
        consumer.assign({T0._replace(topic="ordrs"): Span(0), T0: Span(0)})
        with pytest.raises(NotFoundError, match="topic ordrs does not exist"):
            until(consumer, lambda: False)
        assert watch(consumer, 0.5) == []
        put(alone, T0, b"goes on")
        assert read(consumer, 1) == [b"goes on"]
    assert missing(heard) == []


def test_a_topic_that_may_not_be_read_is_not_called_missing(alone: FakeCluster) -> None:
    def hide(answer: Any) -> None:
        for topic in answer.topics:
            topic.error_code, topic.partitions = int(Code.TOPIC_AUTHORIZATION_FAILED), []

    alone.lie(hide)
    heard = Heard()
    with subscriber(alone, heard) as consumer:
        consumer.subscribe(["t"])
        watch(consumer, 0.6)
    assert missing(heard) == []
    assert not [seen for seen in alone.seen(FetchRequest) if seen.answer]


def test_a_hint_for_many_missing_topics_does_not_hold_the_poll_up(
    alone: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of them would be compared with each topic of the cluster, and the poll would wait."""
    monkeypatch.setattr(missing_topics, "_COMPARED", 7)
    compared: list[int] = []
    real = missing_topics.unknown_topic

    def counted(name: str, known: Any) -> NotFoundError:
        compared.append(len(list(known)))
        return real(name, known)

    monkeypatch.setattr(missing_topics, "unknown_topic", counted)
    for topic in ("orders", "a-name-of-another-length", "x", "yy"):
        alone.create_topic(topic)
    heard = Heard()
    with subscriber(alone, heard) as consumer:
        consumer.subscribe(["ordrs", "ordres", "wholly-different"])
        until(consumer, lambda: len(missing(heard)) == 3)
    assert compared == [5, 2, 0]
    assert [text.split()[1] for text in missing(heard) if "did you mean orders?" in text] == [
        "ordres",
        "ordrs",
    ]
