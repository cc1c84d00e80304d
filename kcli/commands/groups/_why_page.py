"""What ``kcli groups why`` shows: the page, and the document."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

from kcli.commands.shared.cluster import connect, open_admin
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.record_consumer import record_consumer
from kcli.commands.shared.row_output import print_rows
from kcli.commands.shared.serdes import serdes_of
from kcli.commands.shared.transaction_log import log_reader
from kcli.core.clock import wall_ms
from kcli.core.errors import KcliError
from kcli.core.names import group_shown
from kcli.flows.groups.description import owner_fields
from kcli.flows.groups.nearest import name_nearest
from kcli.flows.groups.next_record import BYTES, EMPTY, JSON, NULL, SCHEMA, TEXT
from kcli.flows.groups.why import LOOKED_BACK_MS, Part, Why, remedies, shown, why
from kcli.flows.lag import partition_lag as fields
from kcli.flows.lag.summary import summary
from kcli.flows.lag.verdicts import VERDICT
from kcli.flows.transactions.held import age, known
from kcli.output.progress import counted, duration_text
from kcli.output.sanitise import visible_line
from kcli.output.tables import Column, row_of, time_text

Row = dict[str, Any]
_LAG = (fields.LAG_RECORDS, fields.LAG_SECONDS)
_OF_PARTITION = (
    fields.TOPIC, fields.PARTITION, fields.COMMITTED, fields.END, *_LAG, fields.MARGIN, fields.LOST, fields.CLIENT_ID,
    fields.HOST, fields.MEMBER_ID,
)  # fmt: skip
NEXT = (
    Column("offset", "id", values="count", meaning="Offset of the record."),
    Column("time", "time", values="string?", meaning="When it was written; null without a timestamp."),
    Column("key", meaning="The key; null is null."),
    Column("key_encoding", values=("base64",), sometimes=True, meaning="Where the key is not UTF-8."),
    Column("size_bytes", "size", values="count", meaning="Bytes of key and value."),
    Column("looks", values=(JSON, TEXT, SCHEMA, BYTES, EMPTY, NULL), meaning="What the value looks like."),
    Column("decodable", values="boolean?", meaning="Whether -s decodes it; null without -s."),
    Column(
        "trouble",
        values="string?",
        meaning="Why it cannot be decoded, or how it differs from the record before; null without reason.",
    ),
)
HELD = (
    Column("transactional_id", meaning="Its transactional id; null where no coordinator knows it."),
    Column("producer_id", "id", values="integer", meaning="Id of the producer."),
    Column("producer_epoch", "id", values="integer", meaning="Epoch of the producer."),
    Column("state", values=("open", "ending", "hanging", "unknown"), meaning="As in txn describe."),
    Column("start_offset", "number", values="count", meaning="Its first record in the partition."),
    Column(
        "waiting", "number", values="count?", meaning="Offsets that readers of committed records wait for."
    ),
    Column("age_seconds", "duration", values="number?", meaning="How long it is open; null where unknown."),
)
PARTITIONS = (
    *_OF_PARTITION[:2],
    VERDICT,
    *_OF_PARTITION[2:],
    Column(
        "last_commit",
        values="string?",
        meaning="When it was last committed, in the last 10 minutes; null without a commit since, or where unknown.",
    ),
    Column("note", "prose", values="string", meaning="A remark; empty without one."),
    Column(
        "next", values="object?", inner=NEXT, meaning="The first unread record; null where there is none."
    ),
    Column(
        "held", values="object?", inner=HELD, meaning="The transaction that holds it back; null without one."
    ),
)
IDLE = (
    Column("member_id", values="string", meaning="Id of the member."),
    Column("client_id", values="string", meaning="Its client id."),
    Column("host", values="string", meaning="Its host."),
)
GROUP_WHY = (
    Column("group"),
    Column("type", meaning="classic, consumer, share or streams."),
    Column("state", meaning="State of the group, as Kafka names it."),
    Column("coordinator", "id"),
    Column("member_count", "number", meaning="How many members."),
    VERDICT,
    Column(
        "why", values="string", meaning="Which partitions have the verdict, and why; empty without reason."
    ),
    *_LAG,
    Column(
        "membership_changes",
        "number",
        values="count?",
        meaning="Changes of members or assignments in the last 10 minutes; null where they could not be read.",
    ),
    Column("last_change", "time", values="string?", meaning="When the last of them was; null without one."),
    Column(
        "history_complete",
        values="boolean?",
        meaning="Whether the log was read for the whole 10 minutes; null where it could not be read.",
    ),
    Column("idle_members", values="objects", inner=IDLE, meaning="Members without partitions."),
    Column(
        "partitions",
        values="objects",
        inner=PARTITIONS,
        meaning="Partitions with unread records, or with a note.",
    ),
    Column("remedies", values="strings", meaning="What to do, in words, with the command lines."),
)


def show_why(inv: Invocation, name: str, given: Sequence[str]) -> int:
    """Shows the page. Returns the exit status."""
    inv.page()
    with ExitStack() as stack:
        serdes = stack.enter_context(serdes_of(inv, given)) if given else None
        admin = stack.enter_context(open_admin(inv))
        cluster = connect(inv, admin)
        try:
            found = why(admin, name, lambda: record_consumer(inv), log_reader(inv), serdes)
        except KcliError as error:
            name_nearest(admin, {name: error})
            raise
    for part in found.missing:
        inv.lacks(part)
    if inv.out.list_kind() in ("json", "ndjson", "yaml"):
        print_rows(
            inv, "GroupWhyList", GROUP_WHY, [item_of(found.items, wall_ms())], cluster, item="GroupWhy"
        )
    else:
        _print_page(inv, found.items, cluster)
    return inv.finish(done=True)


def item_of(one: Why, now: int) -> Row:
    """The document's item."""
    total = summary([part.row for part in one.parts])
    description = one.sample.description
    return {
        "group": one.sample.group,
        "type": one.sample.type,
        "state": one.sample.state,
        "coordinator": None if description is None else known(description.coordinator),
        "member_count": 0 if description is None else len(description.members),
        "verdict": one.verdict.word,
        "why": one.verdict.why,
        **row_of(_LAG, total),
        "membership_changes": None if one.history is None else len(one.changes),
        "last_change": max(one.changes, default=None),
        "history_complete": None if one.history is None else one.history.complete,
        "idle_members": [owner_fields(member) for member in one.idle],
        "partitions": [_partition(part, now) for part in shown(one.parts)],
        "remedies": remedies(one),
    }


def _partition(part: Part, now: int) -> Row:
    return {
        **row_of(_OF_PARTITION, part.row),
        "verdict": part.word,
        "last_commit": None if part.committed_ms is None else time_text(part.committed_ms),
        "note": part.row.note,
        "next": _next(part),
        "held": _holder(part, now),
    }


def _next(part: Part) -> Row | None:
    one = part.next
    if one is None:
        return None
    return {
        "offset": one.offset,
        "time": time_text(one.timestamp) if one.timestamp >= 0 else None,
        **_key(one.key),
        "size_bytes": one.size,
        "looks": one.looks,
        "decodable": one.decodable,
        "trouble": one.trouble or None,
    }


def _key(key: bytes | None) -> Row:
    if key is None:
        return {"key": None}
    try:
        return {"key": bytes(key).decode()}
    except UnicodeDecodeError:
        return {"key": b64encode(key).decode(), "key_encoding": "base64"}


def _holder(part: Part, now: int) -> Row | None:
    if part.held is None or (one := part.held.holder) is None:
        return None
    return {
        "transactional_id": None if one.transaction is None else one.transaction.transactional_id,
        "producer_id": one.producer.producer_id,
        "producer_epoch": one.producer.producer_epoch,
        "state": one.state,
        "start_offset": one.start_offset,
        "waiting": part.held.waiting,
        "age_seconds": age(one.since_ms, now),
    }


def _print_page(inv: Invocation, one: Why, cluster: str) -> None:
    now = wall_ms()
    for line in _head(one, now):
        inv.out.text(visible_line(line) + "\n")
    rows = [_partition(part, now) for part in shown(one.parts)]
    if rows:
        inv.out.text("\n")
        columns = [column for column in PARTITIONS if not column.inner and column.key != "last_commit"]
        print_rows(inv, "GroupWhyList", columns, rows, cluster, item="GroupWhy")
    records = [line for row in rows for line in _details(row)]
    found = remedies(one)
    for title, lines in (("", records), ("What to do:", [f"  {line}" for line in found])):
        if lines:
            inv.out.text("\n")
        for line in (title, *lines) if title and lines else lines:
            inv.out.text(visible_line(line) + "\n")


def _head(one: Why, now: int) -> Iterator[str]:
    item = item_of(one, now)
    members = counted(item["member_count"], "member")
    yield f"{group_shown(item['group'])}: {item['type'] or 'classic'}, {item['state']}, {members}"
    reason = f": {item['why']}" if item["why"] else ""
    yield f"  verdict: {item['verdict'] or 'not known: a stall shows after 20 s without a rebalance'}{reason}"
    behind = sum(bool(part.row.lag) for part in one.parts)
    empty = sum(part.row.lag or 0 for part in one.parts if part.row.drained)
    markers = f"; {empty:,} of them are markers or aborted records, which nobody reads" if empty else ""
    lag, seconds = item["lag_records"], item["lag_seconds"]
    oldest = f", the oldest {duration_text(seconds)} ago" if seconds else ""
    known_lag = "not known" if lag is None else counted(lag, "record")
    unknown = 0 if lag is None else sum(part.row.lag is None for part in one.parts)
    rest = f", not known in {unknown:,}" if unknown else ""
    yield f"  lag: {known_lag} in {behind:,} of {counted(len(one.parts), 'partition')}{rest}{oldest}{markers}"
    if one.history is not None:
        last = f", the last {duration_text((now - one.changes[-1]) / 1000)} ago" if one.changes else ""
        window = duration_text(LOOKED_BACK_MS / 1000) if one.history.complete else "time that could be read"
        yield f"  rebalances: {counted(len(one.changes), 'change')} of the membership in the last {window}{last}"
    for member in one.idle:
        yield f"  without partitions: {member.client_id} at {member.host} ({member.member_id})"


def _details(row: Row) -> Iterator[str]:
    place = f"{row['topic']}-{row['partition']}"
    if (record := row["next"]) is not None:
        key = "no key" if record["key"] is None else f"key {record['key']}"
        decoded = {None: "", True: ", can be decoded", False: ""}[record["decodable"]]
        trouble = f": {record['trouble']}" if record["trouble"] else ""
        yield (
            f"{place}: next record at offset {record['offset']:,}, written {record['time'] or 'at an unknown time'}, "
            f"{key}, {counted(record['size_bytes'], 'byte')}, {record['looks']}{decoded}{trouble}"
        )
    if (held := row["held"]) is not None:
        name = held["transactional_id"] or "without a transactional id that a coordinator knows"
        since = "" if held["age_seconds"] is None else f", since {duration_text(held['age_seconds'])}"
        yield (
            f"{place}: held from offset {held['start_offset']:,} by the transaction of producer {held['producer_id']} "
            f"(epoch {held['producer_epoch']}), {name}: {held['state']}{since}"
        )
