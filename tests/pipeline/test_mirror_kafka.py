"""``kcli pipeline mirror`` on a real Kafka, judged by another client: nothing missing, nothing twice, in order."""

from pathlib import Path

import pytest

from tests.integration.mirroring import (
    CODECS,
    COMPACTED,
    PATIENCE,
    check_equal,
    numbered,
    wait_until_compacted,
    write,
    write_in_transactions,
    write_to_be_compacted,
)
from tests.kafka import Kafka
from tests.pipeline.mirror_driver import STEPS, copied, kill_at
from tests.proxy.proxy import Proxy

pytestmark = pytest.mark.integration

COUNT = 300


@pytest.mark.case("K1", "K6")
def test_codecs_shapes_transactions_and_compacted_topics_are_equal_on_both_sides(kafka: Kafka) -> None:
    """By both runners and in both modes, each into copies of its own."""
    name = kafka.unused_name("sources")
    codecs = kafka.topic(f"{name}-codecs", partitions=len(CODECS))
    transactions = kafka.topic(f"{name}-transactions", partitions=2)
    compacted = kafka.topic(f"{name}-compacted", config=COMPACTED)
    write_to_be_compacted(kafka, compacted, 1, 7)
    for partition, codec in enumerate(CODECS):
        write(
            kafka,
            codecs,
            numbered(COUNT),
            partition=partition,
            batch=50,
            **{"compression.type": codec},
        )
    committed = write_in_transactions(kafka, transactions, 2, 9)
    left = [len(records) for records in wait_until_compacted(kafka, compacted).values()]
    counts = {codecs: [COUNT] * len(CODECS), transactions: committed, compacted: left}
    for job, *mode in (
        (f"{name}-1", "--runner", "processes", "--local", "2"),
        (f"{name}-2", "--runner", "inline", "--delivery", "at-least-once"),
    ):
        assert copied(kafka, job, *mode, topics=[*counts]) == counts
        for topic, expected in counts.items():
            check_equal(kafka, topic, kafka, f"{job}-{topic}", expected)
        nothing = {topic: [0] * len(expected) for topic, expected in counts.items()}
        assert copied(kafka, job, *mode, topics=[*counts]) == nothing


@pytest.mark.case("K4")
def test_a_driver_that_is_killed_with_its_tasks_at_four_steps_stores_every_record_once(
    kafka: Kafka, tmp_path: Path
) -> None:
    topic, job = kafka.topic("driver"), kafka.unused_name("job")
    two = ("--runner", "processes", "--local", "2")
    with Proxy(kafka.bootstrap) as proxy:
        for step in STEPS:
            write(kafka, topic, numbered(COUNT), batch=50)
            output = tmp_path / f"{step.name}.err"
            kill_at(step, proxy, kafka, job, *two, topic=topic, output=output, patience=PATIENCE)
    copied(kafka, job, "--runner", "inline", topics=[topic])
    check_equal(kafka, topic, kafka, f"{job}-{topic}", [COUNT * len(STEPS)])
    assert copied(kafka, job, "--runner", "inline", topics=[topic]) == {topic: [0]}
