"""The ACLs of a job on its target, as changes: planned, made once its topics exist, and made again while it follows.

What the target has to have is decided in ``rules.py``. ACLs are only created, unless a run prunes: then those that
the source does not have are deleted, as its plan shows them, and never later, when nobody sees a plan.

An ACL that denies is there before those that allow, and goes after them. Were it the other way round, a failure in
between would allow what neither cluster allows:

1. The source denies User:eve READ on orders, and allows User:* the same.
2. The target creates what allows, and refuses what denies, or the mirror is killed before it is sent.
3. User:eve reads the copy.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from kcli.account.change import ChangedError, planned
from kcli.account.outcomes import Outcome
from kcli.core.admin.acls import (
    AclBinding,
    AclFilter,
    AclPermission,
    AclResource,
    NoAuthorizerError,
)
from kcli.core.admin.admin import Admin
from kcli.core.classes import NamedTuple
from kcli.core.error_codes import CLUSTER_AUTHORIZATION_FAILED
from kcli.core.errors import BrokerError, KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.permissions import on_cluster
from kcli.flows.acls.create import AclCreation
from kcli.flows.acls.delete import AclDeletion
from kcli.flows.acls.rows import AclItem
from kcli.flows.acls.selection import Selection as AclSelection
from kcli.flows.acls.selection import existing, in_order, matching
from kcli.flows.mirror.acls.columns import CREATE, DELETE, HOLD
from kcli.flows.mirror.acls.plan import HELD, AclAccount, AclPlan, AclRow
from kcli.flows.mirror.acls.rules import (
    EVERYONE,
    Carried,
    Scope,
    carried,
    covering_prefixes,
    denies_writing,
    mapped_principal,
    stale,
    unused_rules,
    whole_prefixes,
)
from kcli.flows.mirror.copy.errors import may_pass
from kcli.flows.mirror.settings import Observer
from kcli.flows.mirror.topics.preflight import Denied
from kcli.flows.mirror.topics.routes import Rename
from kcli.flows.mirror.topics.survey import Selection
from kcli.flows.permitted import denied_on_cluster
from kcli.output.progress import counted


class AclSyncError(KcliError):
    """ACLs that are not on the target as they should be."""

    exit_code = ExitCode.REFUSED


class SyncedAcls(AclCreation):
    """The ACLs that the target has to have. ``unsafe``: principals for whom something is denied that cannot be carried
    over.
    """

    printed_by = "mirror run"

    def __init__(self, wanted: Iterable[AclBinding], unsafe: Collection[str]) -> None:
        super().__init__(wanted)
        self._unsafe = set(unsafe)

    @property
    def unsafe(self) -> Collection[str]:
        """The principals for whom what is denied is not all there, after ``act``."""
        return self._unsafe

    def apply(self, admin: Admin, todo: Sequence[AclItem]) -> dict[AclBinding, KcliError | None]:
        """What denies first; what allows only where all of that is there."""
        denials = [item for item in todo if item.key.permission == AclPermission.DENY]
        answers = super().apply(admin, denials) if denials else {}
        lacking = {key for key, error in answers.items() if error is not None}
        if lacking:  # a response may have been lost, and the ACL be there
            with suppress(KcliError):
                lacking -= existing(admin, lacking)
        self._unsafe |= {key.principal for key in lacking}
        allowing = [item for item in todo if item.key.permission != AclPermission.DENY]
        blocked = {item.key for item in allowing if _is_exposed(item.key, self._unsafe)}
        if rest := [item for item in allowing if item.key not in blocked]:
            answers |= super().apply(admin, rest)
        self._refused |= blocked
        return answers | {key: _exposed(key) for key in blocked}


class PrunedAcls(AclDeletion):
    """The ACLs of the target that the source does not have: these, and no others.

    ``lacking``: the principals for whom what is denied is not all there; what else denies them something stays.
    """

    printed_by = "mirror run"

    def __init__(self, bindings: Sequence[AclBinding]) -> None:
        principals = tuple(sorted({binding.principal for binding in bindings}))
        super().__init__(AclSelection(principals, (), (), (), None, None))
        self._bindings = bindings
        self.lacking: Collection[str] = ()

    def found(self, admin: Admin) -> list[AclBinding]:
        """Those of them that exist."""
        return in_order(existing(admin, self._bindings))

    def apply(self, admin: Admin, todo: Sequence[AclItem]) -> dict[AclBinding, KcliError | None]:
        """What allows first; what denies only where all of that is gone."""
        allowing = [item for item in todo if item.key.permission != AclPermission.DENY]
        denials = [item for item in todo if item.key.permission == AclPermission.DENY]
        answers = super().apply(admin, allowing) if allowing else {}
        left = {key.principal for key, error in answers.items() if error is not None}
        unsafe = {*left, *self.lacking}
        kept = {item.key for item in denials if _is_exposed(item.key, unsafe)}
        if rest := [item for item in denials if item.key not in kept]:
            answers |= super().apply(admin, rest)
        self._refused |= kept
        return answers | {key: _still_needed(key) for key in kept}


class _Looked(NamedTuple):
    """The ACLs of the source, and what became of those of the target; ``unsafe``: see ``SyncedAcls``."""

    acls: set[AclBinding]
    groups: Collection[str]
    items: Sequence[AclItem]
    unsafe: Collection[str]


class AclSync:
    """The ACLs of one run. ``groups``: those of the job now. ``prunes``: whether the plan deletes what the source does
    not have. ``own``: the principals that are known to be the mirror's on the target.
    """

    def __init__(
        self,
        rules: Sequence[Rename],
        groups: Callable[[], Collection[str]],
        *,
        prunes: bool,
        own: Collection[str],
    ) -> None:
        self._rules = rules
        self._promoted = False
        self._groups = groups
        self._prunes = prunes
        self._own = own
        self._topics: dict[str, str] = {}
        self._rows: dict[tuple[AclBinding, bool], AclRow] = {}
        self._created: frozenset[AclBinding] = frozenset()  # or there already, when it was looked last
        self._said: set[str] = set()
        self._deletion = PrunedAcls(())
        self._deletions: Sequence[AclItem] = ()
        self._follows = False
        self._failure: KcliError | None = None

    def promote(self) -> None:
        """From now on what waits for the promotion is created as well."""
        self._promoted = True

    @property
    def account(self) -> AclAccount:
        """What is planned, then what became of it; by principal and resource."""
        rows = sorted(self._rows.values(), key=lambda row: (row.binding.principal, row.binding, row.act))
        return AclAccount(rows, self._failure)

    # --- the plan and its act ------------------------------------------------------------------------

    def plan(
        self,
        source: Admin,
        target: Admin,
        selection: Selection,
        topics: Mapping[str, str],
        *,
        follows: bool,
    ) -> AclPlan:
        """Reads both sides. ``topics``: the routes. AclSyncError where one has no authorizer.

        ``follows``: there will be more to create, so that it has to be allowed now.
        """
        self._follows = follows
        self._topics.update(topics)
        groups = self._groups()
        denied: list[Denied] = []
        here = _readable(source, groups, denied, of_source=True)
        there = _readable(target, groups, denied, of_source=False)
        if denied:
            return AclPlan((), None, denied, ())
        scope = self._scope(source, target, selection, groups, [*here, *there] if self._prunes else here)
        found = self._carried(here, scope)
        creation = self._creation(found)
        created = creation.decide(target)
        old = stale(there, here, scope, self._rules, self._own) if self._prunes else []
        self._deletion = PrunedAcls(old)
        self._deletions = deleted = self._deletion.decide(target) if old else []
        self._keep(created, CREATE)
        self._keep(deleted, DELETE)
        self._hold(found, there)
        changes = planned([*created, *deleted])
        refused = any(item.outcome is Outcome.REFUSED for item in (*created, *deleted))
        if refused or (follows and not changes and denied_on_cluster(target, "ALTER", "creating ACLs")):
            denied.append(_lacks("ALTER", of_source=False))
        questions = self._deletion.questions(deleted) if planned(deleted) else ()
        warnings = [*self._warned(found, there), *self._unused(here, scope)]
        warnings += [*creation.warnings(created), *self._deletion.warnings(deleted)]
        return AclPlan(self.account.rows, next(iter(questions), None), denied, warnings)

    def act(
        self,
        source: Admin,
        target: Admin,
        selection: Selection,
        topics: Mapping[str, str],
        observer: Observer,
    ) -> None:
        """Creates what the target lacks by now, and deletes what the plan has, where that is still so; what failed is in
        the ``account``. The plan may be old: somebody has answered a question, or another instance has copied since.
        """
        for key, row in [*self._rows.items()]:
            if row.act != HOLD and row.outcome is not Outcome.DONE:
                del self._rows[key]
        looked = self._look(source, target, selection, topics)
        deleted, self._deletions = self._deletions, ()
        if todo := {item.key for item in planned(deleted)}:
            scope = self._scope(source, target, selection, looked.groups, [*looked.acls, *todo])
            left = stale(todo, looked.acls, scope, self._rules, self._own)
            self._deletion.lacking = looked.unsafe
            deleted = self._pruned(target, [_moved(item, left) for item in deleted], observer)
        self._keep(deleted, DELETE)
        for done, items in (("created", looked.items), ("deleted", deleted)):
            if count := sum(item.outcome is Outcome.DONE for item in items):
                observer.note(f"{done} {counted(count, 'ACL')} of the target, read back")
            if self._follows:  # else they are reported in a moment
                self._complain(items, observer)

    def _pruned(self, target: Admin, plan: Sequence[AclItem], observer: Observer) -> list[AclItem]:
        """What is deleted is in a journal before."""
        deletion = self._deletion
        again = deletion.decided_again(target, plan)
        todo = planned(again)
        journal = deletion.journal(target, todo) if todo else None
        if journal is not None:
            journal.write(target.cluster_id())
        after = deletion.act(target, again)
        if journal is not None and deletion.may_have_changed:
            observer.note(f"Undo with: kcli undo {journal.id}, on the target")
        elif journal is not None:
            journal.remove()
        return after

    # --- while it follows ----------------------------------------------------------------------------

    def again(
        self,
        source: Admin,
        target: Admin,
        selection: Selection,
        topics: Mapping[str, str],
        observer: Observer,
    ) -> None:
        """Creates what the target lacks by now; one line for each change. What the source has no more is only said."""
        try:
            before = self._created
            looked = self._look(source, target, selection, topics)
        except KcliError as error:
            text = f"syncing ACLs failed: {error}"
            if may_pass(error):
                observer.detail(text)
                return
            self._failure = error
            self._say(text, observer)
            return
        self._failure = None
        for item in looked.items:
            if item.outcome is Outcome.DONE:
                observer.note(f"ACL {item.key} was created on the target")
        self._complain(looked.items, observer)
        remedy = "" if self._prunes else ": --prune-acls deletes such ACLs at a start, after a plan"
        for binding in in_order(before - self._created):
            what = "stays on the target, and the source has nothing any more that calls for it"
            observer.warn(f"ACL {binding} {what}{remedy}")

    def _look(self, source: Admin, target: Admin, selection: Selection, topics: Mapping[str, str]) -> _Looked:
        """Reads the source, and creates what the target lacks."""
        self._topics.update(topics)
        groups = self._groups()
        here = _all(source, groups)
        found = self._carried(here, self._scope(source, target, selection, groups, here))
        change = self._creation(found)
        items: Sequence[AclItem] = change.decide(target)
        if planned(items):
            items = change.act(target, items)
        done = {key for (key, _), row in self._rows.items() if row.outcome is Outcome.DONE}
        self._keep([i for i in items if i.outcome is not Outcome.UNCHANGED or i.key not in done], CREATE)
        self._hold(found)
        self._created = found.now
        return _Looked(here, groups, items, change.unsafe)

    def _carried(self, acls: Iterable[AclBinding], scope: Scope) -> Carried:
        found = carried(acls, scope, self._rules)
        return found._replace(now=found.now | found.later, later=frozenset()) if self._promoted else found

    def _creation(self, found: Carried) -> SyncedAcls:
        """What is not known may deny, too."""
        unsafe = [one.principal for one in found.unknown if one.permission != AclPermission.ALLOW]
        return SyncedAcls(found.now, {mapped_principal(name, self._rules) for name in unsafe})

    # --- the account ---------------------------------------------------------------------------------

    def _scope(
        self,
        source: Admin,
        target: Admin,
        selection: Selection,
        groups: Collection[str],
        acls: Iterable[AclBinding],
    ) -> Scope:
        """The topics of both sides are only listed where an ACL has a prefix."""
        prefixes = covering_prefixes(acls, self._topics)
        if not prefixes:
            return Scope(self._topics, groups)
        here, there = ([topic.name for topic in side.list_topics()] for side in (source, target))
        return Scope(self._topics, groups, whole_prefixes(prefixes, selection, here, there))

    def _keep(self, items: Iterable[AclItem], act: str) -> None:
        for item in items:
            self._rows[item.key, act == DELETE] = AclRow(item.key, act, item.outcome, item.error, item.note)

    def _complain(self, items: Iterable[AclItem], observer: Observer) -> None:
        """What is wrong with an ACL, once."""
        for item in items:
            if item.error is not None:
                self._say(f"ACL {item.key} of the target: {item.error}", observer)

    def _hold(self, found: Carried, there: Collection[AclBinding] = ()) -> None:
        """What is not created. ``there``: the ACLs of the target, when the plan is made."""
        old = {key: row for key, row in self._rows.items() if row.act == HOLD}
        for key in old:
            del self._rows[key]
        for binding in found.later:
            note = "the target has it already" if binding in there else HELD
            row = old.get((binding, False), AclRow(binding, HOLD, Outcome.UNCHANGED, note=note))
            self._rows[binding, False] = row
        for binding in found.unknown:
            row = AclRow(binding, CREATE, Outcome.REFUSED, _unknown(binding))
            self._rows[binding, False] = row

    def _warned(self, found: Carried, there: Collection[AclBinding]) -> Iterator[str]:
        for binding in in_order(found.later.intersection(there)):
            if binding.principal not in self._own:
                what = "what it allows may change the copy before the job is promoted"
                yield f"the target has ACL {binding} already: {what}"
        for binding in in_order(found.now.difference(there)):
            if denies_writing(binding, self._own):
                yield f"ACL {binding} is for the mirror itself, too: unless it is a super user, it cannot copy then"

    def _unused(self, acls: Iterable[AclBinding], scope: Scope) -> Iterator[str]:
        for place in unused_rules(filter(scope.concerns, acls), self._rules):
            rule = self._rules[place]
            old = rule.pattern if isinstance(rule.pattern, str) else rule.pattern.pattern
            yield f"--map-principal {old}={rule.replacement} maps no principal of the ACLs"

    def _say(self, text: str, observer: Observer) -> None:
        if text not in self._said:
            self._said.add(text)
            observer.warn(text)


def _moved(item: AclItem, left: Collection[AclBinding]) -> AclItem:
    """Refused if the source has it by now (``left``: what it does not have)."""
    if item.outcome is not Outcome.PLANNED or item.key in left:
        return item
    return item._replace(outcome=Outcome.REFUSED, error=ChangedError(f"ACL {item.key}"))


def _all(admin: Admin, groups: Collection[str]) -> set[AclBinding]:
    kinds = (AclResource.TOPIC, AclResource.GROUP) if groups else (AclResource.TOPIC,)
    return matching(admin, [AclFilter(resource=kind) for kind in kinds])


def _readable(
    admin: Admin, groups: Collection[str], denied: list[Denied], *, of_source: bool
) -> set[AclBinding]:
    """All ACLs of topics, and of groups if there are ``groups``; what is missing to list them is added to ``denied``."""
    try:
        return _all(admin, groups)
    except NoAuthorizerError as error:
        side = "source" if of_source else "target"
        raise AclSyncError(
            f"--sync-acls: the {side} has no authorizer",
            why=f"{error.why}; on the {side} there are no ACLs to {'read' if of_source else 'create'}",
            do="leave --sync-acls out",
        ) from None
    except BrokerError as error:
        if error.code != CLUSTER_AUTHORIZATION_FAILED:
            raise
        denied.append(_lacks("DESCRIBE", of_source=of_source))
        return set()


def _lacks(operation: str, *, of_source: bool) -> Denied:
    side = "source" if of_source else "target"
    what = f"{operation} on the {side} cluster, for --sync-acls"
    return Denied(None, what, on_cluster(operation), of_source)


def _is_exposed(acl: AclBinding, unsafe: Collection[str]) -> bool:
    """Whether the ACL concerns a principal of ``unsafe``; each of them is part of everyone, and everyone may be one."""
    return bool(unsafe) and (acl.principal == EVERYONE or acl.principal in unsafe or EVERYONE in unsafe)


def _exposed(binding: AclBinding) -> KcliError:
    return AclSyncError(
        f"ACL {binding} was not created",
        why="an ACL that denies the same principal something is not there, and would have to precede it",
        do="the mirror creates both as soon as it can",
    )


def _still_needed(binding: AclBinding) -> KcliError:
    return AclSyncError(
        f"ACL {binding} was not deleted",
        why="what it denies may be allowed by an ACL that could not be deleted, or not be denied by one that could not "
        "be created",
        do="run it again for a new plan",
    )


def _unknown(binding: AclBinding) -> KcliError:
    return AclSyncError(
        f"ACL {binding} of the source is not carried over",
        why="this version of kcli does not know its kind of pattern, or of permission",
        do="a newer kcli may know it",
    )
