"""``kcli users delete``: deletes SCRAM credentials of a user."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kcli.account.change import Found, Item, Question
from kcli.account.outcomes import Outcome
from kcli.core.admin.admin import Admin
from kcli.core.admin.users import SEE, ScramCredential, mechanism_name
from kcli.core.errors import KcliError, NotFoundError
from kcli.core.exit_codes import ExitCode
from kcli.flows.journal import Draft, UserEntry
from kcli.flows.permitted import denied_on_cluster
from kcli.flows.users.credentials import (
    CREDENTIAL,
    Credential,
    CredentialChange,
    CredentialItem,
    in_order,
    without_credentials,
)
from kcli.output.progress import counted
from kcli.output.sanitise import visible_line

_GONE = "deleted by another client meanwhile"
_NONE = 0
"""In place of the mechanism, for a user who has no credential. Kafka's UNKNOWN."""


class NotDeletedError(KcliError):
    """A credential that brokers confirmed as deleted is there."""

    exit_code = ExitCode.REFUSED


class UserDeletion(CredentialChange):
    """The credentials of these mechanisms; of all that the user has, if none is named."""

    kind = "UserDelete"
    printed_by = "users delete"
    columns = CREDENTIAL
    done = "deleted"

    def __init__(self, name: str, mechanisms: Sequence[str]) -> None:
        super().__init__(name, mechanisms)
        self._gone: set[ScramCredential] = set()

    def decide(self, admin: Admin) -> list[CredentialItem]:
        """All are refused if one does not exist."""
        self.read(admin)
        refused = self._missing(admin) or denied_on_cluster(
            admin, "ALTER", f"deleting SCRAM credentials of user {self.name}"
        )
        outcome = Outcome.PLANNED if refused is None else Outcome.REFUSED
        return [
            Item(
                ScramCredential(self.name, mechanism),
                Credential(self.before.get(mechanism), None),
                outcome,
                refused,
            )
            for mechanism in in_order(self.mechanisms or self.before or (_NONE,))
        ]

    def _missing(self, admin: Admin) -> NotFoundError | None:
        if not self.before:
            return without_credentials(self.name, list(admin.describe_scram_credentials()))
        missing = [mechanism_name(one) for one in self.mechanisms if one not in self.before]
        if not missing:
            return None
        return NotFoundError(
            f"user {self.name} has no {' and no '.join(missing)} credential",
            why=f"there is {' and '.join(map(mechanism_name, in_order(self.before)))}; nothing was done",
            do=SEE,
        )

    def text(self, plan: Sequence[CredentialItem]) -> str:
        """What each mechanism has."""
        if plan[0].outcome is Outcome.REFUSED:
            return ""
        count = counted(len(plan), "SCRAM credential")
        return self.lines(f"Delete {count} of user {visible_line(self.name)}:", plan)

    def questions(self, plan: Sequence[CredentialItem]) -> list[Question]:
        """The user's name has to be typed."""
        return [Question(self.text(plan), f"Delete {counted(len(plan), 'credential')}?", name=self.name)]

    def warnings(self, plan: Sequence[CredentialItem]) -> Iterator[str]:
        """What becomes of this connection."""
        own = self.own_mechanism
        planned = [item.key.mechanism for item in plan if item.outcome is Outcome.PLANNED]
        if own in map(mechanism_name, planned):
            yield (
                f"this connection authenticates as {self.name} with {own}: new connections, of kcli too, "
                "will be refused"
            )

    def again(self, item: CredentialItem, now: CredentialItem | None) -> CredentialItem:
        """One that is gone is as it should be."""
        if item.key.mechanism not in self.before:
            return item._replace(outcome=Outcome.UNCHANGED, note=_GONE)
        if now is not None and isinstance(now.error, NotFoundError):
            return item  # another one is gone
        return super().again(item, now)

    def journal(self, admin: Admin, todo: Sequence[CredentialItem]) -> Draft:  # noqa: ARG002
        """Which credentials there were: their secrets nobody can read."""
        entries = [
            UserEntry(item.key.user, mechanism_name(item.key.mechanism), item.facts.old) for item in todo
        ]
        return Draft(self.printed_by, entries, can_undo=False)

    def apply(self, admin: Admin, todo: Sequence[CredentialItem]) -> dict[ScramCredential, KcliError | None]:
        """Deletes the credentials."""
        answers = self.alter(admin, dict.fromkeys(item.key for item in todo))
        self._gone = {key for key, error in answers.items() if isinstance(error, NotFoundError)}
        return {key: None if key in self._gone else error for key, error in answers.items()}

    def found(self, item: CredentialItem, *, wrong: bool) -> Found[Credential]:
        """Whether the credential is gone."""
        if not wrong and item.key in self._gone:
            return Found(item.facts, note=_GONE, outcome=Outcome.UNCHANGED)
        if not wrong:
            return Found(item.facts)
        error = NotDeletedError(
            f"{item.key} was deleted, and is there again",
            why="another client has set it since, or the broker has not received the deletion yet",
            do=SEE,
        )
        return Found(item.facts, error)

    def row(self, item: CredentialItem) -> dict[str, Any]:
        """The values of the columns."""
        mechanism = item.key.mechanism
        return {
            "user": item.key.user,
            "mechanism": None if mechanism == _NONE else mechanism_name(mechanism),
            "iterations": item.facts.old,
        }

    def reason(self, error: KcliError) -> str:
        """What does not exist, rather than what else does."""
        return error.what if isinstance(error, NotFoundError) else super().reason(error)

    def noticed(self, items: Sequence[CredentialItem]) -> Iterator[str]:
        """What other clients have deleted and set meanwhile."""
        for item in items:
            if item.outcome is Outcome.UNCHANGED:
                yield f"{item.key} was {item.note}"
        if not self.mechanisms:
            known = {item.key.mechanism for item in items}
            for mechanism in in_order(self.after.keys() - known):
                key = ScramCredential(self.name, mechanism)
                yield f"{key} was set meanwhile; it was not in the plan and was not deleted"
