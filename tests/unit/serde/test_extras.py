"""A library that is missing is named with the extra that brings it, before anything is read."""

import sys

import pytest

from kcli.core.errors import ConfigError
from kcli.core.extras import installation
from kcli.serde.names import parse_serdes
from kcli.serde.opening import open_serdes
from kcli.serde.registry.client import Registry
from kcli.serde.registry.options import RegistryOptions
from tests.registry.fake import FakeRegistry
from tests.unit.serde.schemas import OPTIONS, registry


@pytest.mark.parametrize(
    ("name", "library", "writing"),
    [("avro", "fastavro", False), ("protobuf", "google.protobuf", False), ("jsonschema", "jsonschema", True)],
)
def test_the_extra_is_named(name: str, library: str, writing: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ConfigError) as caught:
        open_serdes(parse_serdes([name]), OPTIONS, writing=writing)
    assert caught.value.do == installation(name)
    assert caught.value.exit_code == 2


def test_extras_are_those_of_the_package(project_text) -> None:
    import tomllib

    extras = tomllib.loads(project_text("pyproject.toml"))["project"]["optional-dependencies"]
    assert {"avro", "protobuf", "jsonschema", "schemas"} <= extras.keys()


def test_the_registry_is_closed_with_the_serdes(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = []
    monkeypatch.setattr(Registry, "close", lambda self: closed.append(self))  # noqa: PLW0108 - a method
    one = registry(FakeRegistry())
    with open_serdes(parse_serdes(["avro"]), RegistryOptions(), registry=one):
        assert not closed
    assert closed == [one]


def test_what_is_written_is_prepared_for_both_parts() -> None:
    found = FakeRegistry()
    for part in ("key", "value"):
        found.register(f"orders-{part}", {"schema": '"int"'})
    with open_serdes(parse_serdes(["avro"]), writing=True, registry=registry(found)) as serdes:
        serdes.prepare("orders")
    assert found.asked == [f"GET /subjects/orders-{part}/versions/latest" for part in ("key", "value")]
