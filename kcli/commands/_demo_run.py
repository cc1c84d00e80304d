"""What ``kcli demo`` does: a round trip of lines through a Kafka that it starts and removes, checked by digests."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kcli.commands._sandbox_run import Download
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.orderly_end import orderly_end
from kcli.core.admin.admin import Admin
from kcli.core.consumer.consumer import Consumer
from kcli.core.errors import DataLossError
from kcli.core.options import WHOLE_BATCHES, ClientOptions, ConsumerOptions, ProducerOptions
from kcli.core.types import TopicSpec
from kcli.flows import round_trip
from kcli.flows.stop import Stop
from kcli.output.progress import size_text
from kcli.sandbox.sandbox import Sandbox
from kcli.sandbox.settings import Settings

TOPIC = "kcli-demo"


def run(inv: Invocation, records: int, record_size: int, kafka_version: str | None) -> int:
    """Runs the demo; returns the exit status."""
    if inv.dry_run:
        inv.talk.note(f"would start a throw-away Kafka and send {records:,} records through it")
        return 0
    with _throw_away_kafka(inv, kafka_version) as (bootstrap, folder), Stop() as stop:
        digests = _round_trip(inv, bootstrap, folder, records, record_size, stop)
        if stop or digests is None:
            inv.talk.note("stopped; everything is being cleaned up")
            return stop.exit_code
    inv.out.text(f"sent      {digests[0]}\nreceived  {digests[1]}\n")
    if digests[0] != digests[1]:
        raise DataLossError(
            "the digests differ", why="what was received is not what was sent", do="report this"
        )
    inv.out.text("the digests are equal: every byte was received, in order\n")
    return 0


@contextmanager
def _throw_away_kafka(inv: Invocation, version: str | None) -> Iterator[tuple[str, Path]]:
    """A sandbox that ends with this process, in whatever way, and its folder, which is removed with it."""
    sandbox = Sandbox(f"demo-{os.getpid()}")
    settings = Settings(version=version, brokers=1, port=0, ephemeral=True, die_with_parent=True)
    with orderly_end(), Download(inv) as download:
        status = sandbox.up(settings, on_progress=download.show)
    try:
        inv.out.text(f"Apache Kafka {status.kafka_version} is running at {status.bootstrap}\n")
        yield status.bootstrap, sandbox.home
    finally:
        sandbox.down(delete=True)


def _round_trip(
    inv: Invocation, bootstrap: str, folder: Path, records: int, record_size: int, stop: Stop
) -> tuple[str, str] | None:
    """The digests of what was sent and of what was received; None if it was stopped."""
    file = folder / "lines.txt"
    written = round_trip.generate_lines(file, records, record_size, stop)
    if stop:
        return None
    inv.out.text(f"generated {written.lines:,} lines, {size_text(written.size)}\n")
    with Admin(ClientOptions(bootstrap_servers=bootstrap), inv.hooks) as admin:
        for error in admin.create_topics([TopicSpec(TOPIC, partitions=1)]).values():
            if error is not None:
                raise error
    options = ProducerOptions(bootstrap_servers=bootstrap, client_id="kcli-demo")
    with inv.progress("sent", total=records) as bar:
        sent = round_trip.send_file(
            options, TOPIC, file, stop, bar.update, hooks=inv.hooks, timeout=inv.timeout
        )
    if stop:
        return None
    if sent.error is not None:
        raise sent.error
    _say(inv, "produced", sent.confirmed, sent.bytes, sent.seconds)
    consumer_options = ConsumerOptions(
        bootstrap_servers=bootstrap, client_id="kcli-demo", max_poll_records=WHOLE_BATCHES
    )
    with Consumer(consumer_options, hooks=inv.hooks) as consumer, inv.progress("read", total=records) as bar:
        consumer.connect(inv.timeout)
        read, digest = round_trip.read_back(consumer, TOPIC, sent.confirmed, stop, bar.update)
    if stop:
        return None
    _say(inv, "consumed", read.records, read.bytes, read.seconds)
    return written.digest, digest


def _say(inv: Invocation, done: str, records: int, size: int, seconds: float) -> None:
    rate = records / seconds if seconds else 0
    inv.out.text(
        f"{done:<9} {records:,} records, {size_text(size)}, in {seconds:.1f} s: "
        f"{rate:,.0f} records/s, {size_text(size / seconds if seconds else 0)}/s\n"
    )
    inv.out.flush()
