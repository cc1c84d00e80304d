"""How ``consume`` prints records: the formatter for ``-o``, ``-f`` and ``-J``. Made before any network use."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from kcli.commands.consume.options import ConsumeOptions
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.options import RECORD_KINDS
from kcli.commands.shared.params import raw_bytes
from kcli.commands.shared.usage import Refused, nearest, usage
from kcli.core.types import TopicPartition
from kcli.output import records
from kcli.output.template import DELIVERIES, Member, Template, TemplateError

if TYPE_CHECKING:
    from kcli.output.decoding import Decoders


def record_formatter(
    inv: Invocation,
    asked: ConsumeOptions,
    *,
    topics: int,
    cluster_id: Callable[[], str | None],
    broker: Callable[[TopicPartition], int],
    decoders: "Decoders | None" = None,
    member: Member | None = None,
) -> records.Formatter:
    """``cluster_id`` and ``broker`` are called when something is printed; ``topics`` is the number of topics read.
    ``member``: see Template.
    """
    null = b"" if asked.null_marker is None else raw_bytes(asked.null_marker)
    kind = asked.format_kind(inv.values.output)
    if asked.template is not None:
        return _template(asked.template, null, decoders, member, shared=asked.is_shared)
    if kind == "value":
        return records.ValueFormatter(asked.delimiter or b"\n", null, decoders)
    if kind in ("hex", "pretty", "table"):
        return _for_people(inv, kind, topics, decoders)
    from kcli.output import record_data  # not for values, the most frequent format

    if kind == "ndjson":
        return record_data.NdjsonFormatter(decoders, shared=asked.is_shared)
    if kind == "json":
        from kcli.output.envelope import record_document  # json is loaded only where it is used

        document = record_document(cluster_id, inv.talk.warnings, inv.missing)
        return record_data.JsonFormatter(*document, decoders, shared=asked.is_shared)
    if kind == "csv":
        return record_data.CsvFormatter(null, headers=inv.out.headers, decoders=decoders)
    if kind == "kcat":
        return record_data.KcatFormatter(broker, decoders)
    assert kind == "raw", kind
    return record_data.RawFormatter()


def _for_people(inv: Invocation, kind: str, topics: int, decoders: "Decoders | None") -> records.Formatter:
    from kcli.output import record_dumps  # as above

    if kind == "hex":
        return record_dumps.HexFormatter()
    if kind == "pretty":
        from kcli.output.pretty import PrettyFormatter  # msgspec is loaded only where it is used

        return PrettyFormatter(colour=inv.out.colour, width=inv.out.width, decoders=decoders)
    return record_dumps.TableFormatter(
        headers=inv.out.headers, topics=topics, width=inv.out.width, decoders=decoders
    )


def _without_verbs(text: str) -> Refused:
    """The error for a format that would print the same for every record: most often the name of an output format, or the
    next option, which stands where a format was forgotten.
    """
    if re.fullmatch("--?[A-Za-z].*", text):
        return usage(
            f"kcli consume: -f needs a FORMAT, and the next word is {text}",
            why="the word after -f is the format, whatever it begins with",
            do=r"write the format behind -f, as in -f '%k %v\n', or leave -f out",
        )
    kind = text.strip().lower()
    if kind in RECORD_KINDS:
        return usage(
            f"kcli consume: -f {text} is not a format",
            why=f"it has no verb, so every record would print the word; {kind} is an output format",
            do=f"use -o {kind}",
        )
    near = nearest(kind, RECORD_KINDS)
    return usage(
        f"kcli consume: -f {text!r} is not a format",
        why="it has no verb, so every record would print the same",
        do=(f"did you mean -o {near}? " if near else "") + r"write one with verbs, as in -f '%k %v\n'",
    )


def _template(
    text: str, null: bytes, decoders: "Decoders | None", member: Member | None, *, shared: bool
) -> records.Formatter:
    try:
        template = Template(text, null=null, member=member)
        if not template.has_verbs:
            raise _without_verbs(text)
        if DELIVERIES in template.parts and not shared:
            raise usage(
                "kcli consume: %{deliveries} without --group-type share",
                why="only share groups count deliveries",
                do="add --group-type share and -g GROUP, or leave %{deliveries} out",
            )
        return records.TemplateFormatter(template, decoders)
    except TemplateError as error:
        raise usage(
            f"kcli consume: -f '{text}' is not a valid format",
            why=str(error),
            do="`kcli consume --help` lists the verbs",
        ) from None
