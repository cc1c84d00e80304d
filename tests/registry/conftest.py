"""A registry on loopback, Confluent's client of it, and ours."""

from collections.abc import Callable, Iterator

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient

from kcli.serde.names import parse_serdes
from kcli.serde.opening import open_serdes
from kcli.serde.registry.options import RegistryOptions
from kcli.serde.serde import Serde
from tests.registry.server import RunningRegistry


@pytest.fixture
def running() -> Iterator[RunningRegistry]:
    with RunningRegistry() as found:
        yield found


@pytest.fixture
def client(running: RunningRegistry) -> SchemaRegistryClient:
    return SchemaRegistryClient({"url": running.url})


@pytest.fixture
def ours(running: RunningRegistry) -> Iterator[Callable[[str], Serde]]:
    """The serde of a text, over HTTP."""
    opened = []

    def open_one(text: str) -> Serde:
        options = RegistryOptions(schema_registry_url=running.url)
        opened.append(open_serdes(parse_serdes([text]), options, writing=True))
        assert opened[-1].value is not None
        return opened[-1].value

    yield open_one
    for serdes in opened:
        serdes.close()
