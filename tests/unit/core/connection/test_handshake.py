"""What is said before the first request, driven step by step."""

from typing import Any

import pytest

from kcli import __version__
from kcli.core.connection.handshake import BrokerApiVersions, handshake
from kcli.core.connection.steps import Send
from kcli.core.errors import BrokerError, UnsupportedError
from kcli.core.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsResponse,
    FinalizedFeatureKey,
)
from kcli.core.types import Node

NODE = Node(1, "b", 9092)


def answer(error: int = 0, highest: int | None = 4, **fields: Any) -> ApiVersionsResponse:
    keys = [] if highest is None else [ApiVersion(api_key=18, min_version=0, max_version=highest)]
    return ApiVersionsResponse(error_code=error, api_keys=keys, **fields)


def finish(steps: Any, last: ApiVersionsResponse) -> BrokerApiVersions:
    with pytest.raises(StopIteration) as end:
        steps.send(last)
    offer: BrokerApiVersions = end.value.value.offer
    return offer


def test_one_round_trip_when_the_broker_knows_the_version() -> None:
    steps = handshake(NODE)
    first = next(steps)
    assert (first.version, type(first)) == (3, Send)
    features = [FinalizedFeatureKey(name="metadata.version", max_version_level=29)]
    offer = finish(steps, answer(finalized_features=features))
    assert offer.apis == {18: (0, 4)}
    assert offer.features == {"metadata.version": 29}


def test_it_names_itself() -> None:
    request: Any = next(handshake(NODE)).request
    assert (request.client_software_name, request.client_software_version) == ("kcli", __version__)


@pytest.mark.parametrize(("highest", "asked"), [(0, 0), (2, 2), (None, 0), (9, 3)])
def test_a_refused_version_is_asked_again_in_one_that_the_broker_knows(
    highest: int | None, asked: int
) -> None:
    steps = handshake(NODE)
    next(steps)
    assert steps.send(answer(35, highest)).version == asked
    assert finish(steps, answer()).apis == {18: (0, 4)}


@pytest.mark.case("B14")
def test_a_broker_that_refuses_every_version_is_not_asked_indefinitely() -> None:
    steps = handshake(Node(-1, "broker", 9092))
    next(steps)
    steps.send(answer(35, 3))
    with pytest.raises(UnsupportedError, match="broker:9092 and kcli share no version of ApiVersions"):
        steps.send(answer(35, 3))


@pytest.mark.parametrize("code", [42, -1, 29])
def test_another_error_ends_it(code: int) -> None:
    steps = handshake(NODE)
    next(steps)
    with pytest.raises(BrokerError) as error:
        steps.send(answer(code))
    assert error.value.code == code


ZOOKEEPER = dict.fromkeys((4, 5, 6, 7), (0, 3))


@pytest.mark.parametrize(
    ("apis", "features", "known"),
    [
        pytest.param(ZOOKEEPER, {}, True, id="ZooKeeper"),
        pytest.param({3: (0, 12), 58: (0, 0)}, {}, False, id="KRaft of 3.0 and 3.1"),
        pytest.param({3: (0, 12), 11: (0, 9)}, {}, False, id="KRaft of 3.2"),
        pytest.param(
            {3: (0, 12)}, {"metadata.version": 1}, False, id="KRaft of 3.3, not finalized since 3.0"
        ),
        pytest.param({3: (0, 12)}, {"metadata.version": 4}, True, id="KRaft of 3.3"),
        pytest.param(
            {3: (0, 13)}, {"metadata.version": 30, "transaction.version": 2}, True, id="KRaft of 4.3"
        ),
        pytest.param({3: (0, 9), 19: (0, 7), 37: (0, 3), 44: (0, 1)}, {}, False, id="another implementation"),
    ],
)
def test_validate_only_is_trusted_by_what_the_broker_reports(
    apis: dict[int, tuple[int, int]], features: dict[str, int], known: bool
) -> None:
    assert BrokerApiVersions(apis, features).honours_validate_only is known
