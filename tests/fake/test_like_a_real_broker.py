"""The judge is judged: the same requests, by hand, to the fake and to a real broker must get the same answers."""

import itertools
import time

import pytest

from kcli.core.protocol.messages.api_versions import ApiVersionsRequest
from tests.fake import (
    admin_scenarios,
    group_scenarios,
    producing_scenarios,
    reading_scenarios,
    transaction_scenarios,
)
from tests.fake.apis import APIS
from tests.fake.cluster import FakeCluster
from tests.fake.raw_broker import RawBroker
from tests.fake.raw_client import RawClient

pytestmark = pytest.mark.integration

_names = itertools.count()
SCENARIOS = (
    producing_scenarios.batches_and_acks,
    producing_scenarios.sequences,
    reading_scenarios.places,
    reading_scenarios.fetch_sessions,
    reading_scenarios.names,
    transaction_scenarios.new_transactions,
    transaction_scenarios.old_transactions,
    transaction_scenarios.fencing,
    group_scenarios.strangers,
    group_scenarios.members,
    group_scenarios.new_members,
    admin_scenarios.records,
    admin_scenarios.partitions,
    admin_scenarios.configs,
    admin_scenarios.replicas,
    admin_scenarios.throttles,
    admin_scenarios.producers,
    admin_scenarios.disks,
    admin_scenarios.users,
)


@pytest.fixture(scope="module")
def fake():
    with FakeCluster(1, fetch_sessions=True) as made:
        yield made.address(1)


@pytest.fixture
def both(fake, kafka):
    """The fake and the real broker, each with the topic, group and transactional id of this test."""
    name = f"like-{next(_names)}-{time.time_ns()}"
    with RawClient(fake) as one, RawClient(kafka.bootstrap.split(",")[0], timeout=30) as two:
        made = [RawBroker(client, name, f"g{name}", f"t{name}") for client in (one, two)]
        for broker in made:
            assert broker.create(name) == 0
        yield made


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.__name__)
def test_same_answers(both, scenario):
    fake, real = both
    differences = [
        f"{name}:\n  fake {got}\n  real {expected}"
        for (name, got), (_, expected) in zip(scenario(fake), scenario(real), strict=True)
        if got != expected
    ]
    assert not differences, "\n".join(differences)


def test_same_versions(both):
    ask = ApiVersionsRequest(client_software_name="raw", client_software_version="1")
    fake, real = (
        {row.api_key: (row.min_version, row.max_version) for row in broker.client.ask(ask, 4).api_keys}
        for broker in both
    )
    assert fake == {api.kind.api_key: real[api.kind.api_key] for api in APIS}
