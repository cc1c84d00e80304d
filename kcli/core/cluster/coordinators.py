"""Which broker coordinates a group or a transactional id: asked for, remembered, forgotten when refuted.

Runs in the loop's thread; a lookup is a future, nothing here waits.
"""

from enum import IntEnum
from typing import Any

from kcli.core.cluster.cluster import Cluster
from kcli.core.error_codes import COORDINATOR_NOT_AVAILABLE, NONE
from kcli.core.errors import BrokerError
from kcli.core.future import Future
from kcli.core.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse

_FIRST_WITH_KEY_TYPE = 1  # version 0 knows groups only, and would take any key for one


class KeyType(IntEnum):
    """What is coordinated, with Kafka's numbers."""

    GROUP = 0
    TRANSACTION = 1


class Coordinators:
    """Answers stay until ``forget``: a broker that is asked in vain says NOT_COORDINATOR."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._known: dict[tuple[KeyType, str], int] = {}

    def known(self, key_type: KeyType, key: str) -> int | None:
        """The node id, when it was found and not refuted since."""
        return self._known.get((key_type, key))

    def forget(self, key_type: KeyType, key: str) -> None:
        """The broker is not the coordinator (any more), or cannot be reached."""
        self._known.pop((key_type, key), None)

    def find(self, key_type: KeyType, key: str) -> Future[int]:
        """Asks any broker; the future's BrokerError says why there is none at the moment."""
        found: Future[int] = Future(self._cluster.loop.wait)
        # The newest versions take a list, the older ones a name: whichever is chosen finds its field.
        request = FindCoordinatorRequest(key=key, key_type=int(key_type), coordinator_keys=[key])
        if key_type is not KeyType.GROUP:
            request.require_version(_FIRST_WITH_KEY_TYPE)
        answer = self._cluster.send(request)
        answer.on_done(lambda future: self._found(future, key_type, key, found))
        return found

    def _found(self, answer: Future[Any], key_type: KeyType, key: str, found: Future[int]) -> None:
        if answer.error is not None:
            found.set_error(answer.error)
            return
        code, node_id, message = _read(answer.value, key)
        if code != NONE:
            what = f"looking for the coordinator of {key_type.name.lower()} {key}"
            found.set_error(BrokerError(code, what, message=message))
            return
        self._known[key_type, key] = node_id
        if node_id not in self._cluster.view.nodes:
            self._cluster.request_refresh()
        found.set_result(node_id)


def _read(answer: FindCoordinatorResponse, key: str) -> tuple[int, int, str]:
    """Code, node id and message, from either form of the answer."""
    for row in answer.coordinators:
        if row.key == key:
            return row.error_code, row.node_id, row.error_message or ""
    if answer.error_code == NONE and not answer.host:
        return COORDINATOR_NOT_AVAILABLE, -1, "the answer does not name it"
    return answer.error_code, answer.node_id, answer.error_message or ""
