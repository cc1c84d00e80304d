"""``kcli configs`` on a real broker; confluent-kafka's AdminClient is the judge."""

from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin import ConfigResource as JudgeResource

from tests.kafka import Kafka
from tests.kafka_versions import lacking
from tests.run import Done, kcli_process

pytestmark = pytest.mark.integration


def kcli(kafka: Kafka, line: str, code: int = 0) -> Done:
    done = kcli_process("configs", *line.split(), bootstrap=kafka.bootstrap)
    assert done.returncode == code, done.err
    return done


def items(kafka: Kafka, line: str) -> list[dict[str, Any]]:
    return kcli(kafka, f"{line} -o json").items


def judged(kafka: Kafka, kind: Any, name: str) -> dict[str, tuple[str | None, bool, bool]]:
    """Key → value, read-only, sensitive."""
    wanted = JudgeResource(kind, name)
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    found = admin.describe_configs([wanted])[wanted].result(120)
    return {key: (e.value, e.is_read_only, e.is_sensitive) for key, e in found.items()}


def test_all_values_of_a_topic_and_a_broker_are_those_of_the_judge(kafka: Kafka) -> None:
    topic = kafka.topic("configs")
    for kind, line in (
        (JudgeResource.Type.TOPIC, f"topics {topic}"),
        (JudgeResource.Type.BROKER, "brokers 1"),
    ):
        rows = items(kafka, f"describe {line} --all")
        found = {row["key"]: (row["value"], row["read_only"], row["sensitive"]) for row in rows}
        assert found == judged(kafka, kind, line.split()[1])


def test_a_topic_is_changed_and_changed_back(kafka: Kafka) -> None:
    topic = kafka.topic("configs")
    line = f"alter topics {topic} --set retention.ms=3600000 --append cleanup.policy=compact --yes"
    assert [row["status"] for row in items(kafka, line)] == ["done", "done"]
    found = judged(kafka, JudgeResource.Type.TOPIC, topic)
    assert (found["retention.ms"][0], found["cleanup.policy"][0]) == ("3600000", "delete,compact")
    done = kcli(kafka, f"alter topics {topic} --unset retention.ms --remove cleanup.policy=compact --yes")
    assert "retention.ms: 3600000 (1 h) (topic) → the default" in done.err
    found = judged(kafka, JudgeResource.Type.TOPIC, topic)
    assert (found["retention.ms"][0], found["cleanup.policy"][0]) == ("604800000", "delete")


def test_one_broker_precedes_all_brokers_and_secrets_stay_hidden(kafka: Kafka) -> None:
    kcli(kafka, "alter brokers default --set log.cleaner.threads=2 --yes")
    kcli(kafka, "alter brokers 1 --set log.cleaner.threads=1 --yes")
    (row,) = [
        row for row in items(kafka, "describe brokers 1 --origin") if row["key"] == "log.cleaner.threads"
    ]
    assert [(o["value"], o["source"]) for o in row["origin"]] == [
        ("1", "dynamic broker"),
        ("2", "dynamic default"),
        ("1", "default"),
    ]
    kcli(kafka, "alter brokers 1 default --unset log.cleaner.threads --yes")
    assert "log.cleaner.threads" not in {row["key"] for row in items(kafka, "describe brokers 1 default")}
    done = kcli(kafka, "alter brokers 1 --set node.id=2 --yes", 7)
    assert "read-only" in done.err


def test_a_group_is_changed(kafka: Kafka) -> None:
    group = kafka.unused_name("group")
    line = f"alter groups {group} --set consumer.session.timeout.ms=50000 --yes"
    if lacking("configs alter groups", kafka.version):
        assert "has no configuration on these brokers" in kcli(kafka, line, 7).err
        return
    kcli(kafka, line)
    own = [row for row in items(kafka, f"describe groups {group}") if row["source"] == "group"]
    assert [(row["key"], row["value"]) for row in own] == [("consumer.session.timeout.ms", "50000")]


def test_values_that_the_broker_rejects(kafka: Kafka) -> None:
    topic = kafka.topic("configs")
    done = kcli(kafka, f"alter topics {topic} --set cleanup.policy=never --yes", 2)
    assert "INVALID_CONFIG" in done.err
    done = kcli(kafka, f"alter topics {topic} --set retention.mss=1 --yes", 2)
    assert "did you mean retention.ms?" in done.err
