"""The plan of a copy to another cluster, for people and for programs, and its question where a target has records of
somebody else.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from kcli.account.outcomes import Outcome
from kcli.commands.shared.confirm import confirm, show_plan
from kcli.commands.shared.context import ClusterName, Invocation, cluster_text
from kcli.commands.shared.shown import Shown
from kcli.commands.shared.sides import Side
from kcli.core.errors import KcliError
from kcli.flows.mirror.plan import CopyPlan
from kcli.flows.mirror.preflight import HIDDEN, Denied, Finding, Login
from kcli.flows.mirror.routes import IDLE_EXCLUDE
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
)


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
        for one in plan.found.idle_excludes:
            inv.talk.note(IDLE_EXCLUDE.format(one))
        for source, copy in plan.found.gone.items():
            inv.talk.warn(f"topic {source} of the source was deleted; its copy {copy} of the target is kept")
        lines = _lines(names, plan)
        text = "\n".join([*lines, *plan.remarks])
        refusal = plan.refusal(
            Login(names.source_option, names.source.user), Login(names.target_option, names.target.user)
        )
        filled = plan.filled
        asked = []
        if filled:
            verb = "Copy to" if plan.title is None else "Import into"
            asked.append(f"{verb} {', '.join(filled)}, which has records already")
        if plan.deletes:
            asked.append("delete topics of the target when they are deleted at the source")
        if refusal is None and asked:
            question = ", and ".join(asked)
            names_typed = [*filled, *([plan.job] if plan.deletes else [])]
            confirm(
                inv, text, f"{question[0].upper()}{question[1:]}?", name=names_typed[0], among=names_typed
            )
        else:
            show_plan(inv, text)
        if inv.dry_run and plan.title is None:
            self._print(plan, refusal)
        if refusal is not None:
            raise refusal
        return not inv.dry_run

    def _print(self, plan: CopyPlan, refusal: KcliError | None) -> None:
        """Of a dry run: the plan for programs, and the errors of partitions that would not be copied."""
        inv, found = self._inv, plan.found
        if inv.out.kind in (*DOCUMENTS, "csv", "tsv"):
            warnings = [*inv.talk.warnings, *(one.what for one in found.findings.warnings)]
            head = {"target_cluster": found.target_cluster, "job": plan.job}
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
        for one in plan.items if refusal is None else ():
            if one.error is not None:
                inv.failed(one.error)
            else:
                self._planned = True

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


def _lines(names: Names, plan: CopyPlan) -> list[str]:
    """What the mirror is going to do."""
    found = plan.found
    source = cluster_text(names.source, found.source_cluster)
    target = cluster_text(names.target, found.target_cluster)
    if plan.title is not None:
        lines = [f"{plan.title} to {target}, exactly once"]
    elif plan.compares:
        lines = [f"Compare {source} with {target}, job {plan.job}"]
    else:
        how = "exactly once" if plan.exactly_once else "at least once"
        lines = [f"Mirror {source} to {target}, job {plan.job}, {how}"]
    findings = found.findings
    created = {spec.name for spec in findings.create}
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
        count = counted(plan.partitions.get(route.source, 0), "partition")
        lines.append(f"  {route.source} → {route.target}: {count}, the target {state}")
    if plan.deletes:
        lines.append(
            "  a topic that is deleted at the source is deleted on the target, if all of it was copied"
        )
    notes: list[Finding | Denied] = [*findings.conflicts, *findings.denied, *findings.warnings]
    for one in notes:
        lines.append(
            f"  {one.route.source} → {one.route.target}: {one.what}" if one.route else f"  {one.what}"
        )
    return lines
