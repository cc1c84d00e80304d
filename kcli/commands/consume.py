"""``kcli consume``: records of topics on stdout. Parses, resolves the ranges, runs the flow, sums up."""

from typing import Any

import click

from kcli.commands._command import command
from kcli.commands._context import Invocation, pass_invocation
from kcli.commands._exit import usage
from kcli.commands._params import (
    DELIMITER,
    DURATION,
    INSTANT,
    OFFSET_RANGE,
    PARTITIONS,
    check_topic_name,
    raw_bytes,
)

KINDS = ("value", "table", "ndjson", "json")


@command(
    "consume",
    outputs=KINDS,
    examples=(
        ("kcli consume orders -e", "all there is, then stop"),
        ("kcli consume orders --offset latest", "only what comes from now on"),
        ("kcli consume orders --tail 10 -o table", "the last ten records, with their offsets"),
        ("kcli consume orders --offset @-1h -e -o ndjson", "the last hour, as JSON lines"),
        ("kcli consume orders -p 0 --offset 100:200 -f '%o %k=%v\\n'", "a range of one partition"),
    ),
)
@click.argument("topics", nargs=-1, metavar="TOPIC…")
@click.option("-t", "--topic", "more_topics", multiple=True, metavar="TOPIC", help="A topic; repeatable.")
@click.option("-p", "--partitions", type=PARTITIONS, metavar="LIST", help="Only these, as in 0,2,5-7.")
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
@click.option("--tail", type=click.IntRange(min=1), metavar="N", help="The last N records in all, then exit.")
@click.option("-e", "--exit", "until_end", is_flag=True, help="Stop at the ends as they are at the start.")
@click.option("-n", "--max-messages", type=click.IntRange(min=1), metavar="N", help="Stop after N records.")
@click.option("--idle-timeout", type=DURATION, metavar="DUR", help="Stop when nothing came for so long.")
@click.option(
    "-f", "--format", "template", metavar="FORMAT", help=r"Output per record, as in '%t %p %o %k %v\n'."
)
@click.option(
    "-D",
    "--delimiter",
    type=DELIMITER,
    default="\\n",
    metavar="DELIM",
    help=r"What follows each value with -o value.  [default: \n]",
)
@click.option("--null-marker", metavar="STR", help="Print null keys and values as STR.")
@click.option(
    "--isolation-level",
    type=click.Choice(["read_committed", "read_uncommitted"]),
    help="Whether to show records of open and aborted transactions.  [default: read_committed]",
)
@click.option("--raw", is_flag=True, help="Bytes as they are, also on a terminal.")
@pass_invocation
def consume(inv: Invocation, /, topics: tuple[str, ...], **flags: Any) -> int:
    """Read records and print them.

    Without a group, from the earliest offset on, and without end unless -e, --tail, -n, a range or
    --idle-timeout sets one. Formats: -o value (the default), table, ndjson, json, or -f.

    Verbs of -f: %t topic, %p partition, %o offset, %k key, %v or %s value, %K %V lengths, %S value length
    (-1 for null), %R that in 4 bytes, %T or %d timestamp in ms, %d{strftime[%H:%M]}, %h headers, %h{%k=%v },
    %H their number, %e leader epoch, %x %y producer id and epoch, %%; %v{base64}, {hex}, {json}.
    """
    from kcli.core.consumer.consumer import Consumer
    from kcli.core.options import WHOLE_BATCHES, ConsumerOptions
    from kcli.flows.stop import Stop
    from kcli.output.records import RecordSink

    names = list(dict.fromkeys((*topics, *flags["more_topics"])))
    _check(names, flags, inv)
    asked = _asked(flags)
    cluster: dict[str, str | None] = {}
    formatter = _formatter(inv, names, flags, cluster)
    options = inv.client_options(
        ConsumerOptions, isolation_level=flags["isolation_level"], max_poll_records=WHOLE_BATCHES
    )
    with Consumer(options, hooks=inv.hooks) as consumer:
        with inv.first_contact(options.bootstrap_servers):
            cluster["id"] = consumer.connect(inv.timeout).cluster_id
        _name_unknown(inv, consumer, names)
        plan = _plan(inv, consumer, names, asked, flags)
        escape = inv.out.isatty and not flags["raw"]
        # Until here Ctrl-C simply ends it; from here on what was read is written first.
        with Stop() as stop, RecordSink(inv.out, formatter, escape=escape) as sink:
            result = _run(inv, consumer, sink, plan, flags, stop)
    _sum_up(inv, result, stop)
    return stop.exit_code


def _check(names: list[str], flags: dict[str, Any], inv: Invocation) -> None:
    if not names:
        raise usage("kcli consume: no topic given", why="it is needed", do="name one: kcli consume TOPIC")
    ways = ("offset", "since", "tail")
    given = [f"--{name}" for name in ways if flags[name] is not None]
    if flags["from_beginning"]:
        given.append("--from-beginning")
    if len(given) > 1:
        raise usage(
            f"kcli consume: {' and '.join(given)} together",
            why="each says where to start",
            do="use one of them",
        )
    if flags["tail"] is not None and flags["until"] is not None:
        raise usage("kcli consume: --tail and --until together", why="--tail is the end", do="use --offset")
    for name in names:
        check_topic_name(name)
    for name in ("max_messages", "idle_timeout"):
        if flags["tail"] is not None and flags[name] is not None:
            option = "--" + name.replace("_", "-")
            raise usage(
                f"kcli consume: --tail and {option} together",
                why="--tail N is N records, then the end",
                do="use one of them",
            )
    if flags["template"] is not None and inv.values.output is not None:
        raise usage("kcli consume: -f and -o together", why="each is a format", do="use one of them")


def _asked(flags: dict[str, Any]) -> Any:
    """The range that the flags describe."""
    from kcli.core.positions import OffsetSpec, RangeSpec

    asked = flags["offset"] or RangeSpec(OffsetSpec("earliest"))
    start, stop = asked.start, asked.stop
    if flags["since"] is not None:
        start = OffsetSpec("timestamp", flags["since"])
    if flags["until"] is not None:
        if stop is not None:
            raise usage(
                "kcli consume: --until and a range in --offset together",
                why="both say where to stop",
                do="use one",
            )
        stop = OffsetSpec("timestamp", flags["until"])
    return RangeSpec(start or OffsetSpec("earliest"), stop)


def _formatter(
    inv: Invocation, names: list[str], flags: dict[str, Any], cluster: dict[str, str | None]
) -> Any:
    """Made before any network use, so that a bad format is told first; ``cluster`` is filled in later."""
    from kcli.output import records

    marker = flags["null_marker"]
    null = b"" if marker is None else raw_bytes(marker)
    if flags["template"] is not None:
        from kcli.output.template import Template, TemplateError

        try:
            return records.TemplateFormatter(Template(flags["template"], null=null))
        except TemplateError as error:
            raise usage(
                f"kcli consume: -f {flags['template']!r} is not a format",
                why=str(error),
                do="`kcli consume --help` lists the verbs",
            ) from None
    kind = inv.values.output or "value"
    if kind == "value":
        return records.ValueFormatter(flags["delimiter"], null)
    if kind == "ndjson":
        return records.NdjsonFormatter()
    if kind == "json":
        from kcli.output.envelope import record_document

        return records.JsonFormatter(*record_document(lambda: cluster.get("id"), inv.talk.warnings))
    return records.TableFormatter(headers=inv.out.headers, topics=len(names), width=inv.out.width)


def _name_unknown(inv: Invocation, consumer: Any, names: list[str]) -> None:
    """A topic that does not exist is named with the nearest ones there are."""
    from kcli.core.cluster.metadata import unknown_topic
    from kcli.core.errors import NotFoundError

    try:
        consumer.partitions(names, inv.timeout)
    except NotFoundError as error:
        cluster = consumer.cluster
        known = cluster.all_topics(cluster.deadline(inv.timeout)).topics
        missing = next((name for name in names if name not in known), None)
        if missing is None:
            raise
        raise unknown_topic(missing, known) from error


def _plan(inv: Invocation, consumer: Any, names: list[str], asked: Any, flags: dict[str, Any]) -> Any:
    """What is to be read: the bounds of this moment for --tail, else a span for each partition."""
    from kcli.flows import ranges

    partitions = ranges.choose_partitions(consumer, names, flags["partitions"], inv.timeout)
    if flags["tail"] is not None:
        return ranges.bounds(consumer, partitions, inv.timeout)
    return ranges.spans(consumer, partitions, asked, until_end=flags["until_end"], timeout=inv.timeout)


def _run(inv: Invocation, consumer: Any, sink: Any, plan: Any, flags: dict[str, Any], stop: Any) -> Any:
    from kcli.flows.consume import ConsumeResult, consume

    if flags["tail"] is not None:
        from kcli.flows.tail import tail

        stop.wake(consumer.wakeup)
        return ConsumeResult(sink.records(tail(consumer, plan, flags["tail"], stop)), 0, 0.0)
    spans = plan
    consumer.assign(spans)
    total = sum(span.stop - span.start for span in spans.values() if span.stop is not None)
    bounded = all(span.stop is not None for span in spans.values())
    with inv.progress("read", total=(total or None) if bounded else None) as bar:
        if inv.out.isatty:
            bar.style = "none"  # records and a bar on one terminal would mix
        return consume(
            consumer,
            sink,
            stop=stop,
            limit=flags["max_messages"],
            idle_timeout=flags["idle_timeout"],
            progress=bar.update,
        )


def _sum_up(inv: Invocation, result: Any, stop: Any) -> None:
    from kcli.output.progress import counted, size_text

    rate = (
        f" in {result.seconds:.1f} s: {result.records / result.seconds:,.0f} records/s"
        if result.seconds
        else ""
    )
    text = f"{counted(result.records, 'record')} ({size_text(result.bytes)} fetched){rate}"
    if stop:
        inv.talk.note(f"stopped: {text}")
    else:
        inv.talk.detail(text)
