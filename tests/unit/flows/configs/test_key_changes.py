"""What a change of a configuration does to its value, and whether it has been done."""

import pytest

from kcli.core import ConfigChange, ConfigEntry, ConfigKind, ConfigOp, ConfigResource
from kcli.core.errors import ConfigError
from kcli.flows.configs.key_changes import PlannedChange, is_done, plan

TOPIC = ConfigResource(ConfigKind.TOPIC, "orders")
BROKER = ConfigResource(ConfigKind.BROKER, "1")


def entry(value: str | None, source: str = "topic", *, secret: bool = False, kind: str = "") -> ConfigEntry:
    below = (("key", "9", "static broker"), ("key", "10", "default"))
    own = (("key", value, source),) if source == "topic" else ()
    return ConfigEntry("key", value, source, secret, type=kind, synonyms=(*own, *below))


def planned(change: ConfigChange, found: ConfigEntry | None) -> PlannedChange:
    entries = [found] if found is not None else []
    (row,) = plan(TOPIC, [change], entries, others=[entry(None, "default")])
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


@pytest.mark.parametrize(
    ("change", "found", "note"),
    [
        (ConfigChange("key", "4"), entry("4"), "has this value already"),
        (ConfigChange("key", "04"), entry("4", kind="long"), "has this value already"),
        (ConfigChange("key", "04"), entry("4", kind="string"), ""),
        (ConfigChange("key", "9"), entry("9", "static broker"), ""),  # set where the topic has none
        (ConfigChange("key", None, ConfigOp.DELETE), entry("9", "default"), "is not set"),
        (ConfigChange("key", "x"), entry(None, secret=True), ""),
        (ConfigChange("key", "a", ConfigOp.APPEND), entry("a,b"), "contained already"),
        (ConfigChange("key", "c", ConfigOp.SUBTRACT), entry("a,b"), "not contained"),
    ],
)
def test_what_is_as_requested_needs_no_change(change: ConfigChange, found: ConfigEntry, note: str) -> None:
    row = planned(change, found)
    assert (row.note, row.needed) == (note, not note)
    if note:
        assert (row.new, row.new_source) == (row.old, row.old_source)


def test_secrets_and_keys_that_are_not_listed_have_no_values() -> None:
    row = planned(ConfigChange("key", "x"), entry(None, secret=True))
    assert (row.sensitive, row.old, row.new) == (True, None, None)
    (row,) = plan(BROKER, [ConfigChange("other", "x")], [entry("4", "dynamic broker")])
    assert (row.sensitive, row.new) == (True, None)


def test_a_read_only_key_is_refused() -> None:
    found = ConfigEntry("key", "1", "static broker", is_sensitive=False, read_only=True)
    row = planned(ConfigChange("key", "2"), found)
    assert row.error is not None
    assert (row.needed, row.error.exit_code, "read-only" in row.error.why) == (False, 7, True)


@pytest.mark.parametrize("change", [ConfigChange("key", None, ConfigOp.DELETE), ConfigChange("key", "2")])
def test_a_key_of_a_plug_in_that_was_set_can_be_changed_and_unset(change: ConfigChange) -> None:
    """Brokers call it read-only, since they do not know it."""
    found = ConfigEntry(
        "key", None, "dynamic broker", is_sensitive=True, read_only=True, own_source="dynamic broker"
    )
    (row,) = plan(BROKER, [change], [found])
    assert (row.error, row.needed) == (None, True)


def test_elements_of_what_is_no_list_are_a_usage_error() -> None:
    with pytest.raises(ConfigError, match="key is not a list"):
        planned(ConfigChange("key", "2", ConfigOp.APPEND), entry("1", kind="long"))


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
    ("key", "resource", "do"),
    [
        ("retention.ms", TOPIC, None),
        ("retention.mss", TOPIC, "did you mean retention.ms?"),
        ("retention.mss", BROKER, "did you mean retention.ms?"),
        ("zzz", TOPIC, "`kcli configs describe topics orders --all` lists the keys"),
        ("zzz", BROKER, None),
        ("listener.name.retention.ms", BROKER, None),
    ],
)
def test_unknown_keys_are_refused_with_the_nearest(
    key: str, resource: ConfigResource, do: str | None
) -> None:
    known = [ConfigEntry("retention.ms", "5", "default", is_sensitive=False)]
    if do is None:
        assert plan(resource, [ConfigChange(key, "5")], known)[0].error is None
        return
    with pytest.raises(ConfigError) as refused:
        plan(resource, [ConfigChange(key, "5")], known)
    assert (refused.value.exit_code, refused.value.do) == (2, do)


def described(value: str, kind: str, stored: str | None = None) -> ConfigEntry:
    """As a broker describes what was set on it: the value that it has read, and the text with the synonyms."""
    texts = (("key", value if stored is None else stored, "topic"), ("key", "9", "default"))
    return ConfigEntry("key", value, "topic", is_sensitive=False, type=kind, synonyms=texts)


@pytest.mark.parametrize(
    ("kind", "written", "value"),
    [
        ("boolean", " TRUE ", "true"),
        ("string", " /usr/bin/kinit ", "/usr/bin/kinit"),
        ("string", "sasl_ssl", "SASL_SSL"),
        ("int", " +007 ", "7"),
        ("short", "0060", "60"),
        ("long", "+86400000", "86400000"),
        ("double", ".5d", "0.5"),
        ("double", "0.1234567890123456789", "0.12345678901234568"),
        ("list", " b , a,b", "b,a"),
        ("class", " org.example.Builder ", "org.example.Builder"),
        ("", ".5", "0.5"),
    ],
)
def test_a_value_in_the_broker_s_own_form_is_the_one_that_was_set(
    kind: str, written: str, value: str
) -> None:
    change = planned(ConfigChange("key", written), entry("4"))._replace(kind=kind)
    for found in (described(value, kind), described(value, kind, written)):
        assert is_done(change, found)
    assert not is_done(change, described("4", kind))


def test_a_form_that_only_the_broker_knows_is_found_by_the_text_that_it_keeps() -> None:
    change = planned(ConfigChange("key", "1 h"), entry("4"))._replace(kind="string")
    assert is_done(change, described("3600000", "string", "1 h"))
    assert not is_done(change, described("3600000", "string"))
    assert not is_done(change, described("4", "string", "1 h")), "it has not read the new text yet"
