"""``kcli groups rewind``: the committed offsets of groups moved back or forth, with a plan, a journal and an undo."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from kcli.commands.shared.cluster import connect, open_admin, unique
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import LIKE_A_DURATION, AttachedOption
from kcli.commands.shared.params import DURATION, Word
from kcli.commands.shared.types import GROUP, TARGET, TOPIC, CountType
from kcli.commands.shared.usage import usage
from kcli.output.listing import list_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kcli.commands.groups._live import Guards
    from kcli.core.admin.admin import Admin
    from kcli.core.admin.group_description import GroupDescription
    from kcli.core.errors import KcliError
    from kcli.flows.rewind.journal import Journals
    from kcli.flows.rewind.plan import GroupPlan, RewindPlan
    from kcli.flows.rewind.survey import Asked

NEWEST = ""
FOR_EVER = ""
LONGEST = ""
USUAL = ""
LOOK_EVERY = 1.0


def _datetime(text: str) -> Any:
    """As Kafka's script reads it: without a zone it is UTC."""
    from datetime import UTC

    from kcli.core.clock import wall_ms
    from kcli.core.positions import parse_instant

    return parse_instant(text, wall_ms(), UTC)


DATETIME = Word("time", _datetime)


@command(
    "rewind",
    examples=(
        ("kcli groups rewind billing --to @-1h --dry-run", "the plan for one hour back; nothing is changed"),
        ("kcli groups rewind billing --to 2026-11-21T10:00Z --topic orders", "to a time, in one topic"),
        (
            "kcli groups rewind billing --to earliest --topic orders:0,2-4 --yes",
            "some partitions, in a script",
        ),
        (
            "kcli groups rewind billing --to @-10m --live",
            "of a running group: its members continue from there",
        ),
        (
            "kcli groups rewind billing --to -1000 --wait=5m",
            "back by 1000 offsets, once its members have left",
        ),
        ("kcli groups rewind billing --undo", "put back what was committed before the last rewind"),
        ("kcli groups rewind --journal", "the rewinds that can be undone"),
        (
            "kcli groups rewind billing --check 20261121-091403-3fa9c1",
            "what became of a rewind with --live that ended with unknown partitions",
        ),
    ),
)
@click.argument("names", nargs=-1, type=GROUP, metavar="GROUP…")
@click.option(
    "--to",
    type=TARGET,
    metavar="SPEC",
    help="earliest, latest, current, an offset, +N or -N from the commit, a time (@-1h, 2026-11-21T10:00Z)",
)
@click.option("--to-group", type=GROUP, metavar="GROUP", help="to what another group has committed")
@click.option("--from-file", metavar="FILE", help="to the offsets of a csv: [group,]topic,partition,offset")
@click.option(
    "--topic",
    "topics",
    type=TOPIC,
    multiple=True,
    metavar="T[:0,2-4]",
    help="only this topic, or some partitions; repeatable",
)
@click.option(
    "--exclude-topic",
    "excluded",
    type=TOPIC,
    multiple=True,
    metavar="T",
    help="all but this topic; repeatable",
)
@click.option("--all-topics", is_flag=True, help="all topics for which the group has committed offsets")
@click.option(
    "--live", is_flag=True, help="rewind a group that has members: they are kept out for some seconds"
)
@click.option(
    "--hold",
    cls=AttachedOption,
    bare=LONGEST,
    looks=LIKE_A_DURATION,
    metavar="[=60s]",
    help="like --live, and the group is paused while the plan is reviewed, for at most this long",
)
@click.option(
    "--wait",
    cls=AttachedOption,
    bare=FOR_EVER,
    looks=LIKE_A_DURATION,
    metavar="[=DUR]",
    help="wait until its members have left and its transactions have ended, then rewind",
)
@click.option(
    "--undo",
    cls=AttachedOption,
    bare=NEWEST,
    looks=r"\d{8}-\d{6}-[0-9a-f]{6}",
    metavar="[=ID]",
    help="undo the latest rewind of the group, or rewind ID",
)
@click.option(
    "--watch",
    cls=AttachedOption,
    bare=USUAL,
    looks=LIKE_A_DURATION,
    metavar="[=90s]",
    help="with --live: how long to watch the members afterwards, until all partitions are decided; 0s: not at all",
)
@click.option(
    "--check", metavar="ID", help="look again at what became of rewind ID, which was made with --live"
)
@click.option(
    "--journal", is_flag=True, help="list the rewinds of this cluster that were made from this machine"
)
@click.option(
    "--export", is_flag=True, help="print the plan as Kafka's csv; without --execute change nothing"
)
@click.option("--to-earliest", is_flag=True, help="Kafka's spelling of --to earliest")
@click.option("--to-latest", is_flag=True, help="Kafka's spelling of --to latest")
@click.option("--to-current", is_flag=True, help="Kafka's spelling of --to current")
@click.option("--to-offset", type=CountType(0), metavar="N", help="Kafka's spelling of --to N")
@click.option(
    "--to-datetime",
    type=DATETIME,
    metavar="DT",
    help="like --to; as in Kafka's script, UTC if no zone is given",
)
@click.option("--by-duration", type=DURATION, metavar="DUR", help="Kafka's spelling of --to @-DUR")
@click.option("--shift-by", type=CountType(), metavar="N", help="Kafka's spelling of --to +N or -N")
@click.option(
    "--group",
    "more_names",
    type=GROUP,
    multiple=True,
    metavar="GROUP",
    help="Kafka's spelling of GROUP; repeatable",
)
@click.option(
    "--all-groups", is_flag=True, help="all consumer groups that have committed offsets of the given topics"
)
@click.option("--reset-offsets", is_flag=True, hidden=True)
@click.option("--execute", is_flag=True, help="Kafka's spelling of --yes")
@pass_invocation
def rewind(inv: Invocation, /, names: tuple[str, ...], **flags: Any) -> int:
    """Move the committed offsets of groups back or forward.

    Shows a plan first: old and new offset of every partition, and how much will be read again or skipped. What was
    committed before is kept in a journal, for --undo. Afterwards every partition is read back.

    A group with members is refused: they go on from positions of their own and would commit these. --live sends them
    out, sets the offsets as the only member, and lets them in again when they can only start there. What they commit is
    then watched until each partition is known to be held or overwritten, for 90 seconds at most (--watch); a partition
    of which neither is known by then is unknown (6), and --check looks at it again. Needs --topic or --all-topics unless
    the group has commits on one topic only, or a file or another group says which partitions.
    """
    if flags["journal"]:
        return _list_journals(inv, names, flags)
    if flags["execute"]:
        inv.yes = True
    names = unique((*names, *flags.pop("more_names")))
    if flags["all_groups"]:
        _check_all_groups(names, flags)
    elif not names:
        raise usage(
            "groups rewind: missing argument GROUP",
            why="it is required",
            do="`kcli groups list` lists the groups; --journal lists the rewinds made from this machine",
        )
    if flags["check"] is not None:
        from kcli.commands.groups._checking import check

        _check_alone(
            flags, "--check", {"check", "watch"}, "it looks at a rewind that was made; nothing was done"
        )
        return check(inv, names, flags["check"], _watch(flags))
    return _Run(inv, names, flags).run()


class _Run:
    """One command: wait, look, show, ask, do, tell."""

    def __init__(self, inv: Invocation, names: Sequence[str], flags: dict[str, Any]) -> None:
        from kcli.commands.groups import _rewind_target

        self.inv, self.names, self.flags = inv, names, flags
        self.by = _rewind_target.chosen(flags)
        self.scope = _scope(flags)
        self.patience = _patience(flags["wait"])
        self.hold = _hold(flags)
        self.watch = _watch(flags)
        if flags["watch"] is not None and not flags["live"] and self.hold is None:
            raise usage(
                "groups rewind: --watch without --live",
                why="only the members of a group that is rewound as it runs are watched",
                do="give --live, or leave --watch out",
            )
        self._asked = None if flags["all_groups"] else self._before_contact()

    def run(self) -> int:
        """The exit status."""
        from dataclasses import replace
        from functools import partial

        from kcli.commands.groups._awaiting import new_watcher
        from kcli.commands.groups._live import Guards
        from kcli.commands.shared.confirm import check_answerable
        from kcli.commands.shared.orderly_end import orderly_end
        from kcli.core.clock import monotonic, wall_ms
        from kcli.flows.rewind.journal import Journals
        from kcli.flows.rewind.open_transactions import SHORT_SECONDS, refused_for_transactions
        from kcli.flows.rewind.refusals import only_held, waited_for
        from kcli.flows.rewind.spans import time_spans
        from kcli.flows.rewind.survey import survey

        if self.hold is not None:
            check_answerable(self.inv, "Proceed?")
        with ExitStack() as stack:
            stack.enter_context(orderly_end())
            admin = stack.enter_context(open_admin(self.inv))
            watcher = new_watcher(self.inv, admin, self.watch)
            barriers = stack.enter_context(Guards(self.inv, admin, watcher))
            cluster = connect(self.inv, admin)
            journals = Journals(cluster)
            if self.flags["all_groups"]:
                self.names = _all_groups(self.inv, admin, self.scope)
                if not self.names:
                    return self.inv.finish(done=True)
                self._asked = self._before_contact()
            asked = self._asked or self._with_cluster(admin, journals)
            waits = self.flags["wait"] is not None and not self.inv.dry_run
            deadline = None if self.patience is None else monotonic() + self.patience
            if waits:
                if not self._names_exist(admin, asked):
                    return self.inv.finish(done=False)
                _wait_until_empty(self.inv, admin, list(asked.targets), deadline)
            live = self.flags["live"] or self.hold is not None
            if live:
                barriers.wait_until_settled(list(asked.targets))
            if self.hold is not None and not self.inv.dry_run:
                barriers.hold(list(asked.targets), journals, self.hold)
            asked = replace(asked, live=live, held=barriers.before)
            look = partial(survey, admin, cluster, asked)
            plan, failures = look(wall_ms(), partial(time_spans, admin))
            short = LOOK_EVERY if waits else SHORT_SECONDS
            if in_transactions := refused_for_transactions(admin, plan.groups, short):
                if waits:
                    _wait_for_transactions(self.inv, admin, plan, deadline, in_transactions)
                    plan, failures = look(wall_ms(), partial(time_spans, admin))
                    in_transactions = refused_for_transactions(admin, plan.groups, LOOK_EVERY / 2)
                plan = replace(plan, groups=tuple(_refused(one, in_transactions) for one in plan.groups))
            if self.hold is not None:
                held = None if self.inv.dry_run else barriers.before
                plan = replace(plan, groups=tuple(only_held(one, held) for one in plan.groups))
            if self.flags["wait"] is not None:
                plan = replace(plan, groups=tuple(waited_for(one, waited=waits) for one in plan.groups))
            return self._settle(admin, plan, failures, barriers)

    def _settle(self, admin: Admin, plan: RewindPlan, failures: Sequence[KcliError], barriers: Guards) -> int:
        from kcli.commands.groups._settling import Manner, confirm_and_execute

        exports = self.flags["export"]
        if exports:
            _export(self.inv, plan)
        return confirm_and_execute(
            self.inv,
            admin,
            plan,
            failures,
            Manner(only_look=exports and not self.inv.yes, stdout_taken=exports, barriers=barriers),
        )

    def _names_exist(self, admin: Admin, asked: Asked) -> bool:
        """Tells which groups do not exist, before any others are waited for; an undo may bring one back."""
        from kcli.core.errors import NotFoundError
        from kcli.flows.groups.nearest import name_nearest

        names = [name for name in asked.targets if name not in asked.undoes]
        told = admin.describe_groups(names) if names else {}
        missing = {name: one for name, one in told.items() if isinstance(one, NotFoundError)}
        name_nearest(admin, missing)
        for error in missing.values():
            self.inv.failed(error)
        return not missing

    # what is asked

    def _before_contact(self) -> Asked | None:
        """None where the cluster or the journal has to be asked."""
        from kcli.commands.groups import _rewind_target as target
        from kcli.flows.rewind.survey import Asked

        if self.by in ("to_group", "undo"):
            return None
        if self.by == "from_file":
            path = self.flags["from_file"]
            return Asked(target.file_targets(path, self.names), f"the offsets in {path}", self.scope)
        terminal = target.has_terminal(self.inv)
        one, words = target.simple_target(self.by, self.flags[self.by], terminal=terminal)
        return Asked(dict.fromkeys(self.names, one), words, self.scope)

    def _with_cluster(self, admin: Admin, journals: Journals) -> Asked:
        from kcli.commands.groups import _rewind_target as target
        from kcli.flows.rewind.survey import Asked

        if self.by == "to_group":
            other = self.flags["to_group"]
            return Asked(
                dict.fromkeys(self.names, target.group_target(admin, other)),
                f"what group {other} has committed",
                self.scope,
            )
        return _undo(journals, self.names, self.flags["undo"], self.scope)


def _scope(flags: dict[str, Any]) -> Any:
    from kcli.flows.rewind.scope import Scope, parse_topics

    try:
        topics = parse_topics(flags["topics"])
    except ValueError as error:
        raise usage(
            "groups rewind: --topic is not understood", why=str(error), do="as in --topic orders:0,2-4"
        ) from None
    if listed := [name for name in flags["excluded"] if "," in name]:
        raise usage(
            f"groups rewind: --exclude-topic {listed[0]!r} is no topic",
            why="no name of a topic has a comma",
            do="give --exclude-topic once for each",
        )
    if topics and flags["all_topics"]:
        raise usage(
            "groups rewind: --topic and --all-topics cannot be used together",
            why="nothing was done",
            do="give one of them",
        )
    return Scope(
        topics, frozenset(flags["excluded"]), flags["all_topics"] or bool(flags["excluded"] and not topics)
    )


def _check_all_groups(names: Sequence[str], flags: dict[str, Any]) -> None:
    """Each group by name where a mistake would be dear: an undo, and members that are sent out."""
    clash = [
        *(["a GROUP"] if names else []),
        *(f"--{name}" for name in ("undo", "live", "hold", "wait") if flags[name] not in (None, False)),
    ]
    if clash:
        raise usage(
            f"groups rewind: --all-groups with {clash[0]}",
            why="it means every consumer group of the cluster; nothing was done",
            do="name the groups instead" if clash[0] != "a GROUP" else "leave out the names, or --all-groups",
        )


def _all_groups(inv: Invocation, admin: Admin, scope: Any) -> list[str]:
    """As Kafka's script, groups of consumers; but only those that have committed something of the topics named."""
    from kcli.commands.shared.cluster import listed_groups
    from kcli.core.errors import KcliError

    listed = listed_groups(inv, admin, None)
    names = [
        row.group_id
        for row in listed
        if row.type in ("", "classic", "consumer") and row.protocol_type in ("", "consumer")
    ]
    found = []
    for name, committed in (admin.fetch_offsets(dict.fromkeys(names)) if names else {}).items():
        if isinstance(committed, KcliError):
            inv.failed(committed)
        elif scope.touches(committed):
            found.append(name)
    if not found:
        inv.talk.note("no group has committed offsets of that: nothing to rewind")
    return found


def _patience(wait: str | None) -> float | None:
    """Seconds; None: without end."""
    if wait is None or wait == FOR_EVER:
        return None
    seconds: float = DURATION.convert(wait, None, click.get_current_context())
    return seconds


def _hold(flags: dict[str, Any]) -> float | None:
    """Seconds; None: the group is not held while the plan is looked at."""
    from kcli.commands.groups._live import LONGEST_HOLD

    if flags["wait"] is not None and (flags["live"] or flags["hold"] is not None):
        raise usage(
            "groups rewind: --wait and --live cannot be used together",
            why="--wait waits until the members have left, --live does not need them to leave",
            do="give one of them",
        )
    if flags["hold"] is None or flags["hold"] == LONGEST:
        return None if flags["hold"] is None else LONGEST_HOLD
    seconds: float = DURATION.convert(flags["hold"], None, click.get_current_context())
    if not 0 < seconds <= LONGEST_HOLD:
        raise usage(
            f"groups rewind: --hold={flags['hold']} is not between 0 and {LONGEST_HOLD:.0f} s",
            why="nobody reads while a group is held",
            do="look at the plan with --dry-run first, it holds nobody",
        )
    return seconds


def _watch(flags: dict[str, Any]) -> float:
    """Seconds that members are watched for, at most."""
    from kcli.flows.rewind.watching import WATCH_SECONDS

    if flags["watch"] in (None, USUAL):
        return WATCH_SECONDS
    seconds: float = DURATION.convert(flags["watch"], None, click.get_current_context())
    return seconds


def _undo(journals: Journals, names: Sequence[str], wanted: str, scope: Any) -> Asked:
    from kcli.flows.rewind.survey import Asked
    from kcli.flows.rewind.targets import Target

    found = [journals.of(name, wanted or None) for name in names]
    return Asked(
        {one.group: Target("given", offsets=one.before, exact=True) for one in found},
        f"what was committed before {', '.join(one.id for one in found)}",
        scope,
        undoes={one.group: one.id for one in found},
    )


def _wait_until_empty(inv: Invocation, admin: Admin, names: Sequence[str], deadline: float | None) -> None:
    """Returns when no group has members, or at the deadline: the plan says what is left then."""
    import time

    from kcli.core.clock import monotonic

    said = False
    while True:
        told = admin.describe_groups(names)
        live = [name for name, one in told.items() if _may_have_members(one)]
        if not live or (deadline is not None and monotonic() >= deadline):
            return
        if not said:
            said = True
            inv.talk.note(f"waiting until {', '.join(live)} has no members …")
        left = LOOK_EVERY if deadline is None else min(LOOK_EVERY, max(0.0, deadline - monotonic()))
        time.sleep(left)


def _wait_for_transactions(
    inv: Invocation,
    admin: Admin,
    plan: RewindPlan,
    deadline: float | None,
    found: Mapping[str, KcliError],
) -> None:
    """Returns when no transaction on the offsets of the plan is open, or at the deadline."""
    from kcli.core.clock import monotonic
    from kcli.flows.rewind.open_transactions import open_transactions

    for error in found.values():
        inv.talk.note(f"waiting: {error.what}; {error.why}")
    wanted = {group.group: [item.tp for item in group.todo] for group in plan.groups if group.todo}
    while found and (deadline is None or monotonic() < deadline):
        left = LOOK_EVERY if deadline is None else min(LOOK_EVERY, max(0.05, deadline - monotonic()))
        if not open_transactions(admin, {group: wanted[group] for group in found}, left):
            return


def _refused(plan: GroupPlan, refusals: Mapping[str, KcliError]) -> GroupPlan:
    from dataclasses import replace

    return plan if plan.refusal is not None else replace(plan, refusal=refusals.get(plan.group))


def _may_have_members(told: GroupDescription | KcliError) -> bool:
    """A group that could not be asked about for now may have some."""
    from kcli.core.errors import KcliError, NotFoundError, UnsupportedError
    from kcli.flows.rewind.plan import not_possible

    if isinstance(told, KcliError):
        return not isinstance(told, NotFoundError | UnsupportedError)
    return bool(told.members) and not_possible(told) is not None


def _export(inv: Invocation, plan: RewindPlan) -> None:
    from kcli.flows.transfer.formats.kafka_csv import csv_lines
    from kcli.flows.transfer.saved_offset import SavedOffset

    rows = [
        SavedOffset(item.tp.topic, item.tp.partition, item.new.offset, group.group)
        for group in plan.groups
        for item in group.items
        if item.new is not None
    ]
    inv.out.text(csv_lines(rows, with_group=len(plan.groups) > 1))
    inv.out.flush()


def _check_alone(flags: dict[str, Any], flag: str, fitting: set[str], why: str) -> None:
    """All other flags say what to rewind, or how."""
    params = {param.name: param for param in click.get_current_context().command.params}
    said = [max(params[n].opts, key=len) for n, value in flags.items() if n not in fitting and _given(value)]
    if said:
        raise usage(
            f"groups rewind: {flag} with {', '.join(said)}",
            why=why,
            do=f"leave {'it' if len(said) == 1 else 'them'} out, or {flag}",
        )


def _given(value: Any) -> bool:
    return value is not None and value is not False and value != ()


def _list_journals(inv: Invocation, names: Sequence[str], flags: dict[str, Any]) -> int:
    from kcli.commands.groups import _rewind_rows as rows
    from kcli.flows.rewind.journal import Journals

    inv.page()
    _check_alone(
        flags, "--journal", {"journal"}, "--journal only lists the rewinds that were made; nothing was done"
    )
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
    found, broken = Journals(cluster).listed()
    for path in broken:
        inv.talk.warn(f"{path} is no journal of this cluster")
    with list_rows(
        inv.out,
        "RewindJournalList",
        "RewindJournal",
        rows.JOURNALS,
        cluster=cluster,
        warnings=inv.talk.warnings,
    ) as printed:
        for journal in found:
            if not names or journal.group in names:
                printed.add(rows.journal_row(journal))
    if not printed.count:
        inv.talk.note(f"no rewind of {', '.join(names) or 'this cluster'} was made from this machine")
    return inv.finish(done=True)
