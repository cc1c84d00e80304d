"""The plan of a rewind as text for users, and what was done. Pure: it has fixed headings of its own."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Protocol

from kcli.core.group.barrier.arrivals import ListedMember
from kcli.core.names import group_shown
from kcli.flows.groups.members import named
from kcli.flows.rewind.live import LiveFacts
from kcli.flows.rewind.outcomes import VERIFIED, GroupReport, rewind_command
from kcli.flows.rewind.plan import ABSENT, GroupPlan, RewindItem, RewindPlan
from kcli.flows.rewind.watching import LONGEST_WATCH, WATCH_SECONDS, OpenPartition
from kcli.output.progress import counted, time_span_text
from kcli.output.sanitise import visible_line

NO_UNDO = "Nothing will change, and there will be nothing to undo."
MINUS = "\N{MINUS SIGN}"
ARROW = "\N{RIGHTWARDS ARROW}"
_GAP = "   "
_INDENT = "  "
_SHOWN = 4
_NOTICED = (
    "Live: the members have no partitions while the offsets are set, and until their batches in progress have ended\n"
    "(about 12 s, less where nothing is unread); then they start there. They notice two rebalances; a manual commit\n"
    "fails once in each (CommitFailedException, UNKNOWN_MEMBER_ID), and what they have read without committing it\n"
    "is read again, in all partitions of the group."
)


class Where(Protocol):
    """The cluster: its profile or address, and details, which may be empty."""

    @property
    def name(self) -> str: ...
    @property
    def details(self) -> str: ...


def plan_text(plan: RewindPlan, where: Where, *, dry: bool = False) -> str:
    """All groups. ``dry``: no journal will have the id of the plan."""
    return "\n\n".join(_group(group, plan, where, dry=dry) for group in plan.groups)


def question(plan: RewindPlan) -> str:
    """The question below the plan."""
    return "Proceed?" if len(plan.groups) == 1 else f"Proceed with {len(plan.groups)} groups?"


def changes(plan: GroupPlan) -> bool:
    """Whether any part of the plan differs from what is committed; members of a live group commit meanwhile."""
    return plan.live or any(item.changes for item in plan.todo)


def undone_text(plan: GroupPlan) -> str:
    """After a refusal of a plan that has named an undo already."""
    return f"group {group_shown(plan.group)}: nothing was done, and there is nothing to undo"


def done_text(report: GroupReport) -> str:
    """One verdict on what was done to a group."""
    plan = report.plan
    done = _done(report)
    if plan.live:
        held = "set and held: the members continued from there" if report.done else "known to be held"
        done = f"{counted(report.done, 'partition')} {held}"
    undo = f"; undo with: {undo_command(plan)}" if report.kept else "; nothing has changed"
    return f"group {group_shown(plan.group)}: {done}{rest_text(report.count)}{undo}"


def nothing_text(plan: GroupPlan) -> str:
    """One verdict on a group for which there was nothing to do."""
    refused = len(plan.items) - len(plan.todo)
    rest = f", {refused} refused" if refused else ""
    return f"nothing is to be changed: group {group_shown(plan.group)} is as requested{rest}"


def _done(report: GroupReport) -> str:
    """``2 partitions set, 1 commit deleted, all read back``: an undo deletes commits that were not there before. What was
    as requested already is counted by itself.
    """
    ended = [one.item for one in report.outcomes if one.status == VERIFIED]
    done = Counter(item.action for item in ended if item.changes)
    kept = sum(item.action == "keep" for item in ended)
    same = len(ended) - kept - done.total()
    what = "start offset" if report.plan.is_share else "commit"
    parts = [f"{counted(done['commit'], 'partition')} set"] if done["commit"] or not (done or kept) else []
    if done["delete"]:
        parts.append(f"{counted(done['delete'], what)} deleted")
    if kept:
        parts.append(f"{counted(kept, 'partition')} left without a {what}")
    return f"{', '.join(parts)}{' and' if len(parts) == 1 else ', all'} read back{unchanged_text(same)}"


def unchanged_text(count: int) -> str:
    """The partitions that were as requested already, listed after those that were set."""
    return f", {count} unchanged" if count else ""


def released_text(group: str, facts: LiveFacts, bound: float | None) -> str:
    """What is certain of a live rewind before its members are watched; ``bound`` as in ``Watcher``."""
    evicted, away = len(facts.evicted), len(facts.attendance.away)
    back = f"{evicted - away} of {counted(evicted, 'member')} {'is' if evicted - away == 1 else 'are'} back"
    done = f"offsets of group {group_shown(group)} set and read back, {back}"
    if bound == 0:
        return done
    longer = "" if bound is not None else f", or {_watched(LONGEST_WATCH)} while late commits are expected"
    return f"{done}; watching their commits for up to {_watched(WATCH_SECONDS if bound is None else bound)}{longer} …"


def _watched(seconds: float) -> str:
    return time_span_text(round(seconds * 1000))


def awaited_text(left: Sequence[OpenPartition], seconds_left: float) -> str:
    """What is awaited: ``waiting for a commit by billing-1 at 10.0.0.7: orders-0, orders-3``. The watch ends in
    ``seconds_left``, which is said where that is too early.
    """
    causes: dict[str, list[str]] = {}
    for one in left:
        causes.setdefault(_cause(one, seconds_left), []).append(str(one.partition))
    return "; ".join(f"{cause}: {_some(partitions)}" for cause, partitions in causes.items())


def _cause(one: OpenPartition, seconds_left: float) -> str:
    awaited = one.verdict.awaited
    if awaited is None or one.left is None:
        owner = None if awaited is None else awaited.owner
        if owner is None:
            return "waiting until a member owns it and commits"
        return f"waiting for a commit by {_member(owner.client_id, owner.member_id, owner.client_host)}"
    left = f"{max(1, round(one.left))} s left"
    if one.left > seconds_left:
        left += f" (the watch ends in {max(1, round(seconds_left))} s)"
    if awaited.away:
        names = ", ".join(dict.fromkeys(_listed(member) for member in awaited.away))
        return f"waiting for {names} to rejoin, or for the session to expire, {left}"
    return f"waiting for late commits of batches read before, {left}"


def _listed(member: ListedMember) -> str:
    return _member(member.client_id, member.member_id, member.client_host)


def _member(client_id: str, member_id: str, host: str) -> str:
    where = host.lstrip("/")
    return visible_line(f"{client_id or member_id} at {where}" if where else client_id or member_id)


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(visible_line(name) for name in names[:_SHOWN])
    more = len(names) - _SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def rest_text(count: Callable[[str], int]) -> str:
    """The partitions of a group that did not end as planned, listed after those that did."""
    return "".join(
        f", {count(status)} {words}"
        for status, words in (
            ("overwrote", "set over another commit"),
            *((status, status) for status in ("overwritten", "failed", "unknown", "refused")),
        )
        if count(status)
    )


def without_metadata_text(report: GroupReport) -> str:
    """The new offsets were read back without metadata, and so without the mark of this rewind."""
    group = group_shown(report.plan.group)
    return (
        f"group {group}: the broker keeps no metadata of commits; the offsets are as requested, but a rewind from "
        "another machine would not recognise this one"
    )


def missing_text(report: GroupReport) -> str:
    """The members that have not rejoined a group that was rewound as it ran."""
    have = "has" if len(report.missing) == 1 else "have"
    count = f"{len(report.missing)} of {counted(report.evicted, 'member')}"
    return (
        f"group {group_shown(report.plan.group)}: {count} {have} not rejoined so far: {named(report.missing)}"
    )


def not_recorded_text(report: GroupReport) -> str:
    """The consequences of a journal that could not be updated after the offsets of a group were set."""
    if not report.plan.live:
        return (
            f"group {report.plan.group}: the journal has the offsets of the plan, not those that were replaced, and "
            f"--undo restores them: {report.journal_error}"
        )
    check = (
        "--check can still judge the members' commits" if report.can_check else "--check has nothing to judge"
    )
    undo = "; the old offsets are in it, for --undo" if report.kept else ""
    return (
        f"group {group_shown(report.plan.group)}: its offsets were set, but the outcome is not in the journal: "
        f"{report.journal_error}; {check}{undo}"
    )


def undo_command(plan: GroupPlan, *, planned: bool = False) -> str:
    """The command that restores the previous offsets. ``planned``: there is no journal yet, it will be the newest."""
    undo = "--undo" if planned else f"--undo={plan.id}"
    return rewind_command(plan.group, f"{undo} --live" if plan.live else undo)


def number_text(number: int) -> str:
    """``9,999``, ``27.7 k``, ``3.1 M``."""
    if number < 10_000:
        return f"{number:,}"
    for name, size in (("k", 10**3), ("M", 10**6), ("G", 10**9)):
        if number < size * 999.95:
            return f"{number / size:.1f} {name}"
    return f"{number / 10**12:.1f} T"


def _group(plan: GroupPlan, whole: RewindPlan, where: Where, *, dry: bool) -> str:
    cluster = f"cluster {visible_line(whole.cluster)}" if whole.cluster else ""
    details = ", ".join(filter(None, (cluster, where.details)))
    lines = [f"{whole.act} {group_shown(plan.group)} on {where.name}" + (f" ({details})" if details else "")]
    lines.append(f"  to: {plan.to}")
    lines += table_lines(plan.items, heading="START" if plan.is_share else "COMMITTED")
    lines.append(f"  {_summary(plan)}")
    if plan.refusal is not None:
        lines.append(f"Group state: {plan.state}. Refused: {plan.refusal.why}.")
    elif plan.todo:
        state = "does not exist" if plan.state == ABSENT else plan.state
        if plan.live:
            state += f", {counted(len(plan.members), 'member')}"
            lines.append(_NOTICED)
        undo = f"Undo afterwards with: {undo_command(plan, planned=dry)}" if changes(plan) else NO_UNDO
        lines.append(f"Group state: {state}. {undo}")
    return "\n".join(lines)


def table_lines(items: Sequence[RewindItem], heading: str = "COMMITTED") -> list[str]:
    """The lines of a plan with its partitions, below their headings. Numbers are right-aligned. ``heading``: that of the
    offsets there are.
    """
    if not items:
        return []
    records_heading, mixed = _records_heading(items)
    rows = [
        (
            visible_line(item.tp.topic),
            str(item.tp.partition),
            _offset(None if item.committed is None else item.committed.offset),
            _new(item),
            change_text(item.change),
            _records(item, mixed=mixed),
            visible_line(item.note),
        )
        for item in items
    ]
    headings = ("TOPIC", "PART", heading, "NEW", "CHANGE", records_heading, "NOTE")
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    number = max(len(row[5]) for row in rows)
    lines = []
    for cells in (headings, *rows):
        topic, part, committed, new, change, records, note = cells
        records = records if cells is headings else records.rjust(number)
        lines.append(
            _INDENT
            + _GAP.join(
                (
                    topic.ljust(widths[0]),
                    part.rjust(widths[1]),
                    f"{committed.rjust(widths[2])}  {ARROW}  {new.rjust(widths[3])}",
                    change.rjust(widths[4]),
                    records.ljust(widths[5]),
                    note,
                )
            ).rstrip()
        )
    return lines


def _records_heading(items: Sequence[RewindItem]) -> tuple[str, bool]:
    back = any((item.change or 0) < 0 for item in items)
    ahead = any((item.change or 0) > 0 for item in items)
    if back and ahead:
        return "RECORDS", True
    return "RECORDS SKIPPED" if ahead else "RECORDS RE-READ", False


def _offset(offset: int | None) -> str:
    return "-" if offset is None else f"{offset:,}"


def _new(item: RewindItem) -> str:
    return "-" if item.new is None else f"{item.new.offset:,}"


def change_text(change: int | None) -> str:
    """``+20``, ``−1,204``, ``0``, ``-`` where it is not known."""
    if change is None:
        return "-"
    return f"{MINUS}{-change:,}" if change < 0 else f"+{change:,}" if change else "0"


def _records(item: RewindItem, *, mixed: bool) -> str:
    if item.records is None:
        return "-"
    if not mixed or not item.change:
        return f"{item.records:,}"
    return f"{item.records:,} {'re-read' if item.change < 0 else 'skipped'}"


def _summary(plan: GroupPlan) -> str:
    todo = [item for item in plan.items if item.refusal is None]
    verdicts = [_effect(todo)]
    if first := sum(item.committed is None and item.new is not None for item in todo):
        verb = "has" if first == 1 else "have"
        what = "start offset" if plan.is_share else "commit"
        verdicts.append(f"{counted(first, 'partition')} {verb} no {what} yet and will be read from NEW on.")
    if forgotten := sum(item.forgotten for item in todo):
        verdicts.append(
            f"What is acknowledged after the start offsets is forgotten, also by an undo: {counted(forgotten, 'record')}."
        )
    if plan.counts_offsets:
        verdicts.append("The change counts offsets, not records.")
    deleted = sum(item.action == "delete" for item in todo)
    if deleted:
        what = "start offsets" if plan.is_share else "commits"
        verdicts.append(f"The {what} of {counted(deleted, 'partition')} will be deleted.")
    refused = len(plan.items) - len(todo)
    if refused:
        verdicts.append(f"{counted(refused, 'partition')} refused.")
    if plan.untouched:
        verdicts.append(f"Other topics of the group: untouched ({plan.untouched}).")
    return " ".join(verdicts)


def _effect(todo: Sequence[RewindItem]) -> str:
    """``3 partitions, at most 27.7 k records will be read again (5h12m of data).``"""
    sides = []
    for name, chosen in (
        ("read again", [item for item in todo if (item.change or 0) < 0]),
        ("skipped", [item for item in todo if (item.change or 0) > 0]),
    ):
        if chosen:
            records = sum(item.records or 0 for item in chosen)
            plural = "" if records == 1 else "s"
            sides.append(f"at most {number_text(records)} record{plural} will be {name} ({_span(chosen)})")
    partitions = counted(len(todo), "partition")
    known = [item for item in todo if item.change is not None]
    if not sides:
        same = " where they are" if known and len(known) == len(todo) else ""
        return f"{partitions}{', all stay' + same if same else ''}."
    return f"{partitions}, {', '.join(sides)}."


def _span(items: Sequence[RewindItem]) -> str:
    """The longest time of any partition: partitions cover the same time in parallel."""
    if any(item.span_ms is None for item in items):
        return "how much time is unknown"
    longest = max(item.span_ms or 0 for item in items)
    return f"{time_span_text(longest) if longest >= 1000 else 'less than 1s'} of data"
