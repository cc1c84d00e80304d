"""The exporter beside a cluster that goes away, changes, or is slow, and with scrapers that are."""

import base64
import gzip
import json
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.core.protocol.messages.list_groups import ListGroupsRequest
from kcli.core.protocol.messages.metadata import MetadataRequest
from kcli.core.types import TopicPartition
from kcli.exporter.address import Address
from kcli.exporter.certificate import TlsFiles
from kcli.exporter.exposition import CLASSIC, OPENMETRICS, Family, Text
from kcli.exporter.health import ClusterSite
from kcli.exporter.last_sample import LastSample
from kcli.exporter.metrics import OF_GROUPS, OF_PARTITIONS, STATES
from kcli.exporter.page import Page
from kcli.exporter.server import READY, Server, notify
from kcli.exporter.tls import ServerTls
from kcli.exporter.users import Users
from kcli.flows.lag.verdicts import WORDS
from tests.certificates import Authority
from tests.exporting import command, exporting, get, until
from tests.fake.cluster import FakeCluster
from tests.fake.groups.offsets import Committed
from tests.fake.many_groups import ManyGroups
from tests.lasting import Moment, lasted
from tests.run import kcli, kcli_process, start
from tests.unit.exporter.pages import labels, parsed
from tests.unit.exporter.test_web_config import HASH, PASSWORD, basic

(COMMITTED,) = (one for one in OF_PARTITIONS if one.name == "kcli_group_committed_offset")
OPEN = "application/openmetrics-text;version=1.0.0"


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster() as made:
        yield made


@pytest.fixture
def groups(cluster: FakeCluster) -> ManyGroups:
    """Three groups of four members, which read two partitions each."""
    return ManyGroups(cluster, 3, 2)


def delete(cluster: FakeCluster, name: str) -> None:
    def act(groups: Any) -> None:
        groups._do.registry.drop(name)
        groups._do.offsets.delete_group(name)

    cluster.with_groups(act)


@pytest.mark.usefixtures("groups")
@pytest.mark.parametrize("time", ["estimate", "exact", "off"])
def test_figures_are_those_of_groups_lag(cluster: FakeCluster, groups: ManyGroups, time: str) -> None:
    """Of the same moment: nothing moves meanwhile but the clock."""
    groups.move(commits=2)
    with command(cluster.bootstrap, "--time", time) as (_, url):
        found = until(lambda: (page := parsed(get(url).text)).get("kcli_group_lag_records") and page)
        printed = kcli_process(
            "groups", "lag", "--by", "partition", "--time", time, "-o", "json", bootstrap=cluster.bootstrap
        )
        by_group = kcli_process("groups", "lag", "--time", time, "-o", "json", bootstrap=cluster.bootstrap)
    rows = json.loads(printed.stdout)["items"]
    assert len(rows) == 6
    for row in rows:
        at = labels(group=row["group"], topic=row["topic"], partition=row["partition"])
        for metric, key in (
            ("kcli_group_lag_records", "lag_records"),
            ("kcli_group_committed_offset", "committed"),
            ("kcli_group_log_end_offset", "end"),
            ("kcli_group_lost_records", "lost_records"),
        ):
            assert found[metric][at] == row[key]
        for metric, key in (
            ("kcli_group_lag_seconds", "lag_seconds"),
            ("kcli_group_retention_margin_seconds", "retention_margin_seconds"),
        ):
            assert found.get(metric, {}).get(at) == pytest.approx(row[key], abs=30)
    for row in json.loads(by_group.stdout)["items"]:
        assert found["kcli_group_sum_lag_records"][labels(group=row["group"])] == row["lag_records"]
        assert found["kcli_group_state"][labels(group=row["group"], kcli_group_state=row["state"])] == 1
        assert found["kcli_group_members"][labels(group=row["group"])] == 4


@pytest.mark.usefixtures("groups")
def test_a_cluster_that_is_away_has_no_figures_and_comes_back(cluster: FakeCluster) -> None:
    with exporting(cluster.bootstrap, timeout=0.5) as running:
        assert get(running.url, "/healthz").text == "ok\n"
        for node in cluster.node_ids:
            cluster.stop(node)
        page = until(lambda: "kcli_exporter_up 0.0" in (text := get(running.url).text) and text)
        found = parsed(page)
        assert not [
            name
            for name in found
            if name.startswith(("kcli_group", "kcli_topic", "kcli_broker", "kcli_cluster"))
        ]
        assert found["kcli_exporter_last_success_timestamp_seconds"].keys() == {labels()}
        health = get(running.url, "/healthz")
        assert health.status == 503
        assert health.text.strip() not in ("", "ok")
        until(lambda: running.loop.state.failures >= 2)
        for node in cluster.node_ids:
            cluster.start(node)
        until(lambda: get(running.url, "/healthz").status == 200)
        until(lambda: "kcli_group_lag_records{" in get(running.url).text)  # a sample may lack groups at first
    assert [text.partition(":")[0] for text in running.said if "sample" in text][:1] == ["no sample"]
    assert "the cluster is read again" in running.said


@pytest.mark.usefixtures("groups")
def test_a_cluster_that_hangs_makes_figures_absent_too(cluster: FakeCluster) -> None:
    """No error comes for a while: the figures are only too old."""
    with exporting(cluster.bootstrap, timeout=30) as running:
        for node in cluster.node_ids:
            cluster.pause(node)
        until(lambda: get(running.url, "/healthz").status == 503)
        assert "s old: more than" in get(running.url, "/healthz").text
        text = get(running.url).text
        assert "kcli_exporter_up 0.0" in text
        assert "kcli_group_" not in text


def test_the_series_of_a_deleted_group_end_with_the_next_sample(cluster: FakeCluster) -> None:
    groups = ManyGroups(cluster, 3, 2, members=0)
    with exporting(cluster.bootstrap) as running:
        assert f'group="{groups.names[1]}"' in get(running.url).text
        delete(cluster, groups.names[1])
        running.sampled()
        text = get(running.url).text
        assert f'group="{groups.names[1]}"' not in text
        assert f'group="{groups.names[2]}"' in text


@pytest.mark.usefixtures("groups")
def test_scrapes_do_not_wait_for_kafka_and_do_not_read_it(cluster: FakeCluster) -> None:
    with exporting(cluster.bootstrap, timeout=30) as running:
        held = cluster.hold((ListGroupsRequest, MetadataRequest))
        until(lambda: cluster.requests[-1:] and held.fault)
        time.sleep(0.15)
        before = len(cluster.requests)
        began = Moment.now()
        pages = [get(running.url) for _ in range(20)]
        assert lasted(began) < 5
        assert {page.status for page in pages} == {200}
        assert len(cluster.requests) - before <= 3, "what the sample under way has sent"
        held.release()


@pytest.mark.usefixtures("groups")
def test_many_scrapes_at_once_are_all_complete(cluster: FakeCluster) -> None:
    with exporting(cluster.bootstrap) as running:
        found: list[str] = []

        def scrape() -> None:
            for form in (OPENMETRICS, CLASSIC):
                page = get(running.url, Accept=form, Accept_Encoding="gzip")
                assert page.headers["content-encoding"] == "gzip"
                assert page.headers["content-type"] == f"{form}; charset=utf-8"
                parsed(gzip.decompress(page.body).decode(), form)
                found.append(form)

        threads = [threading.Thread(target=scrape) for _ in range(20)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert len(found) == 40
        scrapes = parsed(get(running.url).text)["kcli_exporter_scrapes_total"]
        assert scrapes == {labels(): 41}


@pytest.mark.usefixtures("groups")
def test_silent_and_slow_clients_stop_no_other(cluster: FakeCluster, tmp_path: Path) -> None:
    """With TLS too: connections that begin no handshake, or a request without an end."""
    server = Authority(tmp_path).client("server", Authority(tmp_path, "own").issue("127.0.0.1"))
    tls = ServerTls(lambda: TlsFiles(str(server.both)), print)
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    with exporting(cluster.bootstrap, tls=tls) as running:
        silent = [socket.create_connection(running.server.address) for _ in range(10)]
        silent[0].sendall(b"GET /metrics HTTP/1.1\r\n")
        began = Moment.now()
        assert get(running.url, context=trusting).status == 200
        assert lasted(began) < 3
        for one in silent:
            one.close()


def test_a_scraper_that_reads_slowly_gets_its_page_whole_and_delays_no_other() -> None:
    """Also when the next sample has replaced the page meanwhile."""
    old, new = (
        LastSample(
            15,
            Page(Text([Family(COMMITTED, [f"{COMMITTED.name} {number}\n"] * 400_000)]), 0),
            read_at=time.monotonic(),
        )
        for number in (1, 2)
    )
    now = [old]
    server = Server(Address("127.0.0.1", 0), ClusterSite({"": lambda: now[0]}))
    server.start()
    with socket.create_connection(server.address, 10) as slow:
        slow.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
        begun = slow.recv(100)
        now[0] = new
        assert get(server.url).text.count(f"{COMMITTED.name} 2\n") == 400_000
        rest = begun + b"".join(iter(lambda: slow.recv(1 << 16), b""))
    head, _, body = rest.partition(b"\r\n\r\n")
    assert f"Content-Length: {len(body)}".encode() in head
    assert body.count(f"{COMMITTED.name} 1\n".encode()) == 400_000
    server.close()


@pytest.mark.usefixtures("groups")
def test_too_many_connections_are_closed_and_later_ones_served(cluster: FakeCluster) -> None:
    with exporting(cluster.bootstrap) as running:
        silent = [socket.create_connection(running.server.address) for _ in range(64)]
        until(lambda: not running.server.slots.acquire(blocking=False) or running.server.slots.release())
        with pytest.raises(ConnectionError):
            get(running.url)
        for one in silent:
            one.close()
        until(lambda: running.server.slots._value >= 60)
        assert get(running.url).status == 200


def test_a_warning_names_what_the_limit_leaves_out_once(cluster: FakeCluster, groups: ManyGroups) -> None:
    of_group = len(OF_GROUPS) + len(STATES) + len(WORDS) + 1
    with exporting(cluster.bootstrap, most=3 * of_group) as running:
        running.sampled(3)
        found = parsed(get(running.url).text)
        assert len(found["kcli_group_sum_lag_records"]) == len(groups.names)
        assert "kcli_group_lag_records" not in found
        assert found["kcli_exporter_dropped_series"][labels()] > 0
    assert len([text for text in running.said if "--max-series" in text]) == 1


@pytest.mark.usefixtures("groups")
def test_other_paths_methods_and_nonsense_are_refused(cluster: FakeCluster) -> None:
    with exporting(cluster.bootstrap) as running:
        assert get(running.url, "/metrics?x=1").status == 200
        assert get(running.url, "/nothing").status == 404
        assert "/metrics" in get(running.url, "/").text
        for sent, status in (
            (b"POST /metrics HTTP/1.1\r\n\r\n", b"501"),
            (b"GET /metrics HTTP/9.9\r\n\r\n", b"505"),
            (b"\x00\xff\r\n\r\n", b"400"),
            (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n", b"414"),
            (b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 200 + b"\r\n", b"431"),
            (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", b"400"),
        ):
            with socket.create_connection(running.server.address, 5) as one:
                one.sendall(sent)
                assert status in one.recv(1000).partition(b"\n")[0]
        with socket.create_connection(running.server.address, 5) as one:
            one.sendall(b"HEAD /metrics HTTP/1.1\r\n\r\n")
            answer = b"".join(iter(lambda: one.recv(65536), b""))
            assert answer.startswith(b"HTTP/1.1 200 ")
            assert answer.endswith(b"\r\n\r\n")


def test_hostile_names_of_groups_are_escaped_on_the_wire(cluster: FakeCluster, groups: ManyGroups) -> None:
    name = 'a"b\\c\n# EOF\n\u202e\x1b[31m'

    def act(some: Any) -> None:
        some._do.registry.classic_for_offsets(name)
        some._do.offsets.commit(name, TopicPartition(groups.topics[0], 0), Committed(7, 0, ""))

    cluster.with_groups(act)
    with exporting(cluster.bootstrap) as running:
        for form in (CLASSIC, OPENMETRICS):
            found = parsed(get(running.url, Accept=form).text, form)
            assert found["kcli_group_sum_lag_records"][labels(group=name)] == 993


# --- TLS, passwords, signals: the whole command ----------------------------------------------------------------------


@pytest.mark.usefixtures("groups")
def test_curl_reads_it_over_tls_with_a_password(cluster: FakeCluster, tmp_path: Path) -> None:
    """And not without one, or without trust in the certificate."""
    authority = Authority(tmp_path)
    server = authority.client("server", authority.issue("127.0.0.1"))
    web = tmp_path / "web.yml"
    web.write_text(
        f"tls_server_config: {{cert_file: {server.certificate}, key_file: {server.key}}}\n"
        "http_server_config: {headers: {X-Frame-Options: DENY}}\n"
        f"basic_auth_users: {{prom: {HASH}}}\n"
    )
    with command(cluster.bootstrap, "--web-config", str(web)) as (process, url):
        assert url.startswith("https://127.0.0.1:")

        def curl(*arguments: str) -> "subprocess.CompletedProcess[bytes]":
            line = ["curl", "-sS", "-o", "-", "-w", "%{http_code}", "--compressed", *arguments, url]
            return subprocess.run(line, capture_output=True, check=False)

        trust = ("--cacert", str(authority.ca))
        right = (*trust, "-u", f"prom:{PASSWORD}", "-H", f"Accept: {OPEN}")
        page = until(lambda: b"kcli_group_lag_records{" in (done := curl(*right)).stdout and done)
        text = page.stdout.decode()
        assert text.endswith("# EOF\n200")
        assert len(parsed(text.removesuffix("200"), OPENMETRICS)["kcli_group_lag_records"]) == 6
        assert b"X-Frame-Options: DENY\r\n" in curl(*right, "-i").stdout
        assert curl(*trust).stdout.endswith(b"401")
        assert curl(*trust, "-u", "prom:wrong").stdout == b"401 Unauthorized\n401"
        assert b"certificate" in curl("-u", f"prom:{PASSWORD}").stderr
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (143, b"")
    assert PASSWORD.encode() not in err
    assert HASH.encode() not in err


@pytest.mark.usefixtures("groups")
def test_a_client_needs_a_certificate_where_an_authority_is_given(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    authority = Authority(tmp_path)
    server = authority.client("server", authority.issue("127.0.0.1"))
    tls = ServerTls(lambda: TlsFiles(str(server.both), None, str(authority.ca)), print)
    context = ssl.create_default_context(cafile=str(authority.ca))
    with exporting(cluster.bootstrap, tls=tls) as running:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            get(running.url, context=context)
        client = authority.client("scraper")
        context.load_cert_chain(client.both)
        assert get(running.url, context=context).status == 200


@pytest.mark.usefixtures("groups")
def test_a_renewed_certificate_is_served_and_a_broken_one_is_not(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    old, new = Authority(tmp_path, "old"), Authority(tmp_path, "new")
    path = old.client("server", old.issue("127.0.0.1")).both
    said: list[str] = []
    tls = ServerTls(lambda: TlsFiles(str(path)), said.append)
    with exporting(cluster.bootstrap, tls=tls) as running:
        assert get(running.url, context=ssl.create_default_context(cafile=str(old.ca))).status == 200
        renewed = new.client("renewed", new.issue("127.0.0.1")).both
        renewed.replace(path)
        trusting = ssl.create_default_context(cafile=str(new.ca))
        assert get(running.url, context=trusting).status == 200
        (tmp_path / "broken").write_text("nonsense")
        (tmp_path / "broken").replace(path)
        assert get(running.url, context=trusting).status == 200
    assert len(said) == 1
    assert "remains" in said[0]


@pytest.mark.usefixtures("groups")
def test_users_are_asked_for_on_every_path(cluster: FakeCluster) -> None:
    with exporting(cluster.bootstrap, users=Users(lambda: {"prom": HASH})) as running:
        for path in ("/metrics", "/healthz", "/", "/nothing"):
            refused = get(running.url, path)
            assert (refused.status, refused.body) == (401, b"401 Unauthorized\n")
            assert refused.headers["www-authenticate"] == 'Basic realm="kcli exporter"'
            admitted = get(running.url, path, Authorization=basic("prom", PASSWORD))
            assert admitted.status == (404 if path == "/nothing" else 200)
        assert get(running.url, Authorization=base64.b64encode(b"x").decode()).status == 401


@pytest.mark.usefixtures("groups")
@pytest.mark.parametrize(
    ("sent", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)]
)
def test_signals_end_it_in_order(cluster: FakeCluster, sent: signal.Signals, code: int) -> None:
    with command(cluster.bootstrap) as (process, url):
        until(lambda: get(url, "/healthz").status == 200)
        process.send_signal(sent)
        _out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (code, b"")
    with pytest.raises(ConnectionError):
        get(url)


def test_a_signal_during_the_first_contact_ends_it_too(cluster: FakeCluster) -> None:
    held = cluster.hold(None)
    process = start("exporter", "--listen", "127.0.0.1:0", bootstrap=cluster.bootstrap)
    until(lambda: cluster.connections)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=120)
    held.release()
    assert (process.returncode, out, err) == (143, b"", b"")


def test_what_was_not_started_can_be_closed() -> None:
    server = Server(Address("127.0.0.1", 0), ClusterSite({"": lambda: LastSample(15)}))
    server.close()
    with pytest.raises(ConnectionError):
        get(server.url)


def test_it_starts_without_a_cluster_and_reads_it_when_it_is_there(cluster: FakeCluster) -> None:
    ManyGroups(cluster, 3, 2)
    for node in cluster.node_ids:
        cluster.stop(node)
    with command(cluster.bootstrap, "--interval", "1s", "--timeout", "1s") as (process, url):
        assert get(url, "/healthz").status == 503
        assert "kcli_exporter_up 0.0" in get(url).text
        for node in cluster.node_ids:
            cluster.start(node)
        until(lambda: get(url, "/healthz").status == 200)
        process.send_signal(signal.SIGTERM)
        err = process.communicate(timeout=120)[1].decode()
    assert "no cluster yet, trying again" in err


@pytest.mark.usefixtures("groups")
def test_only_the_groups_and_topics_that_match_are_exported(cluster: FakeCluster) -> None:
    with command(cluster.bootstrap, "--groups", ".*-0000[01]", "--topics", "topic-00[12]") as (_, url):
        found = until(lambda: (page := parsed(get(url).text)).get("kcli_group_lag_records") and page)
        assert {dict(one)["group"] for one in found["kcli_group_sum_lag_records"]} == {"group-00001"}
        assert {dict(one)["topic"] for one in found["kcli_topic_partitions"]} == {"topic-001", "topic-002"}
        assert {dict(one)["topic"] for one in found["kcli_topic_log_end_offset"]} == {
            "topic-001",
            "topic-002",
        }


def test_systemd_is_told_when_it_is_ready_and_when_it_stops(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(path)
        systemd.settimeout(5)
        monkeypatch.setenv("NOTIFY_SOCKET", path)
        notify(READY)
        assert systemd.recv(100) == b"READY=1"
    notify(READY)  # nobody listens any more: no error
    monkeypatch.setenv("NOTIFY_SOCKET", "")
    notify(READY)
    assert cluster.node_ids


@pytest.mark.usefixtures("groups")
@pytest.mark.parametrize(
    ("users", "listen", "warning"),
    [
        (False, "0.0.0.0:0", "any client that reaches this address can read the figures"),
        (True, "0.0.0.0:0", "passwords cross the network readable"),
        (True, "127.0.0.1:0", ""),
        (False, "localhost:0", ""),
    ],
)
def test_other_addresses_than_the_loopback_are_warned_of(
    cluster: FakeCluster, tmp_path: Path, users: bool, listen: str, warning: str
) -> None:
    (tmp_path / "web.yml").write_text(f"basic_auth_users: {{prom: {HASH}}}\n")
    flags = ["--web-config", str(tmp_path / "web.yml")] if users else []
    process = start("exporter", "--listen", listen, *flags, bootstrap=cluster.bootstrap)
    assert process.stdout is not None
    assert process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    said = process.communicate(timeout=120)[1].decode()
    assert warning in said
    assert bool(said) == bool(warning)


@pytest.mark.usefixtures("groups")
def test_client_options_are_those_of_all_its_clients(cluster: FakeCluster) -> None:
    """Of the first contact, and of the thread that takes samples."""
    with command(cluster.bootstrap, "-X", "client.id=somebody") as (_, url):
        until(lambda: get(url, "/healthz").status == 200)
    assert {one.client_id for one in cluster.requests} == {"somebody"}
    assert len(cluster.connections) > len(cluster.node_ids), "two clients"


WRONG = [
    (["--listen", "nonsense"], 2, "is not an address"),
    (["--listen", "192.0.2.1:0"], 2, "cannot listen on 192.0.2.1:0"),
    (["--listen", "no.such.host.invalid:0"], 2, "cannot listen on"),
    (["--groups", "("], 2, "--groups ( is not a regular expression"),
    (["--topics", "*"], 2, "--topics * is not a regular expression"),
    (["--collect", "topics,quorum", "--groups", "x"], 2, "--groups with --collect topics,quorum"),
    (["--collect", "quorum,log-dirs", "--topics", "x"], 2, "--topics with --collect quorum,log-dirs"),
    (["--collect", "topics", "--time", "exact"], 2, "--time with --collect topics"),
    (["--interval", "10ms"], 2, "--interval must be from 1s to 1h"),
    (["--interval", "2h"], 2, "--interval must be from 1s to 1h"),
    (["--tls-key", "k"], 2, "--tls-key without --tls-certificate"),
    (["--tls-client-ca", "k"], 2, "--tls-client-ca without --tls-certificate"),
    (["--tls-certificate", "none.pem"], 2, "cannot read the certificate none.pem"),
    (["--tls-certificate", "/dev/null"], 2, "it is no regular file"),
    (["--tls-certificate", "pyproject.toml"], 2, "it is not a PEM file"),
    (["--web-config", "none"], 2, "cannot read the web configuration none"),
    (["--web.config.file", "x", "--tls-certificate", "x"], 2, "--tls-certificate with --web-config"),
    (["--web-config", "x", "--tls-key", "x"], 2, "--tls-key with --web-config"),
    (["--web-config", "x", "--tls-client-ca", "x"], 2, "--tls-client-ca with --web-config"),
    (["--web.config.file", "/"], 2, "it is a folder"),
    (["-o", "table"], 2, "there is no output format 'table'"),
    (["--max-series", "0"], 2, "must be at least 1"),
]


@pytest.mark.parametrize(("flags", "code", "text"), WRONG)
def test_wrong_input_is_named_before_anything_is_served(
    cluster: FakeCluster, flags: list[str], code: int, text: str
) -> None:
    done = kcli_process("exporter", *flags, bootstrap=cluster.bootstrap)
    assert (done.returncode, done.stdout) == (code, b"")
    assert text in done.stderr.decode()
    assert not cluster.connections


def test_without_its_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [
        name for name in sys.modules if name.startswith(("prometheus_client", "kcli.exporter.health"))
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    done = kcli("exporter", bootstrap="127.0.0.1:1")
    assert (done.code, done.out) == (2, "")
    assert "pip install 'kcli-kafka[exporter]'" in done.err


def test_a_port_in_use_is_refused_with_7(cluster: FakeCluster) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = kcli_process("exporter", "--listen", f"127.0.0.1:{port}", bootstrap=cluster.bootstrap)
    assert done.returncode == 7
    assert f"port {port} on 127.0.0.1 is taken" in done.stderr.decode()


@pytest.mark.usefixtures("groups")
def test_an_ipv6_address_is_served(cluster: FakeCluster) -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")

    server = Server(Address("::1", 0), ClusterSite({"": lambda: LastSample(15)}))
    server.start()
    assert server.url.startswith("http://[::1]:")
    assert get(server.url).status == 200
    server.close()


@pytest.mark.parametrize("host", ["", "0.0.0.0"])
def test_a_server_for_all_addresses_names_this_machine(host: str) -> None:
    server = Server(Address(host, 0), ClusterSite({"": lambda: LastSample(15)}))
    server.start()
    assert server.url == f"http://{socket.gethostname()}:{server.address.port}/metrics"
    assert get(f"http://127.0.0.1:{server.address.port}").status == 200
    server.close()
