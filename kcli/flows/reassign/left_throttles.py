"""Removes the throttles of reassignments that have ended, which the journals of this machine hold; says what is left."""

from __future__ import annotations

from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigKind, ConfigResource
from kcli.core.errors import KcliError
from kcli.flows.reassign.journal import Journal, ReassignmentJournals
from kcli.flows.reassign.throttle import FOLLOWER_RATE, LEADER_RATE, remove_throttle
from kcli.output.talk import Talk


def clear_throttles(admin: Admin, talk: Talk, *, dry_run: bool) -> list[KcliError]:
    """Removes what belongs to moves that are not in progress any more; rates of brokers when nothing is being moved.

    Returns the error if that fails; the journals keep what is left, for the next time.
    """
    journals = ReassignmentJournals(admin.cluster_id())
    if not journals.with_throttle():
        return []
    try:
        with journals.locked():
            ongoing = admin.list_reassignments()
            for journal in journals.with_throttle():
                if journal.moved & ongoing.keys():
                    continue
                if dry_run:
                    talk.note(f"the throttle of reassignment {journal.id} would be removed")
                else:
                    _clear(admin, talk, journals, journal, rates=not ongoing)
    except KcliError as error:
        return [error]
    return []


def _clear(
    admin: Admin, talk: Talk, journals: ReassignmentJournals, journal: Journal, *, rates: bool
) -> None:
    assert journal.throttle is not None
    kept, complete = remove_throttle(admin, journal.throttle, rates=rates)
    for text in kept:
        talk.warn(f"a throttle is kept: {text}")
    if complete:
        journals.without_throttle(journal)
        if not journal.throttle.is_empty:
            talk.note(f"removed the throttle of reassignment {journal.id}")
    elif not rates:
        talk.note("brokers keep the rate of the throttle while other partitions are being moved")


def warn_of_foreign_rates(admin: Admin, talk: Talk) -> None:
    """Rates on brokers while nothing is being moved, which no journal here holds: somebody has to remove them."""
    numbers = sorted(admin.connect().nodes)
    resources = [ConfigResource(ConfigKind.BROKER, str(number)) for number in numbers]
    for resource, entries in admin.describe_configs(resources).items():
        if isinstance(entries, KcliError):
            talk.detail(f"throttles of {resource} are not known: {entries}")
            continue
        keys = [entry for entry in entries if entry.name in (LEADER_RATE, FOLLOWER_RATE) and entry.value]
        if keys:
            values = ", ".join(f"{entry.name}={entry.value}" for entry in keys)
            unset = " ".join(f"--unset {entry.name}" for entry in keys)
            talk.warn(
                f"{resource} has a throttle, and nothing is being moved: {values}; "
                f"kcli configs alter brokers {resource.name} {unset} removes it"
            )
