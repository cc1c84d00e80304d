"""``kcli apply``: changes a cluster to what files describe, by the changes of other verbs.

What a document does not name is left as it is, unless it is to be exact; resources that no document describes are left,
unless they are to be pruned. An apply decides by the state of the cluster, so one that was stopped goes on with the same
line.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial

from kcli.account.change import Item
from kcli.account.outcomes import Outcome
from kcli.account.survey import Missing
from kcli.core.admin.acls import AclBinding, AclPattern, AclPermission, AclResource
from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigChange, ConfigKind, ConfigOp, ConfigResource
from kcli.core.admin.quotas import QuotaEntity
from kcli.core.classes import NamedTuple, dataclass, field
from kcli.core.errors import AuthError, BrokerError, ConfigError, KcliError, UnsupportedError
from kcli.core.exit_codes import ExitCode
from kcli.core.names import is_own_group, is_own_topic
from kcli.core.permissions import AclOperation
from kcli.core.secret import Secret
from kcli.core.types import TopicSpec
from kcli.flows.acls.create import AclCreation
from kcli.flows.acls.delete import ExactAclDeletion
from kcli.flows.configs.alter import ConfigAlterOfEach
from kcli.flows.configs.key_changes import NoKeyError
from kcli.flows.configs.resources import ALL_BROKERS, shown_name
from kcli.flows.groups.delete_offsets import OffsetDeletion
from kcli.flows.permitted import hidden
from kcli.flows.quotas.alter import QuotaAlteration
from kcli.flows.reassign.change import Moving
from kcli.flows.reassign.placement import TopicPlacement, Wanted
from kcli.flows.resources import steps
from kcli.flows.resources.comparison import compare, is_placed
from kcli.flows.resources.differences import Difference, is_of_kafka
from kcli.flows.resources.faults import place_text
from kcli.flows.resources.later_offsets import LaterOffsets, partitions_to_be
from kcli.flows.resources.names import quota_entity
from kcli.flows.resources.passwords import NoPasswordError, Passwords
from kcli.flows.resources.resource import Kind, Ref, Resource, nearest_place
from kcli.flows.resources.stages import (
    CHANGE,
    CREATE,
    DELETE,
    Composed,
    Stage,
    StagedChange,
    Step,
    StepItem,
    Told,
    as_wanted,
    not_planned,
)
from kcli.flows.resources.state import PLURALS
from kcli.flows.rewind.change import OffsetsChange
from kcli.flows.rewind.text import Where
from kcli.flows.topics.alter import TopicAlter
from kcli.flows.topics.create import TopicCreation
from kcli.flows.topics.delete import TopicDeletion
from kcli.flows.topics.partitions import many_partitions
from kcli.flows.transfer.change import FileOffsets, OffsetImport, offset_import
from kcli.flows.transfer.importing import ImportRequest, import_targets
from kcli.flows.transfer.saved_offset import SavedOffset
from kcli.flows.users import DEFAULT_ITERATIONS
from kcli.flows.users.delete import UserDeletion
from kcli.flows.users.set import UserSetting
from kcli.output.progress import counted

_TOPICS_AT_ONCE, _PARTITIONS_AT_ONCE = 200, 2_000
"""Of a request that creates topics: controllers refuse more than 10,000 records (MAX_RECORDS_PER_USER_OP)."""
_LOCATED = (ExitCode.USAGE, ExitCode.REFUSED)
_OFFSETS = "Set the offsets of group"
_CONFIG_KINDS = {
    Kind.TOPIC: ConfigKind.TOPIC,
    Kind.BROKER_CONFIG: ConfigKind.BROKER,
    Kind.GROUP_CONFIG: ConfigKind.GROUP,
}


class Wish(NamedTuple):
    """What is to be: the ``resources`` of files. ``exact``: what is set on them and is not named is removed. ``prune``:
    of these kinds, what ``match`` selects (None: all) and no file describes is deleted.
    """

    resources: Sequence[Resource]
    exact: bool = False
    prune: Collection[Kind] = ()
    match: str | None = None


class How(NamedTuple):
    """``moving``: how replicas are moved. ``passwords`` reads those of users. ``where`` names the cluster in plans of
    offsets. ``dry``: nothing will be changed.
    """

    moving: Moving
    passwords: Passwords
    where: Where
    dry: bool = False


@dataclass
class _Sorted:
    """What is to be done, by the change that does it."""

    topics: list[TopicSpec] = field(default_factory=list)
    growth: dict[int, list[str]] = field(default_factory=dict)
    placed: dict[str, Wanted] = field(default_factory=dict)
    acls: list[AclBinding] = field(default_factory=list)
    credentials: dict[str, dict[str, int]] = field(default_factory=dict)
    limits: dict[QuotaEntity, dict[str, float | None]] = field(default_factory=dict)
    keys: dict[ConfigResource, list[ConfigChange]] = field(default_factory=dict)
    offsets: list[SavedOffset] = field(default_factory=list)
    # what removes something
    exact_keys: dict[ConfigResource, list[ConfigChange]] = field(default_factory=dict)
    exact_limits: dict[QuotaEntity, dict[str, float | None]] = field(default_factory=dict)
    acls_left: list[AclBinding] = field(default_factory=list)
    mechanisms_left: dict[str, list[str]] = field(default_factory=dict)
    offsets_left: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    topics_left: list[str] = field(default_factory=list)


class Apply(StagedChange):
    """See ``Wish`` and ``How``."""

    kind = "Apply"
    printed_by = "apply"
    command = "apply"
    nothing = ""

    def __init__(self, wish: Wish, how: How) -> None:
        super().__init__()
        self.wish, self.how = wish, how
        self._wanted = {one.ref: one for one in wish.resources}
        self._located: dict[int, KcliError] = {}
        self._hidden: list[str] = []

    # what is to be done

    def compose(self, admin: Admin) -> Composed:
        """The stages of what differs; the rest is as wanted, or could not be read."""
        wish = self.wish
        found = compare(admin, wish.resources, exact=wish.exact, prune=wish.prune, match=wish.match)
        sorted_, asked = _Sorted(), {}
        listed = ["topics"] if Kind.TOPIC in wish.prune else []
        moving, self._hidden = admin.together(lambda: self._moving(admin), lambda: hidden(admin, *listed))
        for one in found.items:
            if one.wanted is None and _is_kept(one.ref):
                continue
            act = CREATE if one.now is None else DELETE if one.wanted is None else CHANGE
            asked[one.ref] = as_wanted(one.ref) if one.is_equal else not_planned(one.ref, act)
            if one.wanted is not None and one.ref in moving:
                sorted_.placed[one.ref.name] = _placement(one.wanted)
            if one.is_equal:
                continue
            if one.wanted is None:
                if one.now is not None:
                    _PRUNE[one.ref.kind](sorted_, one.now)
            elif one.ref.kind is Kind.ACL_BINDING:
                sorted_.acls.append(_binding(one.wanted))
            elif one.ref.kind is Kind.TOPIC and one.now is None:
                sorted_.topics.append(_new_topic(one.wanted))
            elif one.ref.kind is Kind.USER and one.now is None:
                _set_mechanisms(sorted_, one.wanted, one.wanted.spec.get("mechanisms", {}))
            else:
                _SORT[one.ref.kind](sorted_, one.wanted, one.differences)
        known = {one.ref for one in found.items}
        return Composed(list(self._stages(sorted_)), list(self._unread(known, found.missing)), asked)

    def _moving(self, admin: Admin) -> set[Ref]:
        """The topics whose replicas are wanted somewhere, and are being moved: what is begun is waited for."""
        placed = {one.ref for one in self.wish.resources if is_placed(one)}
        try:
            return placed & {
                Ref(Kind.TOPIC, tp.topic) for tp in (admin.list_reassignments() if placed else ())
            }
        except (AuthError, BrokerError, UnsupportedError):  # then nothing is said of moves
            return set()

    def _unread(self, known: Collection[Ref], missing: Sequence[Missing]) -> Iterator[StepItem]:
        """What could not be read is not changed: documents, and what might have to be deleted."""
        errors = {part.what: part.error for part in missing}
        for ref in self._wanted:
            if ref not in known:
                error = errors.pop(str(ref), None) or errors[f"all {PLURALS[ref.kind]}"]
                yield Item(Step(ref), Told(), Outcome.REFUSED, error)
        for what, error in errors.items():
            kind = next(
                (one for one in self.wish.prune if what in (f"all {PLURALS[one]}", PLURALS[one])), None
            )
            kind = kind or next((one for one in self.wish.prune if what.startswith(f"{one} ")), None)
            if kind is not None:
                yield Item(Step(Ref(kind, f"({what})")), Told(DELETE), Outcome.REFUSED, error)

    # where it is in the files

    def decide(self, admin: Admin) -> list[StepItem]:
        """All steps; a key that brokers do not have stands against all of them."""
        try:
            return super().decide(admin)
        except NoKeyError as error:
            ref = Ref(steps.CONFIGURED[error.resource.kind], shown_name(error.resource))
            raise self._at(error, ref, ("config", error.key)) from None

    def _items(self) -> list[StepItem]:
        """What is refused of one resource only says where a file asks for it."""
        items, refs = super()._items(), dict[int, set[Ref]]()
        for item in items:
            refs.setdefault(id(item.error), set()).add(item.key.ref)
        for item in items:
            if item.error is not None and item.error.exit_code in _LOCATED and len(refs[id(item.error)]) == 1:
                section, _, rest = item.key.part.partition(".")
                self._at(item.error, item.key.ref, (section, rest))
        return items

    def _at(self, error: KcliError, ref: Ref, path: tuple[str, ...]) -> KcliError:
        if (wanted := self._wanted.get(ref)) is not None and id(error) not in self._located:
            self._located[id(error)] = error
            place = nearest_place(wanted, path)
            if place.file:
                error.what = f"{place_text(place)}: {error.what}"
        return error

    # the stages

    def _stages(self, found: _Sorted) -> Iterator[Stage]:
        how = self.how
        making = [
            steps.creation(TopicCreation(specs, may_exist=True, dry_run=how.dry))
            for specs in _batches(found.topics)
        ]
        making += [
            steps.added_partitions(TopicAlter(names, [], count, named=False))
            for count, names in sorted(found.growth.items())
        ]
        yield from making
        if found.placed:
            grown = {name: count for count, names in found.growth.items() for name in names}
            yield steps.placement(TopicPlacement(found.placed, grown, how.moving))
        if found.acls:
            yield steps.acls(AclCreation(found.acls), CREATE, found.acls)
        if found.credentials:
            yield steps.credentials(UserSetting(found.credentials, given=self._password))
        if found.limits:
            yield steps.quotas(QuotaAlteration(found.limits, _is_known), destroys=False)
        if found.keys:
            yield steps.configs(ConfigAlterOfEach(found.keys), destroys=False)
        yield from self._of_groups(found, making)
        if found.exact_keys:
            yield steps.configs(ConfigAlterOfEach(found.exact_keys), destroys=True)
        if found.exact_limits:
            yield steps.quotas(QuotaAlteration(found.exact_limits, _is_known), destroys=True)
        if found.acls_left:
            yield steps.acls(ExactAclDeletion(found.acls_left), DELETE, found.acls_left)
        if found.mechanisms_left:
            yield steps.credentials(UserDeletion(found.mechanisms_left, may_lack=True))
        for group, topics in found.offsets_left.items():
            yield steps.removal(OffsetDeletion(group, list(topics.items()), may_lack=True), steps.offset_step)
        if found.topics_left:
            yield steps.removal(TopicDeletion(found.topics_left, may_lack=True), steps.topic_step)

    def _password(self, user: str) -> Secret | KcliError:
        try:
            return self.how.passwords.of(self._wanted[Ref(Kind.USER, user)])
        except NoPasswordError as error:
            return error

    def _of_groups(self, found: _Sorted, making: Sequence[Stage]) -> Iterator[Stage]:
        """Groups with offsets in partitions that are created before have a stage of their own each."""
        new = {spec.name for spec in found.topics}.union(*found.growth.values())
        later = {saved.group for saved in found.offsets if saved.topic in new}
        if at_once := [saved for saved in found.offsets if saved.group not in later]:
            yield steps.offsets(self._offsets(at_once))
        for group in dict.fromkeys(saved.group for saved in found.offsets if saved.group in later):
            some = [saved for saved in found.offsets if saved.group == group]
            yield steps.offsets(self._offsets(some, making, LaterOffsets))

    def _offsets(
        self,
        saved: Sequence[SavedOffset],
        making: Sequence[Stage] = (),
        kind: type[OffsetImport] = OffsetImport,
    ) -> OffsetsChange:
        request = ImportRequest(in_range="correct the offset in the file; nothing was done to it")
        targets, where = import_targets(saved, request), self.how.where
        to_be = partial(partitions_to_be, making)
        file = FileOffsets("", saved, targets, request, "the offsets of the files", to_be, _OFFSETS)
        return offset_import(file, where, partial_file=True, again=False, dry=self.how.dry, kind=kind)

    # the account

    def needs_name(self, stage: Stage) -> bool:
        """Topics are deleted by their names, as by the verb that does nothing else."""
        return isinstance(stage.change, TopicDeletion)

    def after(self, stage: Stage) -> None:
        """The journal gets the ids of topics that were created."""
        if isinstance(stage.change, TopicCreation):
            made = (item for item in stage.plan if item.outcome is Outcome.DONE)
            self.keep_ids({item.key: item.facts.topic_id or "" for item in made})

    def warnings(self, plan: Sequence[StepItem]) -> Iterator[str]:
        """With it that what is in no file need not all be known."""
        yield from self._hidden
        yield from super().warnings(plan)

    def unchanged(self, plan: Sequence[StepItem]) -> Iterator[str]:
        """That all is as wanted."""
        if plan and all(item.outcome is Outcome.UNCHANGED for item in plan):
            count = len({item.key.ref for item in plan})
            yield f"nothing is to be changed: {counted(count, 'resource')} {'is' if count == 1 else 'are'} as wanted"


# which change makes a difference


def _topic(into: _Sorted, wanted: Resource, differs: Sequence[Difference]) -> None:
    name, spec = wanted.ref.name, wanted.spec
    paths = {one.path[0] for one in differs}
    if "partitions" in paths:
        into.growth.setdefault(spec["partitions"], []).append(name)
    if paths & {"assignment", "replication_factor"}:
        into.placed[name] = _placement(wanted)
    _config(into, wanted, differs)


def _placement(wanted: Resource) -> Wanted:
    """Where the replicas are to be: the assignment of a document has the number of replicas, too."""
    if placed := wanted.spec.get("assignment"):
        return Wanted(replicas={int(number): tuple(brokers) for number, brokers in placed.items()})
    return Wanted(factor=wanted.spec["replication_factor"])


def _new_topic(wanted: Resource) -> TopicSpec:
    spec = wanted.spec
    placed = spec.get("assignment", {})
    if placed and sorted(placed) != list(range(len(placed))):
        raise ConfigError(
            f"topic {wanted.ref.name} cannot be created: its assignment does not have each partition from 0 on",
            why=f"{wanted.place} has partitions {', '.join(map(str, sorted(placed)))}",
            do="complete spec.assignment, or leave it out: then the controller places the replicas",
        )
    return TopicSpec(
        wanted.ref.name,
        len(placed) or spec.get("partitions", -1),
        len(placed[0]) if placed else spec.get("replication_factor", -1),
        {key: value for key, value in spec.get("config", {}).items() if value is not None},
        tuple(tuple(placed[number]) for number in sorted(placed)),
    )


def _config(into: _Sorted, wanted: Resource, differs: Sequence[Difference]) -> None:
    keys = wanted.spec.get("config", {})
    paths = [one.path[1] for one in differs if one.path[0] == "config"]
    changes = [_change(key, keys.get(key)) for key in paths]
    if changes:
        exact = any(key not in keys for key in paths)
        (into.exact_keys if exact else into.keys)[_configured(wanted.ref)] = changes


def _change(key: str, value: str | None) -> ConfigChange:
    return ConfigChange(key, None, ConfigOp.DELETE) if value is None else ConfigChange(key, value)


def _configured(ref: Ref) -> ConfigResource:
    default = ref.kind is Kind.BROKER_CONFIG and ref.name == ALL_BROKERS
    return ConfigResource(_CONFIG_KINDS[ref.kind], "" if default else ref.name)


def _binding(acl: Resource) -> AclBinding:
    spec = acl.spec
    return AclBinding(
        AclResource[spec["resource_type"].upper()],
        spec["resource_name"],
        AclPattern[spec["pattern"].upper()],
        spec["principal"],
        AclPermission[spec["permission"].upper()],
        AclOperation[spec["operation"].upper()],
        spec["host"],
    )


def _user(into: _Sorted, wanted: Resource, differs: Sequence[Difference]) -> None:
    named = wanted.spec.get("mechanisms", {})
    for mechanism in dict.fromkeys(one.path[1] for one in differs if one.path[0] == "mechanisms"):
        if mechanism in named:
            _set_mechanisms(into, wanted, [mechanism])
        else:
            into.mechanisms_left.setdefault(wanted.ref.name, []).append(mechanism)


def _set_mechanisms(into: _Sorted, wanted: Resource, mechanisms: Iterable[str]) -> None:
    for mechanism in mechanisms:
        settings = wanted.spec["mechanisms"][mechanism] or {}
        iterations = settings.get("iterations") or DEFAULT_ITERATIONS
        into.credentials.setdefault(wanted.ref.name, {})[mechanism] = iterations


def _quota(into: _Sorted, wanted: Resource, differs: Sequence[Difference]) -> None:
    limits = wanted.spec["limits"]
    paths = [one.path[1] for one in differs if one.path[0] == "limits"]
    changes = {key: None if limits.get(key) is None else float(limits[key]) for key in paths}
    exact = any(key not in limits for key in paths)
    (into.exact_limits if exact else into.limits)[quota_entity(wanted.spec)] = changes


def _offsets(into: _Sorted, wanted: Resource, differs: Sequence[Difference]) -> None:
    group, offsets = wanted.ref.name, wanted.spec["offsets"]
    for _, topic, number in (one.path for one in differs if one.path[0] == "offsets"):
        offset = offsets.get(topic, {}).get(int(number))
        if offset is None:
            into.offsets_left.setdefault(group, {}).setdefault(topic, []).append(int(number))
        else:
            into.offsets.append(SavedOffset(topic, int(number), offset, group))


_SORT: Mapping[Kind, Callable[[_Sorted, Resource, Sequence[Difference]], None]] = {
    Kind.TOPIC: _topic,
    Kind.USER: _user,
    Kind.QUOTA: _quota,
    Kind.BROKER_CONFIG: _config,
    Kind.GROUP_CONFIG: _config,
    Kind.GROUP_OFFSETS: _offsets,
}


# what no file describes


def _left_topic(into: _Sorted, now: Resource) -> None:
    into.topics_left.append(now.ref.name)


def _left_acl(into: _Sorted, now: Resource) -> None:
    into.acls_left.append(_binding(now))


def _left_user(into: _Sorted, now: Resource) -> None:
    into.mechanisms_left[now.ref.name] = list(now.spec["mechanisms"])


def _left_quota(into: _Sorted, now: Resource) -> None:
    into.exact_limits[quota_entity(now.spec)] = dict.fromkeys(now.spec["limits"])


def _left_config(into: _Sorted, now: Resource) -> None:
    into.exact_keys[_configured(now.ref)] = [
        _change(key, None)
        for key, entry in sorted(now.entries.items())
        if not entry.is_default and not is_of_kafka(now.ref, key)
    ]


_PRUNE: Mapping[Kind, Callable[[_Sorted, Resource], None]] = {
    Kind.TOPIC: _left_topic,
    Kind.ACL_BINDING: _left_acl,
    Kind.USER: _left_user,
    Kind.QUOTA: _left_quota,
    Kind.BROKER_CONFIG: _left_config,
    Kind.GROUP_CONFIG: _left_config,
}


def _is_kept(ref: Ref) -> bool:
    """Topics and groups of kcli's own."""
    if ref.kind is Kind.TOPIC:
        return is_own_topic(ref.name)
    return ref.kind is Kind.GROUP_CONFIG and is_own_group(ref.name)


def _is_known(_key: str) -> None:
    """Brokers check the keys of quotas."""


def _batches(topics: Iterable[TopicSpec]) -> Iterator[list[TopicSpec]]:
    """As many topics as a request may create. One with very many partitions is alone: its name has to be typed."""
    batch: list[TopicSpec] = []
    partitions = 0
    for spec in topics:
        count = max(spec.partitions, 1)
        if many_partitions(count) is not None:
            yield [spec]
            continue
        if batch and (len(batch) == _TOPICS_AT_ONCE or partitions + count > _PARTITIONS_AT_ONCE):
            yield batch
            batch, partitions = [], 0
        batch.append(spec)
        partitions += count
    if batch:
        yield batch
