"""The plan of a copy to another cluster for people, and its question where a target has records of somebody else."""

from typing import NamedTuple

from kcli.commands.shared.confirm import confirm, show_plan
from kcli.commands.shared.context import ClusterName, Invocation, cluster_text
from kcli.commands.shared.sides import Side
from kcli.flows.mirror.plan import CopyPlan
from kcli.flows.mirror.preflight import HIDDEN, Denied, Finding, Login
from kcli.output.progress import counted


class Names(NamedTuple):
    """The clusters as users know them, and the options that name them on a command line."""

    source: ClusterName
    target: ClusterName
    source_option: str
    target_option: str


def names_of(source: Side, target: Side) -> Names:
    """The names of the two sides."""
    return Names(source.name, target.name, source.option, target.option)


def may_fill(inv: Invocation) -> bool:
    """Whether target topics that have records already are written without a question: those found during a copy."""
    return inv.yes and not (inv.profile is not None and inv.profile.protected)


def may_begin(inv: Invocation, names: Names, plan: CopyPlan) -> bool:
    """Shows the plan and asks where necessary; False for a dry run. Raises ``plan.refusal``."""
    lines = _lines(names, plan)
    text = "\n".join([plan.title or lines[0], *lines[1:], *plan.remarks])
    refusal = plan.refusal(
        Login(names.source_option, names.source.user), Login(names.target_option, names.target.user)
    )
    filled = plan.filled
    if refusal is not None or not filled:
        show_plan(inv, text)
        if refusal is not None:
            raise refusal
        return not inv.dry_run
    verb = "Copy to" if plan.title is None else "Import into"
    question = f"{verb} {', '.join(filled)}, which has records already?"
    return confirm(inv, text, question, name=filled[0], among=filled)


def _lines(names: Names, plan: CopyPlan) -> list[str]:
    """What the mirror is going to do."""
    found = plan.found
    source = cluster_text(names.source, found.source_cluster)
    target = cluster_text(names.target, found.target_cluster)
    if plan.compares:
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
    notes: list[Finding | Denied] = [*findings.conflicts, *findings.denied, *findings.warnings]
    for one in notes:
        lines.append(
            f"  {one.route.source} → {one.route.target}: {one.what}" if one.route else f"  {one.what}"
        )
    return lines
