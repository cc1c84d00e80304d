"""What a change of a configuration does to its value, and whether it has been done."""

import pytest

from kcli.core import ConfigChange, ConfigEntry, ConfigKind, ConfigOp, ConfigResource
from kcli.flows.config_changes import PlannedChange, is_done, plan, unknown_key

TOPIC = ConfigResource(ConfigKind.TOPIC, "orders")


def entry(value: str | None, source: str = "topic", *, secret: bool = False, kind: str = "") -> ConfigEntry:
    below = (("key", "9", "static broker"), ("key", "10", "default"))
    own = (("key", value, source),) if source == "topic" else ()
    return ConfigEntry("key", value, source, secret, type=kind, synonyms=(*own, *below))


def planned(change: ConfigChange, found: ConfigEntry | None) -> PlannedChange:
    entries = {"key": found} if found is not None else {}
    (row,) = plan(TOPIC, [change], entries, entries or {"key": entry(None, "default")})
    return row


@pytest.mark.parametrize(
    ("change", "found", "new", "source"),
    [
        (ConfigChange("key", "5"), entry("4"), "5", "topic"),
        (ConfigChange("key", None, ConfigOp.DELETE), entry("4"), "9", "static broker"),
        (ConfigChange("key", None, ConfigOp.DELETE), entry("9", "static broker"), "9", "static broker"),
        (ConfigChange("key", None, ConfigOp.DELETE), None, None, "default"),
        (ConfigChange("key", "b,c", ConfigOp.APPEND), entry("a,b"), "a,b,c", "topic"),
        (ConfigChange("key", "b,c", ConfigOp.SUBTRACT), entry("a, b"), "a", "topic"),
        (ConfigChange("key", "b", ConfigOp.APPEND), None, "b", "topic"),
    ],
)
def test_the_value_that_a_change_leads_to(
    change: ConfigChange, found: ConfigEntry | None, new: str | None, source: str
) -> None:
    row = planned(change, found)
    assert (row.new, row.new_source) == (new, source)


def test_a_change_to_the_same_value_has_no_effect() -> None:
    assert not planned(ConfigChange("key", "4"), entry("4")).has_effect
    assert planned(ConfigChange("key", "9"), entry("9", "static broker")).has_effect
    assert not planned(ConfigChange("key", None, ConfigOp.DELETE), entry("9", "default")).has_effect
    assert planned(ConfigChange("key", "x"), entry(None, secret=True)).has_effect


def test_secrets_and_keys_that_are_not_listed_have_no_values() -> None:
    row = planned(ConfigChange("key", "x"), entry(None, secret=True))
    assert (row.sensitive, row.old, row.new) == (True, None, None)
    (row,) = plan(TOPIC, [ConfigChange("other", "x")], {}, {"key": entry("4")})
    assert (row.sensitive, row.new) == (True, None)


@pytest.mark.parametrize(
    ("change", "after", "done"),
    [
        (ConfigChange("key", "5"), entry("5"), True),
        (ConfigChange("key", "5"), entry("4"), False),
        (ConfigChange("key", "5"), entry("5", "default"), False),
        (ConfigChange("key", "5"), None, False),
        (ConfigChange("key", "b,a"), entry("a,b", kind="list"), True),
        (ConfigChange("key", "x"), entry(None, secret=True), True),
        (ConfigChange("key", None, ConfigOp.DELETE), entry("9", "default"), True),
        (ConfigChange("key", None, ConfigOp.DELETE), None, True),
        (ConfigChange("key", None, ConfigOp.DELETE), entry("4"), False),
        (ConfigChange("key", "c", ConfigOp.APPEND), entry("a,c"), True),
        (ConfigChange("key", "c", ConfigOp.APPEND), entry("a"), False),
        (ConfigChange("key", "a", ConfigOp.SUBTRACT), entry("b"), True),
        (ConfigChange("key", "a", ConfigOp.SUBTRACT), entry("a,b"), False),
    ],
)
def test_what_was_read_back_is_compared_with_the_plan(
    change: ConfigChange, after: ConfigEntry | None, done: bool
) -> None:
    assert is_done(planned(change, entry("4")), after) is done


@pytest.mark.parametrize(
    ("key", "open_ended", "expected"),
    [
        ("retention.ms", False, (False, None)),
        ("retention.mss", False, (True, "retention.ms")),
        ("retention.mss", True, (True, "retention.ms")),
        ("zzz", False, (True, None)),
        ("zzz", True, (False, None)),
        ("listener.name.retention.ms", True, (False, "retention.ms")),
    ],
)
def test_unknown_keys_are_refused_with_the_nearest(
    key: str, open_ended: bool, expected: tuple[bool, str | None]
) -> None:
    assert unknown_key(ConfigChange(key, "5"), ["retention.ms"], open_ended=open_ended) == expected
