"""Connections that are slow, narrow and short: everything arrives, once and in order, only later (goal R3, in small)."""

import random

import pytest

from kcli.core import Producer
from tests.chaos.workload import SEED, Workload
from tests.kafka import Kafka
from tests.proxy.link_knobs import Lifetime
from tests.proxy.proxy import Proxy

pytestmark = [pytest.mark.integration, pytest.mark.long]

PARTITIONS = 6
MOST_ROUNDS = 2_000
ENOUGH = 3  # connections that were reset, and as many that were closed


def ended(lives: Lifetime) -> tuple[int, int]:
    """How many connections were reset, how many closed."""
    return lives.ended["reset"], lives.ended["fin"]


@pytest.mark.case("R3")
@pytest.mark.timeout(280)
@pytest.mark.parametrize("rounds", [10, pytest.param(200, marks=pytest.mark.soak)])
def test_every_connection_lives_for_a_second(kafka3: Kafka, rounds: int) -> None:
    """So many times 500 records, or more until connections have ended in both ways."""
    topic = kafka3.topic("short", partitions=PARTITIONS, replicas=3)
    load = Workload(topic, partitions=PARTITIONS, seed=SEED, largest=1_000)
    with Proxy(kafka3.bootstrap) as proxy:
        lives = proxy.lifetime(0.5, 1.5, rng=random.Random(SEED))
        with Producer(
            bootstrap_servers=proxy.bootstrap,
            compression_type="lz4",
            batch_size=16_000,
            linger_ms=2,
            buffer_memory=300_000,
        ) as producer:
            producer.connect([topic], 30, 10)
            sent = 0
            while sent < rounds or (sent < MOST_ROUNDS and min(ended(lives)) < ENOUGH):
                load.send(producer, 500)
                sent += 1
            assert producer.flush(60), f"seed {SEED}\n{proxy.tell(50)}"
        told = f"seed {SEED}, ended {dict(lives.ended)}\n{proxy.tell(50)}"
        assert min(ended(lives)) >= ENOUGH, told
        assert proxy.epochs_bumped_with_in_flight() == [], told
        assert proxy.numbers_used_twice() == [], told
    load.settle()
    load.audit(kafka3)


@pytest.mark.timeout(280)
@pytest.mark.parametrize("rounds", [4, pytest.param(20, marks=pytest.mark.soak)])
def test_slow_narrow_and_short_lived_ways(kafka3: Kafka, rounds: int) -> None:
    """300 ± 200 ms to an answer, 256 kbit/s, and a second or so to live."""
    topic = kafka3.topic("slow", partitions=PARTITIONS, replicas=3)
    load = Workload(topic, partitions=PARTITIONS, seed=SEED, largest=200)
    with Proxy(kafka3.bootstrap) as proxy:
        with Producer(
            bootstrap_servers=proxy.bootstrap, batch_size=2_000, linger_ms=20, buffer_memory=50_000
        ) as producer:
            producer.connect([topic], 30, 10)
            rng = random.Random(SEED)
            proxy.delay(None, 0.3, 0.2, rng=rng)
            proxy.bandwidth(256_000 / 8)
            lives = proxy.lifetime(0.5, 1.5, rng=rng)
            for _ in range(rounds):
                load.send(producer, 100)
            assert producer.flush(120), f"seed {SEED}\n{proxy.tell(50)}"
        told = f"seed {SEED}, ended {dict(lives.ended)}\n{proxy.tell(50)}"
        assert min(ended(lives)) >= ENOUGH, told
        assert proxy.epochs_bumped_with_in_flight() == [], told
        assert proxy.numbers_used_twice() == [], told
    load.settle()
    load.audit(kafka3)
