"""Removes the throttles of reassignments that have ended, which the journals of this machine hold; says what is left."""

from __future__ import annotations

from kcli.commands.shared.context import Invocation
from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigKind, ConfigResource
from kcli.core.errors import KcliError
from kcli.flows.reassign.journal import Journal, ReassignmentJournals
from kcli.flows.reassign.throttle import FOLLOWER_RATE, LEADER_RATE, remove_throttle


def clear_throttles(inv: Invocation, admin: Admin, cluster: str) -> None:
    """Removes what belongs to moves that are not in progress any more; rates of brokers when nothing is being moved.

    Failures are reported and count for the exit code; the journals keep what is left, for the next time.
    """
    journals = ReassignmentJournals(cluster)
    if not journals.with_throttle():
        return
    try:
        with journals.locked():
            ongoing = admin.list_reassignments()
            for journal in journals.with_throttle():
                if not journal.moved & ongoing.keys():
                    _clear(inv, admin, journals, journal, rates=not ongoing)
    except KcliError as error:
        inv.failed(error)


def _clear(
    inv: Invocation, admin: Admin, journals: ReassignmentJournals, journal: Journal, *, rates: bool
) -> None:
    assert journal.throttle is not None
    if inv.dry_run:
        inv.talk.note(f"the throttle of reassignment {journal.id} would be removed")
        return
    kept, complete = remove_throttle(admin, journal.throttle, rates=rates)
    for text in kept:
        inv.talk.warn(f"a throttle is kept: {text}")
    if complete:
        journals.without_throttle(journal)
        if not journal.throttle.is_empty:
            inv.talk.note(f"removed the throttle of reassignment {journal.id}")
    elif not rates:
        inv.talk.note("brokers keep the rate of the throttle while other partitions are being moved")


def warn_of_foreign_rates(inv: Invocation, admin: Admin) -> None:
    """Rates on brokers while nothing is being moved, which no journal here holds: somebody has to remove them."""
    numbers = sorted(admin.connect().nodes)
    resources = [ConfigResource(ConfigKind.BROKER, str(number)) for number in numbers]
    for resource, entries in admin.describe_configs(resources).items():
        if isinstance(entries, KcliError):
            inv.talk.detail(f"throttles of {resource} are not known: {entries}")
            continue
        keys = [entry for entry in entries if entry.name in (LEADER_RATE, FOLLOWER_RATE) and entry.value]
        if keys:
            values = ", ".join(f"{entry.name}={entry.value}" for entry in keys)
            unset = " ".join(f"--unset {entry.name}" for entry in keys)
            inv.talk.warn(
                f"{resource} has a throttle, and nothing is being moved: {values}; "
                f"kcli configs alter brokers {resource.name} {unset} removes it"
            )
