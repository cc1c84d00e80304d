"""The plan of a copy to another cluster, for people and for programs, and its question where a target has records of
somebody else.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kcli.account.outcomes import Outcome
from kcli.commands.shared.confirm import ask, confirm, show_plan
from kcli.commands.shared.context import ClusterName, Invocation, cluster_text
from kcli.commands.shared.shown import Shown
from kcli.commands.shared.sides import Side
from kcli.core.classes import NamedTuple
from kcli.core.errors import KcliError
from kcli.core.names import STATE_TOPIC
from kcli.flows.mirror.acls.columns import COLUMNS as ACLS
from kcli.flows.mirror.plan.plan import CopyPlan
from kcli.flows.mirror.topics.configs import BATCH_BYTES, CLEANUP, TIMESTAMPS, Difference
from kcli.flows.mirror.topics.preflight import HIDDEN, Denied, Finding, Login
from kcli.flows.mirror.topics.routes import IDLE_EXCLUDE, IDLE_RENAME, IDLE_SELECTOR
from kcli.output.listing import DOCUMENTS, list_rows
from kcli.output.progress import counted
from kcli.output.tables import Column

COLUMNS = (
    Column("topic"),
    Column(
        "partition",
        "number",
        meaning="Number of the partition; null for a topic of which no partition is known.",
    ),
    Column("target", values="string", meaning="Name of the topic on the target."),
    Column("from_offset", "number", meaning="Where the copy would begin."),
    Column("to_offset", "number", meaning="The offset before which it would end; null without an end."),
    Column("note", "prose"),
    Column(
        "status",
        values=("planned", "unchanged", "refused"),
        meaning="What would become of it; unchanged: nothing is left to be copied.",
    ),
)
HEAD = (
    Column("target_cluster", meaning="Id of the target."),
    Column("job", values="string", meaning="Name of the job."),
    Column(
        "acls",
        values="objects",
        inner=(
            *ACLS,
            Column("status", values=("planned", "unchanged", "refused"), meaning="What would become of it."),
            Column("note"),
        ),
        sometimes=True,
        meaning="With --sync-acls: the ACLs of the target, and those of the source that cannot be carried over.",
    ),
    Column(
        "differences",
        values="objects",
        meaning="Settings whose value in force is another one on the target, wherever it is set.",
        inner=(
            Column("topic"),
            Column("target", values="string", meaning="Name of the topic on the target."),
            Column("key", values="string", meaning="The setting, as a topic has it."),
            Column("source_value", values="string", meaning="The value in force on the source."),
            Column("target_value", values="string", meaning="That on the target, before the copy."),
            Column("effect", values="string", meaning="What it does to the records."),
            Column(
                "loses",
                values="boolean",
                meaning="Whether the target removes or refuses what the source keeps.",
            ),
            Column("is_set", values="boolean", meaning="Whether the target is changed before the copy."),
        ),
    ),
    Column(
        "not_carried_over",
        values="strings",
        meaning="What of the source the target does not get; settings with the topics that have them.",
    ),
)
_SHOWN_BY_CONFLICTS = (CLEANUP, BATCH_BYTES, TIMESTAMPS)
_MOST_NAMED = 3


class Names(NamedTuple):
    """The clusters as users know them, and the options that name them on a command line."""

    source: ClusterName
    target: ClusterName
    source_option: str
    target_option: str


def names_of(source: Side, target: Side) -> Names:
    """The names of the two sides."""
    return Names(source.name, target.name, source.option, target.option)


class CopyShown(Shown):
    """The observer of a copy: it also shows the plan, and asks."""

    def __init__(self, inv: Invocation, names: Names) -> None:
        super().__init__(inv)
        self._names = names
        self._planned = False
        self.may_fill = inv.yes and not (inv.profile is not None and inv.profile.protected)

    def may_begin(self, plan: CopyPlan) -> bool:
        """Shows the plan and asks where necessary; False for a dry run. Raises ``plan.refusal``."""
        inv, names = self._inv, self._names
        lines = _lines(self.heading(plan), plan, further=bool(inv.talk.verbose))
        acls = plan.acls.lines() if plan.acls is not None else ()
        text = "\n".join([*lines, *plan.remarks, *acls])
        for one in plan.found.idle_selectors:
            inv.talk.warn(IDLE_SELECTOR.format(one))
        for one in plan.found.idle_excludes:
            inv.talk.note(IDLE_EXCLUDE.format(one))
        for one in plan.found.idle_renames:
            inv.talk.warn(IDLE_RENAME.format(one))
        for source, copy in plan.found.gone.items():
            inv.talk.warn(f"topic {source} of the source was deleted; its copy {copy} of the target is kept")
        refusal = plan.refusal(
            Login(names.source_option, names.source.user), Login(names.target_option, names.target.user)
        )
        deletion = plan.acls.question if plan.acls is not None else None
        for warning in plan.acls.warnings if plan.acls is not None else ():
            inv.talk.warn(warning)
        asked, among = self.asked(plan)
        if refusal is None and asked:
            sentence = ", and ".join(asked)
            also = f" {deletion.sentence}" if deletion is not None else ""
            question = f"{sentence[0].upper()}{sentence[1:]}?{also}"
            confirm(inv, text, question, name=next(iter(among), None), among=among)
        elif refusal is None and deletion is not None:
            ask(inv, deletion._replace(plan=text))
        else:
            show_plan(inv, text)
        if inv.dry_run and plan.title is None:
            self._print(plan, refusal)
        if refusal is not None:
            raise refusal
        return not inv.dry_run

    def asked(self, plan: CopyPlan) -> tuple[list[str], list[str]]:
        """What somebody has to agree to, and the names of which one is typed; none of them: y will do."""
        asked = []
        filled = plan.filled
        if filled:
            verb = "Copy to" if plan.title is None else "Import into"
            asked.append(f"{verb} {', '.join(filled)}, which has records already")
        if plan.deletes:
            asked.append("delete topics of the target when they are deleted at the source")
        return asked, [*filled, *([plan.job] if plan.deletes else [])]

    def heading(self, plan: CopyPlan) -> str:
        """The first line of the plan: from where to where, and how."""
        source, target = self.clusters(plan)
        if plan.title is not None:
            return f"{plan.title} to {target}, exactly once"
        if plan.compares:
            return f"Compare {source} with {target}{f', job {plan.job}' if plan.job else ''}"
        how = "exactly once" if plan.exactly_once else "at least once"
        return f"Mirror {source} to {target}, job {plan.job}, {how}"

    def clusters(self, plan: CopyPlan) -> tuple[str, str]:
        """The source and the target, as they are named to people."""
        names, found = self._names, plan.found
        return cluster_text(names.source, found.source_cluster), cluster_text(
            names.target, found.target_cluster
        )

    def _print(self, plan: CopyPlan, refusal: KcliError | None) -> None:
        """Of a dry run: the plan for programs, and the errors of partitions that would not be copied."""
        inv, found = self._inv, plan.found
        if inv.out.kind in (*DOCUMENTS, "csv", "tsv"):
            warnings = [*inv.talk.warnings, *(one.what for one in found.findings.warnings)]
            warnings += [found.unknown] if found.unknown else []
            head: dict[str, object] = {
                "target_cluster": found.target_cluster,
                "job": plan.job,
                "differences": [_difference(one) for one in found.findings.differences],
                "not_carried_over": [] if plan.compares else [*plan.not_carried_over, *_settings_left(plan)],
            }
            if plan.acls is not None:
                head["acls"] = [row.values for row in plan.acls.rows]
            with list_rows(
                inv.out,
                "MirrorPlan",
                "MirrorPlanItem",
                COLUMNS,
                cluster=found.source_cluster,
                warnings=warnings,
                missing=inv.missing,
                head=head,
            ) as rows:
                for row in _rows(plan, refusal):
                    rows.add(row)
        errors: list[KcliError] = []
        for one in plan.items if refusal is None else ():
            if one.error is None:
                self._planned = True
            elif one.error not in errors:  # partitions of a topic may share one
                errors.append(one.error)
                inv.failed(one.error)
        for error in plan.acls.errors if plan.acls is not None and refusal is None else ():
            inv.failed(error, partly=True)

    def end(self) -> int:
        """The exit status of a dry run: that of the run itself, as far as it is known before."""
        return self._inv.finish(done=self._planned)


def _rows(plan: CopyPlan, refusal: KcliError | None) -> Iterator[dict[str, Any]]:
    """The plan by partition; a topic whose partitions are not known is a row without one."""
    findings = plan.found.findings
    notes: dict[str, list[str]] = {}
    found: list[Finding | Denied] = [*findings.conflicts, *findings.denied, *findings.warnings]
    for one in found:
        for route in plan.found.routes if one.route is None else [one.route]:
            notes.setdefault(route.source, []).append(one.what)
    for each in _beside_conflicts(findings.differences):
        if each.loses:
            notes.setdefault(each.source, []).append(f"{each.key}: {each.effect}")
    for item in plan.items:
        error = refusal or item.error
        status = Outcome.REFUSED if error else Outcome.UNCHANGED if item.is_idle else Outcome.PLANNED
        own = [*notes.get(item.source.topic, ()), *([str(item.error)] if item.error else [])]
        yield {
            "topic": item.source.topic,
            "partition": item.source.partition,
            "target": item.target.topic,
            "from_offset": item.start,
            "to_offset": item.end,
            "note": "; ".join(own) or None,
            "status": str(status),
        }
    known = {item.source.topic for item in plan.items}
    for source, target in plan.found.routes:
        if source not in known:
            row = dict.fromkeys(("partition", "from_offset", "to_offset"))
            note = "; ".join(notes.get(source, ())) or None
            yield {"topic": source, **row, "target": target, "note": note, "status": str(Outcome.REFUSED)}


def _difference(one: Difference) -> dict[str, object]:
    return {
        "topic": one.source,
        "target": one.target,
        "key": one.key,
        "source_value": one.source_value,
        "target_value": one.target_value,
        "effect": one.effect,
        "loses": one.loses,
        "is_set": one.is_set,
    }


def _beside_conflicts(differences: Iterable[Difference]) -> list[Difference]:
    """Those that no conflict names already."""
    return [one for one in differences if one.is_set or not (one.loses and one.key in _SHOWN_BY_CONFLICTS)]


def _settings_left(plan: CopyPlan) -> list[str]:
    return [f"{key} of {_some(topics)}" for key, topics in plan.settings_left.items()]


def _some(names: Sequence[str]) -> str:
    """``a, b, c and 4 more``."""
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _difference_lines(plan: CopyPlan, *, further: bool) -> list[str]:
    """What differs of the values in force, topics with the same difference in one line; what loses nothing is counted
    unless ``further`` is wanted.
    """
    alike: dict[tuple[object, ...], list[Difference]] = {}
    for one in _beside_conflicts(plan.found.findings.differences):
        alike.setdefault((one.key, one.source_value, one.target_value, one.effect), []).append(one)
    lines, rest = [], set()
    for some in alike.values():
        one = some[0]
        if not (further or one.loses or one.is_set):
            rest.add(one.key)
            continue
        from kcli.flows.configs.units import with_unit  # with decimals: only where values differ

        routes = [f"{each.source} → {each.target}" for each in some]
        here, there = (with_unit(one.key, value) for value in (one.source_value, one.target_value))
        now = f"now {there}" if one.is_set else f"{one.key}={there}"
        lines.append(f"  {_some(routes)}: {one.effect} ({now}, on the source {here})")
    if rest:
        lines.append(
            f"  {counted(len(rest), 'further setting')} in force {'differs' if len(rest) == 1 else 'differ'}, without a "
            "loss: -v lists them"
        )
    return lines


def _lines(heading: str, plan: CopyPlan, *, further: bool) -> list[str]:
    """What the mirror is going to do; ``further``: and what is of less weight."""
    found, lines = plan.found, [heading]
    findings = found.findings
    created, copied = {spec.name for spec in findings.create}, plan.partitions
    for route in found.routes:
        if found.sources[route.source] is HIDDEN:
            lines.append(f"  {route.source} → {route.target}: the source topic may not be described")
            continue
        if route.target not in created and route.target not in found.targets:
            state = "may not be described"
        elif plan.compares:
            state = "exists" if route.target not in created else "does not exist"
        elif route.target in created:
            state = "is created"
        elif route.target in findings.grow:
            state = f"continues and gets {counted(findings.grow[route.target], 'partition')}"
        else:
            state = "continues" if route.source in plan.own else "exists"
        count = counted(copied.get(route.source, 0), "partition")
        lines.append(f"  {route.source} → {route.target}: {count}, the target {state}")
    if found.creates_state:
        lines.append(f"  topic {STATE_TOPIC} is created as well: it keeps the positions of mirror jobs")
    if plan.deletes:
        lines.append(
            "  a topic that is deleted at the source is deleted on the target, if all of it was copied"
        )
    notes: list[Finding | Denied] = [*findings.conflicts, *findings.denied, *findings.warnings]
    for one in notes:
        lines.append(
            f"  {one.route.source} → {one.route.target}: {one.what}" if one.route else f"  {one.what}"
        )
    if not plan.compares:
        lines += _difference_lines(plan, further=further)
        lines += [f"  {found.unknown}"] if found.unknown else []
    if not plan.compares and plan.title is None:
        left = [*plan.not_carried_over, *(_settings_left(plan) if further else ())]
        lines.append(f"  not carried over: {', '.join(left)}")
    return lines
