"""What many brokers respond in the same words is decoded once; what differs is decoded as it is. Pure."""

from typing import Any

import pytest

from kcli.core.protocol import compiler
from kcli.core.protocol.messages.metadata import MetadataRequest, MetadataResponse, MetadataResponseBroker
from kcli.flows.doctor.contact import _Repeated

FIRST, LAST = MetadataRequest.versions


def frame(version: int, *, brokers: int = 3, controller: int = 1, cluster: str | None = "c") -> memoryview:
    rows = [MetadataResponseBroker(node_id=n, host=f"b{n}", port=9092, rack="r") for n in range(brokers)]
    response = MetadataResponse(
        brokers=rows, cluster_id=cluster if version > 1 else None, controller_id=controller, topics=[]
    )
    flexible = version >= MetadataRequest.flexible
    encoded, _ = compiler.encode(response, version, flexible=flexible, head=bytearray(5))
    return memoryview(bytes(encoded))


@pytest.mark.parametrize("version", range(FIRST, LAST + 1))
def test_only_the_controller_may_differ(version: int) -> None:
    repeated, flexible = _Repeated(), version >= MetadataRequest.flexible

    def decode(**what: Any) -> MetadataResponse:
        data = frame(version, **what)
        found, end = repeated.decode(MetadataResponse, data, 5, version, flexible=flexible)
        assert end == len(data)
        assert isinstance(found, MetadataResponse)
        return found

    first = decode()
    assert (len(first.brokers), first.cluster_id) == (3, "c" if version > 1 else None)
    assert decode(controller=2 if version else 1) is first
    assert decode(controller=-1 if version else 1) is first
    assert len(decode(brokers=2).brokers) == 2
    again = decode()
    assert again is not first
    assert len(again.brokers) == 3
    if version > 1:
        assert decode(cluster="d").cluster_id == "d"
