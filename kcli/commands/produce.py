"""``kcli produce``: lines of stdin or of files become records. Parses, runs the flow, says what became of them."""

import errno
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import click

from kcli.commands._command import command
from kcli.commands._context import Invocation, pass_invocation, stdin_is_terminal
from kcli.commands._exit import usage
from kcli.commands._params import CODEC, DELIMITER, HEADER, Codec, check_topic_name, raw_bytes

FOR_EVER_MS = 2**31 - 1
"""Input waits for memory as long as records are under way: these have a limit of their own, delivery.timeout.ms."""


@command(
    "produce",
    outputs=("table", "plain", "json", "ndjson"),
    examples=(
        ("kcli produce orders < lines.txt", "one record a line"),
        ("echo 'k1:hello' | kcli produce orders -K :", "the key stands before the first colon"),
        ("kcli produce orders -z zstd -H source=import a.txt b.txt", "two files, compressed, with a header"),
        ("printf 'k1:\\n' | kcli produce orders -K : -Z", "a tombstone: an empty value is null"),
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
    default="\\n",
    metavar="DELIM",
    help=r"What ends a record; escapes \n \t \0 \xNN.  [default: \n]",
)
@click.option("-Z", "--empty-is-null", is_flag=True, help="Empty keys and empty values become null.")
@click.option("--null-marker", metavar="STR", help="A key or value that is STR becomes null.")
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
    type=click.Choice(["murmur2", "consistent", "hashcode", "random", "roundrobin"]),
    help="Which partition a key belongs to: murmur2 is Java's, consistent librdkafka's.  [default: murmur2]",
)
@click.option(
    "--idempotent/--no-idempotent",
    "idempotent",
    default=None,
    help="Number the batches, so that a retry is never stored twice.  [default: on with acks=all]",
)
@click.option("--allow-auto-topic-creation", is_flag=True, help="Let the brokers create an unknown topic.")
@pass_invocation
def produce(inv: Invocation, /, topic: str, files: tuple[str, ...], **flags: Any) -> int:
    """Send lines as records.

    Lines come from the FILEs in order, or from stdin; - is stdin among files. Bytes are sent as they are. The
    summary on stderr counts what the brokers confirmed; a line that could not be sent is never passed over in
    silence. Batches of about 1 MB cost the brokers a quarter of what small ones do.
    """
    from kcli.core.errors import ConfigError
    from kcli.core.options import ProducerOptions
    from kcli.core.producer.producer import Producer
    from kcli.flows.produce import produce as flow
    from kcli.flows.stop import Stop

    check_topic_name(topic)
    how = _line_format(flags)
    patient = None if "max_block_ms" in inv.resolved.values else FOR_EVER_MS
    options = inv.client_options(ProducerOptions, max_block_ms=patient, **_own_options(flags))
    if options.transactional_id:
        raise ConfigError(
            f"transactional.id={options.transactional_id}",
            why="this command does not send in transactions",
            do="leave it out; the Python API has transactions (docs/producer.md)",
        )
    if inv.dry_run:
        return _dry_run(inv, options, topic, files, how.partition)
    total = _total_size(files)
    _check_inputs(files)
    with ExitStack() as stack:
        producer = stack.enter_context(Producer(options, hooks=inv.hooks))
        _connect(inv, producer, options.bootstrap_servers, topic, how.partition)
        stop = stack.enter_context(Stop())  # until here Ctrl-C simply ends it
        stop.unconfirmed = lambda: (
            f"{producer.totals.confirmed:,} records confirmed, {producer.outstanding:,} not known"
        )
        if not files and stdin_is_terminal():
            inv.talk.note("reading records from the keyboard, one a line; Ctrl-D ends")
        chunks = _chunks(files, stop, flags["delimiter"], options.max_request_size)
        with inv.progress("confirmed") as bar:

            def show(read: int, confirmed: int, failed: int) -> None:
                share = f"{100 * read // total} %" if total else None
                bar.update(confirmed, producer.totals.bytes, failed=failed, of_the_input=share)

            result = flow(producer, topic, chunks, how, stop=stop, progress=show)
        if stop:
            producer.close(timeout=0.0)
    return _report(inv, topic, result, stop, options.acks, producer.cluster_id)


def _line_format(flags: dict[str, Any]) -> Any:
    from kcli.core.records.kernels import NO_HEADERS, encode_headers
    from kcli.flows.produce import LineFormat

    if flags["key"] is not None and flags["key_delimiter"] is not None:
        raise usage(
            "kcli produce: -k and -K together",
            why="one gives all records the same key, the other takes it from the line",
            do="use one of them",
        )
    marker = flags["null_marker"]
    return LineFormat(
        key=None if flags["key"] is None else raw_bytes(flags["key"]),
        key_delimiter=flags["key_delimiter"],
        headers=encode_headers(flags["headers"]) if flags["headers"] else NO_HEADERS,
        partition=flags["partition"],
        empty_is_null=flags["empty_is_null"],
        null_marker=None if marker is None else raw_bytes(marker),
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


def _dry_run(inv: Invocation, options: Any, topic: str, files: Sequence[str], partition: int | None) -> int:
    """Every check that needs no record: files, brokers, topic."""
    from kcli.core.producer.producer import Producer
    from kcli.output.progress import counted

    _check_inputs(files)
    with Producer(options, hooks=inv.hooks) as producer:
        _connect(inv, producer, options.bootstrap_servers, topic, partition)
        inv.talk.note(f"topic {topic} is there, with {counted(producer.partitions_of(topic), 'partition')}")
    return 0


def _check_inputs(files: Sequence[str]) -> None:
    """Opens each input once, before anything is sent: one that is missing stops the run early."""
    for name in files or ("-",):
        os.close(os.dup(_stdin()) if name == "-" else _open(name))


def _open(name: str) -> int:
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    except OSError as error:
        raise usage(
            f"kcli produce: cannot read {name}",
            why=(error.strerror or str(error)).lower(),
            do="check the name; nothing was sent",
        ) from None
    return descriptor


def _stdin() -> int:
    try:
        descriptor = sys.stdin.fileno()
        os.fstat(descriptor)
    except (AttributeError, OSError, ValueError):
        raise usage(
            "kcli produce: stdin is closed",
            why="there is nothing to read",
            do="name a FILE, or pipe lines in",
        ) from None
    return descriptor


def _total_size(files: Sequence[str]) -> int | None:
    """Bytes of all inputs, None when that cannot be known."""
    total = 0
    for name in files or ("-",):
        try:
            status = os.stat(name) if name != "-" else os.fstat(0)
        except OSError:
            return None
        if not stat.S_ISREG(status.st_mode):
            return None
        total += status.st_size
    return total or None


def _chunks(files: Sequence[str], stop: Any, delimiter: bytes, longest: int) -> Iterator[Any]:
    """The lines of all inputs in order; one file is open at a time."""
    from kcli.flows.rows import read_lines

    for name in files or ("-",):
        descriptor = os.dup(_stdin()) if name == "-" else _open(name)
        said = "stdin" if name == "-" else name
        try:
            yield from read_lines(descriptor, stop, delimiter=delimiter, longest=longest, name=said)
        finally:
            os.close(descriptor)


def _report(inv: Invocation, topic: str, result: Any, stop: Any, acks: str, cluster: str | None) -> int:
    """The summary, and the exit status that it deserves."""
    from kcli.core.errors import KcliError, PartlyFailedError
    from kcli.output.progress import counted, size_text

    if inv.values.output in ("json", "ndjson"):
        _document(inv, topic, result, cluster)
    sure = "sent, not confirmed (acks=0)" if acks == "0" else "confirmed"
    rate = result.confirmed / result.seconds if result.seconds else 0
    parts = [
        f"{counted(result.confirmed, 'record')} {sure} ({size_text(result.bytes)}) in {result.seconds:.1f} s: "
        f"{rate:,.0f} records/s"
    ]
    if result.failed or result.unknown or stop:
        parts.append(f"{counted(result.lines, 'line')} read")
        parts.append(f"{result.failed:,} failed")
        parts.append(f"{result.unknown:,} not known")
    inv.talk.note(", ".join(parts))
    if result.error is not None:
        error: KcliError = result.error
        inv.failed(
            PartlyFailedError(
                f"{result.failed:,} of {result.lines:,} records for {topic} were not stored", error
            )
        )
    if result.input_error is not None and result.input_error is not result.error:
        inv.failed(result.input_error)
    return inv.finish(done=result.confirmed > 0, also=[stop.exit_code])


def _document(inv: Invocation, topic: str, result: Any, cluster: str | None) -> None:
    from kcli.output.tables import Column

    keys = ("topic", "lines", "confirmed", "failed", "unknown", "bytes", "seconds")
    columns = [Column(key) for key in keys]
    with inv.out.rows("ProduceReport", "ProduceReport", columns, cluster=cluster) as rows:
        rows.add(
            {
                "topic": topic,
                "lines": result.lines,
                "confirmed": result.confirmed,
                "failed": result.failed,
                "unknown": result.unknown,
                "bytes": result.bytes,
                "seconds": round(result.seconds, 3),
            }
        )
