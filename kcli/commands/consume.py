"""``kcli consume``: records of topics on stdout. Parses, resolves what is read, runs the flow, sums up."""

import errno
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from kcli.commands.shared.cluster import check_no_registry
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.exit import abandon_stdout
from kcli.commands.shared.options import RECORD_KINDS
from kcli.commands.shared.params import DELIMITER, DURATION, INSTANT, OFFSET_RANGE, PARTITIONS
from kcli.commands.shared.serde_options import plaintext_secrets_option, serde_option
from kcli.commands.shared.types import GROUP, TOPIC, CountType
from kcli.commands.shared.usage import usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcli.commands._what_to_read import Topics
    from kcli.core.consumer.consumer import Consumer
    from kcli.core.options import ConsumerOptions
    from kcli.core.positions import RangeSpec, ResetPolicy
    from kcli.core.types import TopicPartition
    from kcli.flows.consume import ConsumeResult
    from kcli.flows.filters.selection import Selection
    from kcli.flows.filters.where import Where
    from kcli.flows.group_commits import GroupCommits
    from kcli.flows.reading import Reading
    from kcli.flows.stop import Stop
    from kcli.output.decoding import Decoders
    from kcli.output.records import RecordSink
    from kcli.serde.opening import Serdes


@command(
    "consume",
    outputs=RECORD_KINDS,
    examples=(
        ("kcli consume orders -e", "all there is, then stop"),
        ("kcli consume orders --offset latest", "only what comes from now on"),
        ("kcli consume orders --tail 10 -o table", "the last ten records, with their offsets"),
        ("kcli consume orders --offset @-1h -e -o ndjson", "the last hour, as JSON lines"),
        ("kcli consume orders -p 0 --offset 100:200 -f '%o %k=%v\\n'", "a range of one partition"),
        ("kcli consume '^orders-.*' --merge -e -f '%T %t %v\\n'", "several topics, ordered by time"),
        ("kcli consume orders --key 4711 -e", "all records with one key, from the partition that has it"),
        ("kcli consume orders --grep v:error --grep '!k:^test' -n 5", "the first five that match"),
        ("kcli consume orders --where 'value.status == `500`' -e -o json", "by what is in JSON values"),
        ("kcli consume orders -s key=str -s value=json -e -o ndjson", "values as JSON inside of JSON lines"),
        (
            "kcli consume orders -s value=avro -X schema.registry.url=http://registry:8081",
            "Avro, Protobuf, JSON Schema",
        ),
        ("kcli consume orders -g billing", "as a member of a group, from its committed offsets on"),
    ),
)
@click.argument("topics", nargs=-1, type=TOPIC, metavar="TOPIC…")
@click.option(
    "-t",
    "--topic",
    "more_topics",
    type=TOPIC,
    multiple=True,
    metavar="TOPIC",
    help="A topic, or ^REGEX; repeatable.",
)
@click.option(
    "-p", "--partitions", type=PARTITIONS, metavar="LIST", help="Only these partitions, as in 0,2,5-7."
)
@click.option(
    "--offset",
    type=OFFSET_RANGE,
    metavar="SPEC",
    help="Where to start, or a range: earliest, latest, N, +N, -N, @TIME, A:B (B exclusive).",
)
@click.option(
    "--since", type=INSTANT, metavar="TIME", help="Start at this time: 3h (ago), 2026-11-21T10:00Z."
)
@click.option("--until", type=INSTANT, metavar="TIME", help="Stop at this time.")
@click.option("--from-beginning", is_flag=True, help="Start at the earliest offset (the default).")
@click.option(
    "--tail", type=CountType(1), metavar="N", help="The last N records of all partitions together, then exit."
)
@click.option(
    "-e",
    "--exit",
    "until_end",
    is_flag=True,
    help="Stop at the ends that the partitions have when reading starts.",
)
@click.option("-n", "--max-messages", type=CountType(1), metavar="N", help="Stop after N records that match.")
@click.option(
    "--idle-timeout",
    type=DURATION,
    metavar="DUR",
    help="Stop when no record has arrived for this long: 5s, 1m30s.",
)
@click.option(
    "-g",
    "--group",
    type=GROUP,
    metavar="GROUP",
    help="As a member of this group, from its committed offsets on.",
)
@click.option(
    "--commit/--no-commit", default=None, help="With -g: commit what was written out.  [default: --commit]"
)
@click.option(
    "--grep",
    multiple=True,
    metavar="[!]FIELD:REGEX",
    help="Only records that match: k:, v:, h:NAME=, t: and a regular expression; ! negates; repeatable.",
)
@click.option(
    "--where",
    metavar="EXPR",
    help="Only records for which this JMESPath expression is true: value.status == 'late'.",
)
@click.option("--key", metavar="KEY", help="Only records with this key, from the partition it belongs to.")
@click.option("--all-partitions", is_flag=True, help="With --key: look in all partitions.")
@click.option("--merge", is_flag=True, help="Order records by time across partitions.")
@click.option(
    "-f", "--format", "template", metavar="FORMAT", help=r"Output per record, as in '%t %p %o %k %v\n'."
)
@serde_option("Decode keys, values, or both: {names}, or an internal topic's; repeatable.")
@click.option("-J", "kcat", is_flag=True, help="The same as -o kcat.")
@click.option(
    "-D",
    "--delimiter",
    type=DELIMITER,
    metavar="DELIM",
    help=r"What follows each value with -o value.  [default: \n]",
)
@click.option("--null-marker", metavar="STR", help="Print null keys and values as STR.")
@click.option(
    "--isolation-level",
    type=click.Choice(["read_committed", "read_uncommitted"]),
    help="Whether to show records of open and aborted transactions.  [default: read_committed]",
)
@click.option("--print-control", is_flag=True, help="Show the markers that end transactions, too.")
@click.option("--rack", metavar="RACK", help="Read from replicas in this rack if there are any.")
@click.option(
    "--on-out-of-range",
    type=click.Choice(["fail", "earliest", "latest"]),
    help="What to do when an offset is not in the log (any more).  [default: fail]",
)
@click.option(
    "--on-recreate",
    type=click.Choice(["fail", "restart"]),
    default="fail",
    help="What to do when the topic is deleted and re-created while it is read.  [default: fail]",
)
@click.option(
    "--on-corrupt",
    type=click.Choice(["fail", "skip"]),
    help="What to do when a batch is damaged: skip leaves it out and reports it.  [default: fail]",
)
@click.option("--raw", is_flag=True, help="Bytes as they are, even on a terminal and from internal topics.")
@plaintext_secrets_option
@pass_invocation
def consume(inv: Invocation, /, topics: tuple[str, ...], **flags: Any) -> int:
    """Read records and print them.

    Without a group, from the earliest offset on, and without end unless -e, --tail, -n, a range or
    --idle-timeout sets one. Formats: -o value (the default), table, ndjson, json, csv, raw (a length in 4 bytes,
    then the value), hex (a dump for people), kcat (as kcat -J), or -f.

    Verbs of -f: %t topic, %p partition, %o offset, %k key, %v or %s value, %K %V %S lengths of key and value
    (-1 for null), %R the value's length in 4 bytes, %T or %d timestamp in ms, %d{strftime[%H:%M]}, %h headers,
    %h{%k=%v }, %H their number, %e leader epoch, %x %y producer id and epoch, %%; %v{base64}, {hex}, {json}.

    With -g only what was written and flushed is committed: every five seconds, before partitions go to other
    members, and at the end. Where nothing is committed yet, it starts at the earliest offset, or at the one given with
    --offset or --since.

    --merge holds a record back until no other partition has an earlier one; for partitions that have no more records
    at present it waits one second. A field of --grep that is null matches nothing. --where sees key, value (parsed
    JSON), headers (name to last value), topic, partition, offset, timestamp; literals are in backticks or single
    quotes, as in value.status == `500` || headers.kind == 'late'. An expression that looks at a value that is not JSON
    does not match.

    -s decodes: as JSON in -o ndjson and json, where value_encoding names the serde, as text elsewhere; --where and --grep
    see what is decoded. avro, protobuf and jsonschema find schemas in a registry (-X schema.registry.url=URL) or a
    file: -s value=avro:file=order.avsc. What cannot be decoded is shown as without -s and counted; it is not an error.
    The topics __consumer_offsets and __transaction_state are decoded without -s.
    """
    from kcli.commands import _consume_options as configured
    from kcli.commands import _what_to_read as what
    from kcli.commands._record_format import record_formatter
    from kcli.core.consumer.consumer import Consumer
    from kcli.flows.stop import Stop
    from kcli.output.records import RecordSink

    _check(flags, inv)
    wanted = what.Topics((*topics, *flags["more_topics"]))
    if not (wanted.names or wanted.patterns):
        raise usage(
            "kcli consume: missing argument TOPIC",
            why="it is required",
            do="name one: kcli consume TOPIC, or -t TOPIC",
        )
    flags["group"] = configured.group(inv, flags)
    _check_commit(flags)
    policy = configured.reset_policy(inv, flags)
    asked = what.asked_range(flags, policy)
    serdes = _serdes(inv, flags, wanted)
    chosen, where = what.selection(flags, serdes)
    decoders = None
    if serdes is not None:
        from kcli.output.decoding import Decoders

        decoders = Decoders(serdes.key, serdes.value)
    seen: dict[str, Any] = {"id": None}

    def broker(tp: "TopicPartition") -> int:
        node = seen["consumer"].cluster.view.leader(tp)
        return -1 if node is None else int(node.id)

    formatter = record_formatter(
        inv,
        flags,
        topics=2 if wanted.several else 1,
        cluster_id=lambda: seen["id"],
        broker=broker,
        decoders=decoders,
    )
    flags["group"] = configured.group(inv, flags)
    _check_commit(flags)
    policy = configured.reset_policy(inv, flags)
    asked = what.asked_range(flags, policy)
    options = _options(inv, flags, asked, policy)
    if serdes is None:
        check_no_registry(inv)
    what.say_times(inv, asked)
    keeps = flags["tail"] is not None or flags["merge"]  # these keep single records of a batch
    with serdes or nullcontext(), Consumer(options, hooks=inv.hooks, joins=not keeps) as consumer:
        with inv.first_contact(options.bootstrap_servers):
            seen["id"] = consumer.connect(inv.timeout).cluster_id
        seen["consumer"] = consumer
        run = _Run(inv, consumer, wanted, asked, chosen, flags, serdes)
        if inv.dry_run:
            return run.dry_run()
        run.plan()
        escape = inv.out.isatty and not flags["raw"]
        # Until here Ctrl-C simply ends it; from here on what was read is written first.
        with Stop(unconfirmed=run.unconfirmed) as stop, RecordSink(inv.out, formatter, escape=escape) as sink:
            code = run.run(sink, stop)
            run.undecoded = _say_undecoded(inv, decoders, where)
    run.sum_up(where, stop)
    return code


def _serdes(inv: Invocation, flags: dict[str, Any], wanted: "Topics") -> "Serdes | None":
    """Nothing is loaded for who has no use for it."""
    internal = not wanted.several and wanted.names[0].startswith("__")
    if not (flags["serdes"] or internal):
        return None
    from kcli.commands.shared.serdes import serdes_to_read

    return serdes_to_read(inv, flags, wanted.names if not wanted.several else ())


def _say_undecoded(inv: Invocation, decoders: "Decoders | None", where: "Where | None") -> int:
    """What kept its bytes, and why the first one did; how many these were."""
    if decoders is None:
        return 0
    from kcli.output.decoding import PARTS
    from kcli.output.progress import counted

    total = 0
    for which, found in decoders.undecoded.items():
        if found.count:
            inv.talk.warn(
                f"{counted(found.count, PARTS[which])} could not be decoded and {'is' if found.count == 1 else 'are'} "
                f"shown undecoded; the first: {found.first}"
            )
        total += found.count
    if where is not None and where.undecoded:
        inv.talk.warn(
            f"{counted(where.undecoded, 'value')} could not be decoded: --where passed over "
            f"{'it' if where.undecoded == 1 else 'them'}; the first: {where.first}"
        )
        total += where.undecoded
    return total


def _options(
    inv: Invocation, flags: dict[str, Any], asked: "RangeSpec", policy: "ResetPolicy | None"
) -> "ConsumerOptions":
    from kcli.commands._consume_options import unused
    from kcli.commands._what_to_read import reset_policy
    from kcli.core.options import WHOLE_BATCHES, ConsumerOptions
    from kcli.core.positions import OffsetSpec

    start = asked.start or OffsetSpec("earliest")
    options = inv.client_options(
        ConsumerOptions,
        unused=unused(inv, flags),
        group_id=flags["group"],
        auto_offset_reset=None if policy is not None else reset_policy(start),
        enable_auto_commit=flags["commit"],
        isolation_level=flags["isolation_level"],
        client_rack=flags["rack"],
        on_corrupt=flags["on_corrupt"],
        on_out_of_range=flags["on_out_of_range"],
        show_control_batches=flags["print_control"] or None,
    )
    flags["commit"] = options.enable_auto_commit
    return replace(
        options,
        on_out_of_range=options.on_out_of_range or "fail",
        max_poll_records=WHOLE_BATCHES,
        enable_auto_commit=False,  # commits are made here, of what was written out
    )


def _check(flags: dict[str, Any], inv: Invocation) -> None:
    """Flags that contradict each other: usage errors, before anything is done."""
    given = {f"--{name.replace('_', '-')}" for name, value in flags.items() if value not in (None, False, ())}
    for one, others, why in _CONTRADICTIONS:
        clash = sorted(given & set(others)) if one in given else []
        if clash:
            raise usage(f"kcli consume: {one} and {clash[0]} together", why=why, do="use one of them")
    starts = [name for name in ("--offset", "--since", "--tail", "--from-beginning") if name in given]
    if len(starts) > 1:
        raise usage(
            f"kcli consume: {' and '.join(starts)} together",
            why="each says where to start",
            do="use one of them",
        )
    formats = [
        *(["-f"] if flags["template"] is not None else []),
        *(["-J"] if flags["kcat"] else []),
        *(["-o"] if inv.values.output is not None else []),
    ]
    if len(formats) > 1:
        raise usage(
            f"kcli consume: {' and '.join(formats)} together",
            why="each chooses the output format",
            do="use one of them",
        )
    if flags["all_partitions"] and flags["key"] is None:
        raise usage(
            "kcli consume: --all-partitions without --key",
            why="all partitions are read anyway",
            do="leave it out",
        )


def _check_commit(flags: dict[str, Any]) -> None:
    if flags["commit"] is not None and flags["group"] is None:
        name = "--commit" if flags["commit"] else "--no-commit"
        raise usage(
            f"kcli consume: {name} without -g", why="offsets are committed for a group", do="give -g GROUP"
        )


_OF_TAIL = "--tail N is N records, then the end"
_OF_GROUP = "the group says what its members read, and from where"
_CONTRADICTIONS = (
    ("--tail", ("--until", "--max-messages", "--idle-timeout", "--merge"), _OF_TAIL),
    ("--group", ("--tail", "--partitions", "--all-partitions"), _OF_GROUP),
    (
        "--group",
        ("--merge",),
        "records that wait for others cannot be committed in the order of their offsets",
    ),
)


class _Run:
    """One run, from the first contact on."""

    def __init__(
        self,
        inv: Invocation,
        consumer: "Consumer",
        topics: "Topics",
        asked: "RangeSpec",
        selection: "Selection",
        flags: dict[str, Any],
        serdes: "Serdes | None",
    ) -> None:
        from kcli.flows.consume import ConsumeResult

        self.inv, self.consumer, self.topics, self.asked = inv, consumer, topics, asked
        self.selection, self.flags, self.serdes = selection, flags, serdes
        self.undecoded = 0
        self.names = topics.found(consumer, inv.timeout)
        self.result: ConsumeResult = ConsumeResult()
        self.reading: Reading | None = None
        self.commits: GroupCommits | None = None
        self.total: int | None = None
        self._ends = flags["until_end"] or asked.stop is not None

    # --- what is to be read ------------------------------------------------------------------------

    def plan(self) -> None:
        """Everything that may fail before the first record is asked for."""
        if self.flags["group"] is not None:
            self._plan_group()
        elif self.flags["tail"] is None:
            self._plan_chosen()

    def _plan_chosen(self) -> None:
        from kcli.commands._what_to_read import chosen_partitions, new_partitions
        from kcli.flows.reading import Chosen

        partitions = chosen_partitions(self.inv, self.consumer, self.names, self.flags, self.serdes)
        reading = Chosen(
            self.consumer,
            self.asked,
            until_end=self.flags["until_end"],
            timeout=self.inv.timeout,
            say=self.inv.talk.detail,
            warn=self.inv.talk.warn,
            on_out_of_range=self.consumer.options.on_out_of_range,
            on_recreate=self.flags["on_recreate"],
            find_new=new_partitions(self.consumer, self.topics, self.flags, bounded=self._ends),
        )
        spans = reading.begin(partitions).values()
        if all(span.stop is not None for span in spans):
            self.total = sum(max(0, (span.stop or 0) - (span.start or 0)) for span in spans) or None
        self.reading = reading

    def _plan_group(self) -> None:
        from kcli.flows.group_commits import GroupCommits
        from kcli.flows.reading import GroupShare

        talk = self.inv.talk
        start = self.asked.start
        if self.flags["from_beginning"] or (start is not None and start.kind not in ("earliest", "stored")):
            talk.note(f"group {self.flags['group']}: that start applies where nothing is committed")
        self.commits = GroupCommits(
            self.consumer,
            interval=self.consumer.options.auto_commit_interval_ms / 1000,
            enabled=self.flags["commit"],
            warn=talk.warn,
        )
        share = GroupShare(
            self.consumer,
            self.asked,
            self.commits,
            until_end=self.flags["until_end"],
            timeout=self.inv.timeout,
            say=talk.detail,
            warn=talk.warn,
            on_recreate=self.flags["on_recreate"],
        )
        self.consumer.find_coordinator(self.inv.timeout)
        share.begin(self.topics.subscription())
        self.reading = share

    def dry_run(self) -> int:
        """Says on stdout what would be read; joins no group and commits nothing."""
        from kcli.commands._what_to_read import chosen_partitions
        from kcli.flows import ranges

        partitions = chosen_partitions(self.inv, self.consumer, self.names, self.flags, self.serdes)
        spans = ranges.spans(
            self.consumer,
            partitions,
            self.asked,
            until_end=self.flags["until_end"],
            timeout=self.inv.timeout,
            on_out_of_range=self.consumer.options.on_out_of_range,
        )
        group = self.flags["group"]
        committed = self.consumer.committed(partitions, self.inv.timeout) if group is not None else {}
        starts = {tp: known.offset for tp in spans if (known := committed.get(tp)) is not None}
        self._show({tp: (starts.get(tp, span.start), span.stop) for tp, span in spans.items()})
        return 0

    def _show(self, plan: "dict[TopicPartition, tuple[int | None, int | None]]") -> None:
        """Where reading would begin and stop, in lines or as the documents of the other commands."""
        out = self.inv.out
        if out.kind in ("json", "ndjson"):
            from kcli.output.listing import list_rows
            from kcli.output.tables import Column

            columns = [Column(key) for key in ("topic", "partition", "from_offset", "to_offset")]
            cluster = self.consumer.cluster.view.cluster_id
            with list_rows(out, "ConsumePlan", "ConsumePlan", columns, cluster=cluster) as rows:
                for tp, (start, stop) in plan.items():
                    values = (tp.topic, tp.partition, start, stop)
                    rows.add(dict(zip([column.key for column in columns], values, strict=True)))
            return
        for tp, (start, stop) in plan.items():
            out.text(f"{tp}: from {start} {'without end' if stop is None else f'to {stop}'}\n")
        out.flush()

    # --- reading -------------------------------------------------------------------------------------

    def run(self, sink: "RecordSink", stop: "Stop") -> int:
        """The exit status: 0, or that of the signal that ended it."""
        from kcli.core.errors import KcliError

        try:
            if self.flags["tail"] is not None:
                self._tail(sink, stop)
            else:
                self._consume(sink, stop)
        except KcliError as error:
            if not stop:
                raise
            self.inv.failed(error)  # the signal counts
        except OSError as error:
            if stop and isinstance(error, BrokenPipeError):
                abandon_stdout()  # Ctrl-C has ended the reader too
                return stop.exit_code
            if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG):
                self._say_written()
            raise
        return stop.exit_code

    def _tail(self, sink: "RecordSink", stop: "Stop") -> None:
        from kcli.commands._what_to_read import chosen_partitions
        from kcli.flows import ranges
        from kcli.flows.tail import tail

        stop.wake(self.consumer.wakeup)
        partitions = chosen_partitions(self.inv, self.consumer, self.names, self.flags, self.serdes)
        now = ranges.bounds(self.consumer, partitions, self.inv.timeout)
        for fetched in tail(self.consumer, now, self.flags["tail"], stop, self.selection):
            sink.batch(fetched)
            self.result.records += 1
        sink.flush()
        self.result.scanned = self.selection.scanned
        if not stop:
            self._say_hidden(now.ends)

    def _consume(self, sink: "RecordSink", stop: "Stop") -> None:
        from kcli.flows.consume import consume
        from kcli.flows.merge import Merger

        assert self.reading is not None
        with self.inv.progress("scanned" if self.selection else "read", total=self.total) as bar:
            if self.inv.out.isatty:
                bar.style = "none"  # records and a bar on one terminal would mix

            def progress(result: "ConsumeResult") -> None:
                self.result = result
                extra = {"matched": result.records} if self.selection else {}
                bar.update(result.scanned, result.bytes, **extra)

            self.result = consume(
                self.consumer,
                self.reading,
                sink,
                stop=stop,
                limit=self.flags["max_messages"],
                idle_timeout=self.flags["idle_timeout"],
                selection=self.selection,
                merger=Merger(self.consumer) if self.flags["merge"] else None,
                skip_corrupt=self.inv.talk.warn if self.consumer.options.on_corrupt == "skip" else None,
                progress=progress,
            )
        limit = self.flags["max_messages"]
        ended = self.reading.done and not stop and (limit is None or self.result.records < limit)
        if self.flags["until_end"] and ended:
            states = [self.consumer.state(tp) for tp in self.consumer.assignment]
            open_ended = [one for one in states if one.stop is not None and one.high_watermark != one.stop]
            self._say_hidden({one.tp: one.stop for one in open_ended if one.stop is not None})

    def _say_hidden(self, ends: "Mapping[TopicPartition, int]") -> None:
        """What an open transaction keeps from a reader of committed records is not there, and not missing either."""
        from kcli.flows.hidden import hidden_at

        for one in hidden_at(self.consumer, ends):
            self.inv.talk.warn(str(one))

    # --- what is said ----------------------------------------------------------------------------------

    def unconfirmed(self) -> str:
        """What a second signal leaves undone; called by its handler."""
        left = self.commits.uncommitted if self.commits is not None else {}
        return f"written but not committed: {_places(left)}" if left else ""

    def _say_written(self) -> None:
        places = self.result.positions
        self.inv.talk.note(f"written so far, up to: {_places(places)}" if places else "nothing was written")

    def sum_up(self, where: "Where | None", stop: "Stop") -> None:
        """Totals on stderr: always after a signal or with filters, else with -v."""
        from kcli.output.progress import counted, size_text

        talk, result = self.inv.talk, self.result
        for count, (noun, one, many) in (
            (where.not_json if where is not None else 0, ("value", "is not JSON", "are not JSON")),
            (where.failed if where is not None else 0, ("record", "has another type", "have other types")),
        ):
            if count:
                expected = " than --where expects" if noun == "record" else ""
                skipped = f"--where skipped {'it' if count == 1 else 'them'}"
                talk.note(f"{counted(count, noun)} {one if count == 1 else many}{expected}: {skipped}")
        damaged = result.unreadable + self.consumer.metrics().batches_skipped
        if damaged:
            talk.warn(f"{counted(damaged, 'damaged batch').replace('batchs', 'batches')} passed over")
        if self.inv.values.progress == "json":
            talk.plain(self._report(damaged))
            return
        text = counted(result.records, "record")
        if self.selection:
            text = f"{text} of {result.scanned:,} match{'es' if result.records == 1 else ''}"
        text += f" ({size_text(result.bytes)} fetched)" if result.bytes else ""
        if result.seconds:
            text += f" in {result.seconds:.1f} s: {result.scanned / result.seconds:,.0f} records/s"
        if stop:
            talk.note(f"stopped: {text}")
        elif self.selection:
            talk.note(text)
        else:
            talk.detail(text)
        if self.flags["key"] is not None and not (result.records or stop or self.flags["all_partitions"]):
            talk.note("no record has that key; --all-partitions reads all partitions")

    def _report(self, damaged: int) -> str:
        import json

        result = self.result
        rate = result.scanned / result.seconds if result.seconds else None
        return json.dumps(
            {
                "kind": "ConsumeReport",
                "records": result.records,
                "scanned": result.scanned,
                "bytes": result.bytes,
                "seconds": round(result.seconds, 3),
                "records_per_second": rate and round(rate),
                "damaged_batches": damaged,
                "undecoded": self.undecoded,
                "positions": [
                    {"topic": tp.topic, "partition": tp.partition, "offset": offset}
                    for tp, offset in sorted(result.positions.items())
                ],
            }
        )


def _places(offsets: "dict[Any, int]") -> str:
    shown = [f"{where}@{offset}" for where, offset in sorted(offsets.items())]
    return ", ".join(shown[:10]) + (f" and {len(shown) - 10} more" if len(shown) > 10 else "")
