"""Fences the producers of transactional ids: their open transactions are aborted by the coordinator (KIP-618).

InitProducerId with the same id raises the epoch: what the former producer sends afterwards is rejected with
INVALID_PRODUCER_EPOCH or PRODUCER_FENCED. Needs WRITE on the transactional id.
"""

from collections.abc import Iterator, Mapping

from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.coordinators import Coordinators, KeyType, ToCoordinator
from kcli.core.cluster.fanout import Items, Part, fan_out
from kcli.core.connection.plan import Broker
from kcli.core.errors import KcliError
from kcli.core.permissions import on_transactional_id
from kcli.core.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse


def fence_producers(
    cluster: Cluster, coordinators: Coordinators, timeouts: Mapping[str, int], deadline: float
) -> dict[str, KcliError | None]:
    """None for each id whose producer is fenced and whose transaction, if one was open, is aborted.

    ``timeouts`` has the ``transaction.timeout.ms`` of each id, which the coordinator keeps for it. An id that does not
    exist is created by this request: pass only those that are known to exist.
    """

    def ask(_broker: Broker, items: Items[str, int]) -> list[Part[str]]:
        return [
            Part(InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=timeout), [name])
            for name, timeout in items
        ]

    def read(response: InitProducerIdResponse, part: Part[str]) -> Iterator[tuple[str, int, None]]:
        for name in part.keys:
            yield name, response.error_code, None

    return fan_out(
        cluster,
        timeouts,
        ToCoordinator[str](cluster, coordinators, str, KeyType.TRANSACTION),
        ask,
        read,
        deadline,
        "fencing the producer of transactional id",
        needs=lambda name: [on_transactional_id(name)],
    )
