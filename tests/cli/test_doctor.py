"""``kcli doctor``: each fault is provoked, and found with its step, its cause, its remedy and its exit code.

Each row is one run against a fake cluster, or a peer that is none. What is wrong is read from ``-o json``.
"""

import contextlib
import datetime
import json
import os
import pty
import ssl
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from kcli.core.protocol.messages.create_topics import CreateTopicsRequest
from kcli.core.protocol.messages.describe_groups import DescribeGroupsRequest
from kcli.core.protocol.messages.describe_producers import DescribeProducersRequest
from kcli.core.protocol.messages.describe_transactions import DescribeTransactionsRequest
from kcli.core.protocol.messages.fetch import FetchRequest
from kcli.core.protocol.messages.list_transactions import ListTransactionsRequest
from kcli.core.protocol.messages.metadata import MetadataRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.types import OffsetAndMetadata, TopicPartition
from tests.certificates import Authority, now
from tests.cli.errors.typing_remedies import type_remedy
from tests.committing import commit, put
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.peers import PEERS, Peer
from tests.fake.raw_client import RawClient
from tests.fake.raw_transaction import RawTransaction
from tests.fake.sasl import Sasl
from tests.fake.script import FOREVER
from tests.run import KCLI, Noun, environment, kcli, kcli_as_set_up
from tests.warm_kcli import WarmPopen

_BEFORE_IMPLICIT = 9
HOST = "127.0.0.1"


@dataclass
class Here:
    """``stack`` closes what a row opens."""

    cluster: FakeCluster
    authority: Authority
    other: Authority
    stack: ExitStack = field(default_factory=ExitStack)

    def __call__(self, line: str, bootstrap: str = "") -> tuple[int, list[dict[str, Any]]]:
        done = kcli_as_set_up(
            "doctor", *line.split(), "-o", "json", "-b", bootstrap or self.cluster.bootstrap
        )
        assert "kcli:" not in done.err, done.err
        document = json.loads(done.out)
        assert document["kind"] == "DoctorReport"
        assert document["exit_code"] == done.code
        return done.code, document["items"]

    @property
    def scram(self) -> Path:
        """A file with credentials."""
        file = self.authority.folder / "scram.properties"
        file.write_text("security.protocol=SASL_PLAINTEXT\nsasl.username=alice\nsasl.password=secret\n")
        file.chmod(0o600)
        return file

    @property
    def unused(self) -> Path:
        """A file with an option that only other clients have."""
        file = self.authority.folder / "unused.properties"
        file.write_text("enable.partition.eof=true\n")
        return file

    def peer(self, name: str) -> str:
        """A peer that is no broker; its address."""
        return self.stack.enter_context(Peer(PEERS[name])).address

    def open(self, topic: str) -> None:
        """A transaction with a record in partition 0."""
        coordinator = self.cluster.coordinator("transaction", "pay")
        with RawClient(self.cluster.address(coordinator)) as client:
            pay = RawTransaction(client, "pay", topic=topic)
            assert pay.init() == 0
        with RawClient(self.cluster.address(self.cluster.leader(topic, 0))) as client:
            pay.client = client
            assert pay.produce(0, b"x") == 0

    def hang(self, topic: str) -> None:
        """A record of a transaction that its coordinator does not have, in partition 0."""
        self.cluster.settings.verify_transactions = False
        coordinator = self.cluster.coordinator("transaction", "ghost")
        with RawClient(self.cluster.address(coordinator)) as client:
            ghost = RawTransaction(client, "ghost", topic=topic)
            assert ghost.init() == 0
        with RawClient(self.cluster.address(self.cluster.leader(topic, 0))) as client:
            ghost.client = client
            assert ghost.produce(0, b"x", version=_BEFORE_IMPLICIT) == 0


@pytest.fixture(scope="module")
def authorities(tmp_path_factory: pytest.TempPathFactory) -> tuple[Authority, Authority]:
    folder = tmp_path_factory.mktemp("doctor")
    return Authority(folder), Authority(folder, "other")


@pytest.fixture
def here(authorities: tuple[Authority, Authority]) -> Iterator[Here]:
    with FakeCluster(2, topics={"t": 2, "__consumer_offsets": 1}) as cluster, ExitStack() as stack:
        yield Here(cluster, *authorities, stack)


@dataclass(frozen=True)
class Row:
    """``prepare`` returns the bootstrap address, or None for the cluster's. Words of detail, why and do, in part."""

    name: str
    prepare: Callable[[Here], str | None]
    line: str
    code: int
    target: str
    check: str
    status: str
    detail: str
    why: str
    do: str
    then: str = ""

    def __str__(self) -> str:
        return self.name


def tls(make: Callable[[Here], ssl.SSLContext]) -> Callable[[Here], str | None]:
    def prepare(here: Here) -> None:
        here.cluster.use_tls(make(here))

    return prepare


def until(days: int) -> Callable[[Here], ssl.SSLContext]:
    """A certificate that expires in so many days."""

    def make(here: Here) -> ssl.SSLContext:
        begin, end = now() - datetime.timedelta(days=9), now() + datetime.timedelta(days=days, hours=1)
        return here.authority.broker(certificate=here.authority.issue(HOST, not_before=begin, not_after=end))

    return make


def old_tls(here: Here) -> ssl.SSLContext:
    context = here.authority.broker(HOST)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1
    context.set_ciphers("ALL:@SECLEVEL=0")
    return context


def advertise(host: str) -> Callable[[Here], str | None]:
    def prepare(here: Here) -> str:
        here.cluster.advertise(2, host)
        return here.cluster.address(1)

    return prepare


def foreign(here: Here) -> str:
    """Broker 2 advertises the address of a broker of another cluster."""
    other = here.stack.enter_context(FakeCluster(1, cluster_id="another"))
    host, port = other.address(1).split(":")

    def edit(response: Any) -> None:
        for row in response.brokers:
            if row.node_id == 2:
                row.host, row.port = host, int(port)

    here.cluster.lie(edit)
    return here.cluster.address(1)


def two_clusters(here: Here) -> str:
    other = here.stack.enter_context(FakeCluster(1, cluster_id="another"))
    return f"{here.cluster.address(1)},{other.address(1)}"


def offline(here: Here) -> str:
    """Broker 2 is gone, and with it the only replica of a partition."""
    here.cluster.create_topic("single", 2, replication=1)
    here.cluster.stop(2, fail_over=True)
    return here.cluster.address(1)


def followers_gone(here: Here) -> None:
    here.cluster.set_isr("t", 0, [here.cluster.leader("t", 0)])


def below_min_isr(here: Here) -> None:
    here.cluster.configure("t", min_insync_replicas="2")
    followers_gone(here)


def above_replicas(here: Here) -> None:
    here.cluster.configure("t", min_insync_replicas="9")


def above_replicas_before_3_7(here: Here) -> None:
    above_replicas(here)
    here.cluster.cap_versions({ProduceRequest: 9})


def alone_above_replicas(here: Here) -> None:
    here.cluster.create_topic("alone", 1, replication=1, configs={"min.insync.replicas": "2"})


def before_2_8(here: Here) -> None:
    here.cluster.hide(DescribeProducersRequest, ListTransactionsRequest, DescribeTransactionsRequest)
    here.hang("t")


def before_3_0(here: Here) -> None:
    here.cluster.hide(ListTransactionsRequest, DescribeTransactionsRequest)
    here.hang("t")


def mixed(here: Here) -> None:
    here.cluster.cap_versions({FetchRequest: 12}, node=2)


def no_controller(here: Here) -> None:
    here.cluster._thread.call(lambda: setattr(here.cluster._state, "controller", -1))


def may(bits: int) -> Callable[[Here], str | None]:
    def prepare(here: Here) -> None:
        here.cluster.settings.topic_operations = bits

    return prepare


def billing(here: Here) -> None:
    put(here.cluster, "t", 0, 5)
    commit(here.cluster, "billing", {TopicPartition("t", 0): OffsetAndMetadata(5)})


def held(here: Here) -> None:
    billing(here)
    here.hang("t")
    put(here.cluster, "t", 0, 2)


def waiting(here: Here) -> None:
    """The group has read up to an open transaction."""
    billing(here)
    here.open("t")


def old_transaction(here: Here) -> None:
    here.open("t")
    here.stack.enter_context(patch("kcli.flows.doctor.transaction_checks.LONG", -1.0))


def rebalancing(here: Here) -> None:
    billing(here)

    def edit(_request: Any, answer: Any) -> None:
        for group in answer.groups:
            group.group_state = "PreparingRebalance"

    here.cluster.replace(DescribeGroupsRequest, edit, times=FOREVER)


def behind(here: Here) -> None:
    billing(here)
    put(here.cluster, "t", 0, 9)
    here.cluster.delete_records("t", 0, 8)


def nothing(_here: Here) -> None:
    return None


def fails(kind: Any, code: Code) -> Callable[[Here], str | None]:
    return lambda here: here.cluster.fail(kind, code, times=FOREVER) and None


def no_rights_to_producers(here: Here) -> None:
    here.hang("t")
    here.cluster.fail(DescribeProducersRequest, Code.TOPIC_AUTHORIZATION_FAILED, times=FOREVER)


def sasl(**how: Any) -> Callable[[Here], str | None]:
    def prepare(here: Here) -> None:
        here.cluster.settings.sasl = Sasl(**{"users": {"alice": "secret"}, **how})

    return prepare


SCRAM = "-F {scram} -X sasl.mechanism=SCRAM-SHA-256"
CA = "-X security.protocol=SSL -X ssl.ca.location={ca}"
ROWS = [
    # the connection
    Row("no such name", lambda _: "nosuch.invalid:9092", "", 3, "bootstrap nosuch.invalid:9092", "DNS", "failed",
        "cannot resolve nosuch.invalid", "not known", "DNS"),
    Row("refused", lambda _: "127.0.0.1:1", "", 3, "bootstrap 127.0.0.1:1", "TCP", "failed",
        "cannot connect to 127.0.0.1:1", "Connection refused", "that the broker is running"),
    Row("silent", lambda here: here.peer("silence"), "--timeout 400ms", 3, "", "ApiVersions", "failed",
        "no reply to ApiVersions", "does not respond", "not stopped or overloaded"),
    Row("HTTP", lambda here: here.peer("http"), "", 3, "", "ApiVersions", "failed",
        "does not speak Kafka", "HTTP", "port"),
    Row("ssh", lambda here: here.peer("ssh"), "", 3, "", "ApiVersions", "failed", "does not speak Kafka", "", "port"),
    Row("plaintext on a TLS port", tls(lambda h: h.authority.broker(HOST)), "", 3, "", "ApiVersions", "failed",
        "", "TLS", "security.protocol"),
    Row("TLS on a plaintext port", nothing, CA, 3, "", "TLS", "failed",
        "does not speak TLS", "", "security.protocol"),
    Row("TLS, silent", lambda here: here.peer("silence"), f"{CA} --timeout 400ms", 3, "", "TLS", "failed",
        "no TLS handshake", "does not respond", "security.protocol"),
    # certificates
    Row("unknown authority", tls(lambda h: h.other.broker(HOST)), CA, 4, "", "TLS", "failed",
        "issued by an unknown authority", "Testing CA", "ssl.ca.location"),
    Row("another host", tls(lambda h: h.authority.broker("b.example.org")), CA, 4, "", "TLS", "failed",
        "is not for 127.0.0.1", "it names b.example.org", "advertised.listeners"),
    Row("expired", tls(lambda h: h.authority.broker(certificate=h.authority.expired(HOST))), CA, 4, "", "TLS",
        "failed", "has expired", "it expired at 20", "renew"),
    Row("expires soon", tls(until(7)), CA, 0, "", "certificate", "warning",
        "expires in 7 days", "refuse it from then on; it names 127.0.0.1", "renew"),
    Row("expires late", tls(until(60)), CA, 0, "", "certificate", "ok", "expires in 60 days", "", ""),
    Row("TLS 1.0", tls(old_tls), CA, 4, "", "TLS", "failed",
        "no version of TLS that is secure", "TLS 1.2 and 1.3", "ssl.enabled.protocols"),
    Row("a client certificate wanted", tls(lambda h: h.authority.demanding(HOST)), CA, 4, "", "ApiVersions",
        "failed", "requires a certificate of the client", "none was sent", "ssl.certificate.location"),
    Row("not verified", tls(lambda h: h.other.broker(HOST)),
        "-X security.protocol=SSL -X enable.ssl.certificate.verification=false", 0, "client", "security",
        "warning", "not verified", "", ""),
    Row("no CA file", nothing, "-X security.protocol=SSL -X ssl.ca.location=/no/ca", 2, "client", "security",
        "failed", "/no/ca", "No such file", "must name"),
    # SASL
    Row("authenticated", sasl(), SCRAM, 0, "", "SASL", "ok", "authenticated as alice with SCRAM-SHA-256", "", ""),
    Row("without TLS", sasl(), SCRAM, 0, "client", "security", "warning", "SCRAM-SHA-256 without TLS", "", "SASL_SSL"),
    Row("a wrong password", sasl(users={"alice": "other"}), SCRAM, 4, "", "SASL", "failed",
        "authentication as alice with SCRAM-SHA-256 failed", "invalid credentials", "sasl.password"),
    Row("no such user", sasl(users={}), SCRAM, 4, "", "SASL", "failed",
        "authentication as alice", "invalid credentials", "sasl.username"),
    Row("others are not tried", sasl(users={}), SCRAM, 4, "", "SASL", "skipped",
        "not checked", "could lock the account", ""),
    Row("no such mechanism", sasl(mechanisms=("PLAIN",)), SCRAM, 4, "", "SASL", "failed",
        "does not offer the SASL mechanism SCRAM-SHA-256", "it offers PLAIN", "sasl.mechanism"),
    Row("no SASL there", nothing, SCRAM, 4, "", "SASL", "failed",
        "does not authenticate clients", "ILLEGAL_SASL_STATE", "PLAINTEXT"),
    Row("SASL wanted", sasl(), "", 4, "", "metadata", "failed",
        "does not authenticate", "responds to ApiVersions only", "sasl.mechanism"),
    Row("a password in clear", sasl(), SCRAM.replace("SCRAM-SHA-256", "PLAIN"), 2, "client", "security", "failed",
        "PLAIN over SASL_PLAINTEXT is refused", "without encryption", "--allow-plaintext-secrets"),
    # what brokers advertise
    Row("advertised name unknown", advertise("nosuch.invalid"), "", 3, "broker 2", "DNS", "failed",
        "broker 2 advertises nosuch.invalid", "cannot resolve", "advertised.listeners"),
    Row("advertised host not allowed", advertise("localhost"), "-X metadata.allowed.hosts=*.example.org", 4,
        "broker 2", "advertised", "failed", "not allowed", "metadata.allowed.hosts", "advertised.listeners"),
    Row("a broker that is gone", lambda h: h.cluster.stop(2) or h.cluster.address(1), "", 3, "broker 2", "TCP",
        "failed", "broker 2 advertises", "Connection refused", "advertised.listeners"),
    Row("another cluster", foreign, "", 3, "broker 2", "advertised", "failed",
        "a broker of another cluster", "its cluster id is another", "advertised.listeners"),
    Row("two clusters", two_clusters, "", 2, "bootstrap", "cluster id", "failed",
        "belong to different clusters", "another", "bootstrap.servers"),
    # the cluster
    Row("no controller", no_controller, "", 3, "cluster", "controller", "failed",
        "no active controller", "no leader is elected", "start the controllers"),
    Row("a broker not online", lambda h: h.cluster.stop(2, fail_over=True) or h.cluster.address(1), "", 0,
        "cluster", "brokers", "warning", "1 of 2 are not online: 2 (fenced)", "lost contact",
        "start them and read their logs; `kcli cluster describe` shows what they host"),
    Row("offline", offline, "", 3,
        "cluster", "offline partitions", "failed", "single", "no leader",
        "start the brokers that host their replicas; `kcli cluster describe` shows which are missing"),
    Row("under-replicated", followers_gone, "", 0, "cluster", "under-replicated partitions", "warning",
        "1: t-0", "not in sync", "and check that they keep up: `kcli topics describe --under-replicated`"),
    Row("below min ISR", below_min_isr, "", 3, "cluster", "min.insync.replicas", "failed",
        "t-0", "NOT_ENOUGH_REPLICAS", "start the brokers"),
    Row("no topics", lambda h: h.stack.enter_context(FakeCluster(1)).address(1), "", 0, "cluster", "partitions", "ok",
        "no topics, or none that this client may describe", "", ""),
    Row("mixed versions", mixed, "", 0, "cluster", "versions", "warning",
        "different versions", "APIs differ", "upgrade"),
    Row("old brokers", before_2_8, "", 0, "cluster", "versions", "ok", "4.3", "", ""),
    # a topic
    Row("no such topic", nothing, "--topic tt", 1, "topic tt", "exists", "failed", "does not exist", "", "mean t?"),
    Row("a topic's rights", nothing, "--topic t", 0, "topic t", "permissions", "ok", "DESCRIBE, READ, WRITE", "", ""),
    Row("may not write", may(1 << 3 | 1 << 8), "--topic t", 0, "topic t", "permissions", "warning",
        "without WRITE", "may not produce",
        "if it should: `kcli acls create --principal User:NAME --operation write --topic t`"),
    Row("may only describe", may(1 << 8), "--topic t", 4, "topic t", "permissions", "failed",
        "without READ, WRITE", "may not consume it or produce", "--operation read --operation write"),
    Row("a topic's min ISR", below_min_isr, "--topic t", 3, "topic t", "min.insync.replicas", "failed",
        "fewer than 2 replicas in sync: partition 0", "acks=all", "start the brokers"),
    Row("min ISR above the replicas", above_replicas, "--topic t", 0, "topic t", "configuration", "warning",
        "min.insync.replicas is 9, and it has 2 replicas", "when one broker stops",
        "`kcli topics alter t --set min.insync.replicas=1`"),
    Row("min ISR above the replicas, before 3.7", above_replicas_before_3_7, "--topic t",
        7, "topic t", "configuration", "failed", "min.insync.replicas is 9", "always refused",
        "`kcli topics alter t --set min.insync.replicas=1`, or add replicas"),
    Row("min ISR above a single replica", alone_above_replicas, "--topic alone", 0, "topic alone", "configuration",
        "warning", "a single replica", "fails with its broker", "add replicas"),
    Row("unclean elections", lambda h: h.cluster.configure("t", unclean_leader_election_enable="true"), "--topic t",
        0, "topic t", "configuration", "warning", "", "",
        "`kcli topics alter t --set unclean.leader.election.enable=false`"),
    Row("one replica", lambda h: h.cluster.create_topic("single", 2, replication=1) and None, "--topic single",
        0, "topic single", "configuration", "warning", "", "",
        "add replicas: `kcli reassign plan --topic single --replication-factor 2 moves.json`"),
    Row("a topic's offline partitions", offline, "--topic single", 3, "topic single", "partitions", "failed",
        "without a leader", "", "start them: `kcli topics describe single --unavailable` shows which",
        then="6: the offsets of that partition remain unknown"),
    # a group
    Row("waiting for an open transaction", waiting, "--group billing", 0, "group billing", "transactions", "warning",
        "holds readers of committed records back: t-0", "last stable offset, 5",
        "`kcli txn describe --topic t -p 0` shows when it ends"),
    Row("rebalancing", rebalancing, "--group billing", 0, "group billing", "state", "warning", "PreparingRebalance",
        "read nothing", "a member joins and leaves over and over: `kcli groups describe billing`"),
    Row("open for long", old_transaction, "", 0, "transactions", "open for long", "warning",
        "t-0: that of pay", "wait at offset", "check its client, or end it: `kcli txn abort pay`"),
    Row("options of other clients", nothing, "-F {unused}", 0, "client", "configuration", "warning",
        "options without effect", "other clients", "leave them out, if they were meant for kcli; `kcli help options`"),
    Row("no such group", nothing, "--group billling", 1, "group billling", "exists", "failed",
        "does not exist", "", "`kcli groups list` lists the groups"),
    Row("not authorized", fails(DescribeGroupsRequest, Code.GROUP_AUTHORIZATION_FAILED), "--group g", 4, "group g",
        "exists", "failed", "group g", "GROUP_AUTHORIZATION_FAILED", "kcli acls create"),
    Row("a group's lag", billing, "--group billing", 0, "group billing", "lag", "ok",
        "0 records in 0 of 1 partitions", "", ""),
    Row("lost records", behind, "--group billing", 0, "group billing", "lag", "warning",
        "below the start of the log: t-0", "deleted before the group read them", "auto.offset.reset"),
    Row("held back", held, "--group billing", 1, "group billing", "transactions", "failed",
        "holds readers of committed records back: t-0", "last stable offset, 5",
        "`kcli txn abort --topic t -p 0` ends it"),
    # transactions
    Row("hanging", lambda h: h.hang("t"), "", 1, "transactions", "hanging", "failed",
        "in t-0", "no coordinator ends", "`kcli txn abort --topic t -p 0`"),
    Row("hanging before 3.0", before_3_0, "", 1, "transactions", "hanging", "failed",
        "in t-0", "no coordinator ends", "`kcli txn abort --topic t -p 0`"),
    Row("not to be known before 2.8", before_2_8, "", 0, "transactions", "hanging", "skipped",
        "not checked", "before Kafka 2.8", ""),
    Row("no right to see producers",
        no_rights_to_producers, "", 0, "transactions", "hanging", "skipped",
        "not checked", "TOPIC_AUTHORIZATION_FAILED", ""),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_what_is_wrong_is_found_with_its_cause_and_remedy(here: Here, row: Row) -> None:
    bootstrap = row.prepare(here)
    code, items = here(
        row.line.format(ca=here.authority.ca, scram=here.scram, unused=here.unused),
        bootstrap if isinstance(bootstrap, str) else "",
    )
    matching = [
        item
        for item in items
        if item["target"].startswith(row.target)
        and (item["check"], item["status"]) == (row.check, row.status)
        and row.detail in item["detail"]
    ]
    assert matching, items
    for key in ("why", "do"):
        assert getattr(row, key) in (matching[0][key] or ""), matching[0]
    assert code == row.code, items
    if "`" in row.do:
        type_remedy(row.do, matching[0]["do"], here.cluster.address(1), then=row.then)
    if row.status == "failed":
        assert matching[0]["do"], "a failure has a remedy"
        assert matching[0]["code"] in (1, 2, 3, 4, 7)


def test_a_healthy_cluster_is_well(here: Here) -> None:
    code, items = here("--topic t")
    assert code == 0
    assert {item["status"] for item in items} == {"ok"}
    chains = [item["check"] for item in items if item["target"].startswith("bootstrap")]
    assert chains == ["TCP", "ApiVersions", "metadata"] * 2
    timed = [item for item in items if item["check"] in ("TCP", "ApiVersions", "metadata", "hanging")]
    assert all(item["milliseconds"] is not None for item in timed)
    assert not here.cluster.seen(CreateTopicsRequest)


def test_a_chain_ends_where_it_breaks_and_others_go_on(here: Here) -> None:
    here.cluster.stop(1)
    code, items = here("", f"nosuch.invalid:9092,{here.cluster.address(1)},{here.cluster.address(2)}")
    by_target: dict[str, list[str]] = {}
    for item in items:
        by_target.setdefault(item["target"], []).append(f"{item['check']} {item['status']}")
    assert by_target["bootstrap nosuch.invalid:9092"] == ["DNS failed"]
    assert by_target[f"bootstrap {here.cluster.address(1)}"] == ["TCP failed"]
    assert by_target[f"bootstrap {here.cluster.address(2)}"] == ["TCP ok", "ApiVersions ok", "metadata ok"]
    assert f"broker 2 at {here.cluster.address(2)}" in by_target
    assert code == 3


def test_wrong_credentials_are_sent_once(here: Here) -> None:
    here.cluster.settings.sasl = Sasl(users={"alice": "other"})
    code, items = here(f"-F {here.scram} -X sasl.mechanism=SCRAM-SHA-512")
    assert code == 4
    assert len(here.cluster.connections) == 1
    assert "secret" not in json.dumps(items)


def test_each_address_is_contacted_once(here: Here) -> None:
    here("--topic t")
    contacts = [seen for seen in here.cluster.seen(MetadataRequest) if seen.request.topics == []]
    assert [seen.node for seen in contacts[:2]] == [1, 2]
    assert len(here.cluster.connections) <= 5  # one of them for what a broker forwards to the controller


def test_a_wrong_option_is_part_of_the_report(here: Here) -> None:
    code, items = here("-X no.such.option=1")
    assert code == 2
    assert [(item["check"], item["status"]) for item in items] == [("configuration", "failed")]
    assert "no.such.option" in items[0]["detail"]
    done = Noun("doctor", here.cluster)("-X no.such.option=1", 2)
    assert (done.out + done.err).count("no.such.option") == 1, done


@pytest.mark.parametrize("line", ["--topic t*", "--topic t u"])
def test_a_wrong_line_is_refused(here: Here, line: str) -> None:
    assert kcli("doctor", *line.split(), bootstrap=here.cluster.bootstrap).code == 2


def test_few_descriptors_are_a_warning(here: Here) -> None:
    line = f"ulimit -n 100; exec {' '.join(KCLI)} doctor -o json -b {here.cluster.bootstrap}"
    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, env=environment(), timeout=60, check=False
    )
    (found,) = [item for item in json.loads(done.stdout)["items"] if item["check"] == "open files"]
    assert (found["status"], found["detail"], done.returncode) == ("warning", "at most 100", 0)
    assert "ulimit -n" in found["do"]


def on_a_terminal(here: Here, **variables: str) -> str:
    master, slave = pty.openpty()
    process = WarmPopen(
        [*KCLI, "doctor", "-b", f"127.0.0.1:1,{here.cluster.address(1)}"],
        stdin=slave, stdout=slave, stderr=slave, env=environment(**{"TERM": "xterm", **variables}),
    )  # fmt: skip
    os.close(slave)
    text = b""
    with contextlib.suppress(OSError):
        while piece := os.read(master, 4096):
            text += piece
    assert process.wait(120) == 3
    os.close(master)
    return text.decode()


def test_a_terminal_gets_a_line_for_each_step(here: Here) -> None:
    here.cluster.stop(2, fail_over=True)
    text = on_a_terminal(here, NO_COLOR="1")
    assert "  ✗ TCP" in text
    assert "why: Connection refused" in text
    assert "  ✓ metadata" in text
    assert "  ! brokers" in text
    assert "1 failed" in text.splitlines()[-1] or "failed" in text.splitlines()[-1]
    plain = on_a_terminal(here, TERM="dumb")
    assert "  FAIL TCP" in plain
    assert "✓" not in plain


def test_a_pipe_gets_plain_columns(here: Here) -> None:
    done = kcli("doctor", bootstrap=here.cluster.bootstrap)
    assert done.out.splitlines()[0].split() == [
        "TARGET",
        "CHECK",
        "STATUS",
        "MILLISECONDS",
        "DETAIL",
        "WHY",
        "DO",
    ]
    assert "✓" not in done.out
    assert sys.stdout is not None


def test_the_report_has_the_origin_of_options_and_no_values(here: Here, tmp_path: Path) -> None:
    config = tmp_path / "client.properties"
    config.write_text("client.id=canary-value\n")
    _code, items = here(f"-F {config} -X request.timeout.ms=5000")
    (found,) = [item for item in items if item["check"] == "configuration"]
    assert f"client.id from {config}" in found["detail"]
    assert "request.timeout.ms from -X" in found["detail"]
    assert "canary-value" not in json.dumps(items)
