"""A fresh proxy before the run's broker, for each test."""

from collections.abc import Iterator

import pytest

from tests.kafka import Kafka
from tests.proxy.proxy import Proxy


@pytest.fixture
def proxy(kafka: Kafka) -> Iterator[Proxy]:
    with Proxy(kafka.bootstrap) as proxy:
        yield proxy
