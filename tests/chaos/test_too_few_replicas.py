"""Two of three brokers are away, the topic wants two replicas in sync: nothing is taken until one is back."""

import pytest

from kcli.core import Producer
from tests.chaos.test_rolling_restart import described, wait_for_all_replicas
from tests.chaos.workload import SEED, Workload
from tests.fault.watching import Heard, soon
from tests.kafka import Kafka

pytestmark = [pytest.mark.integration, pytest.mark.long]

PATIENCE = 60.0


@pytest.mark.case("B6")
@pytest.mark.timeout(280)
def test_with_one_replica_of_two_records_wait_until_it_recovers(kafka3: Kafka) -> None:
    """ "min.insync.replicas=2, 1 of 3 in sync"; afterwards all are stored, once."""
    topic = kafka3.topic("too-few", replicas=3, config={"min.insync.replicas": "2"})
    workload = Workload(topic, partitions=1, seed=SEED)
    heard = Heard()
    with Producer(bootstrap_servers=kafka3.bootstrap, linger_ms=2, hooks=heard.hooks) as producer:
        producer.connect([topic], 30, 10)
        workload.send(producer, 500)
        assert producer.flush(PATIENCE)
        wait_for_all_replicas(kafka3, topic)
        last = described(kafka3, topic).partitions[0].leader
        away = [node for node in kafka3.nodes if node.node_id != last]
        for node in away:  # in order: while there is a quorum, each leaves the in-sync replicas by itself
            node.stop()
        workload.send(producer, 500)
        soon(lambda: heard.said("warning"), "a word about what is missing", PATIENCE)
        assert not producer.flush(1)
        confirmed = producer.totals.confirmed
        for node in away:
            node.start(timeout=None)
        wait_for_all_replicas(kafka3, topic)
        assert producer.flush(PATIENCE), f"seed {SEED}"
        assert producer.totals.failed == 0
        assert producer.metrics().producer_epochs == 1
    assert confirmed == 500
    assert any("min.insync.replicas=2, 1 of 3 in sync" in text for text in heard.said("warning"))
    workload.settle()
    workload.audit(kafka3)
