"""``kcli produce``: its options. They are checked in ``start.py``, a run is in ``run.py``."""

from typing import Any

import click

from kcli.commands.shared.command import command, options
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import TOPIC, CountType, option
from kcli.commands.shared.params import (
    CODEC,
    DELIMITER,
    EXPECTATION,
    HEADERS,
    VALUE_PATH,
    Word,
    checkpoint_option,
    delimiter_option,
    null_marker_option,
    processes_option,
    rate_option,
    serde_option,
)
from kcli.core.types import CODEC_NAMES

FORMATS = ("lines", "ndjson", "kcat", "raw", "csv", "csv-objects", "file", "failed")


@command(
    "produce",
    exits={
        1: "no record was confirmed; the topic does not exist",
        6: "some of the input was not stored: --failed FILE keeps it",
        8: "another number of records was confirmed than --expect says",
    },
    reads=("KCLI_IMPL",),
    outputs=("table", "plain", "json", "ndjson"),
    examples=(
        ("kcli produce orders < lines.txt", "one record a line"),
        ("kcli produce orders -k k1 --value '{\"id\":1}'", "one record"),
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
        ("kcli produce orders --key-from value.id a.json", "keys from the values, which are JSON"),
        ("kcli produce users -i csv --key-from value.id users.csv", "a JSON object of each row of a table"),
        ("kcli produce orders -i ndjson -z zstd --processes 4 < big.ndjson", "on four processors"),
        ("kcli produce orders -f '%k\\t%v\\n' --rate 10MB/s a.tsv", "by a pattern, at a limited rate"),
        ("kcli produce orders -k k1 --tombstone", "a null value: compaction deletes the key"),
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
@options(
    "Input",
    option(
        "-t",
        "--topic",
        "named",
        type=TOPIC,
        multiple=True,
        metavar="TOPIC",
        help="the topic, if it is not the first argument; then all arguments are FILEs",
    ),
    option(
        "-i",
        "--input",
        "input_format",
        type=click.Choice(FORMATS),
        help="what the input is: csv has a header line, raw four bytes of length before each value, file is one record "
        "per FILE, failed what --failed collected (default: lines)",
    ),
    option(
        "-f",
        "--format",
        "pattern",
        type=Word("pattern", str, concept="formats"),
        metavar="PATTERN",
        help=r"read records by a pattern, such as -f '%k\t%v\n'; sizes as in '%R%s'",
    ),
    delimiter_option(r"what ends a record, one byte or more; escapes \n \t \0 \xNN (default: \n)"),
    option(
        "-K",
        "--key-delimiter",
        type=DELIMITER,
        metavar="DELIM",
        help="split lines into key and value at the first DELIM; a line without it has no key",
    ),
    option("-Z", "--empty-is-null", is_flag=True, help="empty keys and empty values become null"),
    null_marker_option("a key or value that is STR becomes null"),
    option("--tee", is_flag=True, help="copy the input to stdout as it is read"),
)
@options(
    "Records",
    option("-k", "--key", metavar="KEY", help="key of all records"),
    option(
        "-H",
        "--header",
        "headers",
        type=HEADERS,
        multiple=True,
        metavar="NAME=VALUE|@FILE",
        help=r"header of all records; NAME= is empty, NAME alone is null (write colons in it as \:); @FILE has one a "
        "line. Repeatable",
    ),
    option("--value", metavar="VALUE", help="send one record with this value, and read no input"),
    option("--tombstone", is_flag=True, help="send one record with a null value, for the key of -k"),
    option(
        "--key-from",
        type=VALUE_PATH,
        metavar="FIELD",
        help="key of each record from its JSON value, such as value.customer.id; a text as it is, else as JSON",
    ),
    option(
        "--headers-from",
        type=VALUE_PATH,
        metavar="FIELD",
        help="headers of each record from an object in its JSON value: a header for each member",
    ),
    option(
        "--partition-from",
        type=VALUE_PATH,
        metavar="FIELD",
        help="partition of each record from a number in its JSON value",
    ),
    option("-p", "--partition", type=CountType(0), metavar="N", help="partition of all records"),
    option(
        "--partitioner",
        type=click.Choice(["murmur2", "consistent", "hashcode", "random", "roundrobin", "manual"]),
        help="which partition a key belongs to: murmur2 is Java's, consistent librdkafka's; manual is the one that the "
        "record names (default: murmur2)",
    ),
    serde_option("encode keys, values, or both as: {names}; repeatable"),
)
@options(
    "Delivery",
    option(
        "-z",
        "--compression",
        type=CODEC,
        metavar="CODEC[:LEVEL]",
        help=f"{', '.join(CODEC_NAMES[:-1])} or {CODEC_NAMES[-1]}; levels as in gzip:6",
    ),
    option(
        "--acks",
        type=click.Choice(["all", "1", "0"]),
        help="which replicas must confirm: all in sync, only the leader, or none (default: all)",
    ),
    option(
        "--idempotent/--no-idempotent",
        "idempotent",
        default=None,
        help="number the batches, so that a retry is never stored twice (default: on with acks=all)",
    ),
    option(
        "--transactional-id",
        metavar="ID",
        help="send in transactions with this transactional id; with --checkpoint nothing is stored twice, "
        "even after a kill",
    ),
    option(
        "--transaction-every",
        type=CountType(1),
        metavar="N",
        help="end a transaction after N records; after 5 s or 8 MB in any case (default: 10000)",
    ),
    rate_option("limit per second: 1000 (records), or 10MB/s (of input)"),
    option("--allow-auto-topic-creation", is_flag=True, help="let the brokers create an unknown topic"),
    processes_option(
        "parse and encode in N processes, and compress in as many threads; order stays as it is"
    ),
)
@options(
    "Failures and repetition",
    option(
        "--expect",
        type=EXPECTATION,
        metavar="N|N..M|N..",
        help="exit code 8 unless so many records of this run are confirmed",
    ),
    option(
        "--failed",
        metavar="FILE",
        help="write input that was not stored to FILE: JSON lines with line number and reason",
    ),
    checkpoint_option(
        "record in FILE how far the input is confirmed; the same command resumes from there, unless the topic was "
        "deleted and recreated"
    ),
    option(
        "--on-bad-input",
        type=click.Choice(["report", "fail"]),
        default="report",
        help="input that is not a valid record: report it and continue, or fail at the first (default: report)",
    ),
)
@pass_invocation
def produce(
    inv: Invocation, /, topic: str | None, files: tuple[str, ...], named: tuple[str, ...], **flags: Any
) -> int:
    """Send lines as records.

    Input comes from the FILEs in order, or from stdin; - is stdin among files. Bytes are sent as they are. A record
    that fails does not stop the run: the summary on stderr counts what the brokers confirmed, and --failed FILE
    collects the rest. Batches of about 1 MB cost the brokers a quarter of what small ones do.

    -i ndjson restores what `kcli consume -o ndjson` wrote: key, value, headers, timestamp; the partition too with
    --partitioner manual. -f reads records by a pattern of %k %v %s %h{NAME} %h{%k=%v;} %d %T %p, each once and up to the
    text after it.

    -i csv restores what `kcli consume -o csv` wrote. Of a header line without any of its columns the rows become JSON
    objects, as with -i csv-objects for any header line: cells are text, and an empty one without quotes is null.

    --key-from, --headers-from and --partition-from read values that are JSON, in all formats, before -s encodes them;
    with -i ndjson, kcat or csv the key of the input is replaced. A value that lacks the path, or has null there, is
    bad input.

    --processes N parses and encodes in N processes what is not sent as it is read, and compresses in N threads. One
    producer sends: records of a key, and of a partition, have the order of the input, and --checkpoint, --failed and
    transactions are as without it. A process that dies takes nothing with it. -i raw, -i file and patterns without a
    line end are refused: where their records end is not known ahead.

    -s encodes text, and the JSON values of -i ndjson. avro, protobuf and jsonschema use the latest schema of
    the subject TOPIC-value from a registry (-X schema.registry.url=URL), another one (avro:subject=NAME,version=3), or
    one in a file (avro:file=order.avsc), and register nothing without register=true. A value that
    does not fit its schema is bad input.
    """
    from kcli.commands.produce.start import start  # not for --help

    return start(inv, topic, files, named, **flags)
