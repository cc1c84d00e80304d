"""The plan of a mirror: shown, refused for conflicts, and confirmed where a target has records of somebody else."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kcli.commands._mirror_clusters import Side
from kcli.commands.shared.confirm import confirm, show_plan
from kcli.commands.shared.context import ClusterName, Invocation, cluster_text
from kcli.core.errors import AuthError
from kcli.flows.mirror.job import Ends
from kcli.flows.mirror.preflight import HIDDEN, ConflictError, Denied, Finding, Login, grant_commands
from kcli.flows.mirror.survey import Survey
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


def may_begin(
    inv: Invocation,
    job: str,
    names: Names,
    found: Survey,
    own: Mapping[str, str],
    partitions: Mapping[str, int],
    ends: Ends,
    *,
    exactly_once: bool,
    compares: bool = False,
    title: str | None = None,
    remarks: Sequence[str] = (),
) -> bool:
    """Shows the plan and asks where necessary; False for a dry run, and for a refusal.

    ``own``: the topics that the job copies already, from source to target; ``partitions``: how many of each source topic
    are copied. ``compares``: nothing is copied. ``title``: the first line of the plan, if it is no mirror; ``remarks``:
    further lines of it. AuthError for missing permissions, ConflictError for a target that cannot hold the copy.
    """
    findings = found.findings
    lines = _plan_lines(job, names, found, own, partitions, exactly_once=exactly_once, compares=compares)
    plan = "\n".join([title or lines[0], *lines[1:], *remarks])
    if findings.denied:
        show_plan(inv, plan)
        raise AuthError(
            f"{counted(len(findings.denied), 'permission')} missing",
            why="; ".join(finding.what for finding in findings.denied),
            do=f"have {'it' if len(findings.denied) == 1 else 'them'} granted, or leave these topics out: "
            + "; ".join(
                f"`{command}`"
                for command in grant_commands(
                    findings.denied,
                    Login(names.source_option, names.source.user),
                    Login(names.target_option, names.target.user),
                )
            ),
        )
    if findings.conflicts and not compares:
        show_plan(inv, plan)
        routes = dict.fromkeys(finding.route for finding in findings.conflicts)
        raise ConflictError(
            "; ".join(f"topic {one.target} cannot hold an exact copy of {one.source}" for one in routes),
            why="; ".join(
                finding.what if len(routes) == 1 else f"{finding.route.target}: {finding.what}"
                for finding in findings.conflicts
            ),
            do="; ".join(dict.fromkeys(finding.do for finding in findings.conflicts)),
        )
    filled = [
        route.target
        for route in found.routes
        if own.get(route.source) != route.target and ends.has_records(route.target)
    ]
    if not filled or compares:
        show_plan(inv, plan)
        return not inv.dry_run
    question = (
        f"{'Copy to' if title is None else 'Import into'} {', '.join(filled)}, which has records already?"
    )
    return confirm(inv, plan, question, name=filled[0], among=filled)


def _plan_lines(
    job: str,
    names: Names,
    found: Survey,
    own: Mapping[str, str],
    partitions: Mapping[str, int],
    *,
    exactly_once: bool,
    compares: bool,
) -> list[str]:
    """What the mirror is going to do."""
    source = cluster_text(names.source, found.source_cluster)
    target = cluster_text(names.target, found.target_cluster)
    if compares:
        lines = [f"Compare {source} with {target}, job {job}"]
    else:
        how = "exactly once" if exactly_once else "at least once"
        lines = [f"Mirror {source} to {target}, job {job}, {how}"]
    findings = found.findings
    created = {spec.name for spec in findings.create}
    for route in found.routes:
        if found.sources[route.source] is HIDDEN:
            lines.append(f"  {route.source} → {route.target}: the source topic may not be described")
            continue
        if route.target not in created and route.target not in found.targets:
            state = "may not be described"
        elif compares:
            state = "exists" if route.target not in created else "does not exist"
        elif route.target in created:
            state = "is created"
        elif route.target in findings.grow:
            state = f"continues and gets {counted(findings.grow[route.target], 'partition')}"
        else:
            state = "continues" if route.source in own else "exists"
        count = counted(partitions.get(route.source, 0), "partition")
        lines.append(f"  {route.source} → {route.target}: {count}, the target {state}")
    notes: list[Finding | Denied] = [*findings.conflicts, *findings.denied, *findings.warnings]
    lines += [f"  {finding.route.source} → {finding.route.target}: {finding.what}" for finding in notes]
    return lines
