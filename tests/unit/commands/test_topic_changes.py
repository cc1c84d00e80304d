"""The plan of ``kcli topics alter``: values compared as brokers do, secrets, keys that cannot be changed."""

import pytest

from kcli.commands._topic_changes import (
    PlannedChange,
    Requested,
    is_applied,
    plan_row,
    planned_changes,
    requested_changes,
)
from kcli.commands._topic_config_values import same_value
from kcli.core.admin.configs import ConfigEntry


def entry(value: str | None, kind: str = "", *, source: str = "topic", secret: bool = False) -> ConfigEntry:
    return ConfigEntry("k", value, source, secret, type=kind)


def plan(change: str, value: str | None, found: ConfigEntry) -> PlannedChange:
    (planned,) = planned_changes("t", [Requested("k", change, value)], [found])
    return planned


@pytest.mark.parametrize(
    ("kind", "value", "other", "same"),
    [
        ("double", "0.5", "0.50", True),
        ("long", "1000", "01000", True),
        ("long", "1000", "1_000", False),
        ("long", "1000", "1001", False),
        ("boolean", "true", "TRUE", True),
        ("boolean", "true", "false", False),
        ("string", "1.0", "1.00", False),
        ("string", "gzip", " gzip ", True),
        ("list", "a,b", "b, a", True),
        ("list", "a,b", "a", False),
        ("", "0.5", "0.50", True),
        ("", None, "x", False),
    ],
)
def test_values_are_compared_as_brokers_do(kind: str, value: str | None, other: str, same: bool) -> None:
    assert same_value(kind, value, other) is same


def test_a_read_only_key_is_refused() -> None:
    found = ConfigEntry("k", "1", "static broker", is_sensitive=False, read_only=True)
    error = plan("set", "2", found).error
    assert error is not None
    assert (error.exit_code, "read-only" in error.why) == (7, True)


def test_a_secret_is_not_shown_and_always_set_again() -> None:
    planned = plan("set", "hidden", entry(None, "password", secret=True))
    assert planned.needed
    assert "hidden" not in str(plan_row(planned))
    assert plan_row(planned)["new"] == "(secret)"
    assert is_applied(planned, entry(None, "password", secret=True))
    assert not is_applied(planned, entry(None, "password", source="default", secret=True))


def test_unset_shows_the_value_that_applies_next() -> None:
    synonyms = (("k", "5", "topic"), ("log.k", "7", "dynamic broker"), ("log.k", "9", "default"))
    found = ConfigEntry("k", "5", "topic", is_sensitive=False, synonyms=synonyms)
    assert plan("unset", None, found).new == "7"


def test_a_value_equal_to_the_default_is_set_where_the_topic_has_none() -> None:
    assert plan("set", "5", entry("5", "long", source="default")).needed
    assert not plan("set", "5", entry("5", "long")).needed


def test_elements_are_verified_whatever_else_the_list_has() -> None:
    appended = plan("append", "b", entry("a", "list"))
    assert (appended.new, is_applied(appended, entry("x,b", "list"))) == ("a,b", True)
    assert not is_applied(appended, entry("a", "list"))
    removed = plan("remove", "b", entry("a,b", "list"))
    assert (removed.new, is_applied(removed, entry("a,c", "list"))) == ("a", True)
    assert not is_applied(removed, entry("a,b", "list"))


def test_repeated_elements_are_one_change() -> None:
    assert requested_changes((), (), ("k=a", "k=b"), ()) == [Requested("k", "append", "a,b")]
