"""Remedies for groups with members, for commands that can neither wait until they are empty nor hold them. Pure."""

from collections.abc import Callable
from dataclasses import replace

from kcli.flows.rewind.plan import NotPossibleError, RewindPlan


def advise_stopping(plan: RewindPlan, instead: Callable[[str], str]) -> RewindPlan:
    """The plan with a remedy for each running group: stop it, or, where there is one, the command ``instead``."""
    groups = []
    for one in plan.groups:
        error = one.refusal
        if isinstance(error, NotPossibleError) and "--live" in error.do:
            command = instead(one.group)
            do = "stop its members and try again" + (
                f"; or set them while it runs: `{command}`" if command else ""
            )
            groups.append(replace(one, refusal=NotPossibleError(error.what, why=error.why, do=do)))
        else:
            groups.append(one)
    return replace(plan, groups=tuple(groups))
