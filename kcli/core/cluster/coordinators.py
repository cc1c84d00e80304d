"""The coordinators of groups and transactional ids: looked up, cached, and forgotten when refuted.

Looks up many keys at once: one request for all keys where the broker supports it (KIP-699; KIP-347 proposed it), else
one for each key, pipelined. Which of the two depends on the versions that the broker offers, before anything is sent.
Runs in the loop's thread; a lookup is a future, nothing here blocks.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Generic

from kcli.core.classes import IntEnum
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.retry import classify_error, no_response
from kcli.core.cluster.routes import K, Nodes
from kcli.core.connection.plan import Broker, Plan
from kcli.core.error_codes import COORDINATOR_NOT_AVAILABLE, NONE
from kcli.core.errors import BrokerError, ConnectError, KcliError
from kcli.core.future import Future
from kcli.core.permissions import on_group, on_transactional_id
from kcli.core.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse

_FIRST_WITH_KEY_TYPE = 1  # version 0 has groups only, and would read any key as a group id
_FIRST_WITH_KEYS = 4

Found = dict[str, int | KcliError]
"""Key → the node id of its coordinator, or why there is none at the moment."""


class KeyType(IntEnum):
    """The kind of coordinator, with Kafka's numbers."""

    GROUP = 0
    TRANSACTION = 1


class Coordinators:
    """Results are kept until ``forget``: a broker that is not the coordinator responds with NOT_COORDINATOR."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._known: dict[tuple[KeyType, str], int] = {}

    def known(self, key_type: KeyType, key: str) -> int | None:
        """The node id, if it was found and not refuted since."""
        return self._known.get((key_type, key))

    def all_known(self, key_type: KeyType, keys: Iterable[str]) -> dict[str, int | None]:
        """``known`` of each key."""
        have = self._known
        return {
            key: have[key_type, key] if (key_type, key) in have else None  # noqa: SIM401 - unlike get not a call
            for key in keys
        }

    def learn(self, key_type: KeyType, found: Mapping[str, int]) -> None:
        """Records coordinators that were found elsewhere, by key."""
        self._known.update({(key_type, key): node_id for key, node_id in found.items()})

    def forget(self, key_type: KeyType, key: str) -> None:
        """The broker is not the coordinator (any more), or cannot be reached."""
        self._known.pop((key_type, key), None)

    def find(self, key_type: KeyType, key: str) -> Future[int]:
        """Sent to any broker; the future's BrokerError says why there is no coordinator at the moment."""
        found: Future[int] = Future(self._cluster.loop.wait)

        def take(lookup: Future[Found]) -> None:
            node_id = lookup.value[key]
            if isinstance(node_id, KcliError):
                found.set_error(node_id)
            else:
                found.set_result(node_id)

        self.find_many(key_type, [key]).on_done(take)
        return found

    def find_many(self, key_type: KeyType, keys: Iterable[str]) -> Future[Found]:
        """Asks any broker for all ``keys`` in one round trip; what is found is cached."""
        found: Future[Found] = Future(self._cluster.loop.wait)
        wanted = list(dict.fromkeys(keys))

        def take(asked: Future[Any]) -> None:
            responses = [asked] if asked.error is not None else asked.value
            parts = [wanted] if len(responses) == 1 else [[key] for key in wanted]
            rows = zip(parts, responses, strict=True)
            found.set_result({k: node for part, one in rows for k, node in self._take(key_type, part, one)})

        self._cluster.foreseen((key_type, *wanted), _lookup(key_type, wanted)).on_done(take)
        return found

    def foresee(self, key_type: KeyType, keys: Iterable[str]) -> None:
        """All ``keys`` will be looked up: see ``Cluster.foresee``."""
        wanted = list(dict.fromkeys(keys))
        if len(wanted) > _MOST_FORESEEN:
            return
        self._cluster.foresee((key_type, *wanted), _lookup(key_type, wanted))

    def _take(
        self, key_type: KeyType, keys: list[str], response: Future[Any]
    ) -> Iterable[tuple[str, int | KcliError]]:
        if response.error is not None and not isinstance(response.error, KcliError):
            raise response.error
        rows = {} if response.error is not None else _rows(response.value, keys)
        for key in keys:
            if isinstance(response.error, KcliError):
                yield key, response.error
                continue
            code, node_id, message = rows.get(key, _UNNAMED)
            if code != NONE:
                what = f"looking for the coordinator of {key_type.name.lower()} {key}"
                needs = on_group("DESCRIBE", key) if key_type is KeyType.GROUP else on_transactional_id(key)
                yield key, BrokerError(code, what, message=message, needs=[needs])
                continue
            self._known[key_type, key] = node_id
            # A broker that has just joined may be the coordinator before metadata lists it.
            if node_id not in self._cluster.view.nodes:
                self._cluster.request_refresh()
            yield key, node_id


_MOST_FORESEEN = 20
"""Keys: each is a request of its own before the versions of the broker are known, all are one afterwards."""
_UNNAMED = (COORDINATOR_NOT_AVAILABLE, -1, "the response does not name it")


def _lookup(key_type: KeyType, keys: list[str]) -> Plan:
    def write(broker: Broker) -> list[FindCoordinatorRequest]:
        many = broker.version(FindCoordinatorRequest) >= _FIRST_WITH_KEYS
        return [_request(key_type, part) for part in ([keys] if many else [[key] for key in keys])]

    return Plan(write, any_version=True)


def _request(key_type: KeyType, keys: list[str]) -> FindCoordinatorRequest:
    # The newest versions take a list, the older ones one key: both fields are set.
    request = FindCoordinatorRequest(key=keys[0], key_type=int(key_type), coordinator_keys=keys)
    if key_type is not KeyType.GROUP:
        request.require_version(_FIRST_WITH_KEY_TYPE)
    return request


def _rows(response: FindCoordinatorResponse, keys: list[str]) -> dict[str, tuple[int, int, str]]:
    """Code, node id and message of each key, from either form of the response."""
    if response.coordinators:
        return {r.key: (r.error_code, r.node_id, r.error_message or "") for r in response.coordinators}
    if len(keys) != 1 or (response.error_code == NONE and not response.host):
        return {}
    return {keys[0]: (response.error_code, response.node_id, response.error_message or "")}


class ToCoordinator(Generic[K]):
    """Routes keys to the coordinator of the group or transactional id that ``name`` returns for each."""

    def __init__(
        self,
        cluster: Cluster,
        coordinators: Coordinators,
        name: Callable[[K], str],
        key_type: KeyType = KeyType.GROUP,
    ) -> None:
        self._cluster = cluster
        self._coordinators = coordinators
        self._name: Callable[[K], str] = name
        self._key_type = key_type

    def find_nodes(self, keys: Collection[K], deadline: float) -> Nodes[K]:
        """Looks up unknown coordinators, all in one round trip."""
        names = {key: self._name(key) for key in keys}
        known = self._coordinators.all_known(self._key_type, names.values())
        unknown = [name for name, node in known.items() if node is None]
        found = self._look_up(unknown, deadline) if unknown else {}
        find_nodes: Nodes[K] = {}
        for key, name in names.items():
            node = known[name]
            find_nodes[key] = found[name] if node is None else node
        return find_nodes

    def renew(self, errors: Mapping[K, KcliError], deadline: float) -> None:  # noqa: ARG002
        """Forgets the coordinators that were refuted or cannot be reached."""
        for key, error in errors.items():
            lost = isinstance(error, ConnectError)
            if lost or classify_error(error).refresh == "coordinator":
                self._coordinators.forget(self._key_type, self._name(key))
            if lost:
                # The broker may be gone for good: then the next coordinator is one that metadata has to list
                # first.
                self._cluster.request_refresh()

    def _look_up(self, names: list[str], deadline: float) -> dict[str, int | KcliError]:
        left = max(0.0, deadline - self._cluster.loop.now())
        for share in (
            (1.0,) if self._cluster.silence is None else (0.5, 0.5)
        ):  # of two brokers one may be silent
            lookup = self._coordinators.find_many(self._key_type, names)
            self._cluster.poll(left * share, lookup)
            if lookup.done:
                return lookup.value
        return dict.fromkeys(names, no_response(self._cluster.waits_for()))
