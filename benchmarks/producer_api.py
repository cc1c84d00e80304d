"""The producer's Python API beside confluent-kafka's ``produce_batch``: records per second of client CPU.

One process per run, in turn, idempotent with acks=all, 100-byte values from memory in chunks of 8,000, against one
throw-away broker. What counts is the ratio within one run; start-up of the interpreter is measured apart and
taken off.
"""

import os
import statistics
import subprocess
import sys

from benchmarks._measure import create_topic
from kcli.sandbox.sandbox import Sandbox
from kcli.sandbox.settings import Settings

RECORDS = int(os.environ.get("KCLI_BENCH_RECORDS", "1_000_000"))
ROUNDS = int(os.environ.get("KCLI_BENCH_ROUNDS", "5"))
CHUNK = 8_000
TOPIC = "bench-producer-api"

_KCLI = """
from kcli.core import Producer
from kcli.core.kernels.shapes import NO_HEADERS
values = [b"%09d" % i + b"x" * 91 for i in range({chunk})]
with Producer(bootstrap_servers={bootstrap!r}) as producer:
    producer.connect([{topic!r}], 30, 10)
    {prepare}
    for _ in range({records} // {chunk}):
        {send}
    producer.flush()
    assert producer.totals.confirmed == {records}, producer.totals
"""

_CONFLUENT = """
from confluent_kafka import Producer
values = [b"%09d" % i + b"x" * 91 for i in range({chunk})]
producer = Producer({{"bootstrap.servers": {bootstrap!r}, "enable.idempotence": True, "linger.ms": 5,
    "batch.size": 1_000_000, "queue.buffering.max.messages": 1_000_000}})
sent = 0
for _ in range({records} // {chunk}):
    rows = [{{"value": value}} for value in values]
    while rows:
        taken = producer.produce_batch({topic!r}, rows)
        sent += taken
        rows = rows[taken:]
        producer.poll(0 if not rows else 0.01)
producer.flush()
assert sent == {records}
"""

CONTENDERS = {
    "confluent-kafka produce_batch": (_CONFLUENT, "", ""),
    "send_rows": (
        _KCLI,
        "rows = [(None, value, NO_HEADERS, 1_700_000_000_000) for value in values]",
        "producer.send_rows({topic!r}, rows)",
    ),
    "send_text": (
        _KCLI,
        "text = b''.join(value + b'\\n' for value in values)",
        "producer.send_text({topic!r}, text)",
    ),
    "send_arrow": (
        _KCLI,
        "import pyarrow; batch = pyarrow.record_batch({{'value': values}})",
        "producer.send_arrow({topic!r}, batch)",
    ),
    "send_batch": (
        _KCLI,
        "from kcli.core.records.batch import RecordBatch; from kcli.core.records.builder import BatchBuilder;"
        " from kcli.core.types import TopicPartition; built = BatchBuilder(room=1 << 30);"
        " built.append_lines(values, 0, 1_700_000_000_000); where = TopicPartition({topic!r}, 0);"
        " batch = RecordBatch(memoryview(b''.join(built.wire())))",
        "producer.send_batch(where, batch)",
    ),
}


def main() -> None:
    """Starts a broker, runs the contenders in turn, prints medians and ratios to the first one."""
    sandbox = Sandbox(f"bench-{os.getpid()}")
    status = sandbox.up(Settings(port=0, ephemeral=True, die_with_parent=True))
    try:
        create_topic(status.bootstrap, TOPIC, 3)
        seconds: dict[str, list[float]] = {name: [] for name in CONTENDERS}
        for _ in range(ROUNDS):
            for name, code in CONTENDERS.items():
                run, idle = (_cpu(code, status.bootstrap, records) for records in (RECORDS, 0))
                seconds[name].append(max(1e-9, run - idle))
        _print(seconds)
    finally:
        sandbox.down(delete=True)


def _cpu(contender: tuple[str, str, str], bootstrap: str, records: int) -> float:
    """User and system time of one run, in seconds."""
    template, prepare, send = contender
    code = template.format(
        chunk=CHUNK,
        bootstrap=bootstrap,
        topic=TOPIC,
        records=records,
        prepare=prepare.format(topic=TOPIC) or "pass",
        send=send.format(topic=TOPIC) or "pass",
    )
    before = os.times()
    subprocess.run([sys.executable, "-c", code], check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def _print(seconds: dict[str, list[float]]) -> None:
    rates = {name: RECORDS / statistics.median(times) for name, times in seconds.items()}
    reference = next(iter(rates.values()))
    for name, rate in rates.items():
        print(f"{name:32} {rate / 1e6:6.2f} M records per CPU-second   {rate / reference:5.1f} ×")
