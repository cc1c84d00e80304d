"""``groups export`` and ``import --zookeeper`` as processes with a real ZooKeeper: both layouts, and what goes wrong."""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.security import make_acl, make_digest_acl

from kcli.core import Admin
from kcli.core.errors import ConnectError, OutcomeUnknownError
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.transfer.zookeeper.session import Write, ZooKeeper, parse_hosts
from tests.kafka import Kafka
from tests.run import KCLI, run
from tests.zookeeper import ZooKeeperServer, unused_port, zookeeper_server

pytestmark = [pytest.mark.integration, pytest.mark.long]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperServer]:
    with zookeeper_server(tmp_path_factory.mktemp("zookeeper")) as started:
        yield started


class Root:
    """A chroot of this test's own, and a client that is neither kcli's nor below it."""

    def __init__(self, server: ZooKeeperServer, state: Path, name: str) -> None:
        self.server = server
        self.hosts = f"{server.hosts}/{name}"
        self.prefix = f"/{name}"
        self.state = state
        self.client = KazooClient(server.hosts)
        self.client.start()
        self.client.ensure_path(self.prefix)

    def put(self, path: str, data: object = "", **settings: Any) -> None:
        """Sets or makes a node."""
        path, value = self.prefix + path, str(data).encode()
        if self.client.exists(path):
            self.client.set(path, value)
        else:
            self.client.create(path, value, makepath=True, **settings)

    def text(self, path: str) -> str:
        return self.client.get(self.prefix + path)[0].decode()

    def topic(self, name: str, partitions: int = 4) -> None:
        """As brokers since 0.8 register it."""
        numbers = {str(number): [1] for number in range(partitions)}
        self.put(f"/brokers/topics/{name}", json.dumps({"version": 1, "partitions": numbers}))

    def kcli(self, *arguments: str, code: int = 0, stdin: str = "") -> subprocess.CompletedProcess[str]:
        done = run(
            [*KCLI, "groups", *arguments],
            input=stdin, capture_output=True, text=True, timeout=60,
            env={**os.environ, "XDG_STATE_HOME": str(self.state)},
        )  # fmt: skip
        assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
        return done

    def exported(self, *arguments: str, code: int = 0) -> str:
        return self.kcli("export", "--zookeeper", self.hosts, *arguments, code=code).stdout

    def imported(self, text: str, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        words = ("import", "--zookeeper", self.hosts, "-", *arguments)
        return self.kcli(*words, code=code, stdin=text)


@pytest.fixture
def root(server: ZooKeeperServer, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Root]:
    made = Root(server, tmp_path, request.node.name[:60])
    yield made
    made.client.stop()
    made.client.close()


@pytest.mark.case("S1-16")
def test_a_round_trip_in_the_layout_since_0_8(root: Root) -> None:
    root.topic("orders")
    before = [12, 99, 0, (1 << 63) - 1]
    for number, offset in enumerate(before):
        root.put(f"/consumers/billing/offsets/orders/{number}", offset)
    text = root.exported("billing", "--format", "zookeeper")
    assert text == "".join(f"/consumers/billing/offsets/orders/{n}:{o}\n" for n, o in enumerate(before))
    root.put("/consumers/billing/offsets/orders/1", 500)
    root.client.delete(f"{root.prefix}/consumers/billing/offsets/orders/2")
    done = root.imported(text, "--yes", "-o", "json")
    assert {item["status"] for item in json.loads(done.stdout)["items"]} == {"done", "unchanged"}
    assert root.exported("billing", "--format", "zookeeper") == text
    (kept,) = (root.state / "kcli/zookeeper").iterdir()
    assert kept.stat().st_mode & 0o077 == 0
    root.kcli("import", "--zookeeper", root.hosts, str(kept), "--yes")
    assert root.text("/consumers/billing/offsets/orders/1") == "500"
    csv = root.exported("billing")
    assert csv.splitlines()[1] == "orders,1,500"
    root.imported(csv, "--group", "audit", "--yes")
    assert root.exported("audit") == csv


@pytest.mark.case("S1-16", "S4-29")
def test_a_round_trip_in_the_layout_of_0_7(root: Root) -> None:
    for broker in (1, 2):
        root.put(f"/brokers/topics/orders/{broker}", 2)
        for number in range(2):
            root.put(f"/consumers/g/offsets/orders/{broker}-{number}", broker * 1000 + number)
    text = root.exported("--all", "--format", "zookeeper")
    assert text.splitlines() == [
        f"/consumers/g/offsets/orders/{b}-{n}:{b * 1000 + n}" for b in (1, 2) for n in (0, 1)
    ]
    assert root.exported("g", "--format", "ndjson", code=1) == ""
    root.imported(text, "--group", "h", "--yes")
    assert root.exported("h", "--format", "zookeeper") == text.replace("/g/", "/h/")
    refused = root.imported("orders,0,5\n", "--group", "h", "--yes", code=7)
    assert "the topic's partitions are those of Kafka 0.7, the file's of 0.8 or later" in refused.stderr
    refused = root.kcli("import", "-", "--yes", "-b", "127.0.0.1:1", code=2, stdin=text)
    assert "line 1 is an offset of Kafka 0.7" in refused.stderr


def test_a_consumer_that_runs_keeps_its_offsets(root: Root) -> None:
    root.topic("orders")
    root.put("/consumers/billing/offsets/orders/0", 12)
    root.put("/consumers/billing/ids/billing_host-1", "{}", ephemeral=True)
    line = "/consumers/billing/offsets/orders/0:7\n"
    assert "billing_host-1" in root.imported(line, "--yes", code=7).stderr
    root.imported(line, "--dry-run", code=7)
    assert root.text("/consumers/billing/offsets/orders/0") == "12"
    assert root.exported("billing") == "orders,0,12\n"
    root.client.delete(f"{root.prefix}/consumers/billing/ids/billing_host-1")
    root.imported(line, "--yes")
    assert root.text("/consumers/billing/offsets/orders/0") == "7"


def test_a_write_needs_the_version_that_was_read(root: Root) -> None:
    root.put("/a", 1)
    root.put("/b", 1)
    session = ZooKeeper(parse_hosts(root.hosts), timeout=10)
    session.open()
    try:
        seen = session.nodes(["/a", "/b", "/c"])
        root.put("/b", 2)
        root.put("/c", 2)
        root.put("/d", 2)
        root.client.delete(f"{root.prefix}/d")
        told = session.write(
            [Write(f"/{name}", b"7", version) for name, version in
             (("a", 0), ("b", 0), ("c", None), ("d", 0), ("e/f", None))]
        )  # fmt: skip
        assert seen["/c"] is None
        assert {path: error and error.exit_code for path, error in told.items()} == {
            "/a": None, "/b": 7, "/c": 7, "/d": 7, "/e/f": None,
        }  # fmt: skip
        assert [root.text(path) for path in ("/a", "/b", "/c", "/e/f")] == ["7", "2", "2", "7"]
    finally:
        session.close()


def test_a_closed_node_is_named(root: Root) -> None:
    root.topic("orders")
    nobody = [make_digest_acl("ops", "secret", all=True)]
    root.put("/consumers/shut/offsets/orders/0", 1)
    root.client.set_acls(f"{root.prefix}/consumers/shut/offsets", nobody)
    root.put("/consumers/mine/offsets/orders/0", 3)
    done = root.kcli("export", "--zookeeper", root.hosts, "--all", code=6)
    *missing, offset = done.stdout.splitlines()
    assert offset == "mine,orders,0,3"
    assert missing[0].startswith("# not complete: ")
    assert "denies access to /consumers/shut/offsets" in done.stderr
    assert "NoAuthError" in done.stderr
    root.client.set_acls(
        f"{root.prefix}/consumers/mine/offsets/orders/0", [make_acl("world", "anyone", read=True)]
    )
    done = root.imported("/consumers/mine/offsets/orders/0:1\n", "--yes", code=4)
    assert "failed" in done.stdout
    assert root.text("/consumers/mine/offsets/orders/0") == "3"


def test_many_groups_are_read_side_by_side(root: Root) -> None:
    for group in range(20):
        root.client.ensure_path(f"{root.prefix}/consumers/g{group}/offsets/t")
        made = [
            root.client.create_async(f"{root.prefix}/consumers/g{group}/offsets/t/{number}", b"%d" % number)
            for number in range(100)
        ]
        for one in made:
            one.get()
    text = root.exported("--all", "--format", "zookeeper")
    assert len(text.splitlines()) == 2000
    done = root.imported(text, "--yes", "-o", "tsv")
    assert done.stdout.count("\tunchanged\t") == 2000


def test_an_unreachable_member_is_reported_in_time(root: Root, server: ZooKeeperServer) -> None:
    assert (
        "there is no /nope" in root.kcli("export", "g", "--zookeeper", f"{server.hosts}/nope", code=1).stderr
    )
    assert "has no groups" in root.kcli("export", "g", "--zookeeper", root.hosts, code=1).stderr
    down = f"127.0.0.1:{unused_port()}"
    refused = root.kcli("export", "g", "--zookeeper", down, code=3)
    assert f"{down}: connection refused" in refused.stderr
    root.put("/consumers/g/offsets/t/0", 1)
    assert root.kcli("export", "g", "--zookeeper", f"{down},{root.hosts}").stdout == "t,0,1\n"
    with server.stopped():
        begin = time.monotonic()
        silent = root.kcli("export", "g", "--zookeeper", root.hosts, "--timeout", "2", code=3)
        assert time.monotonic() - begin < 8
        assert "sent no ZooKeeper response within 2 s" in silent.stderr
        assert silent.stderr.count("\n") == 4, "kazoo says nothing of its own"
    assert root.exported("g") == "t,0,1\n"


def test_debug_shows_what_the_client_says(root: Root) -> None:
    root.put("/consumers/g/offsets/t/0", 1)
    done = root.kcli("export", "g", "--zookeeper", root.hosts, "--debug=proto")
    assert "GetChildren(" in done.stderr


def test_a_server_that_falls_silent_is_a_lost_connection(root: Root, server: ZooKeeperServer) -> None:
    root.put("/a", 1)
    session = ZooKeeper(parse_hosts(root.hosts), timeout=2)
    session.open()
    try:
        with server.stopped():
            with pytest.raises(ConnectError, match="was lost at /a"):
                session.node("/a")
            begin = time.monotonic()
            told = session.write(Write(f"/{number}", b"2", None) for number in range(1000))
            assert {type(error) for error in told.values()} == {OutcomeUnknownError}
            assert time.monotonic() - begin < 5, "one timeout, not a thousand"
    finally:
        session.close()


@pytest.mark.case("S1-16")
def test_offsets_move_from_zookeeper_into_kafka_and_back(root: Root, kafka: Kafka) -> None:
    topic, group = kafka.topic("t", partitions=2), kafka.unused_name("g")
    root.topic(topic, 2)
    for number in range(2):
        root.put(f"/consumers/{group}/offsets/{topic}/{number}", 0)
    for form in ("csv", "ndjson", "zookeeper"):
        text = root.exported(group, "--format", form)
        new = f"{group}-{form}"
        root.kcli("import", "-", "--group", new, "--yes", "-b", kafka.bootstrap, stdin=text)
        with Admin(bootstrap_servers=kafka.bootstrap) as admin:
            told = admin.fetch_offsets({new: None})[new]
        assert told == {TopicPartition(topic, n): OffsetAndMetadata(0, "", -1) for n in range(2)}
    back = root.kcli("export", new, "--format", "zookeeper", "-b", kafka.bootstrap).stdout
    root.imported(back, "--yes")
    assert root.text(f"/consumers/{new}/offsets/{topic}/1") == "0"
