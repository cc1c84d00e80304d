"""The report of a mirror: the summary on stderr, rows for ``-o``, the exit status."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from kcli.account.outcomes import Outcome
from kcli.account.survey import Missing
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.row_output import print_rows
from kcli.core.classes import NamedTuple, replace
from kcli.core.errors import TimedOutError
from kcli.core.types import TopicPartition
from kcli.flows.mirror.acls.columns import COLUMNS as ACLS
from kcli.flows.mirror.copy.partition_copy import PartitionCopy
from kcli.flows.mirror.copy.partition_state import State
from kcli.flows.mirror.copy.state_watch import partition_names
from kcli.flows.mirror.groups.offsets import GroupsAccount, group_row
from kcli.flows.mirror.result import NotSyncedError, Result, not_synced, unread
from kcli.flows.stop import Stop
from kcli.output.progress import counted, size_text
from kcli.output.tables import Column, time_text

if TYPE_CHECKING:
    from kcli.flows.mirror.proof.compare import Comparison

COLUMNS = (
    Column("topic"),
    Column("partition", "number"),
    Column("target", spare=2, meaning="Name of the topic on the target."),
    Column("from_offset", "number", meaning="Where this run began."),
    Column("to_offset", "number", meaning="Where it stopped: the next offset to be copied."),
    Column("records", "number", values="count", meaning="Records that were copied."),
    Column("bytes", "size", spare=1, values="count", meaning="Bytes of their batches."),
    Column("lag_records", "number", meaning="Offsets that are left; null where it is unknown."),
    Column(
        "passed_through_batches",
        "number",
        wide=True,
        values="count",
        meaning="Batches that were copied as they are.",
    ),
    Column(
        "reencoded_batches", "number", wide=True, values="count", meaning="Batches that were encoded again."
    ),
    Column(
        "dropped_control_batches",
        "number",
        wide=True,
        values="count",
        meaning="Ends of transactions, which are not copied.",
    ),
    Column("gaps", wide=True, values="spans", meaning="First and last offset of what could not be copied."),
    Column("digest_source", wide=True, meaning="Digest of the records, with --verify; null without it."),
    Column("digest_target", wide=True, meaning="Digest of the records, with --verify; null without it."),
    Column(
        "state",
        values=(*(state.value for state in State), None),
        meaning="What it was doing at the end; null if nothing was to be copied.",
    ),
    Column(
        "state_since",
        "time",
        wide=True,
        values="time?",
        meaning="Since when; null if nothing was to be copied.",
    ),
    Column(
        "why", "prose", wide=True, meaning="What it was waiting for, or the error that ended it; null else."
    ),
    Column("error", "prose"),
)
GROUP_COLUMNS = (
    Column("group", meaning="Name of the group, or the pattern of --sync-groups that selects none."),
    Column(
        "topic", meaning="Name of the topic on the source; null where no offset of the group could be read."
    ),
    Column("partition", "number", meaning="Number of the partition; null where the topic is."),
    Column("target", spare=2, meaning="Name of the topic on the target."),
    Column("source_offset", "number", meaning="What the group has committed on the source."),
    Column(
        "target_offset",
        "number",
        meaning="The offset on the target that corresponds to it; null where there is none.",
    ),
    Column(
        "status",
        values=tuple(
            str(one)
            for one in (
                Outcome.DONE,
                Outcome.UNCHANGED,
                Outcome.REFUSED,
                Outcome.MISSING,
                Outcome.FAILED,
                Outcome.UNKNOWN,
            )
        ),
        meaning="What became of it; done: this run has set it, and read it back; missing: there is no offset to be set.",
    ),
    Column("why", "prose", meaning="Why it is not done; null where there is nothing to be said."),
    Column(
        "synced_at",
        "time",
        wide=True,
        values="time?",
        meaning="When the offset was last set or found on the target; null for never.",
    ),
)
STRANDED = (
    Column(
        "stranded",
        "number",
        meaning="Records of the partition that is copied to, which the first direction never copied; null where they "
        "could not be counted.",
    ),
    Column(
        "stranded_from", "number", wide=True, meaning="The first offset that they can have; null without any."
    ),
    Column("stranded_to", "number", wide=True, meaning="The offset before which they end; null without any."),
)
POINT = (
    Column("topic"),
    Column("partition", "number"),
    Column("target", spare=2, values="string", meaning="Name of the topic on the target."),
    Column(
        "copied_to",
        "number",
        values="count",
        meaning="Offset of the source: all records before it are on the target, but for the gaps.",
    ),
    Column(
        "copied_time",
        "time",
        spare=3,
        values="time?",
        meaning="Time of the last record that was copied; null where it is not known.",
    ),
    Column(
        "source_end_seen",
        "number",
        meaning="The end of the source that was seen last; null where it was never seen.",
    ),
    Column("seen_at", "time", spare=1, values="time?", meaning="When that end was seen; null for never."),
    Column(
        "may_be_missing",
        "number",
        meaning="How many records up to that end are missing at most; null where it is not known: no end was seen, or "
        "all up to it is there and the source may have accepted more since.",
    ),
)
RECOVERY = (
    *POINT[3:],
    Column(
        "target_offset",
        "number",
        meaning="The end of the target's partition: what is written from there on is not of the job; null where "
        "records go to partitions by key.",
    ),
    Column(
        "stored_beyond",
        "number",
        wide=True,
        values="count",
        meaning="Records of the target after the last one whose offset in the source is known: copies from copied_to on, "
        "or of others.",
    ),
)
"""What a recovery point says of a partition, but for its gaps."""

_AT_A_GLANCE = (
    "topic", "partition", "target", "records", "state", "error", "copied_to", "copied_time", "may_be_missing",
)  # fmt: skip
RESTORED = (
    *(replace(one, wide=one.key not in _AT_A_GLANCE) for one in COLUMNS),
    *(
        replace(
            one,
            wide=one.key not in _AT_A_GLANCE,
            values="count?" if one.values == "count" else one.values,
            meaning=f"{one.meaning} Null, as all of it, where the target could not be asked any more.",
        )
        for one in RECOVERY
    ),
)
"""Of a restore: what was copied, and the recovery point."""

HEAD = (
    Column("target_cluster", meaning="Id of the target."),
    Column("job", values="string", meaning="Name of the job."),
    *COLUMNS[5:7],  # records and bytes: sums
    Column("seconds", values="amount", meaning="How long it took."),
    *COLUMNS[8:11],  # batches
    Column("gaps", values="count", meaning="How many gaps."),
    Column(
        "acls",
        values="objects",
        inner=(
            *ACLS,
            Column(
                "status",
                values=("done", "unchanged", "refused", "failed", "unknown"),
                meaning="What became of it; unknown: the result could not be seen.",
            ),
            Column("note"),
        ),
        sometimes=True,
        meaning="With --sync-acls: the ACLs of the target, and those of the source that could not be carried over.",
    ),
    Column(
        "groups",
        values="objects",
        inner=GROUP_COLUMNS,
        sometimes=True,
        meaning="With --sync-groups: the committed offsets of the groups. In ndjson they are lines of their own.",
    ),
)


_NOTHING: Mapping[TopicPartition, Mapping[str, object]] = {}


class Rows(NamedTuple):
    """What a report prints: the kinds of the document and its items, and the columns; ``further``: what the partitions
    have in those that ``COLUMNS`` lacks.
    """

    kind: str = "MirrorReport"
    item: str = "MirrorPartition"
    columns: Sequence[Column] = COLUMNS
    further: Mapping[TopicPartition, Mapping[str, object]] = _NOTHING


MIRRORED = Rows()


def report(inv: Invocation, result: Result, stop: Stop, printed: Rows = MIRRORED) -> int:
    """Prints the rows and the summary; returns the exit status."""
    compared = {one.pair.source.tp: one for one in result.comparisons}
    for part in unread(result.comparisons):
        inv.lacks(part, later=True)
    nothing = dict.fromkeys(one.key for one in printed.columns[len(COLUMNS) :])
    rows = (
        {
            **nothing,
            **_row(copy, compared.get(copy.source), copied=bool(result.seconds)),
            **printed.further.get(copy.source, {}),
        }
        for copy in result.copies
    )
    cluster, totals = result.survey.source_cluster, _totals(result)
    groups = [group_row(one) for one in result.synced.offsets]
    not_set = lack_groups(inv, result.synced)
    head = {**totals, "groups": _group_items(groups)} if groups else totals
    print_rows(inv, printed.kind, printed.columns, rows, cluster, item=printed.item, head=head)
    print_groups(inv, printed.kind, groups, cluster)
    for topic, why in {(one.pair.source.tp.topic, one.ignored) for one in result.comparisons if one.ignored}:
        inv.talk.warn(f"topic {topic}: timestamps are not compared: {why}")
    inv.talk.note(_summary(result))
    if stop and result.seconds:
        inv.talk.note("stopped; the same command continues from here")
    if result.seconds:
        for line in _not_caught_up(result.copies):
            inv.talk.note(line)
    copied = any(copy.error is None for copy in result.copies)
    for error in result.failures():
        inv.failed(error, partly=copied and isinstance(error, TimedOutError))
    for error in result.acls.errors if result.acls is not None else ():
        inv.failed(error, partly=True)
    for error in not_set:
        inv.failed(error)
    return inv.finish(done=result.done, also=[stop.exit_code])


def _group_items(rows: Sequence[Mapping[str, object]]) -> list[Mapping[str, object]]:
    from kcli.output.envelope import item_of  # with json

    return [item_of(GROUP_COLUMNS, row) for row in rows]


def _not_caught_up(copies: Sequence[PartitionCopy]) -> Iterator[str]:
    """A line for the partitions that are still copied, and one for each thing that others wait for; errors are reported
    by themselves.
    """
    copying = [copy for copy in copies if copy.state.state is State.COPYING]
    if copying:
        known = [copy.lag for copy in copying if copy.lag is not None]
        lag = f"{sum(known):,}" if len(known) == len(copying) else "unknown"
        yield f"{partition_names([copy.source for copy in copying])}: not caught up, lag {lag}"
    waiting: dict[str, list[PartitionCopy]] = {}
    for copy in copies:
        if copy.state.state is State.WAITING:
            waiting.setdefault(copy.state.why, []).append(copy)
    for why, some in waiting.items():
        since = time_text(min(copy.state.since_ms for copy in some))
        yield f"{partition_names([copy.source for copy in some])}: not caught up, waiting since {since}: {why}"


def _totals(result: Result) -> dict[str, object]:
    copies = result.copies
    totals: dict[str, object] = {
        "target_cluster": result.survey.target_cluster,
        "job": result.job,
        "records": sum(copy.records for copy in copies),
        "bytes": sum(copy.bytes for copy in copies),
        "seconds": round(result.seconds, 3),
        "passed_through_batches": sum(copy.untouched_batches for copy in copies),
        "reencoded_batches": sum(copy.encoded_batches for copy in copies),
        "dropped_control_batches": sum(copy.control_batches for copy in copies),
        "gaps": sum(len(copy.gaps) for copy in copies),
    }
    if result.acls is not None:
        totals["acls"] = [row.values for row in result.acls.rows]
    return totals


def _row(copy: PartitionCopy, compared: Comparison | None, *, copied: bool) -> dict[str, object]:
    return {
        "topic": copy.source.topic,
        "partition": copy.source.partition,
        "target": copy.target.topic,
        "from_offset": copy.started_at,
        "to_offset": copy.position,
        "records": copy.records,
        "bytes": copy.bytes,
        "lag_records": copy.lag,
        "passed_through_batches": copy.untouched_batches,
        "reencoded_batches": copy.encoded_batches,
        "dropped_control_batches": copy.control_batches,
        "gaps": [[gap.first, gap.stop - 1] for gap in copy.gaps],
        "digest_source": compared.source_digest if compared else None,
        "digest_target": compared.target_digest if compared else None,
        "state": copy.state.state if copied else None,
        "state_since": copy.state.since_ms if copied else None,
        "why": copy.state.why or None,
        "error": str(copy.error) if copy.error else None,
    }


def _summary(result: Result) -> str:
    records = sum(copy.records for copy in result.copies)
    size = sum(copy.bytes for copy in result.copies)
    untouched = sum(copy.untouched_batches for copy in result.copies)
    batches = untouched + sum(copy.encoded_batches for copy in result.copies)
    parts = []
    if result.seconds and not records and all(copy.done and copy.error is None for copy in result.copies):
        parts.append("nothing to copy: everything was copied before")
    elif result.seconds:
        rate = records / result.seconds
        parts.append(
            f"{counted(records, 'record')} copied ({size_text(size)}) in {result.seconds:.1f} s: {rate:,.0f} records/s"
        )
        if batches:
            parts.append(
                f"{100 * untouched / batches:.0f} % of {counted(batches, 'batch', 'batches')} untouched"
            )
    if result.comparisons:
        equal = sum(one.equal for one in result.comparisons)
        total = sum(one.source_records for one in result.comparisons)
        parts.append(
            f"{equal} of {counted(len(result.copies), 'partition')} equal, {counted(total, 'record')} compared"
        )
        if repeated := sum(one.repeated for one in result.comparisons):
            parts.append(f"{repeated:,} stored twice by the mirror")
    if result.synced.offsets:
        parts.append(result.synced.text)
    return ", ".join(parts) or "nothing was copied"


def print_groups(inv: Invocation, kind: str, rows: Sequence[Mapping[str, object]], cluster: str) -> None:
    """Below the partitions: another table for people, lines of another kind in ndjson. Documents have them in their head,
    and csv and tsv have one kind of rows.
    """
    form = inv.out.list_kind()
    if rows and form not in ("json", "yaml", "csv", "tsv"):
        if form != "ndjson":
            inv.out.text("\n")
        print_rows(inv, kind, GROUP_COLUMNS, rows, cluster, item="MirrorGroupOffset")


def lack_groups(inv: Invocation, account: GroupsAccount) -> list[NotSyncedError]:
    """What of the groups is missing stands in the document, and is reported below the tables; returns what else is not
    as it was asked for.
    """
    others = []
    for part in account.missing:
        inv.lacks(part, later=True)
    for one in not_synced(account.offsets):
        if one.status is Outcome.MISSING:
            inv.lacks(Missing(f"group {one.group}", one.partitions, one.error), later=True)
        else:
            others.append(one.error)
    return others
