"""SCRAM credentials as the commands of ``kcli users`` read and show them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from kcli.commands.shared.context import Invocation
from kcli.commands.shared.usage import nearest
from kcli.core.admin.admin import Admin
from kcli.core.admin.users import ScramCredential, ScramMechanism, mechanism_name
from kcli.core.errors import ConnectError, KcliError, NotFoundError
from kcli.output.listing import list_rows
from kcli.output.tables import Column

USER = Column("user", "prose")
MECHANISM = Column("mechanism")
CREDENTIAL = (USER, MECHANISM, Column("iterations", "number"))

Iterations = Mapping[ScramMechanism | int, int]
"""Of the credentials that a user has."""

SEE = "`kcli users list` shows the credentials"


class UnknownChangeError(ConnectError):
    """The response to a change was lost: the credential may be changed, or not."""

    def __init__(self, key: ScramCredential, error: KcliError) -> None:
        super().__init__(f"it is unknown whether {key} was changed", why=str(error), do=f"{SEE}; try again")


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
        why="" if known else "the cluster has none of any user",
        do=f"did you mean {near}?" if near else SEE,
    )


def own_mechanism(admin: Admin, user: str) -> str:
    """The mechanism by which this client authenticates as ``user``; empty if it does not."""
    options = admin.cluster.options
    is_own = options.security_protocol.startswith("SASL_") and options.sasl_username == user
    return options.sasl_mechanism if is_own else ""


def print_report(
    inv: Invocation,
    kind: str,
    columns: Sequence[Column],
    rows: Iterable[Mapping[str, Any]],
    cluster: str,
) -> None:
    """With ``-o`` only: for people, stderr has it."""
    if inv.out.kind is None:
        return
    with list_rows(
        inv.out, kind, f"{kind}Item", columns, cluster=cluster, warnings=inv.talk.warnings
    ) as printed:
        for row in rows:
            printed.add(row)
