"""Refusals that depend on the options of a rewind: --hold without members to hold, --wait that has ended. Pure."""

from collections.abc import Collection
from dataclasses import replace

from kcli.flows.rewind.open_transactions import OpenTransactionError
from kcli.flows.rewind.plan import GroupPlan, NotPossibleError


def only_held(plan: GroupPlan, held: Collection[str] | None) -> GroupPlan:
    """The plan, refused if its group is not held although --hold was given. ``held`` None: a dry run holds none."""
    if plan.refusal is not None or (plan.live and (held is None or plan.group in held)):
        return plan
    why = "members have joined since then" if plan.live else f"it is {plan.state}: nobody reads"
    refusal = NotPossibleError(
        f"group {plan.group} has no members to hold" if not plan.live else f"group {plan.group} is not held",
        why=f"--hold keeps members out while the plan is looked at, and there were none; {why}",
        do="nothing was done; run it again" if plan.live else "nothing was done; leave --hold out",
    )
    return replace(plan, refusal=refusal)


def waited_for(plan: GroupPlan, *, waited: bool) -> GroupPlan:
    """The plan with a remedy other than --wait, which was already given. ``waited`` False: a dry run does not wait."""
    error = plan.refusal
    if not isinstance(error, NotPossibleError | OpenTransactionError) or "--wait" not in error.do:
        return plan
    it = "its application" if isinstance(error, OpenTransactionError) else "its members"
    longer = "wait longer, as in --wait=1h" if waited else "without --dry-run, --wait waits for that"
    return replace(plan, refusal=type(error)(error.what, why=error.why, do=f"stop {it}; or {longer}"))
