"""MirrorMaker 2, run from its published jars and tuned for throughput: CPU and records after its start-up."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from functools import cache
from pathlib import Path
from typing import NamedTuple

from kcli.core.admin.admin import Admin
from kcli.core.cluster.offsets import LATEST, OffsetInfo
from kcli.core.types import TopicPartition
from kcli.sandbox.jar_list import repository_of
from kcli.sandbox.paths import cache_root

VERSION = "4.3.1"
"""The newest of which Maven Central has the jars: none of connect-mirror 4.4.0 was published."""
_MAIN = "org.apache.kafka.connect.mirror.MirrorMaker"
_PATIENCE = 300.0  # seconds for all records
_TICKS = os.sysconf("SC_CLK_TCK")

_SETTINGS = """
clusters = source, target
source.bootstrap.servers = {source}
target.bootstrap.servers = {target}
source->target.enabled = true
source->target.topics = {topic}
target->source.enabled = false
replication.policy.class = org.apache.kafka.connect.mirror.DefaultReplicationPolicy
tasks.max = {partitions}
emit.heartbeats.enabled = false
emit.checkpoints.enabled = false
sync.topic.acls.enabled = false
replication.factor = 1
offset-syncs.topic.replication.factor = 1
config.storage.replication.factor = 1
offset.storage.replication.factor = 1
status.storage.replication.factor = 1
source.consumer.auto.offset.reset = earliest
source.consumer.max.poll.records = 20000
source.consumer.max.partition.fetch.bytes = 4194304
source.consumer.fetch.max.bytes = 16777216
target.producer.batch.size = 1000000
target.producer.linger.ms = 50
target.producer.buffer.memory = 67108864
target.producer.max.request.size = 2000000
"""


class Figures(NamedTuple):
    """CPU seconds until the first record was copied, and the CPU seconds and records after that."""

    startup: float
    cpu: float
    records: int

    @property
    def rate(self) -> float:
        """Records per CPU-second after the start-up."""
        return self.records / self.cpu


@cache
def classpath() -> str | None:
    """The jars of connect-mirror; None where there is no Java or they cannot be had."""
    if shutil.which("java") is None:
        return None
    from jgo.constants import MAVEN_CENTRAL_URL
    from jgo.maven import MavenContext, PythonResolver

    repository = repository_of(cache_root())
    base = os.environ.get("KCLI_MAVEN_REPO") or str(MAVEN_CENTRAL_URL)
    context = MavenContext(
        resolver=PythonResolver(), repo_cache=repository, local_repos=[], remote_repos={"central": base}
    )
    wanted = context.create_dependency(f"org.apache.kafka:connect-mirror:{VERSION}")
    inputs, transitive = context.resolver.resolve([wanted])
    return os.pathsep.join(str(one.artifact.resolve()) for one in (*inputs, *transitive))


def measure(source: str, target: str, topic: str, partitions: int, records: int, folder: Path) -> Figures:
    """Copies the topic to ``source.TOPIC``; ends MirrorMaker when all records are there."""
    settings = folder / "mm2.properties"
    settings.write_text(_SETTINGS.format(source=source, target=target, topic=topic, partitions=partitions))
    java = ["java", "-Xmx1g", "-cp", classpath() or "", _MAIN, str(settings)]
    with (
        (folder / "mm2.log").open("wb") as log,
        subprocess.Popen(java, stdout=log, stderr=subprocess.STDOUT) as process,
        Admin(bootstrap_servers=target) as admin,
    ):
        try:
            return _watch(process, admin, f"source.{topic}", partitions, records)
        finally:
            process.kill()


def _watch(
    process: subprocess.Popen[bytes], admin: Admin, copy: str, partitions: int, records: int
) -> Figures:
    deadline = time.monotonic() + _PATIENCE
    startup, before = None, 0
    while time.monotonic() < deadline and process.poll() is None:
        done, cpu = _copied(admin, copy, partitions), cpu_of(process.pid)
        if done and startup is None:
            startup, before = cpu, done
        if done >= records:
            assert startup is not None
            return Figures(startup, cpu - startup, done - before)
        time.sleep(0.2)
    raise TimeoutError(f"MirrorMaker did not copy {records} records in {_PATIENCE:g} s, or ended")


def _copied(admin: Admin, topic: str, partitions: int) -> int:
    ends = admin.list_offsets({TopicPartition(topic, number): LATEST for number in range(partitions)})
    return sum(end.offset for end in ends.values() if isinstance(end, OffsetInfo))


def cpu_of(pid: int) -> float:
    """CPU seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS
