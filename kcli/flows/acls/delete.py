"""``kcli acls delete``: deletes the ACLs that are selected, and no others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kcli.account.change import Found, Item, Question
from kcli.account.outcomes import Outcome
from kcli.core.admin.acls import AclBinding, AclFilter, AclPermission
from kcli.core.admin.admin import Admin
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.flows.acls.rows import AclChange, AclItem, count_of, plan_lines, refused
from kcli.flows.acls.selection import SEE, Selection, existing, in_order, nothing_selected, selected_acls
from kcli.flows.journal import AclEntry, CreatedAclEntry, Draft, Journal
from kcli.flows.permitted import denied_on_cluster
from kcli.flows.read_back import lost_answers, wait_until_empty
from kcli.output.progress import counted

_EVERYTHING = "Neither a principal nor a resource was given, so that every ACL of the cluster may be selected"
_GONE = "deleted by another client meanwhile"


class NotDeletedError(KcliError):
    """ACLs that brokers confirmed as deleted are there."""

    exit_code = ExitCode.REFUSED


class AclDeletion(AclChange):
    """The ACLs that the selection matches when the plan is made."""

    kind = "AclDelete"
    printed_by = "acls delete, undo"
    done = "deleted"

    def __init__(self, selected: Selection) -> None:
        self.selected = selected
        self._cluster = ""
        self._gone: set[AclBinding] = set()
        self._refused: set[AclBinding] = set()
        self._left: set[AclBinding] = set()

    def begin(self, admin: Admin) -> None:
        """With the first contact: what the plan is made from."""
        admin.foresee(permissions=True)

    def decide(self, admin: Admin) -> list[AclItem]:
        """All that are selected."""
        self._cluster = admin.cluster_id()
        found, denied = admin.together(
            lambda: self.found(admin), lambda: denied_on_cluster(admin, "ALTER", "deleting ACLs")
        )
        if not found:
            self.nothing = nothing_selected(admin, self.selected)
            return []
        outcome = Outcome.PLANNED if denied is None else Outcome.REFUSED
        return [Item(binding, None, outcome, denied) for binding in found]

    def found(self, admin: Admin) -> list[AclBinding]:
        """Those that are selected now."""
        return selected_acls(admin, self.selected)

    def text(self, plan: Sequence[AclItem]) -> str:
        """The exact ACLs."""
        return plan_lines(f"Delete {count_of(plan)}:", plan) if plan else "Nothing is to be deleted."

    def questions(self, plan: Sequence[AclItem]) -> list[Question]:
        """What the ACLs have in common has to be typed; the cluster's id where any could be selected."""
        narrow = self.selected.is_narrow
        name = _common([item.key for item in plan]) if narrow else None
        return [
            Question(
                self.text(plan),
                f"Delete {count_of(plan)}?",
                name=self._cluster if name is None else name,
                danger=None if narrow else _EVERYTHING,
            )
        ]

    def warnings(self, plan: Sequence[AclItem]) -> Iterator[str]:
        """ACLs that deny."""
        denials = sum(item.key.permission is AclPermission.DENY for item in plan)
        if denials and self.selected.permission is None:
            some = "one of them denies" if denials == 1 else f"{denials} of them deny"
            yield f"{some}: without it, what it denies may be allowed by other ACLs"

    def again(self, item: AclItem, now: AclItem | None) -> AclItem:
        """One that is gone is as it should be."""
        if now is None:
            return item._replace(outcome=Outcome.UNCHANGED, note=_GONE)
        return super().again(item, now)

    def journal(self, admin: Admin, todo: Sequence[AclItem]) -> Draft:  # noqa: ARG002 - the change's signature
        """The ACLs themselves."""
        return Draft(self.command, [AclEntry.of(item.key) for item in todo])

    def apply(self, admin: Admin, todo: Sequence[AclItem]) -> dict[AclBinding, KcliError | None]:
        """Deletes the ACLs, each by the filter that matches it only."""
        unsure: set[AclFilter] = set()
        found = admin.delete_acls([item.key.filter for item in todo], unsure=unsure)
        answers = {item.key: found[item.key.filter] for item in todo}
        lost = {key for key in answers if key.filter in unsure}
        self._gone |= {key for key, deleted in answers.items() if deleted == [] and key not in lost}
        errors = {key: one if isinstance(one, KcliError) else None for key, one in answers.items()}
        errors = lost_answers(errors, lost, what="ACL", see=SEE)
        self._refused |= refused(errors)
        return errors

    def read_back(self, admin: Admin, items: Sequence[AclItem]) -> dict[AclBinding, Found[None] | KcliError]:
        """Which of the ACLs are left; nobody waits for those whose deletion was refused."""
        away = {item.key for item in items} - self._refused

        def left() -> set[AclBinding]:
            self._left = set(self.found(admin))
            return away & self._left

        again = wait_until_empty(admin, left, f"{counted(len(away), 'ACL')} deleted", see=SEE)
        return {key: self._found(key, is_there=key in again) for key in away}

    def _found(self, key: AclBinding, *, is_there: bool) -> Found[None]:
        if is_there:
            return Found(None, _is_there(key))
        return Found(None, note=_GONE, outcome=Outcome.UNCHANGED) if key in self._gone else Found(None)

    def noticed(self, items: Sequence[AclItem]) -> Iterator[str]:
        """What other clients have deleted and created meanwhile."""
        for item in items:
            if item.outcome is Outcome.UNCHANGED:
                yield f"ACL {item.key} was {item.note}"
        for binding in in_order(self._left - {item.key for item in items}):
            yield f"ACL {binding} was created meanwhile; it was not in the plan and was not deleted"


class ExactAclDeletion(AclDeletion):
    """Exactly these ACLs."""

    nothing = "nothing is to be deleted: none of the ACLs is there any more"

    def __init__(self, bindings: Sequence[AclBinding]) -> None:
        self._bindings = bindings
        principals = tuple(dict.fromkeys(one.principal for one in bindings))
        super().__init__(Selection(principals, (), (), (), None, None))

    def decide(self, admin: Admin) -> list[AclItem]:
        """Those that are gone are as they should be."""
        there = set(self.found(admin))
        self._cluster = admin.cluster_id()
        denied = denied_on_cluster(admin, "ALTER", "deleting ACLs") if there else None
        outcome = Outcome.PLANNED if denied is None else Outcome.REFUSED
        return [
            Item(one, None, outcome, denied)
            if one in there
            else Item(one, None, Outcome.UNCHANGED, note="deleted already")
            for one in self._bindings
        ]

    def found(self, admin: Admin) -> list[AclBinding]:
        """Those of them that are there."""
        return in_order(existing(admin, self._bindings))


class AclRetraction(ExactAclDeletion):
    """``kcli undo`` of ``acls create``: deletes the ACLs that it created."""

    printed_by = "undo"

    def __init__(self, journal: Journal) -> None:
        super().__init__([entry.binding for entry in journal.entries if isinstance(entry, CreatedAclEntry)])
        self.made = journal

    def decide(self, admin: Admin) -> list[AclItem]:
        """As when they are deleted; ConfigError on another cluster."""
        self.made.check_cluster(admin.cluster_id())
        return super().decide(admin)


def _common(planned: Sequence[AclBinding]) -> str | None:
    """What all ACLs of the plan are of: a principal, or else a resource; None if they are of several."""
    principals = {binding.principal for binding in planned}
    resources = {(binding.resource, binding.name) for binding in planned}
    if len(principals) == 1:
        return principals.pop()
    return resources.pop()[1] if len(resources) == 1 else None


def _is_there(binding: AclBinding) -> NotDeletedError:
    return NotDeletedError(
        f"ACL {binding} was deleted, and is there again",
        why="another client has created it since, or the broker has not received the deletion yet",
        do=SEE,
    )
