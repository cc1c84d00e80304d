"""The documents of ``kcli produce``: its plan and its report, each with one item. Only -o json and ndjson import it."""

from collections.abc import Sequence

from kcli.commands.shared.context import Invocation
from kcli.commands.shared.row_output import print_rows
from kcli.output.tables import Column

PLAN = (
    Column("topic"),
    Column("partitions", values="count", meaning="Partitions of the topic."),
    Column("lines", values="count", meaning="Records of the input."),
    Column("failed", values="count", meaning="Records that would fail."),
    Column("bad_input", values="count", meaning="Those that are no valid records."),
)
REPORT = (
    Column("topic"),
    Column("lines", values="count", meaning="Records of the input."),
    Column("confirmed", values="count", meaning="Records that are stored."),
    Column("failed", values="count", meaning="Records that are not stored."),
    Column("unknown", values="count", meaning="Records that may or may not be stored."),
    Column(
        "bytes",
        values="count",
        meaning="Bytes of the records in their batches, with headers and lengths, before compression.",
    ),
    Column("seconds", values="amount", meaning="How long it took."),
    Column("bad_input", values="count", meaning="Lines that are no valid records."),
    Column("failed_file", meaning="The file of --failed."),
    Column("checkpoint", meaning="The file of --checkpoint."),
    Column(
        "resumed_at_line",
        values="count?",
        meaning="Where an earlier run was continued; null where there was none.",
    ),
    Column("transactional_id"),
    Column("transactions", values="count?", meaning="Transactions that were committed; null without them."),
)


COLUMNS = {"ProducePlan": PLAN, "ProduceReport": REPORT}


def print_document(inv: Invocation, kind: str, values: Sequence[object], cluster: str | None) -> None:
    """The document of a kind, with values in the order of its columns."""
    columns = COLUMNS[kind]
    row = dict(zip((column.key for column in columns), values, strict=True))
    print_rows(inv, kind, columns, [row], cluster, item=kind)
