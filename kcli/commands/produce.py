"""``kcli produce``: input becomes records. Parses, runs the flow, says what became of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

import click

from kcli.commands._command import command
from kcli.commands._context import Invocation, pass_invocation, stdin_is_terminal
from kcli.commands._exit import usage
from kcli.commands._params import CODEC, DELIMITER, HEADER, RATE, Codec, check_topic_name
from kcli.commands._produce_input import FORMATS
from kcli.commands._serde_options import plaintext_secrets_option, serde_option

FOR_EVER_MS = 2**31 - 1
"""Input waits for memory as long as records are under way: these have a limit of their own, delivery.timeout.ms."""


@command(
    "produce",
    outputs=("table", "plain", "json", "ndjson"),
    examples=(
        ("kcli produce orders < lines.txt", "one record a line"),
        ("echo 'k1:hello' | kcli produce orders -K :", "the key stands before the first colon"),
        ("kcli produce orders -z zstd -H source=import a.txt b.txt", "two files, compressed, with a header"),
        (
            "kcli consume a -e -o ndjson | kcli produce b -i ndjson",
            "an exact copy: bytes, headers, timestamps, nulls",
        ),
        (
            "kcli produce orders --failed bad.ndjson --checkpoint at < big.txt",
            "go on after failures, and after a kill",
        ),
        ("kcli produce orders -i failed bad.ndjson", "what failed once more"),
        ("kcli produce orders -f '%k\\t%v\\n' --rate 10MB/s a.tsv", "by a pattern, not too fast"),
        ("printf 'k1:\\n' | kcli produce orders -K : -Z", "a tombstone: an empty value is null"),
        (
            "printf '7:{\"id\":7}\\n' | kcli produce orders -K : -s key=long -s value=json",
            "typed keys, checked values",
        ),
        (
            "kcli produce orders -s value=avro:file=order.avsc a.json",
            "Avro, by a schema in a file",
        ),
    ),
)
@click.argument("topic", metavar="TOPIC")
@click.argument("files", nargs=-1, metavar="[FILE…]")
@click.option("-k", "--key", metavar="KEY", help="Key of all records.")
@click.option(
    "-K",
    "--key-delimiter",
    type=DELIMITER,
    metavar="DELIM",
    help="Split lines into key and value at the first DELIM; a line without it has no key.",
)
@click.option(
    "-H",
    "--header",
    "headers",
    type=HEADER,
    multiple=True,
    metavar="NAME=VALUE",
    help="Header of all records; NAME= is empty, NAME alone is null. Repeatable.",
)
@click.option("-p", "--partition", type=click.IntRange(min=0), metavar="N", help="Partition of all records.")
@click.option(
    "-D",
    "--delimiter",
    type=DELIMITER,
    metavar="DELIM",
    help=r"What ends a record, one byte or more; escapes \n \t \0 \xNN.  [default: \n]",
)
@click.option("-Z", "--empty-is-null", is_flag=True, help="Empty keys and empty values become null.")
@click.option("--null-marker", metavar="STR", help="A key or value that is STR becomes null.")
@click.option(
    "-i",
    "--input",
    "input_format",
    type=click.Choice(FORMATS),
    help="What the input is: raw has four bytes of length before each value, file is one record per FILE, failed "
    "what --failed kept.  [default: lines]",
)
@click.option(
    "-f",
    "--format",
    "pattern",
    metavar="PATTERN",
    help=r"Read records by a pattern, as -f '%k\t%v\n'; sizes as in '%R%s'.",
)
@serde_option("Write keys, values, or both by: {names}; repeatable.")
@click.option(
    "-z",
    "--compression",
    type=CODEC,
    metavar="CODEC[:LEVEL]",
    help="none, gzip, snappy, lz4 or zstd; levels as in gzip:6.",
)
@click.option(
    "--acks",
    type=click.Choice(["all", "1", "0"]),
    help="Who confirms: all in-sync replicas, the leader alone, nobody.  [default: all]",
)
@click.option(
    "--partitioner",
    type=click.Choice(["murmur2", "consistent", "hashcode", "random", "roundrobin", "manual"]),
    help="Which partition a key belongs to: murmur2 is Java's, consistent librdkafka's; manual is the one that the "
    "record names.  [default: murmur2]",
)
@click.option(
    "--transactional-id",
    metavar="ID",
    help="Send in transactions kept under ID; with --checkpoint nothing is stored twice, even after a kill.",
)
@click.option(
    "--transaction-every",
    type=click.IntRange(min=1),
    metavar="N",
    help="End a transaction after N records; after 5 s or 8 MB in any case.  [default: 10000]",
)
@click.option(
    "--idempotent/--no-idempotent",
    "idempotent",
    default=None,
    help="Number the batches, so that a retry is never stored twice.  [default: on with acks=all]",
)
@click.option(
    "--rate", type=RATE, metavar="RATE", help="At most so much a second: 1000 records, or 10MB/s of input."
)
@click.option(
    "--failed",
    metavar="FILE",
    help="Write inputs that are not stored to FILE: JSON lines with line number and reason.",
)
@click.option(
    "--checkpoint",
    metavar="FILE",
    help="Keep in FILE how far the input is confirmed; the same command goes on from there.",
)
@click.option(
    "--on-bad-input",
    type=click.Choice(["report", "fail"]),
    default="report",
    help="Input that is no record: count it and go on, or stop at the first.  [default: report]",
)
@click.option("--tee", is_flag=True, help="Copy the input to stdout as it is read.")
@click.option("--allow-auto-topic-creation", is_flag=True, help="Let the brokers create an unknown topic.")
@plaintext_secrets_option
@pass_invocation
def produce(inv: Invocation, /, topic: str, files: tuple[str, ...], **flags: Any) -> int:
    """Send lines as records.

    Input comes from the FILEs in order, or from stdin; - is stdin among files. Bytes are sent as they are. A record
    that fails does not stop the run: the summary on stderr counts what the brokers confirmed, and --failed FILE
    keeps the rest. Batches of about 1 MB cost the brokers a quarter of what small ones do.

    -i ndjson restores what `kcli consume -o ndjson` wrote: key, value, headers, timestamp; the partition too with
    --partitioner manual. -f reads records by a pattern of %k %v %s %h{%k=%v;} %d %T %p, each up to the text behind it.

    -s makes bytes of texts, and of the JSON values of -i ndjson. avro, protobuf and jsonschema take the latest schema of
    the subject TOPIC-value from a registry (-X schema.registry.url=URL), another one (avro:subject=NAME,version=3), or
    one in a file (avro:file=order.avsc), and register nothing unless told (register=true). What does not fit is bad
    input.
    """
    from kcli.commands._produce_input import check_inputs, encoded, input_format
    from kcli.core.options import ProducerOptions

    check_topic_name(topic)
    _check_flags(inv, flags)
    patient = None if "max_block_ms" in inv.resolved.values else FOR_EVER_MS
    options = inv.client_options(ProducerOptions, max_block_ms=patient, **_own_options(flags))
    if flags["transaction_every"] is not None and not options.transactional_id:
        raise usage(
            "kcli produce: --transaction-every without --transactional-id",
            why="brokers keep transactions under a name that stays the same from run to run",
            do="give one: --transactional-id import-1",
        )
    form = input_format(flags, options.max_request_size, keep=flags["failed"] is not None)
    with ExitStack() as stack:
        prepare: Callable[[], object] = lambda: None  # noqa: E731 - what finds schemas, if any are needed
        if flags["serdes"]:
            from kcli.commands import _serdes

            specs, serdes = _serdes.serdes_to_write(inv, flags)
            stack.enter_context(serdes)
            form = encoded(form, serdes, topic, specs)
            prepare = partial(_serdes.prepare, inv, serdes, specs, topic)
        check_inputs(files)
        if inv.dry_run:
            return _dry_run(inv, options, topic, prepare, flags)
        return _run(inv, stack, options, topic, files, form, prepare, flags)


def _run(
    inv: Invocation,
    stack: ExitStack,
    options: Any,
    topic: str,
    files: Sequence[str],
    form: Any,
    prepare: Callable[[], object],
    flags: dict[str, Any],
) -> int:
    from kcli.commands._produce_input import encoded_key, opened, signature, total_size
    from kcli.commands._produce_report import Files, report
    from kcli.core.producer.producer import Producer
    from kcli.flows.ack_tracker import AckTracker
    from kcli.flows.inputs.feed import Feed
    from kcli.flows.outcomes import Outcomes
    from kcli.flows.produce import CHECKPOINT_INTERVAL, ProduceRun, Sending
    from kcli.flows.stop import Stop

    checkpoint = None
    if flags["checkpoint"] is not None:
        from kcli.flows.checkpoint import Checkpoint, Identity, locked

        stack.enter_context(locked(flags["checkpoint"]))
        identity = Identity(topic, tuple(files), signature(form), options.transactional_id)
        checkpoint = Checkpoint(flags["checkpoint"], identity)
        checkpoint.load()
    failed = None
    if flags["failed"] is not None:
        from kcli.flows.failed_file import FailedFile

        again = checkpoint is not None and checkpoint.resumes
        failed = FailedFile(flags["failed"], form.kind, several=len(files) > 1, again=again)
        stack.callback(failed.close)
    tracker = AckTracker()
    outcomes = Outcomes(tracker, failed, inv.talk.warn)
    producer = stack.enter_context(Producer(options, hooks=inv.hooks, on_delivery=outcomes.delivered))
    _connect(inv, producer, options.bootstrap_servers, topic, flags["partition"])
    prepare()
    form = encoded_key(form)
    transactions = None
    if options.transactional_id:
        transactions = _begin_transactions(inv, producer, options, topic, checkpoint, flags)
    if checkpoint is not None:
        tracker.begin(checkpoint.place)
    stop = stack.enter_context(Stop())  # until here Ctrl-C simply ends it
    stop.unconfirmed = lambda: (
        f"{producer.totals.confirmed:,} records confirmed, {producer.outstanding:,} not known"
    )
    if checkpoint is not None:
        checkpoint.save(checkpoint.place)  # one that cannot be written is told now
        if checkpoint.resumes:
            inv.talk.note(f"going on at line {checkpoint.place.unit + 1:,} ({checkpoint.path})")
    if not files and stdin_is_terminal():
        inv.talk.note("reading records from the keyboard, one a line; Ctrl-D ends")
    rate = flags["rate"]
    feed = Feed(
        files,
        opened,
        form,
        stop,
        short=form.kind == "lines" and rate is None and transactions is None and not form.encoding,
        taps=[_tee(inv)] if flags["tee"] else (),
        patience=CHECKPOINT_INTERVAL if checkpoint or failed or transactions else None,
        fingerprints=checkpoint is not None,
        begin=checkpoint.place if checkpoint else None,
    )
    sending = Sending(
        topic,
        form.how,
        flags["partition"],
        by_hand=flags["partitioner"] == "manual" and flags["partition"] is None,
        longest=form.longest,
        records_per_second=rate.records if rate else None,
        bytes_per_second=rate.bytes if rate else None,
        stop_at_bad=flags["on_bad_input"] == "fail",
    )
    total = total_size(files)
    with inv.progress("confirmed") as bar:

        def show(read: int, confirmed: int, lost: int) -> None:
            share = min(1.0, read / total) if total else None
            bar.update(confirmed, producer.totals.bytes, share, failed=lost)

        settings: dict[str, Any] = {
            "stop": stop,
            "progress": show,
            "tracker": tracker,
            "outcomes": outcomes,
            "checkpoint": checkpoint,
        }
        if transactions is None:
            run = ProduceRun(producer, sending, **settings)
        else:
            from kcli.flows.produce_transactions import TransactionalRun

            run = TransactionalRun(producer, sending, transactions=transactions, **settings)
        result = run.run(feed.portions())
    if stop:
        producer.close(timeout=0.0)
    said = Files(
        flags["failed"],
        failed.count if failed else 0,
        flags["checkpoint"],
        checkpoint.place.unit + 1 if checkpoint and checkpoint.resumes else None,
    )
    status = report(inv, topic, result, said, stop, options, producer.cluster_id)
    if result.output_error is not None and not stop:
        raise result.output_error  # the rim knows what a closed pipe and a full disk mean
    return status


def _begin_transactions(
    inv: Invocation, producer: Any, options: Any, topic: str, checkpoint: Any, flags: dict[str, Any]
) -> Any:
    """Takes over the transactional id, and finds out from the group how far its last transaction got."""
    from kcli.flows.produce_transactions import DEFAULT_EVERY, GROUP_PREFIX, Transactions, resumed_place

    with inv.first_contact(f"the coordinator of {options.transactional_id}"):
        producer.init_transactions(max(inv.timeout, options.request_timeout_ms / 1000))
    every = flags["transaction_every"] or DEFAULT_EVERY
    if checkpoint is None:
        return Transactions(every)
    group = GROUP_PREFIX + options.transactional_id
    if checkpoint.resumes:
        from kcli.core.admin.admin import Admin
        from kcli.core.options import ClientOptions
        from kcli.core.types import TopicPartition

        where = TopicPartition(topic, 0)
        with Admin(inv.client_options(ClientOptions), inv.hooks, timeout=inv.timeout) as admin:
            stored = admin.fetch_offsets({group: [where]}, require_stable=True)[group]
        checkpoint.place = resumed_place(checkpoint, group, stored, where)
    return Transactions(every, group=group, run=checkpoint.run)


def _tee(inv: Invocation) -> Callable[[memoryview], None]:
    """Writes what was read to stdout, at once."""

    def tap(view: memoryview) -> None:
        if len(view):
            inv.out.write(view)
            inv.out.flush()

    return tap


def _check_flags(inv: Invocation, flags: dict[str, Any]) -> None:
    if flags["tee"] and inv.values.output in ("json", "ndjson"):
        raise usage(
            f"kcli produce: --tee with -o {inv.values.output}",
            why="both would go to stdout",
            do="leave one of them out",
        )
    if flags["checkpoint"] is not None and flags["acks"] == "0":
        raise usage(
            "kcli produce: --checkpoint with --acks 0",
            why="nothing is confirmed, so nobody knows how far it got",
            do="leave one of them out",
        )


def _own_options(flags: dict[str, Any]) -> dict[str, Any]:
    codec: Codec | None = flags["compression"]
    acks, idempotent = flags["acks"], flags["idempotent"]
    if idempotent and acks in ("0", "1"):
        raise usage(
            f"kcli produce: --idempotent with --acks {acks}",
            why="a broker numbers batches only when all in-sync replicas confirm them",
            do="leave one of them out",
        )
    return {
        "compression_type": codec.name if codec else None,
        "compression_level": codec.level if codec else None,
        "acks": acks,
        "enable_idempotence": idempotent,
        "partitioner": flags["partitioner"],
        "transactional_id": flags["transactional_id"],
        "allow_auto_create_topics": flags["allow_auto_topic_creation"] or None,
    }


def _connect(inv: Invocation, producer: Any, where: str, topic: str, partition: int | None) -> None:
    """First contact, before any input is read; an unknown topic is named with the nearest ones."""
    from kcli.core.cluster.cluster import TOPIC_PATIENCE
    from kcli.core.cluster.metadata import unknown_topic
    from kcli.core.errors import NotFoundError

    with inv.first_contact(where):
        producer.connect([], inv.timeout)
    try:
        producer.connect([topic], inv.timeout, TOPIC_PATIENCE)
    except NotFoundError:
        raise unknown_topic(topic, producer.known_topics(inv.timeout)) from None
    count = producer.partitions_of(topic)
    if partition is not None and partition >= count:
        raise NotFoundError(
            f"topic {topic} has no partition {partition}", why=f"it has {count}, numbered from 0"
        )


def _dry_run(
    inv: Invocation, options: Any, topic: str, prepare: Callable[[], object], flags: dict[str, Any]
) -> int:
    """Every check that needs no record: files, brokers, topic, schemas."""
    from kcli.core.producer.producer import Producer
    from kcli.flows.failed_file import check_writable
    from kcli.output.progress import counted

    for name in (flags["failed"], flags["checkpoint"]):
        if name is not None:
            check_writable(name)
    with Producer(options, hooks=inv.hooks) as producer:
        _connect(inv, producer, options.bootstrap_servers, topic, flags["partition"])
        prepare()
        inv.talk.note(f"topic {topic} is there, with {counted(producer.partitions_of(topic), 'partition')}")
    return 0
