"""The transactions that coordinators have, by producer: listed and described, or read from their log on old brokers.

Brokers list only the transactional ids that the client may DESCRIBE, and do not say that there are others: whether there
may be is found out by describing an id that nobody uses.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from kcli.core.admin.admin import Admin
from kcli.core.admin.transactions import unknown_id
from kcli.core.classes import dataclass
from kcli.core.errors import AuthError, KcliError, NotFoundError, UnsupportedError
from kcli.core.exit_codes import ExitCode
from kcli.core.permissions import SOME_USER

if TYPE_CHECKING:
    from kcli.core.admin.transactions import TransactionDescription

ONGOING = "Ongoing"
COMPLETING = ("PrepareCommit", "PrepareAbort", "PrepareEpochFence")
OPEN_STATES = (ONGOING, *COMPLETING)
"""Kafka's names of the states in which a transaction may hold partitions back."""

ReadLog = Callable[[Admin], "Sequence[TransactionDescription]"]
"""Reads the transactions from the coordinators' log, for brokers that cannot list them."""


def not_listed(_admin: Admin) -> Sequence[TransactionDescription]:
    """For who looks again and again: to read the log whole each time costs too much. UnsupportedError."""
    raise UnsupportedError(
        "open transactions are not listed", why="brokers before Kafka 3.0 do not list transactions"
    )


@dataclass(frozen=True, slots=True)
class Coordinated:
    """Transactional ids with their states, by name. ``errors``: why some may be missing. ``from_log``: see the module."""

    transactions: tuple[TransactionDescription, ...]
    errors: tuple[KcliError, ...] = ()
    from_log: bool = False

    def of_producer(self, producer_id: int) -> TransactionDescription | None:
        """The transactional id of a producer; None if no coordinator has one."""
        return next((one for one in self.transactions if one.producer_id == producer_id), None)


def open_transactions(admin: Admin, read_log: ReadLog) -> Coordinated:
    """The transactions of all coordinators that are open or being completed."""
    return _coordinated(admin, read_log, OPEN_STATES, ())


def transactions_of(admin: Admin, producer_ids: Collection[int], read_log: ReadLog) -> Coordinated:
    """The transactional ids of these producers, in any state."""
    return _coordinated(admin, read_log, (), sorted(producer_ids)) if producer_ids else Coordinated(())


def described(admin: Admin, name: str, read_log: ReadLog) -> TransactionDescription:
    """One transactional id; NotFoundError if its coordinator does not have it."""
    found = admin.describe_transactions([name])[name]
    if isinstance(found, UnsupportedError):
        named = [one for one in read_log(admin) if one.transactional_id == name]
        found = named[0] if named else unknown_id(name)
    if isinstance(found, KcliError):
        raise found
    return found


def _coordinated(
    admin: Admin, read_log: ReadLog, states: Sequence[str], producer_ids: Sequence[int]
) -> Coordinated:
    try:
        listing = admin.list_transactions(states=_known_states(states), producer_ids=producer_ids)
    except UnsupportedError:
        return _from_log(admin, read_log, states, producer_ids)
    if any(isinstance(error, UnsupportedError) for error in listing.errors.values()):
        return _from_log(admin, read_log, states, producer_ids)
    names = [one.transactional_id for one in listing.transactions]
    errors = list(listing.missing)
    if set(producer_ids) - {one.producer_id for one in listing.transactions}:
        errors += hidden_ids(admin, "whether transactions hang is unknown")
    found = []
    for outcome in (admin.describe_transactions(names) if names else {}).values():
        if isinstance(outcome, NotFoundError):
            continue  # it has expired since
        if isinstance(outcome, KcliError):
            errors.append(outcome)
        elif not states or outcome.state in states:
            found.append(outcome)
    return Coordinated(tuple(found), tuple(errors))


def hidden_ids(admin: Admin, what: str) -> list[KcliError]:
    """An error if there may be transactional ids that this client may not describe, which are not listed.

    ``what`` is unknown then, in words.
    """
    name = f"kcli-{uuid.uuid4()}"
    outcome = admin.describe_transactions([name])[name]
    if isinstance(outcome, NotFoundError) or not isinstance(outcome, KcliError):
        return []
    if outcome.exit_code != ExitCode.DENIED:
        outcome.why = outcome.why.replace(f"transactional id {name}", "a transactional id")
        outcome.what, outcome.part = what, "transactional ids"
        return [outcome]
    return [
        AuthError(
            what,
            why="this client may not describe all transactional ids, and brokers do not say which they leave out",
            do=f"have it granted: `kcli acls create --principal {SOME_USER} --operation describe --transactional-id '*'`",
        )
    ]


def _from_log(
    admin: Admin, read_log: ReadLog, states: Sequence[str], producer_ids: Sequence[int]
) -> Coordinated:
    rows = read_log(admin)
    kept = [
        row
        for row in rows
        if (not states or row.state in states) and (not producer_ids or row.producer_id in producer_ids)
    ]
    return Coordinated(tuple(kept), from_log=True)


def _known_states(states: Sequence[str]) -> Sequence[str]:
    """Brokers respond to the name of a state that they do not have with an error: the newest is not requested."""
    return [state for state in states if state != "PrepareEpochFence"]
