"""The versions of each API that every broker offers (KIP-35)."""

from collections.abc import Collection

from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.everywhere import ask_brokers, ask_every_broker
from kcli.core.connection.plan import Broker
from kcli.core.errors import KcliError
from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kcli.core.version import __version__

ApiRanges = dict[int, tuple[int, int]]
"""First and last version by the key of the API."""


def describe_api_versions(
    cluster: Cluster, deadline: float, *, broker_ids: Collection[int] | None = None
) -> dict[int, ApiRanges | KcliError]:
    """What every broker (or each of those named) offers, by node id."""

    def ask(_broker: Broker) -> Request:
        return ApiVersionsRequest(client_software_name="kcli", client_software_version=__version__)

    def read(response: ApiVersionsResponse) -> tuple[int, ApiRanges]:
        return response.error_code, {
            row.api_key: (row.min_version, row.max_version) for row in response.api_keys
        }

    what = "requesting the API versions of broker"
    if broker_ids is None:
        return ask_every_broker(cluster, ask, read, deadline, what)
    return ask_brokers(cluster, broker_ids, ask, read, deadline, what)
