"""SCRAM credentials as the commands of ``kcli users`` read and show them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from kcli.commands.shared.usage import nearest
from kcli.core.admin.admin import Admin
from kcli.core.admin.users import SEE, ScramCredential, ScramMechanism, ScramUpsertion, mechanism_name
from kcli.core.errors import BrokerError, KcliError, NotFoundError
from kcli.output.tables import Column

USER = Column("user", "prose")
MECHANISM = Column("mechanism")
CREDENTIAL = (USER, MECHANISM, Column("iterations", "number"))

Iterations = Mapping[ScramMechanism | int, int]
"""Of the credentials that a user has."""


class UnknownChangeError(KcliError):
    """The response to a change was lost, and no later attempt has a result: the credential may be changed, or not."""

    def __init__(self, key: ScramCredential, error: KcliError) -> None:
        super().__init__(f"it is unknown whether {key} was changed", why=str(error), do=f"{SEE}; try again")
        self.exit_code = error.exit_code


def alter(
    admin: Admin, changes: Mapping[ScramCredential, ScramUpsertion | None]
) -> dict[ScramCredential, KcliError | None]:
    """None for each credential that was changed, else the error: UnknownChangeError where a response was lost.

    An error of the call as a whole is raised only if nothing was changed.
    """
    unsure: set[ScramCredential] = set()
    try:
        outcome = admin.alter_scram_credentials(changes, unsure=unsure)
    except KcliError as error:  # as when this client has changed its own password, and cannot connect again
        if not unsure:
            raise
        return {key: UnknownChangeError(key, error) for key in changes}
    return {key: _change_error(key, error, unsure) for key, error in outcome.items()}


def _change_error(
    key: ScramCredential, error: KcliError | None, unsure: Collection[ScramCredential]
) -> KcliError | None:
    if error is None or key not in unsure or isinstance(error, BrokerError):
        return error  # what a broker refuses, it refused in the lost response as well
    return UnknownChangeError(key, error)


def mechanisms_of(words: Iterable[str]) -> tuple[ScramMechanism, ...]:
    """The mechanisms that an option names, without repeats."""
    by_name = {mechanism_name(mechanism): mechanism for mechanism in ScramMechanism}
    return tuple(by_name[word] for word in dict.fromkeys(words))


def in_order(mechanisms: Iterable[ScramMechanism | int]) -> list[ScramMechanism | int]:
    """As in every list and plan."""
    return sorted(mechanisms, key=int)


def credentials_of(admin: Admin, user: str) -> Iterations:
    """What a user has; empty for one without credentials."""
    found = admin.describe_scram_credentials([user])[user]
    if isinstance(found, NotFoundError):
        return {}
    if isinstance(found, KcliError):
        raise found
    return found


def without_credentials(user: str, known: Collection[str]) -> NotFoundError:
    """The error for a user without credentials, with the most similar name among those that have some."""
    near = nearest(user, [name for name in known if name != user])
    return NotFoundError(
        f"user {user} has no SCRAM credentials",
        why="none was set for that name" if known else "the cluster has none of any user",
        do=f"did you mean {near}?" if near else SEE,
    )


def own_mechanism(admin: Admin, user: str) -> str:
    """The mechanism by which this client authenticates as ``user``; empty if it does not."""
    options = admin.cluster.options
    is_own = options.security_protocol.startswith("SASL_") and options.sasl_username == user
    return options.sasl_mechanism if is_own else ""
