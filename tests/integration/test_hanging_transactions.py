"""What a dead client left open in a partition, on a real broker: found, and ended by hand."""

import subprocess
import sys
import time

import pytest

from kcli.core import Admin, Consumer, TopicPartition
from kcli.core.consumer import open_transactions
from kcli.core.consumer.subscription import Span
from kcli.core.errors import ConfigError, KcliError
from kcli.core.hooks import Hooks
from tests.kafka import Kafka
from tests.run import environment

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
future.result(120)
os._exit(0)
"""


def leave_open(kafka: Kafka, topic: str) -> None:
    """A client that dies in the middle of a transaction, with one record in it."""
    command = [sys.executable, "-c", DIES, kafka.bootstrap, topic]
    subprocess.run(command, check=True, timeout=60, env=environment())


@pytest.mark.case("P17")
def test_a_transaction_that_a_dead_client_left_open_is_found_and_aborted(kafka: Kafka) -> None:
    """Readers of committed records wait at it; afterwards they continue."""
    topic = kafka.topic("hanging")
    tp = TopicPartition(topic, 0)
    leave_open(kafka, topic)
    with (
        Admin(bootstrap_servers=kafka.bootstrap) as admin,
        Consumer(bootstrap_servers=kafka.bootstrap) as reader,
    ):
        found = admin.describe_producers([tp])[tp]
        assert not isinstance(found, KcliError)
        (producer,) = [one for one in found if one.open_since >= 0]
        reader.assign({tp: Span(0)})
        assert list(reader.records(1)) == []
        assert reader.position(tp) == producer.open_since == 0
        assert admin.abort_hanging({tp: producer}) == {tp: None}
        while reader.position(tp) < 2:  # the record that was aborted, and the marker behind it
            assert list(reader.records(10)) == []
        ended = admin.describe_producers([tp])[tp]
        assert not isinstance(ended, KcliError)
        with pytest.raises(ConfigError, match="no open transaction"):
            admin.abort_hanging({tp: ended[0]})


@pytest.mark.case("P17")
def test_a_reader_explains_what_it_waits_for(kafka: Kafka, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where, since when, and for whom, as the partition's leader knows it; taken back when it continues."""
    monkeypatch.setattr(open_transactions, "REPORT_AFTER", 1.0)
    topic = kafka.topic("explained")
    tp = TopicPartition(topic, 0)
    leave_open(kafka, topic)
    heard: list[tuple[str, str]] = []
    hooks = Hooks(log=lambda level, _area, text: heard.append((level, text)))
    with (
        Admin(bootstrap_servers=kafka.bootstrap) as admin,
        Consumer(bootstrap_servers=kafka.bootstrap, hooks=hooks) as reader,
    ):
        reader.assign({tp: Span(0)})
        end = time.monotonic() + 60
        while not (told := [text for level, text in heard if level == "warning" and "waits at" in text]):
            assert time.monotonic() < end
            assert reader.poll(0.5) == []
        found = admin.describe_producers([tp])[tp]
        assert not isinstance(found, KcliError)
        (producer,) = [one for one in found if one.open_since >= 0]
        state = reader.waiting()[tp]
        assert (state.offset, state.last_stable_offset, state.high_watermark) == (0, 0, 1)
        assert (state.producer_id, state.producer_epoch) == (producer.producer_id, producer.producer_epoch)
        assert state.last_timestamp == producer.last_timestamp > 0
        assert told[0].startswith(f"{tp}: read_committed waits at offset 0 since ")
        assert f"producer {producer.producer_id} (epoch {producer.producer_epoch})" in told[0]
        assert "and that wrote last at 20" in told[0]
        assert admin.abort_hanging({tp: producer}) == {tp: None}
        while reader.position(tp) < 2:
            reader.poll(10)
        assert reader.waiting() == {}
    assert ("info", f"{tp}: read_committed no longer waits at offset 0") in heard
