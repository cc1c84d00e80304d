"""SCRAM credentials as the commands of ``kcli users`` read, change and show them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import ClassVar, NamedTuple

from kcli.account.change import Change, Found, Item
from kcli.core.admin.admin import Admin
from kcli.core.admin.users import SEE, ScramCredential, ScramMechanism, ScramUpsertion, mechanism_name
from kcli.core.errors import KcliError, NotFoundError
from kcli.core.near_names import near_names
from kcli.flows.read_back import UnknownChangeError, lost_answers, wait_until_empty
from kcli.output.progress import counted
from kcli.output.tables import Column

USER = Column("user", "prose", values="string", meaning="Name of the user.")
MECHANISM = Column(
    "mechanism",
    meaning="SCRAM-SHA-256 or SCRAM-SHA-512; unknown (N) for one that this version does not know; null where the user "
    "has no credential.",
)
ITERATIONS = Column("iterations", "number", meaning="Iterations of the credential; null where there is none.")
CREDENTIAL = (USER, MECHANISM, ITERATIONS)

Iterations = Mapping[ScramMechanism | int, int]
"""Of the credentials that a user has."""


class Credential(NamedTuple):
    """The iterations of a credential before the change, and after it; None is no credential."""

    old: int | None
    new: int | None


CredentialItem = Item[ScramCredential, Credential]


class CredentialChange(Change[ScramCredential, Credential]):
    """A change of credentials of one user. ``mechanisms`` are names; ``done``: the word for the change."""

    item_meaning = "A credential."
    quiet_report = True
    done: ClassVar[str]

    def __init__(self, name: str, mechanisms: Iterable[str]) -> None:
        self.name = name
        self.mechanisms = mechanisms_of(mechanisms)
        self.before: Iterations = {}
        self.after: Iterations = {}
        self.own_mechanism = ""
        self._unsure: set[ScramCredential] = set()

    def read(self, admin: Admin) -> None:
        """Reads what the user has."""
        self.before = credentials_of(admin, self.name)
        self.own_mechanism = own_mechanism(admin, self.name)

    def lines(self, title: str, plan: Sequence[CredentialItem]) -> str:
        """The plan: a line for each mechanism."""
        chosen = {item.key.mechanism: item.facts.new for item in plan}
        lines = [title]
        for mechanism in in_order({*self.before, *chosen}):
            line = f"{self.before[mechanism]} iterations" if mechanism in self.before else "not set"
            if mechanism not in chosen:
                line += ", stays"
            elif (new := chosen[mechanism]) is not None:
                line += f" → {new} iterations, new password"
            lines.append(f"  {mechanism_name(mechanism)}: {line}")
        return "\n".join(lines)

    def alter(
        self, admin: Admin, changes: Mapping[ScramCredential, ScramUpsertion | None]
    ) -> dict[ScramCredential, KcliError | None]:
        """Makes the changes: UnknownChangeError where a response was lost.

        An error of the call as a whole is raised only if nothing was changed.
        """
        unsure = self._unsure
        try:
            outcome = admin.alter_scram_credentials(changes, unsure=unsure)
        except (
            KcliError
        ) as error:  # as when this client has changed its own password, and cannot connect again
            if not unsure:
                raise
            return {key: UnknownChangeError(str(key), error, see=SEE) for key in changes}
        return lost_answers(outcome, unsure, see=SEE)

    def read_back(
        self, admin: Admin, items: Sequence[CredentialItem]
    ) -> dict[ScramCredential, Found[Credential] | KcliError]:
        """The iterations that are there now."""

        def wrong() -> list[CredentialItem]:
            self.after = credentials_of(admin, self.name)
            return [item for item in items if self.after.get(item.key.mechanism) != item.facts.new]

        done = f"{counted(len(items), 'credential')} of user {self.name} {self.done}"
        bad = wait_until_empty(admin, wrong, done, see=SEE)
        return {item.key: self.found(item, wrong=item in bad) for item in items}

    def found(self, item: CredentialItem, *, wrong: bool) -> Found[Credential]:
        """What reading back shows of a credential."""
        raise NotImplementedError

    def summary(self, items: Sequence[CredentialItem]) -> Iterable[str]:
        """The mechanisms."""
        if items:
            names = " and ".join(mechanism_name(item.key.mechanism) for item in items)
            yield f"{self.done} {names} of user {self.name}, read back"


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
    near = near_names(user, [name for name in known if name != user])
    return NotFoundError(
        f"user {user} has no SCRAM credentials",
        why="none was set for that name" if known else "the cluster has none of any user",
        do=f"did you mean {near[0]}?" if near else SEE,
    )


def own_mechanism(admin: Admin, user: str) -> str:
    """The mechanism by which this client authenticates as ``user``; empty if it does not."""
    options = admin.cluster.options
    is_own = options.security_protocol.startswith("SASL_") and options.sasl_username == user
    return options.sasl_mechanism if is_own else ""
