"""Remedies for groups with members, for commands that can neither wait until they are empty nor hold them. Pure."""

from collections.abc import Callable
from dataclasses import replace

from kcli.flows.rewind.plan import NotPossibleError, RewindPlan


def advise_stopping(plan: RewindPlan, instead: Callable[[str], str]) -> RewindPlan:
    """The plan with a remedy for each running group: stop it, or, where there is one, the command ``instead``."""

    def advised(group: str, error: NotPossibleError) -> NotPossibleError:
        command = instead(group)
        other = f"; or set them while it runs: `{command}`" if command else ""
        return NotPossibleError(error.what, why=error.why, do=f"stop its members and try again{other}")

    return replace(
        plan,
        groups=tuple(
            replace(one, refusal=advised(one.group, one.refusal))
            if isinstance(one.refusal, NotPossibleError) and "--live" in one.refusal.do
            else one
            for one in plan.groups
        ),
    )
