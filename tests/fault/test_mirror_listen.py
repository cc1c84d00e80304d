"""``kcli mirror run --listen``: figures of a mirror that runs, and answers to probes, whatever its clusters and clients
do.
"""

import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import pytest

from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.exporter.server import Server
from kcli.flows.mirror.copy.partition_state import GRACE, Cause
from kcli.flows.mirror.proof import proof
from tests.committing import commit
from tests.exporting import Answer
from tests.exporting import get as get_from
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.raw_client import batch
from tests.fake.script import FOREVER
from tests.fault.mirror_command import arguments, running, until, values
from tests.run import kcli_as_set_up as command
from tests.run import start
from tests.unit.exporter.pages import labels, parsed

ZERO, ONE = labels(topic="t", partition="0"), labels(topic="t", partition="1")


@pytest.fixture
def source() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"t": 2}, cluster_id="here") as made:
        for number in range(2):
            made.append("t", number, batch(b"a", b"b", timestamp=1_000))
        yield made


@pytest.fixture
def target() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={}, cluster_id="there") as made:
        yield made


@pytest.fixture
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """States change after half a second."""
    monkeypatch.setitem(GRACE, Cause.TARGET, 0.3)
    monkeypatch.setitem(GRACE, Cause.SOURCE, 0.3)
    monkeypatch.setattr("kcli.flows.mirror.copy.state_watch.INTERVAL", 0.1)
    monkeypatch.setattr("kcli.core.consumer.fetcher._SILENT", 0.5)


class Served:
    """Where the mirror serves: a free port of its own choice."""

    base = ""


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Served:
    made, start = Served(), Server.start

    def started(server: Server) -> None:
        start(server)
        made.base = server.url.removesuffix("/metrics")

    monkeypatch.setattr(Server, "start", started)
    return made


def listening(_url: Served) -> tuple[str, str]:
    return "--listen", "127.0.0.1:0"


def get(url: Served, path: str = "/metrics") -> Answer:
    if not url.base:
        raise OSError("it does not listen yet")
    return get_from(url.base, path)


def page(url: Served) -> Mapping[str, Mapping[frozenset[tuple[str, str]], float]]:
    try:
        return parsed(get(url).text)
    except OSError:
        return {}


def shows(url: Served, metric: str, expected: object) -> Callable[[], bool]:
    return lambda: page(url).get(metric) == expected


def probe(url: Served, path: str) -> tuple[int, str]:
    found = get(url, path)
    return found.status, found.text.strip()


def jobs(target: FakeCluster) -> list[dict[str, Any]]:
    return command("mirror", "status", "--to", target.bootstrap, "-o", "json").items


def states(url: Served) -> list[str]:
    found = page(url).get("kcli_mirror_partition_state", {})
    return [dict(key)["kcli_mirror_partition_state"] for key, value in sorted(found.items()) if value]


@pytest.mark.usefixtures("quickly")
def test_figures_and_probes_follow_the_mirror(
    source: FakeCluster,
    target: FakeCluster,
    url: Served,
    monkeypatch: pytest.MonkeyPatch,
    delivery: tuple[str, ...],
) -> None:
    with running(monkeypatch, *arguments(source, target, *listening(url), *delivery)) as mirror:
        until(lambda: states(url) == ["caught_up", "caught_up"])
        until(shows(url, "kcli_mirror_lag_records", {ZERO: 0, ONE: 0}))
        until(shows(url, "kcli_mirror_lag_seconds", {ZERO: 0, ONE: 0}))
        found = page(url)
        assert found["kcli_mirror_records_total"] == {ZERO: 2, ONE: 2}
        assert found["kcli_mirror_bytes_total"][ZERO] > 0
        assert found["kcli_mirror_lease"] == {labels(): 1}
        until(lambda: page(url).get("kcli_mirror_age_seconds", {}).get(labels(), 9) < 2)
        (job,) = found["kcli_mirror_info"]
        assert {("mirror_job", "j"), ("source_cluster", "here"), ("target_cluster", "there")} <= {*job}
        assert probe(url, "/healthz") == probe(url, "/readyz") == (200, "ok")

        refusal = target.fail(
            ProduceRequest, Code.NOT_ENOUGH_REPLICAS, where=TopicPartition("t", 0), times=FOREVER
        )
        source.append("t", 0, batch(b"c", timestamp=1_000))
        until(lambda: states(url) == ["waiting", "caught_up"])
        until(shows(url, "kcli_mirror_lag_records", {ZERO: 1, ONE: 0}))
        # The record says when it was written.
        until(lambda: page(url).get("kcli_mirror_lag_seconds", {}).get(ZERO, 0) > 1e9)
        until(lambda: probe(url, "/readyz") == (200, "ok"))
        refusal.remove()
        until(lambda: states(url) == ["caught_up", "caught_up"])
        until(shows(url, "kcli_mirror_records_total", {ZERO: 3, ONE: 2}))

        source.stop(source.node_ids[0])
        until(lambda: states(url) == ["waiting", "waiting"])
        # There is a page, and it does not have them.
        until(lambda: "kcli_mirror_lag_records" not in (page(url) or {"kcli_mirror_lag_records": {}}))
        assert probe(url, "/readyz") == (503, "t-0 and 1 more partition are waiting: nothing is copied")
        assert probe(url, "/healthz") == (200, "ok")
        source.start(source.node_ids[0])
        until(lambda: states(url) == ["caught_up", "caught_up"])

        source.delete_topic("t")
        source.create_topic("t", 2)
        assert mirror.done().code != 0  # with its last partition
    with pytest.raises(OSError, match=r".*"):
        get(url)


def test_a_stand_by_is_ready_and_becomes_the_holder(
    source: FakeCluster, target: FakeCluster, url: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = start(*arguments(source, target))
    try:
        until(lambda: jobs(target) and jobs(target)[0]["running"] and jobs(target)[0]["position"] == 2)
        with running(monkeypatch, *arguments(source, target, *listening(url))):
            until(shows(url, "kcli_mirror_lease", {labels(): 0}))
            assert not any(name.startswith("kcli_mirror_lag") for name in page(url))
            until(lambda: probe(url, "/readyz") == (200, "ok"))
            assert probe(url, "/healthz") == (200, "ok")
            assert f"Stand-by: job j is run by {socket.gethostname()} (pid {first.pid})" in get(url, "/").text
            first.kill()
            until(lambda: states(url) == ["caught_up", "caught_up"])
            assert page(url)["kcli_mirror_lease"] == {labels(): 1}
    finally:
        first.kill()
        first.communicate()


def test_gaps_and_groups_are_on_the_page(
    source: FakeCluster, target: FakeCluster, url: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(source, "billing", {TopicPartition("t", 1): OffsetAndMetadata(1)})
    source.delete_records("t", 0, 1)
    monkeypatch.setattr("kcli.flows.mirror.run._TASK_INTERVAL", 0.2)
    more = ("--sync-groups", "billing", "--sync-groups", "none", "--on-gap", "record", "--offset", "0")
    with running(monkeypatch, *arguments(source, target, *listening(url), *more)):
        until(shows(url, "kcli_mirror_gaps", {ZERO: 1, ONE: 0}))

        def synced() -> bool:
            ages = page(url).get("kcli_mirror_group_sync_age_seconds", {})
            return {*ages} == {labels(group="billing"), labels(group="none")} and (
                ages[labels(group="billing")] < ages[labels(group="none")]
            )

        until(synced)


def test_slow_clients_do_not_hold_the_mirror_up(
    source: FakeCluster, target: FakeCluster, url: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Connections that say nothing, or ask and do not read: the copy goes on, and probes are answered."""
    with running(monkeypatch, *arguments(source, target, *listening(url))), ExitStack() as stack:
        until(lambda: states(url) == ["caught_up", "caught_up"])
        host, port = url.base.removeprefix("http://").split(":")
        for number in range(40):
            client = stack.enter_context(socket.create_connection((host, int(port))))
            if number % 2:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
                client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        for number in range(20):
            source.append("t", 0, batch(b"%d" % number, timestamp=1_000))
        until(lambda: len(values(target, "t")) == 22)
        assert probe(url, "/healthz") == (200, "ok")


def test_the_last_figures_stay_while_it_compares(
    source: FakeCluster, target: FakeCluster, url: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    compare = proof.compare_copies

    def compared(*given: Any) -> Any:
        seen.extend([probe(url, "/healthz"), probe(url, "/readyz"), page(url)])
        return compare(*given)

    monkeypatch.setattr(proof, "compare_copies", compared)
    with running(
        monkeypatch, *arguments(source, target, *listening(url), "--verify", "-o", "json")
    ) as mirror:
        done = mirror.done()
    assert done.code == 0, done.err
    assert seen[0] == (200, "ok")


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_a_port_in_use_is_refused_before_anything_is_done(
    source: FakeCluster, target: FakeCluster, more: tuple[str, ...]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        done = command(*arguments(source, target, "--listen", address, "--until-caught-up", *more))
    assert done.code == 7
    assert "is taken" in done.err
    assert not source.connections
    assert not target.connections


def test_a_dry_run_serves_nothing(source: FakeCluster, target: FakeCluster, url: Served) -> None:
    done = command(*arguments(source, target, *listening(url), "--dry-run"))
    assert done.code == 0
    assert "metrics: " not in done.err


def test_strangers_are_warned_of(source: FakeCluster, target: FakeCluster) -> None:
    done = command(*arguments(source, target, "--listen", "0.0.0.0:0", "--until-caught-up"))
    assert done.code == 0
    assert "any client that reaches this address can read the figures" in done.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--web-config", "f"), "--web-config without --listen"),
        (("--tls-key", "f"), "--tls-key without --listen"),
        (("--listen", ":0", "--tls-key", "f"), "--tls-key without --tls-certificate"),
        (("--listen", ":0", "--verify-only"), "--listen with --verify-only"),
        (("--listen", "nonsense"), "--listen nonsense is not an address"),
    ],
)
def test_what_contradicts_is_refused(
    source: FakeCluster, target: FakeCluster, words: tuple[str, ...], says: str
) -> None:
    done = command(*arguments(source, target, *words))
    assert done.code == 2
    assert says in done.err
    assert not source.connections
