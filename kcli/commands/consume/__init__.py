"""``kcli consume``: its options. What a run does is in ``run.py``."""

from typing import Any

import click

from kcli.commands.shared.command import command, options
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.from_dir import from_dir_option, topics_there
from kcli.commands.shared.options import GROUP, POSITIVE_DURATION, RECORD_KINDS, TOPIC, CountType, option
from kcli.commands.shared.params import (
    DURATION,
    EXPECTATION,
    FIELDS,
    Word,
    delimiter_option,
    exact_times_option,
    null_marker_option,
    offset_option,
    on_recreate_option,
    partitions_option,
    processes_option,
    serde_option,
    since_option,
    until_option,
)


def _sample(text: str) -> int:
    one, slash, every = text.partition("/")
    if one.strip() != "1" or not slash or not every.strip().isdecimal() or int(every) < 1:
        raise ValueError(f"{text!r} is not a sample: 1/1000 is one of a thousand records")
    return int(every)


SAMPLE = Word("sample", _sample)


@command(
    "consume",
    exits={
        5: "an offset is not in the log (--on-out-of-range), a batch is damaged (--on-corrupt), or records are lost",
        6: "some of the topics or partitions could not be read, or records of a share group were not acknowledged",
        8: "another number of records than --expect says",
    },
    reads=("KCLI_IMPL", "TMPDIR"),
    outputs=RECORD_KINDS,
    examples=(
        ("kcli consume orders -e", "all records, then stop"),
        ("kcli consume orders --offset latest", "only new records"),
        ("kcli consume orders --tail 10 -o table", "the last ten records, with their offsets"),
        ("kcli consume orders --offset @-1h -e -o ndjson", "the last hour, as JSON lines"),
        ("kcli consume orders -p 0 --offset 100:200 -f '%o %k=%v\\n'", "a range of one partition"),
        ("kcli consume 'orders-*' --merge -e -f '%T %t %v\\n'", "several topics, ordered by time"),
        ("kcli consume orders --key 4711 -e", "all records with one key, from the partition that has it"),
        ("kcli consume orders --grep v:error --grep '!k:^test' -n 5", "the first five that match"),
        ("kcli consume orders --where 'value.status >= 500' -e -o json", "by the content of JSON values"),
        ("kcli consume orders -s key=str -s value=json -e -o ndjson", "values as JSON within JSON lines"),
        (
            "kcli consume orders -s value=avro -X schema.registry.url=http://registry:8081",
            "Avro, Protobuf, JSON Schema",
        ),
        ("kcli consume orders --select 'key,value.customer.id as customer' -e", "two fields of each record"),
        ("kcli consume orders --count --by hour", "how many records there are for each hour"),
        ("kcli consume orders --latest-per-key", "the last value of each key"),
        ("kcli consume orders --key 4711 --offset latest --expect 1.. --within 10s", "a check in a script"),
        (
            "kcli consume orders --from-dir kafka-data --since 1d -o ndjson",
            "what a dead broker has left on its disk",
        ),
        (
            "kcli consume orders -e --where 'value.total > 80' -o ndjson --processes 4",
            "expensive filters, on four processors",
        ),
        ("kcli consume orders -g billing", "as a member of a group, from its committed offsets on"),
        ("kcli consume jobs -g workers --group-type share -o ndjson", "as a member of a share group"),
        ("kcli consume jobs -g workers --group-type share --ack-after-exec ./work", "a worker"),
    ),
)
@click.argument("topics", nargs=-1, type=TOPIC, metavar="TOPIC…")
@options(
    "What to read",
    from_dir_option(),
    option(
        "-t",
        "--topic",
        "more_topics",
        type=TOPIC,
        multiple=True,
        metavar="TOPIC",
        help="a topic, or ^REGEX; repeatable",
    ),
    partitions_option("only these partitions, as in 0,2,5-7"),
    option(
        "--isolation-level",
        type=click.Choice(["read_committed", "read_uncommitted"]),
        help="whether to show records of open and aborted transactions (default: read_committed)",
    ),
    option(
        "--print-control",
        is_flag=True,
        help="show the markers that end transactions, too; they are not counted",
    ),
    option("--rack", metavar="RACK", help="read from replicas in this rack if there are any"),
)
@options(
    "Where to begin and end",
    offset_option("where to start, or a range: earliest, latest, N, +N, -N, @TIME, A:B (B exclusive)"),
    since_option("start at this time: 3h (ago), 2026-11-21T10:00Z"),
    until_option("stop at this time"),
    exact_times_option(),
    option("--from-beginning", is_flag=True, help="start at the earliest offset (the default)"),
    option(
        "--tail",
        type=CountType(1),
        metavar="N",
        help="the last N records of all partitions together, then exit",
    ),
    option("--follow", is_flag=True, help="with --tail: go on with new records"),
    option(
        "-e",
        "--exit",
        "until_end",
        is_flag=True,
        help="stop at the end offsets that the partitions have when reading starts",
    ),
    option("-n", "--max-messages", type=CountType(1), metavar="N", help="stop after N records that match"),
    option(
        "--idle-timeout",
        type=DURATION,
        metavar="DUR",
        help="stop when no record has arrived for this long: 5s, 1m30s",
    ),
)
@options(
    "Filters",
    option(
        "--grep",
        multiple=True,
        metavar="[!]FIELD:REGEX",
        help="only records that match: k:, v:, h:NAME=, t: and a regular expression; ! negates; repeatable",
    ),
    option(
        "--where",
        type=Word("expression", str, concept="filters", completes="where"),
        metavar="EXPR",
        help="only records for which this expression is true: value.status == 'late' and value.total > 80",
    ),
    option("--key", metavar="KEY", help="only records with this key, from the partition it belongs to"),
    option("--all-partitions", is_flag=True, help="with --key: read all partitions"),
)
@options(
    "What to make of them",
    option(
        "--select",
        type=FIELDS,
        metavar="FIELD,…",
        help="only these fields of each record: key, value.customer.id as customer, headers.trace, timestamp",
    ),
    option("--count", is_flag=True, help="print only how many records there are, up to the end offsets"),
    option(
        "--by",
        type=FIELDS,
        metavar="FIELD,…",
        help="with --count: how many for each key, topic, hour, headers.NAME, value.PATH",
    ),
    option(
        "--top", type=CountType(1), metavar="N", help="with --by: only the N groups with the most records"
    ),
    option(
        "--latest-per-key",
        is_flag=True,
        help="only the last record of each key in each partition, up to the end offsets, without tombstones",
    ),
    option("--with-tombstones", is_flag=True, help="with --latest-per-key: tombstones, too"),
    option(
        "--distinct",
        type=FIELDS,
        metavar="FIELD,…",
        help="each different value of these fields once, as it first comes",
    ),
    option(
        "--sample", type=SAMPLE, metavar="1/N", help="only one of N records, chosen by its offset: 1/1000"
    ),
    option(
        "--expect",
        type=EXPECTATION,
        metavar="N|N..M|N..",
        help="exit with 8 unless as many records are read: 1, 10..20, 5.. (or more)",
    ),
    option(
        "--within",
        type=POSITIVE_DURATION,
        metavar="DUR",
        help="with --expect: stop after this time at the latest",
    ),
)
@options(
    "As a member of a group",
    option(
        "-g",
        "--group",
        type=GROUP,
        metavar="GROUP",
        help="as a member of this group, from its committed offsets on",
    ),
    option(
        "--group-type",
        type=click.Choice(["share"]),
        help="the type of the group: share is a queue, whose records are acknowledged one by one (Kafka 4.1 on)",
    ),
    option(
        "--on-each",
        type=click.Choice(["accept", "release", "reject"]),
        help="in a share group: what becomes of each record once it is written (default: accept)",
    ),
    option(
        "--ack-after-exec",
        type=Word("command", str),
        metavar="COMMAND",
        help="in a share group: run COMMAND for each record, as JSON on its stdin; 0 accepts it, 75 releases it, any "
        "other exit status rejects it",
    ),
    option("--commit/--no-commit", default=None, help="with -g: commit what was written (default: --commit)"),
)
@options(
    "Format",
    option(
        "-f",
        "--format",
        "template",
        type=Word("format", str, concept="formats"),
        metavar="FORMAT",
        help=r"output per record, as in '%t %p %o %k %v\n'",
    ),
    serde_option("decode keys, values, or both: {names}, or an internal topic's; repeatable"),
    option("-J", "kcat", is_flag=True, help="the same as -o kcat"),
    delimiter_option(r"what follows each value with -o value (default: \n)"),
    null_marker_option("print null keys and values as STR"),
    option("--raw", is_flag=True, help="bytes as they are, even on a terminal and from internal topics"),
    option("--merge", is_flag=True, help="order records by time across partitions"),
)
@options(
    "Processors",
    processes_option(
        "filter, decode and format records in N processes; the output is the same, in the same order"
    ),
)
@options(
    "Failures",
    option(
        "--on-out-of-range",
        type=click.Choice(["fail", "earliest", "latest"]),
        help="what to do when an offset is not in the log (any more) (default: fail)",
    ),
    on_recreate_option(
        "what to do when the topic is deleted and re-created while it is read (default: fail)"
    ),
    option(
        "--on-corrupt",
        type=click.Choice(["fail", "skip"]),
        help="what to do when a batch is damaged: skip leaves it out and reports it (default: fail)",
    ),
)
@pass_invocation
def consume(inv: Invocation, /, topics: tuple[str, ...], more_topics: tuple[str, ...], **flags: Any) -> int:
    """Read records and print them.

    Without a group, from the earliest offset on, and without end unless -e, --tail, -n, a range or
    --idle-timeout sets one. A TOPIC with *, ? or [ is a shell pattern, one that begins with ^ a regular expression.
    --from-dir needs no TOPIC: it reads what is there, but for internal topics.

    With an end (-e, --count, --latest-per-key, --tail), partitions whose leader cannot be reached within --timeout are
    reported, and the others are read.

    Formats: -o value (the default, unless a profile has another record_format for terminals), pretty (a block a record,
    for people), table, ndjson, json, csv, raw (a length in 4 bytes, then the value), hex (a dump for people), kcat (as
    kcat -J), or -f. Cells of csv are what the records hold:
    to a spreadsheet those that begin with =, +, - or @ are formulas, unless it imports them as text.

    Verbs of -f: %t topic, %p partition, %o offset, %k key, %v or %s value, %K %V %S lengths of key and value
    (-1 for null), %R the value's length in 4 bytes, %T or %d timestamp in ms, %T{iso} in UTC, %d{strftime[%H:%M]},
    %h headers, %h{NAME} the value of one, %h{%k=%v } each, %H their number, %e leader epoch, %x %y producer id and epoch,
    %{deliveries} in a share group, %%; %v{base64}, {hex}, {json}; %v{.customer.id} a member of JSON.

    With -g only what was written and flushed is committed: every five seconds, before partitions go to other
    members, and at the end. Where nothing is committed yet, it starts at the earliest offset, or at the one given with
    --offset or --since.

    With --group-type share records are locked for this member, and acknowledged once they are written and flushed: as
    --on-each says, or by the exit status of COMMAND, which gets the record as a line of -o ndjson on its stdin, key
    and value in the files that KCLI_KEY_FILE and KCLI_VALUE_FILE name (unset for null), and is run without a shell;
    what it prints goes to stderr. While it runs the lock is extended (Kafka 4.2 on). A record whose COMMAND a signal
    ended is released, and one whose COMMAND cannot be run (126, 127) ends the reading. -n acquires no more than N, -e
    ends when no broker has a record for this member. What was written and not accepted, because its lock had expired,
    is delivered again: it is reported, and exits with 6. Filters, ranges and --tail are refused: what they leave out
    could not be left to others.

    --merge holds a record back until no other partition has an earlier one; for partitions that have no more records
    at present it waits one second. A field of --grep that is null matches nothing. --where sees key, value (parsed
    JSON), headers (name to last value), topic, partition, offset, timestamp, as in value.status >= 500 or headers.kind
    in ('late', 'lost'); it is JMESPath and more: see `kcli help filters`. An expression that uses a value that is not
    JSON does not match.

    Fields of --select, --by and --distinct: topic, partition, offset, timestamp (ms), time, date and hour in UTC, key,
    value, headers, timestamp_type, leader_epoch; in JSON value.a.b, value.list[0], value."a.b", key.id; headers.NAME.
    What a record lacks is null. --select prints a tab between fields; -o csv, ndjson, json and table name them.

    --processes N shares out what is done with records; one process reads, writes and commits. It is for what costs
    processor time: --where, --select, -s, formats of compressed topics. --tail, --merge, --count, --distinct,
    --latest-per-key and share groups are left to one process, and refused with it. A process that dies takes nothing
    with it.

    --latest-per-key reads the range twice, and filters what is latest; keys that memory does not hold go to files in
    TMPDIR. --expect N or N..M with --within waits until the time is over or too many came, N.. until enough came.

    -s decodes: as JSON in -o ndjson and json, where value_encoding names the serde, as text elsewhere; --where and --grep
    see what is decoded. avro, protobuf and jsonschema find schemas in a registry (-X schema.registry.url=URL) or a
    file: -s value=avro:file=order.avsc. What cannot be decoded is shown as without -s and counted; it is not an error.
    The topics __consumer_offsets and __transaction_state are decoded without -s.
    """
    from kcli.commands.consume.run import run  # not for --help

    chosen = (*topics, *more_topics) or topics_there(inv.values.from_dir)
    return run(inv, topics=chosen, **flags)
