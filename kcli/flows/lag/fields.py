"""What is known of the lag of groups, each field declared once: lists, schemas, ``kcli top`` and metrics are made of these.

A field takes its value from an attribute: of a ``PartitionLag``, of ``LagColumns``, where it is a sequence or one value of
all partitions, or of a ``Summary``, which has some of them.
"""

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from kcli.output.tables import Column, Field


def _of_member(name: str) -> Callable[[Any], Any]:
    """What is known of the member that reads a partition."""

    def of(row: Any) -> Any:
        if isinstance(row.member, list):
            return [None if one is None else getattr(one, name) for one in row.member]
        return None if row.member is None else getattr(row.member, name)

    return of


GROUP = Field("group", of=attrgetter("group"))
TOPIC = Field("topic", of=attrgetter("topic"))
PARTITION = Field("partition", "id", of=attrgetter("partition"))
COMMITTED = Field(
    "committed",
    "number",
    spare=2,
    of=attrgetter("committed"),
    meaning="The committed offset; null without a commit.",
    metric="kcli_group_committed_offset",
)
END = Field(
    "end",
    "number",
    spare=3,
    of=attrgetter("end"),
    meaning="The end of the log; that is the offset after the last record, null where it is unknown.",
    metric="kcli_group_log_end_offset",
)
LOG_START = Field(
    "log_start",
    "number",
    wide=True,
    of=attrgetter("log_start"),
    meaning="Offset of the first record that is still there; null where it is unknown.",
)
LAG_RECORDS = Field(
    "lag_records",
    "number",
    of=attrgetter("lag"),
    meaning="Records between the committed offset and the end of the log; null where it is unknown.",
    metric="kcli_group_lag_records",
)
LAG_SECONDS = Field(
    "lag_seconds",
    "duration",
    spare=1,
    of=attrgetter("seconds"),
    digits=3,
    meaning="Age of the first unread record; 0 where nothing is unread, null where it is unknown.",
    metric="kcli_group_lag_seconds",
)
LAG_METHOD = Field("lag_method", wide=True, of=attrgetter("method"))
MARGIN = Field(
    "retention_margin_seconds",
    "duration",
    wide=True,
    of=attrgetter("margin"),
    digits=3,
    meaning="How long the first unread record is kept at least; null where it is unknown or nothing is deleted by time.",
    metric="kcli_group_retention_margin_seconds",
)
LOST = Field(
    "lost_records",
    "number",
    wide=True,
    of=attrgetter("lost"),
    meaning="Offsets between the commit and the start of the log; null where it is unknown.",
    metric="kcli_group_lost_records",
)
MEMBER_ID = Field("member_id", wide=True, of=_of_member("member_id"))
CLIENT_ID = Field("client_id", spare=4, of=_of_member("client_id"))
HOST = Field("host", wide=True, of=_of_member("host"))
CONSUMED = Field(
    "consumed_per_second",
    "number",
    spare=2,
    of=attrgetter("consumed"),
    digits=1,
    values="number",
    meaning="Records a second that the group has read; null where it is unknown.",
)
PRODUCED = Field(
    "produced_per_second",
    "number",
    spare=3,
    of=attrgetter("produced"),
    digits=1,
    values="number",
    meaning="Records a second that were written; null where it is unknown.",
)
NET = Field(
    "net_per_second",
    "number",
    of=attrgetter("net"),
    digits=1,
    values="number",
    meaning="Growth of the lag in records a second; negative while it shrinks, null where it is unknown.",
)
ETA = Field(
    "eta_seconds",
    "duration",
    of=attrgetter("eta"),
    digits=0,
    meaning="Seconds until nothing is unread at this rate; null where it is unknown, or never.",
)
TREND = (CONSUMED, PRODUCED, NET, ETA)
LAG = (LAG_RECORDS, LAG_SECONDS, LAG_METHOD, MARGIN, LOST)
MEASURED = tuple(field for field in (*LAG, COMMITTED, END) if field.metric)
"""Those of a partition that are metrics, in the order of pages."""
OF_PARTITION = (
    GROUP,
    TOPIC,
    PARTITION,
    COMMITTED,
    END,
    LOG_START,
    *LAG,
    MEMBER_ID,
    CLIENT_ID,
    HOST,
)
PARTITIONS = Field(
    "partitions", "number", spare=5, of=attrgetter("partitions"), meaning="How many partitions."
)
OF_SUMMARY = (PARTITIONS, *LAG)
VERDICT = (Column("verdict"), Column("note", "prose"))
