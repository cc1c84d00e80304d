"""Which messages the proxy reads: those that name brokers, and those that its record tells more about.

They come from kcli's own tables, which work in both directions. Everything else passes as bytes.
"""

from kcli.core.protocol.api import API_VERSIONS, Request
from kcli.core.protocol.messages.describe_cluster import DescribeClusterRequest
from kcli.core.protocol.messages.end_txn import EndTxnRequest
from kcli.core.protocol.messages.fetch import FetchRequest
from kcli.core.protocol.messages.find_coordinator import FindCoordinatorRequest
from kcli.core.protocol.messages.init_producer_id import InitProducerIdRequest
from kcli.core.protocol.messages.metadata import MetadataRequest
from kcli.core.protocol.messages.produce import ProduceRequest

PRODUCE, FETCH = ProduceRequest.api_key, FetchRequest.api_key
INIT_PRODUCER_ID = InitProducerIdRequest.api_key

FETCH_NAMES_NODES = 16  # the version that may name new leaders (KIP-951)

KNOWN: dict[int, type[Request]] = {
    api.api_key: api
    for api in (
        ProduceRequest,
        FetchRequest,
        MetadataRequest,
        FindCoordinatorRequest,
        InitProducerIdRequest,
        EndTxnRequest,
        DescribeClusterRequest,
    )
}


def name_of_api(key: int) -> str:
    """The API's name, or its number where the proxy does not read it."""
    if key == API_VERSIONS:
        return "ApiVersions"
    return KNOWN[key].api_name if key in KNOWN else f"Api{key}"


def reads_request(api: int) -> bool:
    """Whether the record tells what is in such a request."""
    return api in (PRODUCE, INIT_PRODUCER_ID)


def reads_answer(api: int, version: int) -> bool:
    """Whether such an answer may name brokers, or is told about in the record."""
    if api == FETCH:
        return version >= FETCH_NAMES_NODES
    return api in KNOWN
