"""``kcli consume --dry-run``: prints the offsets that would be read; joins no group and commits nothing."""

from collections.abc import Sequence

from kcli.commands.consume.options import ConsumeOptions
from kcli.commands.consume.scope import unread_parts
from kcli.commands.shared.check_permitted import check_permitted
from kcli.commands.shared.context import Invocation
from kcli.core.consumer import ranges
from kcli.core.consumer.consumer import Consumer
from kcli.core.positions import OffsetSpec, RangeSpec
from kcli.core.types import TopicPartition
from kcli.flows.time_limits import EXACT, time_warnings
from kcli.output.listing import list_rows
from kcli.output.sanitise import visible_line
from kcli.output.tables import Column

COLUMNS = (
    Column("topic"),
    Column("partition"),
    Column("from_offset", values="count", meaning="The first offset to be read."),
    Column(
        "to_offset",
        values="count?",
        meaning="The offset before which reading would stop; null without an end.",
    ),
)


def dry_run(
    inv: Invocation,
    consumer: Consumer,
    partitions: Sequence[TopicPartition],
    spec: RangeSpec,
    asked: ConsumeOptions,
) -> None:
    """Prints where reading would begin and stop: as text, or as one of the JSON formats. What may not be read is reported
    as a failure.
    """
    topics = [tp.topic for tp in partitions]
    denied = check_permitted(inv, {"READ": "reading topic {}"}, topics, group=asked.group)
    partitions = [tp for tp in partitions if tp.topic not in denied]
    exact = asked.exact_times and spec.times[1] is not None
    spec = spec._replace(stop=OffsetSpec("latest")) if exact else spec
    tails = asked.tail is not None and not asked.follow
    spans = ranges.spans(
        consumer,
        partitions,
        spec,
        until_end=asked.reads_to_the_end,
        timeout=inv.timeout,
        on_out_of_range=consumer.options.on_out_of_range,
        unread=unread_parts(inv) if asked.reads_to_the_end or tails else None,
    )
    if not asked.exact_times:
        for text in time_warnings(
            consumer, spec, spans, inv.timeout, "" if asked.group is not None else EXACT
        ):
            inv.talk.warn(text)
    committed = consumer.committed(partitions, inv.timeout) if asked.group is not None else {}
    starts = {tp: found.offset for tp in spans if (found := committed.get(tp)) is not None}
    out = inv.out
    if out.kind in ("json", "ndjson"):
        cluster = consumer.cluster.view.cluster_id
        with list_rows(
            out,
            "ConsumePlan",
            "ConsumePlan",
            COLUMNS,
            cluster=cluster,
            warnings=inv.talk.warnings,
            missing=inv.missing,
        ) as rows:
            for tp, span in spans.items():
                values = (*tp, starts.get(tp, span.start), span.stop)
                rows.add(dict(zip([column.key for column in COLUMNS], values, strict=True)))
        return
    for tp, span in spans.items():
        end = "without end" if span.stop is None else f"to {span.stop}"
        out.shown(visible_line(f"{tp}: from {starts.get(tp, span.start)} {end}") + "\n")
    out.flush()
