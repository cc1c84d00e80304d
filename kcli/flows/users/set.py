"""``kcli users set``: makes SCRAM credentials, or replaces them. The password is in no plan, report or message."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from kcli.account.change import Found, Item, Question, planned
from kcli.account.outcomes import Outcome
from kcli.core.admin.admin import Admin
from kcli.core.admin.users import (
    SEE,
    ScramCredential,
    ScramMechanism,
    ScramUpsertion,
    check_encrypted,
    mechanism_name,
    upsertion,
)
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.secret import Secret
from kcli.flows.permitted import denied_on_cluster
from kcli.flows.users.credentials import (
    ITERATIONS,
    MECHANISM,
    USER,
    Credential,
    CredentialChange,
    CredentialItem,
    by_user,
    in_order,
    users_named,
)
from kcli.output.tables import Column


class NotSetError(KcliError):
    """A credential that brokers confirmed is not there, or is another one."""

    exit_code = ExitCode.REFUSED


class UserSetting(CredentialChange):
    """The credentials of users: of each the mechanisms, with so many iterations. ``given`` returns the password that is
    set for a user, None without one, or the error why the user is refused, and is called before the first contact; then
    ``typed`` returns it after the question.
    """

    kind = "UserSet"
    printed_by = "users set"
    columns = (
        USER,
        MECHANISM,
        Column(
            "old_iterations",
            "number",
            meaning="Iterations of the credential before; null where there was none.",
        ),
        ITERATIONS,
    )
    done = "set"

    def __init__(
        self,
        mechanisms: Mapping[str, Mapping[str, int]],
        *,
        given: Callable[[str], Secret | KcliError | None],
        typed: Callable[[], Secret] | None = None,
    ) -> None:
        super().__init__(mechanisms)
        self.iterations = {
            ScramCredential(user, one): mechanisms[user][mechanism_name(one)]
            for user, ones in self.mechanisms.items()
            for one in ones
        }
        self._given, self._typed = given, typed
        self._passwords: dict[str, Secret | KcliError | None] = {}

    def begin(self, admin: Admin) -> None:
        """Nothing is sent without encryption, unless that is allowed."""
        check_encrypted(admin.cluster.options)
        admin.foresee(permissions=True)
        self._passwords = {user: self._given(user) for user in self.mechanisms}

    def decide(self, admin: Admin) -> list[CredentialItem]:
        """All are set, even if there is one with as many iterations."""
        doing = f"setting SCRAM credentials of {users_named(list(self.mechanisms))}"
        _, denied = admin.together(lambda: self.read(admin), lambda: denied_on_cluster(admin, "ALTER", doing))
        return [self._decided(key, denied) for key in self.iterations]

    def _decided(self, key: ScramCredential, denied: KcliError | None) -> CredentialItem:
        password = self._passwords[key.user]
        refused = denied or (password if isinstance(password, KcliError) else None)
        outcome = Outcome.PLANNED if refused is None else Outcome.REFUSED
        return Item(key, Credential(self.has(key), self.iterations[key]), outcome, refused)

    def text(self, plan: Sequence[CredentialItem]) -> str:
        """What each mechanism has and gets."""
        return self.texts("Set SCRAM credentials of user {user}:", plan)

    def questions(self, plan: Sequence[CredentialItem]) -> list[Question]:
        """One for all."""
        user = plan[0].key.user
        return [Question(self.text(plan), f"Set the password of user {user}?", subject=user)]

    def warnings(self, plan: Sequence[CredentialItem]) -> Iterator[str]:
        """What becomes of this connection and of other mechanisms, and names that are hardly meant."""
        for name, items in by_user(planned(plan)).items():
            chosen = [item.key.mechanism for item in items]
            if self.own in [(name, mechanism_name(one)) for one in chosen]:
                yield (
                    f"this connection authenticates as {name} with {self.own[1]}: new connections, of kcli too, need the "
                    "new password"
                )
            others = [mechanism_name(one) for one in in_order(self.before[name]) if one not in chosen]
            if others:
                yield f"{' and '.join(others)} of user {name} keeps its present password"
            if name.startswith("User:"):
                yield f"the name is taken literally: in ACLs, the principal of this user is User:{name}"
            if not name.isascii():
                yield f"Apache Kafka's brokers refuse SCRAM logins of names that are not ASCII, such as {name}"
            if name != name.strip():
                yield "the name begins or ends with a blank"

    def confirmed(self) -> None:
        """The password, if it is to be typed."""
        for user, password in self._passwords.items():
            if password is None:
                assert self._typed is not None, "each user has a password, or one is typed"
                self._passwords[user] = self._typed()

    def apply(self, admin: Admin, todo: Sequence[CredentialItem]) -> dict[ScramCredential, KcliError | None]:
        """Sets the credentials, each with a salt of its own."""
        return self.alter(admin, {item.key: self._upsertion(item.key) for item in todo})

    def _upsertion(self, key: ScramCredential) -> ScramUpsertion:
        password = self._passwords[key.user]
        assert isinstance(password, Secret), "it was given, or typed after the question"
        return upsertion(password, ScramMechanism(key.mechanism), self.iterations[key])

    def found(self, item: CredentialItem, *, wrong: bool) -> Found[Credential]:
        """Brokers return the iterations only: those that were there before say nothing about the password."""
        if not wrong and not (item.key in self._unsure and item.facts.old == item.facts.new):
            return Found(item.facts)
        error = NotSetError(
            f"{item.key} was set, and is not there with {item.facts.new} iterations",
            why="another client has changed it since, or the broker has not received it yet",
            do=SEE,
        )
        return Found(item.facts, error)

    def row(self, item: CredentialItem) -> dict[str, Any]:
        """The values of the columns."""
        return {
            "user": item.key.user,
            "mechanism": mechanism_name(item.key.mechanism),
            "old_iterations": item.facts.old,
            "iterations": item.facts.new,
        }
