"""The lag of all groups, by partition: whole processes beside scripts on other clients and Kafka's own script.

``KCLI_BENCH_GROUPS`` (2000) groups have committed an offset of each of 20 partitions, each group another one; one
broker. Counted are also kcli's requests, with few groups and with all of them: their number must not depend on it.
The starts of the clients' interpreters are measured as well: what is left is what they do after their imports.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec

from benchmarks import _kafka_tools as kafka
from benchmarks._measure import Contest, Run, create_topic, environment, machine, measure
from benchmarks._table import Table
from kcli.core.admin.admin import Admin
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.sandbox.sandbox import Sandbox
from kcli.sandbox.settings import Settings

GROUPS = int(os.environ.get("KCLI_BENCH_GROUPS", "2_000"))
ROUNDS = int(os.environ.get("KCLI_BENCH_ROUNDS", "5"))
PARTITIONS = 20
TOPIC = "bench-lag"
CPU_TARGET, SCRIPT_TARGET, AFTER_IMPORTS_TARGET = 5.0, 50.0, 10.0
_IMPORTED = (
    "kcli.cli",
    "kcli.commands.groups.lag",
    "kcli.commands.groups._measuring",
    "kcli.commands.groups.lag_output",
    "kcli.core.admin.admin",
    "kcli.core.admin.committed",
    "kcli.core.admin.groups",
    "kcli.core.admin.topics",
    "kcli.core.cluster.offsets",
    "kcli.core.kernels.active",
    "kcli.flows.lag.measure",
    "kcli.flows.lag.verdicts",
    "kcli.output.blocks",
    "kcli.output.stdout",
    "kcli.output.talk",
    "kcli.profiles.resolve",
)
_SENT = re.compile(r"→ .* (\w+) v\d+ ")

_KAFKA_PYTHON = """
import sys
from kafka.admin import KafkaAdminClient, OffsetSpec
admin = KafkaAdminClient(bootstrap_servers=sys.argv[1])
groups = [group["group_id"] for group in admin.list_groups()]
committed = admin.list_group_offsets({group: None for group in groups})
places = {where for offsets in committed.values() for where in offsets}
ends = admin.list_partition_offsets(dict.fromkeys(places, OffsetSpec.LATEST))
starts = admin.list_partition_offsets(dict.fromkeys(places, OffsetSpec.EARLIEST))
for group, offsets in committed.items():
    for where, at in offsets.items():
        end = ends[where].offset
        print(group, where.topic, where.partition, at.offset, end, starts[where].offset, end - at.offset, sep="\\t")
"""

_CONFLUENT = """
import sys
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec
admin = AdminClient({"bootstrap.servers": sys.argv[1]})
groups = [group.group_id for group in admin.list_consumer_groups().result().valid]
asked = [admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group] for group in groups]
committed = {group: future.result().topic_partitions for group, future in zip(groups, asked)}
places = {(where.topic, where.partition) for offsets in committed.values() for where in offsets}
def offsets_of(spec):
    told = admin.list_offsets({TopicPartition(*place): spec for place in places})
    return {(where.topic, where.partition): future.result().offset for where, future in told.items()}
ends, starts = offsets_of(OffsetSpec.latest()), offsets_of(OffsetSpec.earliest())
for group, offsets in committed.items():
    for where in offsets:
        end, start = ends[where.topic, where.partition], starts[where.topic, where.partition]
        print(group, where.topic, where.partition, where.offset, end, start, end - where.offset, sep="\\t")
"""


def main() -> list[Table]:
    """Starts a broker, makes the groups, measures, prints and returns the ratios."""
    print(f"machine: {machine()}", flush=True)
    sandbox = Sandbox(f"lag-{os.getpid()}")
    bootstrap = sandbox.up(Settings(port=0, ephemeral=True, die_with_parent=True)).bootstrap
    try:
        create_topic(bootstrap, TOPIC, PARTITIONS)
        _fill(bootstrap)
        _commit(bootstrap, 0, 10)
        few = _requests(bootstrap)
        _commit(bootstrap, 10, GROUPS)
        print(f"kcli's requests with 10 groups: {few}, with {GROUPS:,}: {_requests(bootstrap)}", flush=True)
        contest = _contest(bootstrap)
        for _ in range(ROUNDS):
            contest.round()
        found = contest.table()
        table = replace(found, notes=[*found.notes, *_verdicts(contest), *_after_imports(contest)])
        print(table.plain())
        return [table]
    finally:
        sandbox.down(delete=True)


def _contest(bootstrap: str) -> Contest:
    rows = GROUPS * PARTITIONS
    kcli = [sys.executable, "-m", "kcli", "-b", bootstrap, "groups", "lag", "--by", "partition", "-o", "tsv"]
    script = kafka.tool(kafka.CONSUMER_GROUPS)
    flags = ["--bootstrap-server", bootstrap, "--describe", "--all-groups"]
    return Contest(
        f"lag of {GROUPS:,} groups × {PARTITIONS} partitions, rows",
        {
            "kafka-python": lambda: _script("kafka", _KAFKA_PYTHON, bootstrap),
            "confluent-kafka": lambda: _script("confluent_kafka", _CONFLUENT, bootstrap),
            "kcli": lambda: Run(kcli, rows),
            "Kafka's script": lambda: Run([*script, *flags], rows) if script else None,
        },
        "kafka-python",
        CPU_TARGET,
    )


def _script(module: str, program: str, bootstrap: str) -> Run | None:
    """A program on another client, where that is installed."""
    if find_spec(module) is None:
        return None
    return Run([sys.executable, "-c", program, bootstrap], GROUPS * PARTITIONS)


def _verdicts(contest: Contest) -> Iterator[str]:
    for name, target in (("confluent-kafka", CPU_TARGET), ("Kafka's script", SCRIPT_TARGET)):
        if name in contest.costs:
            ratio = contest.rate("kcli") / contest.rate(name)
            yield f"target: {target:g} × {name}, is {ratio:.2f} ×: {'met' if ratio >= target else 'MISSED'}"


def _after_imports(contest: Contest) -> Iterator[str]:
    """The CPU time that is left without the start of the interpreter and the import of the client."""
    imports = {
        "kcli": f"import {', '.join(_IMPORTED)}",
        "kafka-python": "import kafka.admin",
        "confluent-kafka": "import confluent_kafka.admin",
    }
    left = {}
    for name, program in imports.items():
        if name in contest.costs:
            starts = [measure(Run([sys.executable, "-c", program], 0)).cpu for _ in range(ROUNDS)]
            whole = statistics.median(cost.cpu for cost in contest.costs[name])
            left[name] = max(1e-3, whole - statistics.median(starts))
    for name in left.keys() - {"kcli"}:
        ratio = left[name] / left["kcli"]
        yield (
            f"after imports: {left['kcli'] * 1000:.0f} ms of kcli, {left[name] * 1000:.0f} ms of {name}:"
            f" {ratio:.1f} ×, target {AFTER_IMPORTS_TARGET:g}: {'met' if ratio >= AFTER_IMPORTS_TARGET else 'MISSED'}"
        )


def _commit(bootstrap: str, first: int, last: int) -> None:
    partitions = [TopicPartition(TOPIC, number) for number in range(PARTITIONS)]
    with Admin(bootstrap_servers=bootstrap, timeout=60) as admin:
        for start in range(first, last, 100):
            offsets = {
                f"group-{number:05}": dict.fromkeys(partitions, OffsetAndMetadata(number))
                for number in range(start, min(start + 100, last))
            }
            for stored in admin.commit_offsets(offsets).values():
                assert set(stored.values()) == {None}


def _fill(bootstrap: str) -> None:
    """As many records in each partition as there are groups."""
    argv = [sys.executable, "-m", "kcli", "-b", bootstrap, "produce", TOPIC, "-q"]
    for number in range(PARTITIONS):
        lines = b"x\n" * GROUPS
        subprocess.run([*argv, "--partition", str(number)], input=lines, check=True, env=environment())


def _requests(bootstrap: str) -> str:
    """How many of each kind one run sends."""
    argv = [sys.executable, "-m", "kcli", "-b", bootstrap, "groups", "lag", "--debug=proto"]
    said = subprocess.run(argv, capture_output=True, text=True, check=True, env=environment()).stderr
    sent = _SENT.findall(said)
    return ", ".join(f"{sent.count(name)} {name}" for name in dict.fromkeys(sent))
