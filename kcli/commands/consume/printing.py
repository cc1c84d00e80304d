"""What ``consume`` prints by: the fields that are named, what decodes records, and where they go."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from kcli.commands.consume.format import record_formatter
from kcli.commands.consume.options import PEOPLE, ConsumeOptions
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.topic_choice import Topics
from kcli.core.types import TopicPartition
from kcli.flows.stop import Stop
from kcli.output.gaps import GapMarks
from kcli.output.records import Formatter, RecordSink
from kcli.output.talk import DIM

if TYPE_CHECKING:
    from kcli.commands.consume.count import PrintedCounts
    from kcli.commands.consume.decoding import Decoding
    from kcli.commands.consume.fields import ChosenFields
    from kcli.core.consumer.consumer import Consumer
    from kcli.core.share.consumer import ShareConsumer

    Reading = Consumer | ShareConsumer


def chosen_fields(
    inv: Invocation, asked: ConsumeOptions, decoding: "Decoding | None"
) -> "ChosenFields | None":
    """The fields that are named in the options, if any are."""
    named = (asked.select, asked.by, asked.distinct)
    if not any(named) and not any(path in (asked.template or "") for path in ("{.", "{[")):
        return None
    from kcli.commands.consume.fields import ChosenFields  # only where fields are chosen

    return ChosenFields(asked, asked.format_kind(inv.values.output), decoding)


def cluster_of(consumers: "Sequence[Reading]") -> Callable[[], str | None]:
    """The id of the cluster, known once there is a consumer and it has connected."""
    return lambda: consumers[0].cluster.view.cluster_id if consumers else None


def chosen_formatter(
    inv: Invocation,
    asked: ConsumeOptions,
    topics: Topics,
    decoding: "Decoding | None",
    fields: "ChosenFields | None",
    consumers: "Sequence[Reading]",
) -> Formatter:
    """By fields, or as the options say. It asks the first of ``consumers``, which is there once something is printed."""
    if fields is not None and fields.select is not None:
        return fields.formatter(inv, cluster_of(consumers))

    def broker(tp: TopicPartition) -> int:
        node = consumers[0].cluster.view.leader(tp)
        return -1 if node is None else int(node.id)

    return record_formatter(
        inv,
        asked,
        topics=2 if topics.several else 1,
        cluster_id=cluster_of(consumers),
        broker=broker,
        decoders=decoding.decoders if decoding is not None else None,
        member=fields.member if fields is not None else None,
    )


def record_sink(
    inv: Invocation,
    asked: ConsumeOptions,
    fields: "ChosenFields | None",
    formatter: Formatter,
    cluster_id: Callable[[], str | None],
    stop: Stop,
) -> "AbstractContextManager[RecordSink | PrintedCounts]":
    """Where records go."""
    if asked.count:
        from kcli.commands.consume.count import PrintedCounts  # only where records are counted

        return PrintedCounts(
            inv, asked, fields.by if fields is not None else None, cluster_id, lambda: bool(stop)
        )
    return RecordSink(
        inv.out, formatter, escape=inv.out.isatty and not asked.raw, before=_gap_marks(inv, asked)
    )


def _gap_marks(inv: Invocation, asked: ConsumeOptions) -> GapMarks | None:
    """Marks on stderr, of a terminal that shows records as they come, in a format for people whose records end lines."""
    talk, lines = inv.talk, (asked.delimiter or b"\n").endswith(b"\n")
    for_people = asked.template is None and asked.format_kind(inv.values.output) in PEOPLE
    if (
        not (inv.out.isatty and talk.isatty and asked.goes_on and for_people and lines)
        or talk.quiet
        or asked.raw
    ):
        return None
    return GapMarks(lambda mark: talk.write(mark, DIM))


def topic_decoding(inv: Invocation, asked: ConsumeOptions, topics: Topics) -> "Decoding | None":
    """What decodes the records: with -s, and of internal topics."""
    internal = not topics.several and topics.names[0].startswith("__")
    if not (asked.serdes or internal):
        return None
    from kcli.commands.consume.decoding import decoding  # serdes are loaded only where they are used

    return decoding(inv, asked, topics.names if not topics.several else ())
