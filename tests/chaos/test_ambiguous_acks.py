"""Answers to Produce vanish after the broker has stored the batch: half by RST, half by silence (goal R2, in small).

The producer cannot know; it sends again under the same numbers, and never bumps its epoch while anything is in
flight.
"""

import random

import pytest

from kcli.core import Producer
from tests.chaos.workload import SEED, Workload
from tests.kafka import Kafka
from tests.proxy.proxy import Proxy

pytestmark = [pytest.mark.integration, pytest.mark.long]

SWALLOWED = [8, pytest.param(60, marks=pytest.mark.soak)]  # answers for each codec
PARTITIONS = 12
SHARE = 0.2  # of all answers

# codec, bytes of a batch, of its largest record
SHAPES = [
    ("none", 2_000, 1_000),
    ("gzip", 20_000, 4_000),
    ("snappy", 1, 2_000),
    ("lz4", 200_000, 64_000),
    ("zstd", 50_000, 8_000),
]


@pytest.mark.case("R2")
@pytest.mark.timeout(580)
@pytest.mark.parametrize("count", SWALLOWED)
@pytest.mark.parametrize(("codec", "batch_size", "largest"), SHAPES)
def test_swallowed_answers_leave_no_trace(
    kafka3: Kafka, codec: str, batch_size: int, largest: int, count: int
) -> None:
    topic = kafka3.topic("acks", partitions=PARTITIONS, replicas=3)
    load = Workload(topic, partitions=PARTITIONS, seed=SEED, largest=largest)
    with Proxy(kafka3.bootstrap) as proxy:
        with Producer(
            bootstrap_servers=proxy.bootstrap,
            compression_type=codec,
            batch_size=batch_size,
            linger_ms=2,
            request_timeout_ms=700,
            delivery_timeout_ms=600_000,
            max_block_ms=600_000,
            buffer_memory=50_000 + 20 * largest,  # little, so that sending waits for confirmations
        ) as producer:
            producer.connect([topic], 30, 10)
            rule = proxy.swallow_schedule(random.Random(SEED), SHARE, times=count)
            while rule.hits < count:
                load.send(producer, 50)
            assert producer.flush(60), f"seed {SEED}\n{proxy.tell(50)}"
        told = f"seed {SEED}, {dict(rule.counts)}\n{proxy.tell(50)}"
        assert rule.counts["reset"] + rule.counts["silence"] == count, told
        assert abs(rule.counts["reset"] - rule.counts["silence"]) <= 1, told
        assert len({one.node for one in proxy.produces if one.swallowed}) >= (3 if count > 50 else 2), told
        early = proxy.epochs_bumped_with_in_flight()
        assert not early, f"seed {SEED}\n" + "\n".join(map(str, early))
        assert proxy.numbers_used_twice() == [], told
    load.settle()
    load.audit(kafka3)
