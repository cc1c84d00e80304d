"""``kcli acls create``: creates the ACLs that do not exist."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kcli.account.change import Found, Item, Question
from kcli.account.outcomes import Outcome
from kcli.core.admin.acls import AclBinding, AclPermission
from kcli.core.admin.admin import Admin
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.flows.acls.rows import AclChange, AclItem, count_of, plan_lines, refused
from kcli.flows.acls.selection import SEE, existing, in_order
from kcli.flows.journal import AclEntry, CreatedAclEntry, Draft, Journal
from kcli.flows.permitted import denied_on_cluster
from kcli.flows.read_back import lost_answers, wait_until_empty
from kcli.output.progress import counted


class NotCreatedError(KcliError):
    """ACLs that brokers confirmed are not there."""

    exit_code = ExitCode.REFUSED


class AclCreation(AclChange):
    """The ACLs that are wanted."""

    kind = "AclCreate"
    printed_by = "acls create, undo"
    done = "created"

    def __init__(self, wanted: Iterable[AclBinding]) -> None:
        self.wanted = in_order(wanted)
        self._refused: set[AclBinding] = set()
        exist = "the ACL exists" if len(self.wanted) == 1 else f"all {len(self.wanted)} ACLs exist"
        self.nothing = f"nothing is to be created: {exist} already"

    def begin(self, admin: Admin) -> None:
        """With the first contact: what the plan is made from."""
        admin.foresee(permissions=True)

    def decide(self, admin: Admin) -> list[AclItem]:
        """Those that exist are unchanged."""
        present, denied = admin.together(
            lambda: existing(admin, self.wanted), lambda: denied_on_cluster(admin, "ALTER", "creating ACLs")
        )
        planned = Outcome.PLANNED if denied is None else Outcome.REFUSED
        return [
            Item(binding, None, Outcome.UNCHANGED)
            if binding in present
            else Item(binding, None, planned, denied)
            for binding in self.wanted
        ]

    def text(self, plan: Sequence[AclItem]) -> str:
        """The exact ACLs."""
        return plan_lines(f"Create {count_of(plan)}:", plan)

    def questions(self, plan: Sequence[AclItem]) -> list[Question]:
        """One for all."""
        return [Question(self.text(plan), f"Create {count_of(plan)}?")]

    def warnings(self, plan: Sequence[AclItem]) -> Iterator[str]:
        """Names and principals that are hardly meant."""
        planned = [item.key for item in plan if item.outcome is Outcome.PLANNED]
        for name in sorted({binding.name for binding in planned if binding.name[1:].endswith("*")}):
            yield f"{name} is taken literally: ACLs for names that begin alike need --pattern prefixed"
        if any(b.principal == "User:*" and b.permission is AclPermission.ALLOW for b in planned):
            yield "User:* is every user, with PLAINTEXT and SSL listeners also clients without a name"

    def journal(self, admin: Admin, todo: Sequence[AclItem]) -> Draft:  # noqa: ARG002 - the change's signature
        """Those that did not exist."""
        return Draft(self.command, [CreatedAclEntry.of(item.key) for item in todo])

    def apply(self, admin: Admin, todo: Sequence[AclItem]) -> dict[AclBinding, KcliError | None]:
        """Creates the ACLs."""
        unsure: set[AclBinding] = set()
        answers = admin.create_acls([item.key for item in todo], unsure=unsure)
        answers = lost_answers(answers, unsure, what="ACL", see=SEE)
        self._refused |= refused(answers)
        return answers

    def read_back(self, admin: Admin, items: Sequence[AclItem]) -> dict[AclBinding, Found[None] | KcliError]:
        """Which of the ACLs exist; nobody waits for those that were refused."""
        made = [item.key for item in items if item.key not in self._refused]
        absent = wait_until_empty(
            admin,
            lambda: set(made) - existing(admin, made),
            f"{counted(len(made), 'ACL')} created",
            see=SEE,
        )
        return {binding: Found(None, _absent(binding) if binding in absent else None) for binding in made}


class AclRestore(AclCreation):
    """``kcli undo`` of ``acls delete``: the ACLs of a journal."""

    printed_by = "undo"

    def __init__(self, journal: Journal) -> None:
        super().__init__(entry.binding for entry in journal.entries if isinstance(entry, AclEntry))
        self.made = journal

    def decide(self, admin: Admin) -> list[AclItem]:
        """As when they are created; ConfigError on another cluster."""
        self.made.check_cluster(admin.cluster_id())
        return super().decide(admin)


def _absent(binding: AclBinding) -> NotCreatedError:
    return NotCreatedError(
        f"ACL {binding} was created, and is not there",
        why="another client has deleted it since, or the broker has not received it yet",
        do=SEE,
    )
