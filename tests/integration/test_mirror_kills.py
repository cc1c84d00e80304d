"""`kcli mirror --exactly-once` is killed at three steps, while its source is written: the target has every committed
record once and in order, as another client sees it. The long form is ``tests/chaos/test_mirror_kills.py``.
"""

import random
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.chaos.mirror_audit import CommittedReader, KillLedger, assert_equal, assert_judged
from tests.chaos.mirror_steps import EXACTLY_ONCE, Mirror
from tests.chaos.transactional_source import TransactionalSource
from tests.chaos.workload import SEED
from tests.kafka import Kafka
from tests.proxy.proxy import Proxy

PARTITIONS = 2
STEPS = [
    step
    for step in EXACTLY_ONCE
    if step.name in ("records sent", "position written", "EndTxn sent, arrives late")
]


@pytest.mark.case("M2", "S4-28")
def test_a_mirror_that_is_killed_three_times_stores_every_record_once(kafka: Kafka, tmp_path: Path) -> None:
    topic, copy = kafka.topic("mirrored", partitions=PARTITIONS), kafka.unused_name("copy")
    with (
        Proxy(kafka.bootstrap) as proxy,
        TransactionalSource(
            kafka,
            topic,
            partitions=PARTITIONS,
            seed=SEED,
            total=4_000,
            backlog=2_000,
            pace=500,
            transaction_size=50,
        ) as writer,
        CommittedReader(kafka.bootstrap, topic, PARTITIONS) as here,
        CommittedReader(kafka.bootstrap, copy, PARTITIONS) as there,
        ExitStack() as runs,
    ):
        command = ["mirror", "--from", kafka.bootstrap, "--to", proxy.bootstrap, "-t", topic, "--job", topic]
        more = ["--map-topic", f"{topic}={copy}", "--exactly-once"]
        rng = random.Random(SEED)
        mirror = runs.enter_context(Mirror([*command, *more], proxy, copy, True, rng, tmp_path))
        ledger = KillLedger(mirror, there)
        for step in STEPS:
            ledger.note(mirror.kill_at(step), step.name)
        writer.finish()
        ledger.note(mirror.finish(), "caught up")
        here.read()
        assert_equal(here, there)
        assert_judged(writer, topic, there, SEED)
