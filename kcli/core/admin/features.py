"""The features and versions that brokers report (ApiVersions: KIP-35, KIP-584)."""

from collections.abc import Collection, Mapping

from kcli.core.admin.feature_levels import METADATA_VERSION, release_of
from kcli.core.classes import dataclass
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.everywhere import ask_brokers, ask_every_broker
from kcli.core.connection.plan import Broker
from kcli.core.errors import KcliError
from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.version import __version__


@dataclass(frozen=True, slots=True)
class BrokerFeatures:
    """``supported``: lowest and highest level by feature name. ``finalized``: the levels in force in the cluster.

    ``epoch`` orders what brokers report as finalized; −1 if the broker reports none (before Kafka 2.7). ``produce``: the
    highest version of the Produce request, which tells releases apart also where no features do (ZooKeeper).
    """

    supported: Mapping[str, tuple[int, int]]
    finalized: Mapping[str, int]
    epoch: int
    produce: int = 0

    @property
    def release(self) -> str | None:
        """The release of Kafka that the broker runs, such as ``4.3``; None if it cannot be told.

        Brokers do not report it: it is that of the highest metadata.version they support. Brokers before 3.3 and
        those of ZooKeeper clusters support none.
        """
        return release_of(self.supported.get(METADATA_VERSION, (0, 0))[1])


def describe_features(
    cluster: Cluster, deadline: float, *, broker_ids: Collection[int] | None = None
) -> dict[int, BrokerFeatures | KcliError]:
    """The features of every broker (or of those named), by node id."""

    def ask(_broker: Broker) -> Request:
        return ApiVersionsRequest(client_software_name="kcli", client_software_version=__version__)

    def read(response: ApiVersionsResponse) -> tuple[int, BrokerFeatures]:
        return response.error_code, BrokerFeatures(
            {row.name: (row.min_version, row.max_version) for row in response.supported_features},
            {row.name: row.max_version_level for row in response.finalized_features},
            response.finalized_features_epoch,
            next((row.max_version for row in response.api_keys if row.api_key == ProduceRequest.api_key), 0),
        )

    what = "requesting the features of broker"
    if broker_ids is not None:
        return ask_brokers(cluster, broker_ids, ask, read, deadline, what)
    return ask_every_broker(cluster, ask, read, deadline, what)
