"""``kcli exporter`` on a real broker, beside Kafka's own script and ``groups lag``: a group that reads on, one that is
stalled, one without members.
"""

import json
import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from kcli.core import Admin, OffsetAndMetadata, Producer, TopicPartition
from kcli.core.types import ProducerRecord
from kcli.exporter.exposition import CLASSIC, OPENMETRICS
from tests.exporting import command, get, until
from tests.integration.kafka_script import consumer_groups
from tests.integration.members import Confluent, Manner, Member, wait_until
from tests.integration.test_groups import leaving
from tests.kafka import Kafka
from tests.run import kcli_process, ok
from tests.unit.exporter.pages import Found, labels, parsed

pytestmark = pytest.mark.integration

PARTITIONS, EACH = 3, 20
_ROW = re.compile(r"^(\S+)\s+(\S+)\s+(\d+)\s+(\d+|-)\s+(\d+|-)\s+(\d+|-)\s", re.M)


@pytest.fixture(scope="module")
def topic(kafka: Kafka) -> str:
    name = kafka.topic("exported", partitions=PARTITIONS)
    write(kafka, name)
    return name


@pytest.fixture
def groups(kafka: Kafka, topic: str) -> Iterator[tuple[str, str, str]]:
    """One whose member reads and commits; one whose member never commits, behind its commits; one without members."""
    reads, stalled, stopped = (kafka.unused_name(name) for name in ("reads", "stalled", "stopped"))
    with Admin(bootstrap_servers=kafka.bootstrap, timeout=30) as admin:
        for name, at in ((stalled, 3), (stopped, 7)):
            offsets = {TopicPartition(topic, number): OffsetAndMetadata(at) for number in range(PARTITIONS)}
            admin.commit_offsets({name: offsets})
    silent = Confluent(kafka, stalled, topic, "classic", "range", Manner(by_hand=True))
    silent._by_hand = lambda *_: None  # type: ignore[method-assign]
    members: list[Member] = [Confluent(kafka, reads, topic, "classic", "range"), silent]
    with leaving(members):
        wait_until(
            lambda: all(len(member.owned) == PARTITIONS for member in members), members, "they own all"
        )
        yield reads, stalled, stopped


def write(kafka: Kafka, topic: str) -> None:
    with Producer(bootstrap_servers=kafka.bootstrap) as producer:
        for partition in range(PARTITIONS):
            for number in range(EACH):
                producer.send(ProducerRecord(topic, b"%d" % number, partition=partition))


def of_script(kafka: Kafka, *names: str) -> dict[tuple[str, int], tuple[int, int, int]]:
    """(group, partition) → committed, end, lag."""
    done = consumer_groups(kafka, "--describe", *(word for name in names for word in ("--group", name)))
    return {
        (row[0], int(row[2])): (int(row[3]), int(row[4]), int(row[5])) for row in _ROW.findall(done.stdout)
    }


def of_page(found: Found, *names: str) -> dict[tuple[str, int], tuple[int, int, int]]:
    metrics = ("kcli_group_committed_offset", "kcli_group_log_end_offset", "kcli_group_lag_records")
    return {
        (at["group"], int(at["partition"])): tuple(int(found[metric][key]) for metric in metrics)  # type: ignore[misc]
        for key in found["kcli_group_committed_offset"]
        if (at := dict(key))["group"] in names
    }


def test_figures_are_those_of_kafkas_script_and_of_groups_lag(
    kafka: Kafka, topic: str, groups: tuple[str, str, str]
) -> None:
    reads, stalled, stopped = groups
    with command(kafka.bootstrap, "--interval", "1s", "--topics", topic) as (_, url):

        def page(form: str = CLASSIC) -> Found:
            return parsed(get(url, Accept=form).text, form)

        def verdict(name: str) -> list[str]:
            some = page().get("kcli_group_verdict", {})
            return [
                dict(at)["kcli_group_verdict"] for at, on in some.items() if on and dict(at)["group"] == name
            ]

        until(lambda: page().get("kcli_group_sum_lag_records", {}).get(labels(group=reads)) == 0)
        write(kafka, topic)
        until(lambda: sum(page().get("kcli_topic_log_end_offset", {}).values()) == 2 * EACH * PARTITIONS)
        until(lambda: page().get("kcli_group_sum_lag_records", {}).get(labels(group=reads)) == 0)
        for form in (CLASSIC, OPENMETRICS):
            found = page(form)
            assert of_page(found, *groups) == of_script(kafka, *groups)
            assert len(of_page(found, *groups)) == 3 * PARTITIONS
        assert found["kcli_group_members"][labels(group=reads)] == 1
        assert found["kcli_group_members"][labels(group=stopped)] == 0
        assert found["kcli_group_state"][labels(group=stopped, kcli_group_state="Empty")] == 1
        assert found["kcli_group_state"][labels(group=stalled, kcli_group_state="Stable")] == 1
        ends = {int(dict(at)["partition"]): end for at, end in found["kcli_topic_log_end_offset"].items()}
        assert ends == dict.fromkeys(range(PARTITIONS), 2 * EACH)
        assert sum(found["kcli_topic_size_bytes"].values()) > 0
        assert found["kcli_exporter_problems"] == {labels(): 0}
        assert verdict(stopped) == ["stopped"]
        until(lambda: verdict(stalled) == ["stalled"], 30)
        assert verdict(reads) == ["ok"]
        rows = json.loads(
            ok(kcli_process("groups", "lag", *groups, "-o", "json", bootstrap=kafka.bootstrap))
        )["items"]
        found = page()
        for row in rows:
            at = labels(group=row["group"], topic=topic, partition=row["partition"])
            assert found["kcli_group_lag_records"][at] == row["lag_records"]
            assert found["kcli_group_lag_seconds"][at] == pytest.approx(row["lag_seconds"], abs=5)
            margin = found.get("kcli_group_retention_margin_seconds", {}).get(at)
            assert margin == pytest.approx(row["retention_margin_seconds"], abs=10)
        assert urlsplit(url).path == "/metrics"
