"""What a dead client left open in a partition, on a real broker: found, and ended by hand."""

import subprocess
import sys

import pytest

from kcli.core import Admin, Consumer, TopicPartition
from kcli.core.consumer.subscription import Span
from kcli.core.errors import ConfigError, KcliError
from tests.command import environment
from tests.kafka import Kafka

pytestmark = pytest.mark.integration

DIES = """
import os, sys
from kcli.core import Producer
from kcli.core.types import ProducerRecord
bootstrap, topic = sys.argv[1:]
producer = Producer(bootstrap_servers=bootstrap, transactional_id=topic, transaction_timeout_ms=600_000)
producer.init_transactions()
producer.begin_transaction()
future = producer.send(ProducerRecord(topic, b"never to be seen"))
producer.push()
future.result(20)
os._exit(0)
"""


def test_p17_a_transaction_that_a_dead_client_left_open_is_found_and_aborted(kafka: Kafka) -> None:
    """P17: readers of committed records wait at it; afterwards they go on."""
    topic = kafka.topic("hanging")
    where = TopicPartition(topic, 0)
    command = [sys.executable, "-c", DIES, kafka.bootstrap, topic]
    subprocess.run(command, check=True, timeout=60, env=environment())
    with (
        Admin(bootstrap_servers=kafka.bootstrap) as admin,
        Consumer(bootstrap_servers=kafka.bootstrap) as reader,
    ):
        found = admin.describe_producers([where])[where]
        assert not isinstance(found, KcliError)
        (producer,) = [one for one in found if one.open_since >= 0]
        reader.assign({where: Span(0)})
        assert list(reader.records(1)) == []
        assert reader.position(where) == producer.open_since == 0
        assert admin.abort_hanging({where: producer}) == {where: None}
        while reader.position(where) < 2:  # the record that was aborted, and the marker behind it
            assert list(reader.records(10)) == []
        ended = admin.describe_producers([where])[where]
        assert not isinstance(ended, KcliError)
        with pytest.raises(ConfigError, match="no open transaction"):
            admin.abort_hanging({where: ended[0]})
