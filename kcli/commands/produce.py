"""``kcli produce``: input becomes records. Parses, runs the flow, says what became of them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from kcli.commands._produce_input import FORMATS
from kcli.commands.shared.cluster import check_no_registry
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.params import CODEC, DELIMITER, HEADER, RATE, Codec, check_topic_name
from kcli.commands.shared.serde_options import plaintext_secrets_option, serde_option
from kcli.commands.shared.types import TOPIC, CountType
from kcli.commands.shared.usage import usage

if TYPE_CHECKING:
    from kcli.core.options import ProducerOptions
    from kcli.profiles.applicability import Unused

FOR_EVER_MS = 2**31 - 1
"""Input waits for memory as long as records are under way: these have a limit of their own, delivery.timeout.ms."""


@command(
    "produce",
    outputs=("table", "plain", "json", "ndjson"),
    examples=(
        ("kcli produce orders < lines.txt", "one record a line"),
        ("echo 'k1:hello' | kcli produce orders -K :", "the key is what precedes the first colon"),
        ("kcli produce orders -z zstd -H source=import a.txt b.txt", "two files, compressed, with a header"),
        (
            "kcli consume a -e -o ndjson | kcli produce b -i ndjson",
            "an exact copy: bytes, headers, timestamps, nulls",
        ),
        (
            "kcli produce orders --failed bad.ndjson --checkpoint at < big.txt",
            "continue after failures, and after a kill",
        ),
        ("kcli produce orders -i failed bad.ndjson", "send again what failed"),
        ("kcli produce orders -f '%k\\t%v\\n' --rate 10MB/s a.tsv", "by a pattern, at a limited rate"),
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
@click.argument("topic", type=TOPIC, metavar="TOPIC", required=False)
@click.argument("files", nargs=-1, metavar="[FILE…]")
@click.option(
    "-t",
    "--topic",
    "named",
    type=TOPIC,
    multiple=True,
    metavar="TOPIC",
    help="The topic, if it is not the first argument; then all arguments are FILEs.",
)
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
    help=r"Header of all records; NAME= is empty, NAME alone is null (with colons in it as \:). Repeatable.",
)
@click.option("-p", "--partition", type=CountType(0), metavar="N", help="Partition of all records.")
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
@serde_option("Encode keys, values, or both as: {names}; repeatable.")
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
    help="Who must confirm: all in-sync replicas, only the leader, nobody.  [default: all]",
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
    help="Send in transactions with this transactional id; with --checkpoint nothing is stored twice, "
    "even after a kill.",
)
@click.option(
    "--transaction-every",
    type=CountType(1),
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
    "--rate", type=RATE, metavar="RATE", help="Limit per second: 1000 (records), or 10MB/s (of input)."
)
@click.option(
    "--failed",
    metavar="FILE",
    help="Write input that was not stored to FILE: JSON lines with line number and reason.",
)
@click.option(
    "--checkpoint",
    metavar="FILE",
    help="Record in FILE how far the input is confirmed; the same command resumes from there.",
)
@click.option(
    "--on-bad-input",
    type=click.Choice(["report", "fail"]),
    default="report",
    help="Input that is not a valid record: report it and go on, or fail at the first.  [default: report]",
)
@click.option("--tee", is_flag=True, help="Copy the input to stdout as it is read.")
@click.option("--allow-auto-topic-creation", is_flag=True, help="Let the brokers create an unknown topic.")
@plaintext_secrets_option
@pass_invocation
def produce(inv: Invocation, /, topic: str | None, files: tuple[str, ...], **flags: Any) -> int:
    """Send lines as records.

    Input comes from the FILEs in order, or from stdin; - is stdin among files. Bytes are sent as they are. A record
    that fails does not stop the run: the summary on stderr counts what the brokers confirmed, and --failed FILE
    keeps the rest. Batches of about 1 MB cost the brokers a quarter of what small ones do.

    -i ndjson restores what `kcli consume -o ndjson` wrote: key, value, headers, timestamp; the partition too with
    --partitioner manual. -f reads records by a pattern of %k %v %s %h{%k=%v;} %d %T %p, each up to the text behind it.

    -s encodes text, and the JSON values of -i ndjson. avro, protobuf and jsonschema take the latest schema of
    the subject TOPIC-value from a registry (-X schema.registry.url=URL), another one (avro:subject=NAME,version=3), or
    one in a file (avro:file=order.avsc), and register nothing unless told (register=true). A value that
    does not fit its schema is bad input.
    """
    from kcli.commands._produce_input import check_inputs, encoded, input_format
    from kcli.core.options import ProducerOptions

    topic, files = _topic_and_files(topic, files, flags.pop("named"))
    check_topic_name(topic, "produce")
    _check_flags(inv, flags)
    own = _own_options(flags)
    patient = None if "max_block_ms" in inv.resolved.values else FOR_EVER_MS
    options = inv.client_options(ProducerOptions, unused=_unused(inv, own), max_block_ms=patient, **own)
    _check_checkpoint(flags, options)
    if not flags["serdes"]:
        check_no_registry(inv)
    if flags["transaction_every"] is not None and not options.transactional_id:
        raise usage(
            "kcli produce: --transaction-every without --transactional-id",
            why="a transaction needs an id that stays the same from run to run",
            do="give one, for example --transactional-id import-1",
        )
    form = input_format(flags, options, keep=flags["failed"] is not None)
    with ExitStack() as stack:
        prepare: Callable[[], object] = lambda: None  # noqa: E731 - what finds schemas, if any are needed
        if flags["serdes"]:
            from kcli.commands.shared.serdes import prepare_schemas, serdes_to_write

            specs, serdes = serdes_to_write(inv, flags)
            stack.enter_context(serdes)
            form = encoded(form, serdes, topic, specs)
            prepare = partial(prepare_schemas, inv, serdes, specs, topic)
        check_inputs(files)
        from kcli.commands._produce_run import Run  # only now: what is wrong is told sooner

        run = Run(inv, stack, options, topic, files, form, flags)
        return run.dry_run(prepare) if inv.dry_run else run.run(prepare)


def _topic_and_files(
    first: str | None, files: tuple[str, ...], named: tuple[str, ...]
) -> tuple[str, tuple[str, ...]]:
    """With ``-t`` the first argument is a FILE like the others."""
    topics = tuple(dict.fromkeys(named))
    if len(topics) > 1:
        raise usage(
            f"kcli produce: -t {' -t '.join(topics)}",
            why="records are sent to one topic",
            do="run it once for each topic",
        )
    if topics:
        return topics[0], files if first is None else (first, *files)
    if first is None:
        raise usage(
            "kcli produce: missing argument TOPIC",
            why="it is required",
            do="name one: kcli produce TOPIC, or -t TOPIC",
        )
    return first, files


def _check_flags(inv: Invocation, flags: dict[str, Any]) -> None:
    if flags["tee"] and inv.values.output in ("json", "ndjson"):
        raise usage(
            f"kcli produce: --tee with -o {inv.values.output}",
            why="both would go to stdout",
            do="leave one of them out",
        )


def _check_checkpoint(flags: dict[str, Any], options: ProducerOptions) -> None:
    if flags["checkpoint"] is not None and options.acks == "0":
        raise usage(
            "kcli produce: --checkpoint with --acks 0",
            why="nothing is confirmed, so nobody knows how far it got",
            do="leave one of them out",
        )


def _unused(inv: Invocation, own: dict[str, Any]) -> dict[str, Unused]:
    """Options of a producer that this run has no use for."""
    configured = inv.resolved.values
    found: dict[str, Unused] = {}
    if not (own["transactional_id"] or configured.get("transactional_id")):
        found["transaction_timeout_ms"] = ("nothing is sent in transactions", "give --transactional-id ID")
    if (own["compression_type"] or configured.get("compression_type", "none")) == "none":
        found["compression_level"] = (
            "nothing is compressed",
            "choose a codec: -z gzip, or -z gzip:9 with its level",
        )
    return found


def _own_options(flags: dict[str, Any]) -> dict[str, Any]:
    codec: Codec | None = flags["compression"]
    acks, idempotent = flags["acks"], flags["idempotent"]
    if idempotent and acks in ("0", "1"):
        raise usage(
            f"kcli produce: --idempotent with --acks {acks}",
            why="an idempotent producer needs acks=all",
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
