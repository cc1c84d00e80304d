"""How ``consume`` prints records: the formatter that ``-o``, ``-f`` and ``-J`` ask for. Made before any network use."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kcli.commands._context import Invocation
from kcli.commands._exit import usage
from kcli.commands._params import raw_bytes

if TYPE_CHECKING:
    from kcli.core.types import TopicPartition
    from kcli.output.decoding import Decoders
    from kcli.output.records import Formatter


def record_formatter(
    inv: Invocation,
    flags: dict[str, Any],
    *,
    topics: int,
    cluster_id: Callable[[], str | None],
    broker: "Callable[[TopicPartition], int]",
    decoders: "Decoders | None" = None,
) -> "Formatter":
    """``cluster_id`` and ``broker`` are asked when something is printed; ``topics`` is how many are read."""
    from kcli.output import records

    null = b"" if flags["null_marker"] is None else raw_bytes(flags["null_marker"])
    if flags["template"] is not None:
        return _template(flags["template"], null, decoders)
    kind = "kcat" if flags["kcat"] else inv.values.output or "value"
    if kind == "ndjson":
        return records.NdjsonFormatter(decoders)
    if kind == "json":
        from kcli.output.envelope import record_document

        return records.JsonFormatter(*record_document(cluster_id, inv.talk.warnings), decoders)
    if kind == "csv":
        return records.CsvFormatter(null, headers=inv.out.headers, decoders=decoders)
    if kind == "kcat":
        return records.KcatFormatter(broker, decoders)
    if kind == "raw":
        return records.RawFormatter()
    if kind == "hex":
        return records.HexFormatter()
    if kind == "table":
        return records.TableFormatter(
            headers=inv.out.headers, topics=topics, width=inv.out.width, decoders=decoders
        )
    return records.ValueFormatter(flags["delimiter"], null, decoders)


def _template(text: str, null: bytes, decoders: "Decoders | None") -> "Formatter":
    from kcli.output.records import TemplateFormatter
    from kcli.output.template import Template, TemplateError

    try:
        return TemplateFormatter(Template(text, null=null), decoders)
    except TemplateError as error:
        raise usage(
            f"kcli consume: -f {text!r} is not a format",
            why=str(error),
            do="`kcli consume --help` lists the verbs",
        ) from None
