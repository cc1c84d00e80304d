"""``kcli users delete``: deletes SCRAM credentials of users."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kcli.account.change import Found, Item, Question, planned
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
    by_user,
    in_order,
    users_named,
    without_credentials,
)
from kcli.output.progress import counted

_GONE = "deleted by another client meanwhile"
_NONE = 0
"""In place of the mechanism, for a user who has no credential. Kafka's UNKNOWN."""


class NotDeletedError(KcliError):
    """A credential that brokers confirmed as deleted is there."""

    exit_code = ExitCode.REFUSED


class UserDeletion(CredentialChange):
    """The credentials of these mechanisms, by user; of all that a user has, if none is named. ``may_lack``: there is
    nothing to do for one that is not there.
    """

    kind = "UserDelete"
    printed_by = "users delete"
    columns = CREDENTIAL
    done = "deleted"

    def __init__(self, mechanisms: Mapping[str, Sequence[str]], *, may_lack: bool = False) -> None:
        super().__init__(mechanisms)
        self._may_lack = may_lack
        self._gone: set[ScramCredential] = set()

    def begin(self, admin: Admin) -> None:
        """With the first contact: what the plan is made from."""
        admin.foresee(permissions=True)

    def decide(self, admin: Admin) -> list[CredentialItem]:
        """All of a user are refused if one does not exist."""
        doing = f"deleting SCRAM credentials of {users_named(list(self.mechanisms))}"
        _, denied = admin.together(lambda: self.read(admin), lambda: denied_on_cluster(admin, "ALTER", doing))
        named = () if self._may_lack else self.mechanisms
        missing = {user: error for user in named if (error := self._missing(admin, user))}
        return [
            self._decided(ScramCredential(user, mechanism), missing.get(user) or denied)
            for user, ones in self.mechanisms.items()
            for mechanism in in_order(ones or self.before[user] or (_NONE,))
        ]

    def _decided(self, key: ScramCredential, refused: KcliError | None) -> CredentialItem:
        if self._may_lack and self.has(key) is None:
            return Item(key, Credential(None, None), Outcome.UNCHANGED, note=_GONE)
        outcome = Outcome.PLANNED if refused is None else Outcome.REFUSED
        return Item(key, Credential(self.has(key), None), outcome, refused)

    def _missing(self, admin: Admin, user: str) -> NotFoundError | None:
        before = self.before[user]
        if not before:
            return without_credentials(user, list(admin.describe_scram_credentials()))
        missing = [mechanism_name(one) for one in self.mechanisms[user] if one not in before]
        if not missing:
            return None
        return NotFoundError(
            f"user {user} has no {' and no '.join(missing)} credential",
            why=f"there is {' and '.join(map(mechanism_name, in_order(before)))}; nothing was done",
            do=SEE,
        )

    def text(self, plan: Sequence[CredentialItem]) -> str:
        """What each mechanism has."""
        return self.texts("Delete {count} of user {user}:", plan)

    def questions(self, plan: Sequence[CredentialItem]) -> list[Question]:
        """The user's name has to be typed."""
        name = plan[0].key.user
        return [Question(self.text(plan), f"Delete {counted(len(plan), 'credential')}?", name=name)]

    def warnings(self, plan: Sequence[CredentialItem]) -> Iterator[str]:
        """What becomes of this connection."""
        name, own = self.own
        if self.own in [(item.key.user, mechanism_name(item.key.mechanism)) for item in planned(plan)]:
            yield (
                f"this connection authenticates as {name} with {own}: new connections, of kcli too, "
                "will be refused"
            )

    def again(self, item: CredentialItem, now: CredentialItem | None) -> CredentialItem:
        """One that is gone is as it should be."""
        if self.has(item.key) is None:
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
        for user, known in by_user(items).items():
            if not self.mechanisms[user]:
                for mechanism in in_order(
                    self.after.get(user, {}).keys() - {one.key.mechanism for one in known}
                ):
                    key = ScramCredential(user, mechanism)
                    yield f"{key} was set meanwhile; it was not in the plan and was not deleted"
