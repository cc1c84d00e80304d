"""What differs between a resource as it is and as it is wanted, kind by kind."""

from typing import Any

import pytest

from kcli.core.admin.configs import ConfigEntry
from kcli.flows.configs.key_changes import HIDDEN
from kcli.flows.resources.differences import Difference, differences
from kcli.flows.resources.resource import Kind, Ref, Resource


def resource(kind: Kind, spec: dict[str, Any], *entries: ConfigEntry) -> Resource:
    return Resource(Ref(kind, "x"), spec, entries={entry.name: entry for entry in entries})


def entry(
    name: str, value: str | None, *, kind: str = "", default: bool = False, secret: bool = False
) -> ConfigEntry:
    return ConfigEntry(name, value, "default" if default else "topic", secret, type=kind)


@pytest.mark.parametrize(
    ("kind", "now", "wanted", "same"),
    [
        ("list", "compact,delete", "delete, compact", True),
        ("list", "compact", "compact,delete", False),
        ("boolean", "true", "TRUE", True),
        ("double", "0.5", ".5", True),
        ("double", "0.5", "0.6", False),
        ("long", "100", "100", True),
        ("string", "producer", "Producer", True),  # brokers have a form of their own
        ("string", "zstd", "lz4", False),
        ("", "a,b", "b,a", False),  # whether it is a list is not known
    ],
)
def test_values_are_compared_as_brokers_read_them(kind: str, now: str, wanted: str, same: bool) -> None:
    is_now = resource(Kind.TOPIC, {"partitions": 1, "replication_factor": 1}, entry("k", now, kind=kind))
    is_wanted = resource(Kind.TOPIC, {"config": {"k": wanted}})
    expected = [] if same else [Difference(("config", "k"), now, wanted)]
    assert differences(is_now, is_wanted) == expected
    assert differences(is_now, is_wanted, exact=True) == expected


TOPIC = resource(
    Kind.TOPIC,
    {"partitions": 3, "replication_factor": 1, "assignment": {0: [1], 1: [2], 2: [1]}},
    entry("own", "1"),
    entry("inherited", "2", default=True),
)
USER = resource(
    Kind.USER, {"mechanisms": {"SCRAM-SHA-256": {"iterations": 4096}, "SCRAM-SHA-512": {"iterations": 5000}}}
)
QUOTA = resource(Kind.QUOTA, {"entity": {"user": "a"}, "limits": {"x": 5, "y": 1.5}})
BROKER = resource(
    Kind.BROKER_CONFIG,
    {"config": {}},
    entry("set.password", None, kind="password", secret=True),
    entry("unset.password", None, kind="password", default=True, secret=True),
    entry("threads", "1", default=True),
)
OFFSETS = resource(Kind.GROUP_OFFSETS, {"offsets": {"t": {0: 5, 1: 6}}})
OF_PASSWORDS = {"set.password": "other", "unset.password": "s3cret", "plug.in": "s3cret", "threads": "1"}

TABLE: list[tuple[Resource, dict[str, Any], list[Difference], list[Difference]]] = [
    # of a file, what differs, and what differs further where it is to be exact
    (TOPIC, {"partitions": 3, "replication_factor": 1}, [], [Difference(("config", "own"), "1", None)]),
    (TOPIC, {"config": {"own": "1"}}, [], []),
    (TOPIC, {"config": {"own": None}}, [Difference(("config", "own"), "1", None)], []),
    (TOPIC, {"config": {"own": "1", "inherited": "2"}}, [], [Difference(("config", "inherited"), None, "2")]),
    (
        TOPIC,
        {"partitions": 4, "replication_factor": 2, "config": {"own": "1"}},
        [Difference(("partitions",), 3, 4), Difference(("replication_factor",), 1, 2)],
        [],
    ),
    (
        TOPIC,
        {"assignment": {0: [1], 1: [1], 3: [2]}, "config": {"own": "1", "new": "7"}},
        [
            Difference(("assignment", "1"), [2], [1]),
            Difference(("assignment", "3"), None, [2]),
            Difference(("config", "new"), None, "7"),
        ],
        [],
    ),
    (
        USER,
        {"mechanisms": {"SCRAM-SHA-256": {}}, "password_file": "/p"},
        [],
        [Difference(("mechanisms", "SCRAM-SHA-512", "iterations"), 5000, None)],
    ),
    (
        USER,
        {"mechanisms": {"SCRAM-SHA-256": {"iterations": 8192}, "SCRAM-SHA-512": {"iterations": 5000}}},
        [Difference(("mechanisms", "SCRAM-SHA-256", "iterations"), 4096, 8192)],
        [],
    ),
    (
        QUOTA,
        {"entity": {"user": "a"}, "limits": {"x": 5.0, "z": 1}},
        [Difference(("limits", "z"), None, 1)],
        [Difference(("limits", "y"), 1.5, None)],
    ),
    (
        BROKER,
        {"config": OF_PASSWORDS},
        [
            Difference(("config", "unset.password"), None, HIDDEN),
            Difference(("config", "plug.in"), None, HIDDEN),
        ],
        [Difference(("config", "threads"), None, "1")],
    ),
    (BROKER, {"config": {}}, [], [Difference(("config", "set.password"), HIDDEN, None)]),
    (
        OFFSETS,
        {"offsets": {"t": {0: 7}, "u": {0: 1}}},
        [Difference(("offsets", "t", "0"), 5, 7), Difference(("offsets", "u", "0"), None, 1)],
        [Difference(("offsets", "t", "1"), 6, None)],
    ),
    (resource(Kind.ACL_BINDING, {"principal": "User:a"}), {"principal": "User:a"}, [], []),
]


@pytest.mark.parametrize(("now", "spec", "found", "further"), TABLE)
def test_what_a_file_does_not_name_is_a_difference_only_where_it_is_to_be_exact(
    now: Resource, spec: dict[str, Any], found: list[Difference], further: list[Difference]
) -> None:
    wanted = resource(now.ref.kind, spec)
    assert differences(now, wanted) == found
    assert differences(now, wanted, exact=True) == found + further
    assert "s3cret" not in str(differences(now, wanted, exact=True))


def test_partitions_with_different_numbers_of_replicas_have_no_replication_factor() -> None:
    moving = resource(Kind.TOPIC, {"partitions": 2, "assignment": {0: [1, 2], 1: [1, 2, 3]}})
    wanted = resource(Kind.TOPIC, {"replication_factor": 3})
    assert differences(moving, wanted) == [Difference(("replication_factor",), "2 or 3", 3)]


@pytest.mark.parametrize("kind", Kind)
def test_of_what_is_on_one_side_only_every_value_differs(kind: Kind) -> None:
    one = resource(kind, {"a": {"b": 1, "c": {"d": 2}}, "e": [3], "empty": {}})
    values = {("a", "b"): 1, ("a", "c", "d"): 2, ("e",): [3]}
    assert differences(None, one) == [Difference(path, None, value) for path, value in values.items()]
    assert differences(one, None) == [Difference(path, value, None) for path, value in values.items()]
    assert differences(None, None) == []


def test_a_credential_of_any_number_of_iterations_is_missing_where_the_user_is() -> None:
    user = resource(Kind.USER, {"mechanisms": {"SCRAM-SHA-512": {}}})
    assert differences(None, user) == [Difference(("mechanisms", "SCRAM-SHA-512"), None, {})]
