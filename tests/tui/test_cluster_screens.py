"""The quorum, transactions, mirror jobs and one topic on the screen, live: also where they cannot be read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from kcli.core.clock import wall_ms
from kcli.core.names import STATE_TOPIC
from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.describe_configs import DescribeConfigsRequest
from kcli.core.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from kcli.core.protocol.messages.describe_quorum import DescribeQuorumRequest
from kcli.core.protocol.messages.list_transactions import ListTransactionsRequest
from kcli.core.types import OffsetAndMetadata, Record, TopicPartition
from kcli.flows.mirror.copy.offset_map import OffsetMap
from kcli.flows.mirror.job.state import JobState, PartitionProgress, job_record, partition_records
from kcli.flows.monitor.recording import append_reading
from kcli.tui.screens.record import RecordView
from tests.batches import batch_of
from tests.committing import STAMP, commit, put
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code, RefusedError
from tests.fake.raw_client import RawClient
from tests.fake.raw_transaction import RawTransaction
from tests.fake.script import FOREVER
from tests.tui.driving import Driver, drive
from tests.tui.made_up import readings
from tests.tui.screens import picture, playing, run

GROUP = "billing"
_BEFORE_IMPLICIT = 9


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(3, topics={"t": 2}) as made:
        put(made, "t", 0)
        commit(made, GROUP, {TopicPartition("t", 0): OffsetAndMetadata(5)})
        yield made


async def shows(screen: Driver, *texts: str) -> str:
    """Waits until all are on the screen, tables included; returns it."""
    await screen.until(lambda: all(text in picture(screen.app) for text in texts))
    return picture(screen.app)


def producing(cluster: FakeCluster, stack: ExitStack, name: str) -> RawTransaction:
    """A transactional producer; its client is at the leader of t-0 from then on."""

    def client(node: int) -> RawClient:
        return stack.enter_context(RawClient(cluster.address(node)))

    made = RawTransaction(client(cluster.coordinator("transaction", name)), name, timeout=600_000)
    assert made.init() == 0
    made.client = client(cluster.leader("t", 0))
    return made


def mirror_job(cluster: FakeCluster, name: str, state: str, why: str = "", **changes: object) -> None:
    """What a job has saved: one partition, of which 7 offsets are not copied."""
    now = wall_ms()
    job = JobState(
        job=name, run="r", source="source-id", target="target-id", source_servers="a.example:9092",
        delivery="exactly once", partitions="keep", topics={"orders": "orders"}, started_ms=now, updated_ms=now,
        host="worker-1", pid=77,
    )  # fmt: skip
    job = msgspec.structs.replace(job, **changes)
    progress = PartitionProgress(
        target="orders", target_partition=0, topic_id="", target_topic_id="", start=0, target_start=0, position=93,
        leader_epoch=0, source_end=100, records=93, bytes=1, segments=0, runs="", updated_ms=now, state=state,
        state_since_ms=now, why=why, end_seen=100, end_seen_ms=now,
    )  # fmt: skip
    records = [
        job_record(job),
        *partition_records(job.id, TopicPartition("orders", 0), progress, OffsetMap(0, 0)),
    ]
    with suppress(RefusedError):
        cluster.create_topic(STATE_TOPIC, 1)
    first = cluster.log(STATE_TOPIC, 0).end_offset
    rows = [
        Record(STATE_TOPIC, 0, first + n, STAMP, 0, one.key, one.value, ()) for n, one in enumerate(records)
    ]
    cluster.append(STATE_TOPIC, 0, bytes(batch_of(rows).raw))


@pytest.mark.case("T1")
def test_the_quorum_is_read_while_it_is_on_the_screen_only(cluster: FakeCluster) -> None:
    async def use(screen: Driver) -> None:
        assert not cluster.seen(DescribeQuorumRequest)
        await screen.press("4")
        text = await shows(screen, "leader 1", "epoch 7", "high watermark 100", "3 voters, 0 observers")
        assert "● leader" in text
        assert text.count("● following") == 2
        assert "● complete" in text
        await screen.press("1")
        await screen.pause(0.7)
        seen = len(cluster.seen(DescribeQuorumRequest))
        await screen.pause(1.2)
        assert len(cluster.seen(DescribeQuorumRequest)) == seen

    drive(cluster.bootstrap, use)


def test_a_quorum_that_may_not_be_read_says_why_and_leaves_the_groups_alone(cluster: FakeCluster) -> None:
    cluster.fail(DescribeQuorumRequest, Code.CLUSTER_AUTHORIZATION_FAILED, times=FOREVER)

    async def use(screen: Driver) -> None:
        await screen.press("4")
        text = await shows(screen, "not read: describing the controllers", "▲ incomplete")
        assert "not authorised" in text or "may not" in text or "authoriz" in text.lower()
        await screen.press("1")
        text = await shows(screen, GROUP, "● complete")

    drive(cluster.bootstrap, use)


@pytest.mark.parametrize(
    ("request_of", "key", "words"),
    [
        (
            DescribeQuorumRequest,
            "4",
            "there is no quorum: the cluster runs with ZooKeeper, or with Kafka before 3.3",
        ),
        (ListTransactionsRequest, "5", "brokers before Kafka 3.0 do not list transactions"),
    ],
)
def test_what_a_cluster_does_not_have_is_said_and_is_not_missing(
    cluster: FakeCluster, request_of: type[Request], key: str, words: str
) -> None:
    cluster.hide(request_of)

    async def use(screen: Driver) -> None:
        await screen.press(key)
        await shows(screen, words, "● complete")

    drive(cluster.bootstrap, use)


def test_a_quorum_without_a_leader_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "seen.ndjson"
    for one in readings(3):
        assert one.parts.quorum is not None
        assert one.parts.quorum.value is not None
        quorum = one.parts.quorum._replace(value=replace(one.parts.quorum.value, leader=-1))
        append_reading(str(path), replace(one, parts=replace(one.parts, quorum=quorum)))

    async def script() -> None:
        async with playing(path, at=2, first="quorum") as (app, _pilot):
            text = picture(app)
            assert "✖ no leader is elected" in text
            assert text.count("◌ unknown") == 3

    run(script)


@pytest.mark.parametrize("size", [(80, 24), (120, 30)])
def test_a_click_on_a_tab_shows_its_list(cluster: FakeCluster, size: tuple[int, int]) -> None:
    async def use(screen: Driver) -> None:
        await screen.resize(size)
        line = picture(screen.app).split("\n")[1]
        for name in ("Quorum", "Transactions", "Mirrors", "Events", "Groups"):
            await screen.click(line.index(name) + 2, 1)
            await screen.until(lambda name=name: name.lower() == screen.app.listing.NAME)

    drive(cluster.bootstrap, use)


def test_a_quorum_that_cannot_be_read_any_more_is_shown_as_old(cluster: FakeCluster) -> None:
    async def use(screen: Driver) -> None:
        await screen.press("4")
        await shows(screen, "leader 1", "● complete")
        cluster.fail(DescribeQuorumRequest, Code.CLUSTER_AUTHORIZATION_FAILED, times=FOREVER)
        text = await shows(screen, "▲ incomplete", "as of ", "describing the controllers")
        assert "● leader" in text

    drive(cluster.bootstrap, use)


def test_open_and_hanging_transactions_the_oldest_first(cluster: FakeCluster) -> None:
    with ExitStack() as stack:
        opened = producing(cluster, stack, "payments-1")
        assert opened.produce(0, b"a", b"b") == 0
        hanging = producing(cluster, stack, "lost")
        cluster.settings.verify_transactions = False
        assert hanging.produce(0, b"a", version=_BEFORE_IMPLICIT) == 0
        cluster.settings.verify_transactions = True

        async def use(screen: Driver) -> None:
            await screen.press("5")
            text = await shows(screen, "1 open", "✖ 1 hanging", "payments-1", "✖ Hanging", "● Ongoing")
            assert "t-0" in text
            assert "10m" in text, text
            await screen.press("slash", *"hanging", "enter")
            await screen.until(lambda: len(screen.app.listing.table.rows) == 1)
            await screen.press("c")
            assert screen.app.clipboard == f"kcli txn describe --topic t -p 0 -b {cluster.bootstrap}"

        drive(cluster.bootstrap, use)


def test_transactions_of_a_coordinator_that_is_away_are_named_as_missing(cluster: FakeCluster) -> None:
    cluster.fail(ListTransactionsRequest, Code.CLUSTER_AUTHORIZATION_FAILED, times=FOREVER, node=2)

    async def use(screen: Driver) -> None:
        await screen.press("5")
        await shows(screen, "– open", "broker 2", "▲ incomplete", "hanging, as far as that could be read")

    drive(cluster.bootstrap, use)


def test_mirror_jobs_with_what_they_wait_for_and_only_what_was_written_since(cluster: FakeCluster) -> None:
    mirror_job(cluster, "nightly", "waiting", "the source does not answer", ended=False)
    mirror_job(cluster, "done-job", "caught_up", ended=True)

    async def use(screen: Driver) -> None:
        await screen.press("6")
        text = await shows(screen, "2 jobs", "✖ 1 wrong", "● 1 ok", "nightly", "a.example:9092")
        assert "✖ stopped" in text
        assert "● done" in text
        assert "killed, or lost the target" in text
        assert "(worker-1)" in text
        assert "process 77" in text
        await screen.press("c")
        assert screen.app.clipboard == f"kcli mirror status --to {cluster.bootstrap} --job nightly"
        mirror_job(cluster, "another", "copying", ended=True)
        await shows(screen, "3 jobs", "another")

    drive(cluster.bootstrap, use)


def test_a_cluster_without_jobs_says_so(cluster: FakeCluster) -> None:
    async def use(screen: Driver) -> None:
        await screen.press("6")
        await shows(screen, "no mirror job writes to this cluster", "0 jobs", "● complete")

    drive(cluster.bootstrap, use)


def test_a_topic_its_readers_its_configuration_and_its_newest_records(cluster: FakeCluster) -> None:
    async def use(screen: Driver) -> None:
        await screen.press("2")
        await shows(screen, "WORST LAG", "billing")
        await screen.press("enter")
        text = await shows(screen, "topic t", "2 partitions", "ISR", "20 records", "● complete")
        assert "tab readers" in text
        await screen.press("tab")
        text = await shows(screen, "VERDICT", GROUP, "15")
        await screen.press("tab")
        await shows(screen, "NAME", "topic id", "tab partitions")
        await screen.press("tab", "slash", "0", "enter", "enter")
        await screen.until(lambda: isinstance(screen.app.screen, RecordView) and screen.app.screen.record)
        await screen.shows("record of t-0   log 0 to 20   as text")
        await screen.shows("offset 19 ")
        await screen.press("p")
        await screen.shows("offset 18 ")
        await screen.press("n", "n")
        await screen.shows("no later record")
        await screen.press("c")
        assert screen.app.clipboard == f"kcli consume t -p 0 --offset 19 -n 1 -b {cluster.bootstrap}"
        await screen.press("escape", "escape", "escape")
        await shows(screen, "WORST LAG")

    drive(cluster.bootstrap, use)


def test_the_cursor_is_where_it_was_when_a_topic_is_left(cluster: FakeCluster) -> None:
    for number in range(9):
        cluster.create_topic(f"topic-{number}", 1)

    async def use(screen: Driver) -> None:
        await screen.press("2")
        await shows(screen, "topic-8")
        await screen.press("G")
        name = screen.app.listing.table.chosen.topic
        await screen.press("enter")
        await shows(screen, f"topic {name} ", "RECORDS")
        await screen.press("escape")
        await screen.until(lambda: screen.app.listing.NAME == "topics")
        for _ in range(20):
            assert screen.app.listing.table.chosen.topic == name
            await screen.pause(0.05)
        await shows(screen, "● complete")

    drive(cluster.bootstrap, use)


def test_what_of_a_topic_may_not_be_read_leaves_the_rest(cluster: FakeCluster) -> None:
    cluster.fail(DescribeConfigsRequest, Code.TOPIC_AUTHORIZATION_FAILED, times=FOREVER)
    cluster.fail(DescribeLogDirsRequest, Code.CLUSTER_AUTHORIZATION_FAILED, times=FOREVER)

    async def use(screen: Driver) -> None:
        await screen.press("2")
        await shows(screen, "WORST LAG", "billing")
        await screen.press("enter")
        await shows(screen, "topic t", "2 partitions", "20 records", "▲ incomplete")
        await screen.press("tab", "tab")
        await shows(screen, "configuration", "not read")

    drive(cluster.bootstrap, use)


def test_a_topic_that_is_deleted_says_so(cluster: FakeCluster) -> None:
    async def use(screen: Driver) -> None:
        await screen.press("2")
        await shows(screen, "WORST LAG", "billing")
        await screen.press("enter")
        await shows(screen, "20 records")
        cluster.delete_topic("t")
        await shows(screen, "does not exist")

    drive(cluster.bootstrap, use)


def test_a_recording_has_what_all_screens_show(cluster: FakeCluster, tmp_path: Path) -> None:
    mirror_job(cluster, "nightly", "caught_up", ended=True)
    path = tmp_path / "seen.ndjson"

    async def use(screen: Driver) -> None:
        await screen.until(lambda: path.exists() and path.read_text().count("\n") >= 2)

    drive(cluster.bootstrap, use, record=str(path))
    line = json.loads(path.read_text().splitlines()[-1])
    assert line["quorum"]["value"]["leader"] == 1
    assert line["transactions"]["value"] == []
    assert [one["job"] for one in line["mirrors"]["value"]] == ["nightly"]
    assert line["configs"]["errors"] == []
    assert [one["partition_bytes"] for one in line["topics"] if one["topic"] == "t"]


def test_a_list_that_is_not_read_yet_is_not_complete(cluster: FakeCluster) -> None:
    async def use(screen: Driver) -> None:
        await screen.press("space", "4")
        text = await shows(screen, "◌ not read yet", "reading the quorum …")
        assert "complete" not in text
        await screen.press("2")
        await shows(screen, "◌ not read yet")
        await screen.press("4", "r")
        await shows(screen, "● complete", "leader 1")

    drive(cluster.bootstrap, use)
