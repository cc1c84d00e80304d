"""What is known of the lag of groups. Each field is declared once: lists, schemas, top and metrics are made of it.

A field takes its value from an attribute: of a ``PartitionLag``, of ``LagColumns``, where it is a sequence or one value
for all partitions, or of a ``Summary``, which has some of them.
"""

from collections.abc import Callable
from dataclasses import replace
from operator import attrgetter
from typing import Any

from kcli.output.tables import Column, Field

READ, INTERPOLATED, UNKNOWN = "read", "interpolated", "unknown"
"""How a lag in time is known."""


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
LAG_METHOD = Field(
    "lag_method",
    wide=True,
    of=attrgetter("method"),
    values=(READ, INTERPOLATED, UNKNOWN),
    meaning="How lag_seconds was found: from the record itself, or between records with known times.",
)
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
    meaning="Offsets between the commit and the start of the log; their records are deleted, null where it is unknown.",
    metric="kcli_group_lost_records",
)
MEMBER_ID = Field(
    "member_id",
    wide=True,
    of=_of_member("member_id"),
    meaning="Id of the member to which the partition is assigned; null where there is none.",
)
CLIENT_ID = Field(
    "client_id",
    spare=4,
    of=_of_member("client_id"),
    meaning="Client id of the member; null where there is none.",
)
HOST = Field(
    "host", wide=True, of=_of_member("host"), meaning="Host of the member; null where there is none."
)
CONSUMED = Field(
    "consumed_per_second",
    "number",
    spare=2,
    of=attrgetter("consumed"),
    digits=1,
    values="number?",
    meaning="Records a second that the group has read; null where it is unknown.",
)
PRODUCED = Field(
    "produced_per_second",
    "number",
    spare=3,
    of=attrgetter("produced"),
    digits=1,
    values="number?",
    meaning="Records a second that were written; null where it is unknown.",
)
NET = Field(
    "net_per_second",
    "number",
    of=attrgetter("net"),
    digits=1,
    values="number?",
    meaning="Growth of the lag in records a second; negative while it shrinks, null where it is unknown.",
)
ETA = Field(
    "eta_seconds",
    "duration",
    of=attrgetter("eta"),
    digits=0,
    meaning="Seconds until nothing is unread at this rate; null where it is unknown, or never.",
)
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
OF_SUMMARY = (
    Field(
        "partitions",
        "number",
        spare=5,
        of=attrgetter("partitions"),
        values="count",
        meaning="How many partitions.",
    ),
    *LAG,
)
TREND = tuple(replace(field, sometimes=True) for field in (CONSUMED, PRODUCED, NET, ETA))
STATE = Column("state", meaning="State of the group, as Kafka names it; null where it is unknown.")
NOTE = Column("note", "prose")
