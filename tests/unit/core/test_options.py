"""Options: every one declared once, spelled in two ways, checked when it is read."""

import dataclasses
from typing import Any

import pytest

from kcli.core.errors import ConfigError
from kcli.core.foreign_options import JAVA_KEYS, LIBRDKAFKA_KEYS
from kcli.core.options import (
    ALL_OPTIONS,
    ClientOptions,
    ConsumerOptions,
    ProducerOptions,
    build,
    field_of,
    is_option,
    key_of,
    parse_pairs,
    parse_value,
)
from tests.each import each

FIELDS = [(options, f) for options in ALL_OPTIONS for f in dataclasses.fields(options)]


def parsed(key: str, text: str) -> Any:
    return parse_value(field_of(key), text)


@each("options, field", FIELDS)
def test_every_option_has_help_and_a_legal_default(options: type[ClientOptions], field: Any) -> None:
    assert len(field.metadata["doc"]) > 10
    default = getattr(options(), field.name)
    if field.metadata["choices"]:
        assert default in field.metadata["choices"]
    if field.metadata["low"] is not None:
        assert default >= field.metadata["low"]
    if isinstance(default, (bool, int, float, str)) and not isinstance(default, bool):
        assert parsed(key_of(field.name), str(default)) == default or default == ""


@each("options, field", FIELDS)
def test_every_spelling_finds_its_option(options: type[ClientOptions], field: Any) -> None:
    if field.metadata["in_code"]:
        assert not is_option(key_of(field.name))
        return
    for spelling in (key_of(field.name), *field.metadata["aliases"]):
        assert field_of(spelling).name == field.name


def test_no_spelling_means_two_options() -> None:
    seen: dict[str, str] = {}
    for _, field in FIELDS:
        for spelling in (key_of(field.name), *field.metadata["aliases"]):
            assert seen.setdefault(spelling, field.name) == field.name
    assert not (JAVA_KEYS | LIBRDKAFKA_KEYS) & seen.keys()


def test_keys_are_kafkas() -> None:
    assert key_of("linger_ms") == "linger.ms"
    assert field_of("message.timeout.ms").name == "delivery_timeout_ms"


@pytest.mark.parametrize(
    ("key", "near"),
    [("linger.mss", "linger.ms"), ("bootstrap.servers ", "bootstrap.servers"), ("ack", "acks")],
)
def test_an_unknown_key_names_the_nearest_one(key: str, near: str) -> None:
    with pytest.raises(ConfigError) as error:
        field_of(key, "client.properties")
    assert near in error.value.do
    assert "client.properties" in str(error.value)


def test_a_key_like_no_other_points_to_the_list() -> None:
    with pytest.raises(ConfigError) as error:
        field_of("qqqqqq")
    assert "help options" in error.value.do


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("linger.ms", "0.5", 0.5),
        ("batch.size", "100", 100),
        ("enable.idempotence", "FALSE", False),
        ("check.crcs", "1", True),
        ("acks", "ALL", "all"),
        ("security.protocol", "ssl", "SSL"),
        ("client.id", "me", "me"),
        ("compression.level", "3", 3),
    ],
)
def test_values_are_read_by_their_type(key: str, text: str, value: object) -> None:
    assert parsed(key, text) == value


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("linger.ms", "soon"),
        ("linger.ms", "-1"),
        ("batch.size", "0"),
        ("batch.size", "1.5"),
        ("enable.idempotence", "maybe"),
        ("acks", "2"),
        ("partitioner", "best"),
        ("send.buffer.bytes", "-2"),
        ("receive.message.max.bytes", "999"),
        ("request.timeout.ms", "0"),
        ("linger.ms", "nan"),
        ("linger.ms", "inf"),
    ],
)
def test_an_illegal_value_is_refused_with_the_legal_ones(key: str, text: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse_value(field_of(key), text, "--option")
    assert key in str(error.value)
    assert "--option" in str(error.value)
    assert error.value.exit_code == 2


def test_later_pairs_win() -> None:
    pairs = [("acks", "1", "file"), ("request.required.acks", "0", "-X")]
    assert parse_pairs(pairs) == {"acks": "0"}


def test_building_leaves_out_what_another_client_has() -> None:
    values = {"linger_ms": 1.0, "client_id": "c", "fetch_min_bytes": 5}
    assert build(ProducerOptions, values).linger_ms == 1.0
    assert build(ConsumerOptions, values).fetch_min_bytes == 5
    assert build(ClientOptions, values).client_id == "c"


def test_options_are_keywords_and_frozen() -> None:
    with pytest.raises(TypeError):
        ClientOptions("host:9092")  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        ClientOptions().client_id = "x"  # type: ignore[misc]


@pytest.mark.case("X1")
def test_the_largest_response_has_room_for_a_fetch() -> None:
    """Otherwise fetch.max.bytes alone, raised, would make a reader refuse what it asked for."""
    assert ClientOptions().largest_response == 100 << 20
    assert ConsumerOptions().largest_response == 100 << 20
    assert ConsumerOptions(fetch_max_bytes=200 << 20).largest_response > 200 << 20
    by_hand = ConsumerOptions(fetch_max_bytes=200 << 20, receive_message_max_bytes=2000)
    assert by_hand.largest_response == 2000
