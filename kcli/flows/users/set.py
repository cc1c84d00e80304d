"""``kcli users set``: makes SCRAM credentials, or replaces them. The password is in no plan, report or message."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from kcli.account.change import Found, Item, Question
from kcli.account.outcomes import Outcome
from kcli.core.admin.admin import Admin
from kcli.core.admin.users import (
    SEE,
    ScramCredential,
    ScramMechanism,
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
    in_order,
)
from kcli.output.sanitise import visible_line
from kcli.output.tables import Column


class NotSetError(KcliError):
    """A credential that brokers confirmed is not there, or is another one."""

    exit_code = ExitCode.REFUSED


class UserSetting(CredentialChange):
    """The credentials of these mechanisms, with so many iterations. ``given`` returns the password that options name,
    None without one, and is called before the first contact; then ``typed`` returns it after the question.
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
        name: str,
        mechanisms: Mapping[str, int],
        *,
        given: Callable[[], Secret | None],
        typed: Callable[[], Secret],
    ) -> None:
        super().__init__(name, mechanisms)
        self.iterations = {one: mechanisms[mechanism_name(one)] for one in self.mechanisms}
        self._given, self._typed = given, typed
        self._password: Secret | None = None

    def begin(self, admin: Admin) -> None:
        """Nothing is sent without encryption, unless that is allowed."""
        check_encrypted(admin.cluster.options)
        self._password = self._given()

    def decide(self, admin: Admin) -> list[CredentialItem]:
        """All are set, even if there is one with as many iterations."""
        self.read(admin)
        denied = denied_on_cluster(admin, "ALTER", f"setting SCRAM credentials of user {self.name}")
        outcome = Outcome.PLANNED if denied is None else Outcome.REFUSED
        return [
            Item(
                ScramCredential(self.name, mechanism),
                Credential(self.before.get(mechanism), self.iterations[mechanism]),
                outcome,
                denied,
            )
            for mechanism in self.mechanisms
        ]

    def text(self, plan: Sequence[CredentialItem]) -> str:
        """What each mechanism has and gets."""
        if plan[0].outcome is Outcome.REFUSED:
            return ""
        title = f"Set SCRAM credentials of user {visible_line(self.name)}:"
        return self.lines(title, plan)

    def questions(self, plan: Sequence[CredentialItem]) -> list[Question]:
        """One for all."""
        return [Question(self.text(plan), f"Set the password of user {self.name}?", subject=self.name)]

    def warnings(self, plan: Sequence[CredentialItem]) -> Iterator[str]:
        """What becomes of this connection and of other mechanisms, and names that are hardly meant."""
        name, own = self.name, self.own_mechanism
        chosen = [item.key.mechanism for item in plan if item.outcome is Outcome.PLANNED]
        if not chosen:
            return
        if own in map(mechanism_name, chosen):
            yield (
                f"this connection authenticates as {name} with {own}: new connections, of kcli too, need the new password"
            )
        others = [mechanism_name(one) for one in in_order(self.before) if one not in chosen]
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
        if self._password is None:
            self._password = self._typed()

    def apply(self, admin: Admin, todo: Sequence[CredentialItem]) -> dict[ScramCredential, KcliError | None]:
        """Sets the credentials, each with a salt of its own."""
        password = self._password
        assert password is not None, "it is typed after the question"
        return self.alter(
            admin,
            {
                item.key: upsertion(password, mechanism, self.iterations[mechanism])
                for item in todo
                for mechanism in [ScramMechanism(item.key.mechanism)]
            },
        )

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
