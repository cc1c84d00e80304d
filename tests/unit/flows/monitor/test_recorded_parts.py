"""What single screens show, in a file and back; lines without it, and damaged ones."""

import json
from dataclasses import replace
from typing import Any

import pytest

from kcli.core.errors import AuthError, ConfigError
from kcli.flows.monitor.cluster_reading import NO_PARTS, Part, Parts
from kcli.flows.monitor.opened_topic import opened_topic
from kcli.flows.monitor.recording import document_of, read_line
from tests.tui.made_up import readings

WHOLE = next(iter(readings(1)))


def again(document: dict[str, Any]) -> Parts:
    return read_line(json.dumps(document).encode(), "it").parts


def test_what_is_read_back_is_what_was_recorded() -> None:
    parts, found = WHOLE.parts, again(document_of(WHOLE))
    assert (found.quorum, found.transactions) == (_plain(parts.quorum), _plain(parts.transactions))
    assert found.mirrors == _plain(parts.mirrors)
    assert found.configs == _plain(parts.configs)
    reading = read_line(json.dumps(document_of(WHOLE)).encode(), "it")
    assert document_of(reading) == document_of(WHOLE)


def _plain(part: Part[Any] | None) -> Part[Any]:
    assert part is not None
    return part._replace(errors=list(part.errors))


def test_what_could_not_be_read_is_recorded_with_the_reason() -> None:
    error = AuthError("describing the controllers failed", why="no permission", do="ask")
    one = replace(WHOLE, parts=Parts(quorum=Part(errors=[error]), mirrors=Part(absent="nothing like that")))
    found = again(document_of(one))
    assert found.quorum is not None
    assert found.mirrors is not None
    assert found.quorum.value is None
    assert [(part.what, part.why, part.code) for part in found.quorum.lacks] == [
        ("describing the controllers failed", "no permission", error.exit_code)
    ]
    assert found.mirrors.absent == "nothing like that"
    assert (found.transactions, found.configs) == (None, None)


def test_a_line_of_an_older_version_has_none() -> None:
    document = document_of(WHOLE)
    for name in ("quorum", "transactions", "mirrors", "configs"):
        del document[name]
    for topic in document["topics"]:
        del topic["partition_bytes"]
    assert again(document) == NO_PARTS
    found = opened_topic(read_line(json.dumps(document).encode(), "it"), "orders")
    assert found is not None
    assert found.value is not None
    assert (found.value.configs, dict(found.value.sizes)) == (None, {})
    assert len(found.value.ends) == 4


def test_a_key_that_a_later_version_adds_is_no_fault() -> None:
    document = document_of(WHOLE)
    document["mirrors"]["value"][0]["new"] = 1
    document["transactions"]["value"][0]["new"] = [2]
    assert again(document) == again(document_of(WHOLE))


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("quorum", "leader", "1"),
        ("quorum", "replicas", [[1, 2, 3, 4, 5]]),
        ("quorum", "replicas", [[1, True, 3, 4]]),
        ("quorum", "endpoints", {"x": "a:1"}),
        ("transactions", "partitions", ["orders-0"]),
        ("transactions", "since_ms", None),
        ("mirrors", "updated_ms", 1 << 60),
        ("mirrors", "worst", [["t", 0, "copying", 1]]),
        ("mirrors", "states", {"copying": "1"}),
    ],
)
def test_a_damaged_value_is_no_recorded_sample(name: str, key: str, value: object) -> None:
    document = document_of(WHOLE)
    inner = document[name]["value"]
    (inner[0] if isinstance(inner, list) else inner)[key] = value
    with pytest.raises(ConfigError, match="not a recorded sample"):
        again(document)


def test_the_topic_of_a_recording_has_its_partitions_sizes_and_what_is_set_on_it() -> None:
    reading = read_line(json.dumps(document_of(WHOLE)).encode(), "it")
    found = opened_topic(reading, "orders")
    assert found is not None
    assert found.value is not None
    assert found.value.info.name == "orders"
    assert {tp.topic for tp in found.value.ends} == {"orders"}
    assert all(found.value.sizes.values())
    assert [one.name for one in found.value.configs or ()] == ["min.insync.replicas", "retention.ms"]
    empty = opened_topic(reading, "clicks")
    assert empty is not None
    assert empty.value is not None
    assert empty.value.configs == ()
    assert opened_topic(reading, "no such topic") is None


def test_where_configurations_are_missing_a_topic_without_any_is_not_known() -> None:
    configs = WHOLE.parts.configs
    assert configs is not None
    partly = replace(
        WHOLE, parts=replace(WHOLE.parts, configs=configs._replace(errors=[AuthError("no", why="no")]))
    )
    for name, known in (("orders", True), ("clicks", False)):
        found = opened_topic(partly, name)
        assert found is not None
        assert found.value is not None
        assert (found.value.configs is not None) is known
