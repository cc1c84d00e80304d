"""Lists groups from every broker, and deletes them at their coordinators.

"Unknown" in response to a repeated request means done: the group does not exist when the response to its deletion
was lost, or when its last offset was deleted (coordinators before 4.0 then drop it). Tested in
``tests/fault/test_admin.py``.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from kcli.core.classes import dataclass
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.coordinators import Coordinators, KeyType, ToCoordinator
from kcli.core.cluster.everywhere import ALL_LISTED, Unlisted, ask_coordinators, foresee_brokers
from kcli.core.cluster.fanout import Items, Part, fan_out, verdict
from kcli.core.connection.plan import Broker
from kcli.core.error_codes import GROUP_ID_NOT_FOUND
from kcli.core.errors import BrokerError, ConfigError, KcliError, too_old
from kcli.core.names import unknown_group
from kcli.core.near_names import near_names
from kcli.core.permissions import Permission, on_group
from kcli.core.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from kcli.core.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from kcli.core.protocol.table import Table

STATES = (
    "PreparingRebalance",
    "CompletingRebalance",
    "Stable",
    "Dead",
    "Empty",
    "Assigning",
    "Reconciling",
    "NotReady",
)
TYPES = ("classic", "consumer", "share", "streams")

COORDINATORS = "__consumer_offsets"
"""The topic whose partitions' leaders are the coordinators of groups."""
_NAMES = ["group_id", "protocol_type", "group_state", "group_type"]
_FIRST_WITH_STATES = 4
_FIRST_WITH_TYPES = 5


@dataclass(frozen=True, slots=True)
class ListedGroup:
    """A group as listed by its coordinator. ``state`` and ``type`` are empty if the broker is too old to report them.

    ``protocol_type`` is ``consumer``, ``connect``, …; empty for a group that has only committed offsets.
    ``coordinator`` is a node id.
    """

    group_id: str
    protocol_type: str
    state: str
    type: str
    coordinator: int

    @property
    def is_of_consumers(self) -> bool:
        """Whether Kafka's script for consumer groups lists it."""
        return self.type in ("", "classic", "consumer") and self.protocol_type in ("", "consumer")


@dataclass(frozen=True, slots=True)
class GroupListing:
    """``groups`` by name, each once. ``errors``: the brokers (by node id) whose groups are missing here, and why;
    ``offline``: the coordinators that no broker is, whose groups are missing too. ``unsure`` and ``unlisted``: see
    ``Responses``.
    """

    groups: tuple[ListedGroup, ...]
    errors: Mapping[int, KcliError]
    offline: KcliError | None = None
    unsure: bool = False
    unlisted: Unlisted = ALL_LISTED

    @property
    def missing(self) -> tuple[KcliError, ...]:
        """Why groups are missing."""
        return (*self.errors.values(), *([self.offline] if self.offline is not None else ()))

    @property
    def is_partial(self) -> bool:
        """Whether groups are missing."""
        return bool(self.missing)


def list_groups(
    cluster: Cluster,
    coordinators: Coordinators,
    deadline: float,
    *,
    states: Collection[str] = (),
    types: Collection[str] = (),
) -> GroupListing:
    """All groups, or those in one of ``states`` (KIP-518) and of one of ``types`` (KIP-848), ignoring case.

    A broker too old for a filter is among the errors. Raises the first error if no broker responded, or none coordinates
    groups, and ConfigError for a state or type that does not exist: brokers would return no groups for it.
    """
    wanted_states = [_spelled(state, STATES, "state") for state in states]
    wanted_types = [_spelled(kind, TYPES, "type") for kind in types]

    def ask(broker: Broker) -> ListGroupsRequest:
        version = broker.version(ListGroupsRequest)
        if wanted_states and version < _FIRST_WITH_STATES:
            raise too_old(f"{broker.name} cannot filter groups by state", _FIRST_WITH_STATES, version)
        if version < _FIRST_WITH_TYPES and set(wanted_types) - {"classic"}:  # the broker has no other type
            raise too_old(f"{broker.name} cannot filter groups by type", _FIRST_WITH_TYPES, version)
        return ListGroupsRequest(states_filter=wanted_states, types_filter=wanted_types)

    def read(response: ListGroupsResponse) -> tuple[int, ListGroupsResponse]:
        return response.error_code, response

    responses = ask_coordinators(
        cluster, ask, read, deadline, "listing the groups of broker", topic=COORDINATORS, of_what="groups"
    )
    found = responses.found
    errors = {number: response for number, response in found.items() if isinstance(response, KcliError)}
    if errors and len(errors) == len(found):
        raise next(iter(errors.values()))
    listed = [
        ListedGroup(group, protocol, state, kind.lower(), number)
        for number, response in found.items()
        if not isinstance(response, KcliError)
        for group, protocol, state, kind in _values(response)
    ]
    if responses.nobody and responses.offline is not None and not listed:
        raise responses.offline
    groups = tuple(_once(cluster, coordinators, listed, deadline))
    return GroupListing(groups, errors, responses.offline, responses.unsure, responses.unlisted)


def foresee_listing(cluster: Cluster) -> None:
    """Groups will be listed: see ``Cluster.foresee``."""
    foresee_brokers(cluster, COORDINATORS)


def _values(response: ListGroupsResponse) -> Iterable[tuple[str, str, str, str]]:
    groups = response.groups
    if isinstance(groups, Table) and groups.names == _NAMES:
        return groups.tuples
    return ((row.group_id, row.protocol_type, row.group_state, row.group_type) for row in groups)


def _spelled(word: str, known: Sequence[str], what: str) -> str:
    for one in known:
        if one.lower() == word.lower():
            return one
    near = near_names(word.lower(), known) or near_names(word.capitalize(), known)
    raise ConfigError(
        f"there is no group {what} {word!r}",
        why=f"there are {', '.join(known)}",
        do=f"did you mean {near[0]}?" if near else "choose one of them",
    )


def _once(
    cluster: Cluster, coordinators: Coordinators, listed: Sequence[ListedGroup], deadline: float
) -> list[ListedGroup]:
    """Each group once, by name. While coordinators move, two may list a group: then the current coordinator's counts.

    The broker that lists a group is its coordinator, so no lookup is needed.
    """
    by_name: dict[str, ListedGroup] = {}
    twice: dict[str, list[ListedGroup]] = {}
    for row in listed:
        other = by_name.setdefault(row.group_id, row)
        if other is not row:
            twice.setdefault(row.group_id, [other]).append(row)
    coordinators.learn(KeyType.GROUP, {name: row.coordinator for name, row in by_name.items()})
    if twice:
        lookup = coordinators.find_many(KeyType.GROUP, twice)
        cluster.poll(max(0.0, deadline - cluster.loop.now()), lookup)
    for name, rows in twice.items():
        now_at = coordinators.known(KeyType.GROUP, name)
        by_name[name] = next((row for row in rows if row.coordinator == now_at), rows[0])
    return [by_name[name] for name in sorted(by_name)]


def delete_groups(
    cluster: Cluster,
    coordinators: Coordinators,
    names: Sequence[str],
    deadline: float,
    *,
    emptied: Collection[str] = (),
) -> dict[str, KcliError | None]:
    """Deletes groups without members, with their committed offsets (KIP-229); None on success.

    NON_EMPTY_GROUP for a group with members, NotFoundError for an unknown group. ``emptied`` are groups whose offsets
    this client has deleted: coordinators before 4.0 drop a group with its last offset, so an unknown one counts as
    deleted.
    """
    unsure: set[str] = set()

    def ask(_broker: Broker, items: Items[str, None]) -> list[Part[str]]:
        groups = [group for group, _ in items]
        return [Part(DeleteGroupsRequest(groups_names=groups), groups)]

    def read(response: DeleteGroupsResponse, _part: Part[str]) -> Iterator[tuple[str, int | KcliError, None]]:
        for row in response.results:
            what = f"deleting group {row.group_id}"
            yield row.group_id, verdict(row.error_code, what, row.error_message, needs(row.group_id)), None

    def needs(group: str) -> list[Permission]:
        return [on_group("DELETE", group)]

    route = ToCoordinator[str](cluster, coordinators, str)
    items = dict.fromkeys(names)
    found = fan_out(
        cluster,
        items,
        route,
        ask,
        read,
        deadline,
        "deleting group",
        unsure=unsure,
        needs=needs,
    )
    return {group: _deleted(group, error, {*unsure, *emptied}) for group, error in found.items()}


def _deleted(group: str, error: KcliError | None, may_be_gone: Collection[str]) -> KcliError | None:
    if not isinstance(error, BrokerError) or error.code != GROUP_ID_NOT_FOUND:
        return error
    return None if group in may_be_gone else unknown_group(group)
