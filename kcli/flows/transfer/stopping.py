"""Remedies for groups with members, for commands that can neither wait for their end nor hold them. Pure."""

from collections.abc import Callable
from dataclasses import replace

from kcli.flows.rewind.plan import NotPossibleError, RewindPlan


def to_be_stopped(plan: RewindPlan, instead: Callable[[str], str]) -> RewindPlan:
    """The plan with a remedy for each running group: stop it, or, where there is one, the command ``instead``."""

    def told(group: str, error: NotPossibleError) -> NotPossibleError:
        command = instead(group)
        other = f"; or set them as it runs: `{command}`" if command else ""
        return NotPossibleError(error.what, why=error.why, do=f"stop its members and try again{other}")

    return replace(
        plan,
        groups=tuple(
            replace(one, refusal=told(one.group, one.refusal))
            if isinstance(one.refusal, NotPossibleError) and "--live" in one.refusal.do
            else one
            for one in plan.groups
        ),
    )
