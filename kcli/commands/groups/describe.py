"""``kcli groups describe``: members, assignments, offsets. What is shown is made in ``_description_rows.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kcli.commands.shared.cluster import connect, listed_groups, open_admin, unique
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import OUTPUT_KINDS
from kcli.commands.shared.types import GROUP, CountType
from kcli.output.listing import list_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kcli.commands.groups import _description_rows as view
    from kcli.core.admin.admin import Admin
    from kcli.core.admin.committed import GroupPartition
    from kcli.core.admin.groups import ListedGroup
    from kcli.core.types import Node
    from kcli.flows.groups.description import Described
    from kcli.flows.groups.peek import Around
    from kcli.output.tables import Column

DOCUMENTS = ("json", "ndjson", "yaml")
TABLES = ("table", "wide", "plain")
FOR_PROGRAMS = (*DOCUMENTS, "tsv", "csv")
TIME_BYTES, TIME_SECONDS = 16 << 20, 5.0
PEEK_BYTES, PEEK_SECONDS = 16 << 20, 10.0


@command(
    "describe",
    outputs=(*OUTPUT_KINDS, "kafka"),
    examples=(
        ("kcli groups describe billing", "where it stands in each partition, and who reads it"),
        ("kcli groups describe billing --members -o wide", "members with assignments and subscriptions"),
        ("kcli groups describe --match 'bill*' --state", "a line for each group"),
        ("kcli groups describe billing --peek 2", "the last record read and the next one, by partition"),
        ("kcli groups describe billing -o kafka", "columns as kafka-consumer-groups.sh has them"),
    ),
)
@click.argument("names", nargs=-1, type=GROUP, metavar="[GROUP…]")
@click.option("--members", is_flag=True, help="only the members")
@click.option("--offsets", is_flag=True, help="only the offsets, a line for each partition")
@click.option("--state", is_flag=True, help="only a line for each group")
@click.option("--match", metavar="GLOB", help="all groups whose names match this shell pattern")
@click.option("--all", "every", is_flag=True, help="all groups")
@click.option("--peek", type=CountType(1, 1000), metavar="N", help="show N records around each commit")
@pass_invocation
def describe_groups(
    inv: Invocation,
    names: tuple[str, ...],
    members: bool,
    offsets: bool,
    state: bool,
    match: str | None,
    every: bool,
    peek: int | None,
) -> int:
    """Show members, assignments and offsets of groups.

    Lag is the end of the log less the commit. When a commit was made is looked up in __consumer_offsets with -o wide,
    and with -v in the formats for programs; it stays unknown where that takes more than 5 seconds or 16 MiB.
    """
    from kcli.flows.groups.description import describe_groups as described
    from kcli.flows.groups.nearest import name_nearest

    section = _section(members=members, offsets=offsets, state=state)
    _check(inv, names, section, match, every=every, peek=peek)
    inv.page()
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        listed = _listed(inv, admin, match, every=every) if every or match is not None else []
        wanted = unique([*names, *(row.group_id for row in listed)])
        told = described(admin, wanted, offsets=section in (None, "offsets"), listed=listed)
        name_nearest(admin, {name: told[name] for name in names})
        groups = _found(inv, told, names)
        times = _times(inv, admin, groups)
        nodes = admin.connect().nodes
    peeked = _peeked(inv, groups, peek)
    _print(inv, cluster, groups, section, times, peeked, nodes)
    _say_empty(inv, groups, section, listed_only=not names)
    return inv.finish(done=bool(groups) or not names)


def _section(**given: bool) -> str | None:
    """The only part that is wanted; None for all."""
    from kcli.commands.shared.usage import usage

    chosen = [name for name, wanted in given.items() if wanted]
    if len(chosen) > 1:
        raise usage(
            f"groups describe: --{chosen[0]} and --{chosen[1]} together",
            why="each shows one part only",
            do="leave both out: then everything is shown",
        )
    return chosen[0] if chosen else None


def _check(
    inv: Invocation,
    names: Sequence[str],
    section: str | None,
    match: str | None,
    *,
    every: bool,
    peek: int | None,
) -> None:
    from kcli.commands.shared.usage import usage

    if not (names or every or match is not None):
        raise usage(
            "groups describe: missing argument GROUP",
            why="it is required without --match and --all",
            do="name some, or use --match GLOB or --all",
        )
    if every and (names or match is not None):
        raise usage(
            f"groups describe: --all with {'names of groups' if names else '--match'}",
            why="it means all groups, whatever they are called",
            do="leave out --all, or what narrows it down",
        )
    if peek is not None and section in ("members", "state"):
        raise usage(
            f"groups describe: --peek with --{section}",
            why="records stand around offsets, which it leaves out",
            do=f"leave out --{section}",
        )
    if peek is not None and inv.out.list_kind() not in (*TABLES, *DOCUMENTS):
        raise usage(
            f"groups describe: --peek with -o {inv.out.list_kind()}",
            why="that format has one kind of line, and no place for records",
            do="use -o table, plain or json",
        )


def _listed(inv: Invocation, admin: Admin, match: str | None, *, every: bool) -> list[ListedGroup]:
    """All groups that are wanted without a name. Kafka's script has no groups but those of consumers."""
    rows = listed_groups(inv, admin, None if every else match)
    if inv.out.list_kind() == "kafka":
        rows = [
            row
            for row in rows
            if row.type in ("", "classic", "consumer") and row.protocol_type in ("", "consumer")
        ]
    return rows


def _found(inv: Invocation, told: Mapping[str, object], names: Sequence[str]) -> list[Described]:
    """The groups there are. One that is missing is a failure if it was named, else it has just gone."""
    from kcli.core.errors import KcliError, NotFoundError
    from kcli.flows.groups.description import Described

    found = []
    for name, one in told.items():
        if isinstance(one, NotFoundError) and name not in names:
            inv.talk.warn(f"group {name} has gone meanwhile")
        elif isinstance(one, KcliError):
            inv.failed(one)
        elif isinstance(one, Described):
            if one.error is not None:
                inv.failed(one.error)
            elif one.note is not None:
                inv.talk.warn(f"group {name}: {one.note}")
            found.append(one)
    return found


# --- what is read besides ----------------------------------------------------------------------------


def _times(inv: Invocation, admin: Admin, groups: Sequence[Described]) -> dict[GroupPartition, int]:
    """When each commit was made, where that is asked for and can be found."""
    kind = inv.out.list_kind()
    commits = _commits(groups)
    shown = kind == "wide" or (kind in FOR_PROGRAMS and inv.values.verbose)
    if not shown or not commits:
        return {}
    from kcli.commands.groups._reader import reader
    from kcli.core.errors import KcliError
    from kcli.flows.groups.budget import Budget
    from kcli.flows.groups.commit_times import TOPIC, commit_times

    topic = admin.describe_topics([TOPIC])[TOPIC]
    if isinstance(topic, KcliError):
        inv.talk.warn(f"when commits were made is not known: {topic}")
        return {}
    budget = Budget(TIME_BYTES, TIME_SECONDS)
    try:
        with reader(inv) as consumer:
            return commit_times(consumer, len(topic.partitions), commits, budget, inv.timeout)
    except KcliError as error:
        inv.talk.warn(f"when commits were made is not known: {error}")
        return {}


def _peeked(
    inv: Invocation, groups: Sequence[Described], count: int | None
) -> dict[GroupPartition, Around] | None:
    """The records around each commit; None where nobody asked."""
    if count is None:
        return None
    from kcli.commands.groups._reader import reader
    from kcli.core.admin.committed import GroupPartition
    from kcli.core.errors import KcliError
    from kcli.flows.groups.budget import Budget
    from kcli.flows.groups.peek import peek

    budget = Budget(PEEK_BYTES, PEEK_SECONDS)
    found: dict[GroupPartition, Around] = {}
    with reader(inv) as consumer:
        for group in groups:
            commits = {
                commit.tp: offset
                for commit, offset in _commits([group]).items()
                if group.positions[commit.tp].end is not None
            }
            if not commits or budget.spent:
                continue
            try:
                around = peek(consumer, commits, count, budget, inv.timeout)
            except KcliError as error:
                name = group.group_id
                inv.talk.warn(f"records around the commits of group {name} are not shown: {error}")
                continue
            found |= {GroupPartition(group.group_id, tp): records for tp, records in around.items()}
    if budget.spent:
        inv.talk.warn(
            f"--peek read {PEEK_BYTES >> 20} MiB or {PEEK_SECONDS:g} s, and then no more:"
            " some records around commits are missing"
        )
    return found


def _commits(groups: Sequence[Described]) -> dict[GroupPartition, int]:
    from kcli.core.admin.committed import GroupPartition

    return {
        GroupPartition(group.group_id, tp): position.committed.offset
        for group in groups
        for tp, position in group.positions.items()
        if position.committed is not None
    }


# --- printing ----------------------------------------------------------------------------------------


def _print(
    inv: Invocation,
    cluster: str,
    groups: Sequence[Described],
    section: str | None,
    times: view.Times,
    peeked: view.Peeked | None,
    nodes: Mapping[int, Node],
) -> None:
    from kcli.commands.groups import _description_rows as view

    form = inv.out.list_kind()
    if form == "kafka":
        _print_kafka(inv, groups, section, nodes)
    elif form in DOCUMENTS or form == "name":
        _print_rows(inv, cluster, view.STATES, [_item(group, section, times, peeked) for group in groups])
    elif section == "state":
        _print_rows(inv, cluster, view.STATES, [view.state_row(group) for group in groups])
    elif section == "members":
        rows = [row for group in groups for row in view.member_rows(group)]
        _print_rows(inv, cluster, view.MEMBERS, rows)
    elif section is None and (form in ("table", "wide") or (form == "plain" and inv.out.headers)):
        for number, group in enumerate(groups):
            inv.out.text(("\n" if number else "") + view.heading(group, nodes))
            if group.positions:
                inv.out.text("\n")
                rows = view.offset_rows(group, times)
                columns = view.described(rows, form)
                _print_rows(inv, cluster, columns, rows)
            _print_peek(inv, cluster, [group], peeked)
    elif groups:
        rows = [row for group in groups for row in view.offset_rows(group, times)]
        _print_rows(inv, cluster, view.OFFSETS, rows)
        _print_peek(inv, cluster, groups, peeked)


def _say_empty(
    inv: Invocation, groups: Sequence[Described], section: str | None, *, listed_only: bool
) -> None:
    """What a table without rows leaves open; documents have empty lists, and Kafka's columns its messages."""
    if inv.out.list_kind() in (*DOCUMENTS, "kafka", "name"):
        return
    if not groups and listed_only:
        inv.talk.note("no group is like that")
    for group in groups:
        if group.description is None or group.error is not None:
            continue
        if section == "members" and not group.description.members:
            inv.talk.note(f"group {group.group_id} has no active members")
        elif section == "offsets" and not group.positions:
            inv.talk.note(f"group {group.group_id} has committed nothing")


def _item(group: Described, section: str | None, times: view.Times, peeked: view.Peeked | None) -> view.Row:
    """A group as JSON has it, with the parts that were asked for."""
    from kcli.commands.groups import _description_rows as view

    item, known = view.state_row(group), group.description is not None
    if section in (None, "members"):
        item["members"] = view.member_items(group) if known else None
    if section in (None, "offsets"):
        readable = known and group.error is None
        item["partitions"] = view.offset_items(group, times, peeked) if readable else None
    return item


def _print_rows(inv: Invocation, cluster: str, columns: Sequence[Column], rows: Sequence[view.Row]) -> None:
    with list_rows(
        inv.out,
        "GroupDescriptionList",
        "GroupDescription",
        columns,
        cluster=cluster,
        warnings=inv.talk.warnings,
    ) as printed:
        for row in rows:
            printed.add(row)


def _print_peek(
    inv: Invocation, cluster: str, groups: Sequence[Described], peeked: view.Peeked | None
) -> None:
    from kcli.commands.groups import _description_rows as view
    from kcli.core.admin.committed import GroupPartition

    for group in groups:
        rows = [
            row
            for tp in group.positions
            for around in [(peeked or {}).get(GroupPartition(group.group_id, tp))]
            if around is not None
            for row in view.peek_rows(tp, around, inv.out.width)
        ]
        if rows:
            inv.out.text("\n")
            _print_rows(inv, cluster, view.PEEK, rows)


def _print_kafka(
    inv: Invocation, groups: Sequence[Described], section: str | None, nodes: Mapping[int, Node]
) -> None:
    from kcli.commands.groups import _kafka_columns as kafka

    verbose = inv.values.verbose > 0
    for group in sorted(groups, key=lambda one: one.group_id):
        if group.description is None:
            continue
        if (text := kafka.message(group)) is not None:
            inv.talk.note(text)
        if section == "state":
            text = kafka.states(group, nodes, verbose=verbose)
        elif section == "members":
            text = kafka.members(group, verbose=verbose)
        else:
            text = kafka.offsets(group, verbose=verbose)
        inv.out.shown(text)
    inv.out.flush()
