"""What ``kcli demo`` does on a Kafka that it starts and removes: a round trip, then lag, rewind, mirror and verify.

Each step uses the flows of the command whose line it prints, and is followed by its proof.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kcli.commands.demo.groups import show_lag, show_rewind
from kcli.commands.demo.mirror import check_comparison, show_mirror, show_verify
from kcli.commands.demo.stage import TOPIC, Stage
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.exit import orderly_end
from kcli.commands.shared.kafka_download import Download
from kcli.core.admin.admin import Admin
from kcli.core.consumer.consumer import Consumer
from kcli.core.errors import DataLossError, KcliError
from kcli.core.options import WHOLE_BATCHES, ClientOptions, ConsumerOptions, ProducerOptions
from kcli.core.types import TopicSpec
from kcli.flows import round_trip
from kcli.flows.stop import Stop
from kcli.output.progress import counted, size_text
from kcli.sandbox.sandbox import Sandbox
from kcli.sandbox.settings import Settings


def run(inv: Invocation, records: int, record_size: int, kafka_version: str | None) -> int:
    """Runs the demo; returns the exit status."""
    if inv.dry_run:
        inv.talk.note(f"would start a throw-away Kafka and send {counted(records, 'record')} through it")
        return 0
    with _throw_away_kafka(inv, kafka_version) as (bootstrap, folder), Stop() as stop:
        options = ClientOptions(bootstrap_servers=bootstrap, client_id="kcli-demo")
        with Admin(options, inv.hooks, timeout=inv.timeout) as admin:
            stage = Stage(inv, admin, bootstrap, folder, records, stop)
            try:
                show_all(stage, record_size)
            except KcliError:
                if not stop:  # else a client was interrupted by it
                    raise
        if stop:
            inv.talk.note("stopped; everything is being cleaned up")
    return stop.exit_code


def show_all(stage: Stage, record_size: int) -> None:
    """All steps, until one fails or a stop is requested."""
    digests = _round_trip(stage, record_size)
    for show in (show_lag, show_rewind, show_mirror):
        if stage.stop:
            return
        show(stage)
    found = None if stage.stop else show_verify(stage)
    if found is None:
        return
    stage.inv.out.text("\n")
    _show_digests(stage, digests)
    stage.line("source", found.source_digest)
    stage.line("copy", found.target_digest)
    check_comparison(found)
    stage.inv.out.text("the digests are equal: every byte was received, in order, and so was the copy\n")


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


def _round_trip(stage: Stage, record_size: int) -> tuple[str, str]:
    """The digests of what was sent and of what was received, empty after a stop; DataLossError where they differ."""
    inv, stop, records = stage.inv, stage.stop, stage.records
    file = stage.folder / "lines.txt"
    written = round_trip.generate_lines(file, records, record_size, stop)
    if stop:
        return "", ""
    stage.line("generated", f"{counted(written.lines, 'line')}, {size_text(written.size)}")
    for error in stage.admin.create_topics([TopicSpec(TOPIC, partitions=1)]).values():
        if error is not None:
            raise error
    stage.command("produce", TOPIC, file.name)
    options = stage.options(ProducerOptions)
    with inv.progress("sent", total=records) as bar:
        sent = round_trip.send_file(
            options, TOPIC, file, stop, bar.update, hooks=inv.hooks, timeout=inv.timeout
        )
    if stop:
        return "", ""
    if sent.error is not None:
        raise sent.error
    stage.figures("produced", sent.confirmed, sent.bytes, sent.seconds)
    stage.command("consume", TOPIC, "--exit", "|", "sha256sum")
    consumer_options = stage.options(ConsumerOptions, max_poll_records=WHOLE_BATCHES)
    with Consumer(consumer_options, hooks=inv.hooks) as consumer, inv.progress("read", total=records) as bar:
        consumer.connect(inv.timeout)
        read, digest = round_trip.read_back(consumer, TOPIC, sent.confirmed, stop, bar.update)
    if stop:
        return "", ""
    stage.figures("consumed", read.records, read.bytes, read.seconds)
    digests = written.digest, digest
    if written.digest != digest:
        _show_digests(stage, digests)
        raise DataLossError(
            "the digests differ", why="what was received is not what was sent", do="report this"
        )
    stage.line("proof", "the digests of what was sent and of what was received are equal")
    return digests


def _show_digests(stage: Stage, digests: tuple[str, str]) -> None:
    for word, digest in zip(("sent", "received"), digests, strict=True):
        stage.line(word, digest)
