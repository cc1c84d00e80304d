"""SCRAM credentials as the commands of ``kcli users`` read, change and show them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

from kcli.account.change import Change, Found, Item
from kcli.account.outcomes import Outcome
from kcli.core.admin.admin import Admin
from kcli.core.admin.users import SEE, ScramCredential, ScramMechanism, ScramUpsertion, mechanism_name
from kcli.core.classes import NamedTuple
from kcli.core.errors import BrokerError, KcliError, NotFoundError
from kcli.core.near_names import near_names
from kcli.flows.read_back import UnknownChangeError, lost_answers, wait_until_empty
from kcli.output.progress import counted
from kcli.output.sanitise import visible_line
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
    """A change of credentials of users. ``mechanisms`` are their names, by user; ``done``: the word for the change."""

    item_meaning = "A credential."
    quiet_report = True
    done: ClassVar[str]

    def __init__(self, mechanisms: Mapping[str, Iterable[str]]) -> None:
        self.mechanisms = {user: mechanisms_of(words) for user, words in mechanisms.items()}
        self.before: Mapping[str, Iterations] = {}
        self.after: Mapping[str, Iterations] = {}
        self.own = ("", "")
        self._unsure: set[ScramCredential] = set()
        self._refused: set[ScramCredential] = set()

    def read(self, admin: Admin) -> None:
        """Reads what the users have."""
        self.before = credentials_of(admin, list(self.mechanisms))
        self.own = own_login(admin)

    def has(self, key: ScramCredential) -> int | None:
        """The iterations of a credential before the change."""
        return self.before[key.user].get(key.mechanism)

    def texts(self, title: str, plan: Sequence[CredentialItem]) -> str:
        """The plan: a title for each user of whom nothing is refused, which has ``{user}`` and ``{count}``, and a line
        for each mechanism.
        """
        texts = []
        for user, items in by_user(plan).items():
            if not any(item.outcome is Outcome.REFUSED for item in items):
                count = counted(len(items), "SCRAM credential")
                texts.append(self._lines(title.format(user=visible_line(user), count=count), user, items))
        return "\n".join(texts)

    def _lines(self, title: str, user: str, items: Sequence[CredentialItem]) -> str:
        before = self.before[user]
        chosen = {item.key.mechanism: item.facts.new for item in items}
        lines = [title]
        for mechanism in in_order({*before, *chosen}):
            line = f"{before[mechanism]} iterations" if mechanism in before else "not set"
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
        self._refused = {key for key, error in outcome.items() if isinstance(error, BrokerError)}
        return lost_answers(outcome, unsure, see=SEE)

    def read_back(
        self, admin: Admin, items: Sequence[CredentialItem]
    ) -> dict[ScramCredential, Found[Credential] | KcliError]:
        """The iterations that are there now; nobody waits for those that were refused."""
        made = [item for item in items if item.key not in self._refused]
        users = list(by_user(made))

        def wrong() -> set[ScramCredential]:
            self.after = credentials_of(admin, users)
            return {
                item.key
                for item in made
                if self.after[item.key.user].get(item.key.mechanism) != item.facts.new
            }

        done = f"{counted(len(made), 'credential')} of {users_named(users)} {self.done}"
        bad = wait_until_empty(admin, wrong, done, see=SEE)
        return {item.key: self.found(item, wrong=item.key in bad) for item in made}

    def found(self, item: CredentialItem, *, wrong: bool) -> Found[Credential]:
        """What reading back shows of a credential."""
        raise NotImplementedError

    def summary(self, items: Sequence[CredentialItem]) -> Iterator[str]:
        """The mechanisms, or how many of several users."""
        users = list(by_user(items))
        if len(users) == 1:
            names = " and ".join(mechanism_name(item.key.mechanism) for item in items)
            yield f"{self.done} {names} of user {users[0]}, read back"
        elif users:
            yield f"{self.done} {counted(len(items), 'credential')} of {users_named(users)}, read back"


def by_user(items: Sequence[CredentialItem]) -> dict[str, list[CredentialItem]]:
    """The items of each user."""
    found: dict[str, list[CredentialItem]] = {}
    for item in items:
        found.setdefault(item.key.user, []).append(item)
    return found


def users_named(users: Sequence[str]) -> str:
    """The only one, or how many there are."""
    return f"user {users[0]}" if len(users) == 1 else counted(len(users), "user")


def mechanisms_of(words: Iterable[str]) -> tuple[ScramMechanism, ...]:
    """The mechanisms that an option names, without repeats."""
    by_name = {mechanism_name(mechanism): mechanism for mechanism in ScramMechanism}
    return tuple(by_name[word] for word in dict.fromkeys(words))


def in_order(mechanisms: Iterable[ScramMechanism | int]) -> list[ScramMechanism | int]:
    """As in every list and plan."""
    return sorted(mechanisms, key=int)


def credentials_of(admin: Admin, users: Sequence[str]) -> dict[str, Iterations]:
    """What users have; empty for one without credentials."""
    found: dict[str, Iterations] = {}
    for user, has in admin.describe_scram_credentials(users).items():
        if isinstance(has, KcliError) and not isinstance(has, NotFoundError):
            raise has
        found[user] = {} if isinstance(has, KcliError) else has
    return found


def without_credentials(user: str, known: Collection[str]) -> NotFoundError:
    """The error for a user without credentials, with the most similar name among those that have some."""
    near = near_names(user, [name for name in known if name != user])
    return NotFoundError(
        f"user {user} has no SCRAM credentials",
        why="none was set for that name" if known else "the cluster has none of any user",
        do=f"did you mean {near[0]}?" if near else SEE,
    )


def own_login(admin: Admin) -> tuple[str, str]:
    """As which user this client authenticates, and by which mechanism; empty if it does not."""
    options = admin.cluster.options
    is_sasl = options.security_protocol.startswith("SASL_") and options.sasl_username
    return (options.sasl_username, options.sasl_mechanism) if is_sasl else ("", "")
