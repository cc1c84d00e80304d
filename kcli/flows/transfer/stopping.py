"""Remedies for groups with members, for commands that can neither wait until they are empty nor hold them. Pure."""

from collections.abc import Callable
from dataclasses import replace

from kcli.core.errors import KcliError
from kcli.flows.rewind.plan import GroupPlan, NotPossibleError, Remedies, RewindPlan


def advise_stopping(plan: RewindPlan, instead: Callable[[str], str]) -> RewindPlan:
    """The plan with a remedy for each running group: stop it, or, where there is one, the command ``instead``."""

    def with_remedies(group: GroupPlan) -> GroupPlan:
        command = instead(group.group)
        other = f"; or set them while it runs: `{command}`" if command else ""
        remedies = Remedies(f"stop its members and try again{other}", "end its application and try again")
        refusal: KcliError | None = group.refusal
        if refusal is not None and refusal.do == group.remedies.members:
            refusal = NotPossibleError(refusal.what, why=refusal.why, do=remedies.members)
        return replace(group, remedies=remedies, refusal=refusal)

    return replace(plan, groups=tuple(map(with_remedies, plan.groups)))
