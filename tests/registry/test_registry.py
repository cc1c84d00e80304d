"""Our client over HTTP: connections that are kept, failover, and what a dead registry looks like."""

from typing import Any

import pytest

from kcli.core.options import key_of
from kcli.serde.errors import RegistryError, RegistryUnreachableError, SchemaNotFoundError
from kcli.serde.registry.client import Registry
from kcli.serde.registry.options import RegistryOptions, parse_registry_pairs
from tests.registry.server import RunningRegistry


def registry(url: str, **options: Any) -> Registry:
    pairs = [(key_of(name), str(value), "") for name, value in options.items()]
    return Registry(RegistryOptions.build({"schema_registry_url": url, **parse_registry_pairs(pairs)}))


def dead_url() -> str:
    """An address where nobody listens any more."""
    with RunningRegistry() as gone:
        return gone.url


def test_one_connection_for_many_requests(running: RunningRegistry) -> None:
    for number in range(5):
        running.content.register("s", {"schema": f'{{"type":"fixed","name":"F","size":{number + 1}}}'})
    one = registry(running.url)
    texts = {one.by_id(number).text for number in range(1, 6)}
    with pytest.raises(SchemaNotFoundError):
        one.by_id(99)
    assert one.subject_of(1) == "s version 1"
    assert one.latest("s").version == 5
    assert len(texts) == 5
    assert running.connections == 1
    assert len(running.content.asked) == 8
    one.close()


def test_the_next_address_is_tried_when_one_is_dead(running: RunningRegistry) -> None:
    running.content.register("s", {"schema": '"int"'})
    one = registry(f"{dead_url()},{running.url}")
    assert one.by_id(1).text == '"int"'


def test_errors_that_pass_are_not_seen(running: RunningRegistry) -> None:
    running.content.register("s", {"schema": '"int"'})
    running.content.fail(500, 50001, times=2)
    assert registry(running.url).by_id(1).text == '"int"'
    assert len(running.content.asked) == 3


def test_a_dead_registry_is_reported_with_its_address() -> None:
    url = dead_url()
    with pytest.raises(RegistryUnreachableError) as caught:
        registry(url, schema_registry_max_retries=1).by_id(1)
    assert url in caught.value.why
    assert caught.value.exit_code == 3


def test_another_server_is_reported(running: RunningRegistry) -> None:
    running.content.lie(b"<html>hello</html>")
    with pytest.raises(RegistryError, match="is not JSON"):
        registry(running.url).by_id(1)
