"""The configuration of a group, as the screen shows it."""

import pytest

from kcli.core.admin.configs import ConfigEntry
from kcli.tui.config_columns import entry_rows

KEYS = ("consumer.session.timeout.ms", "share.session.timeout.ms", "streams.session.timeout.ms")


@pytest.mark.parametrize(
    ("kind", "shown"),
    [("classic", []), ("consumer", KEYS[:1]), ("share", KEYS[1:2]), ("streams", KEYS[2:]), ("", KEYS[:1])],
)
def test_a_group_has_the_keys_of_its_type(kind: str, shown: list[str]) -> None:
    entries = [ConfigEntry(key, "1", "default", is_sensitive=False, own_source="group") for key in KEYS]
    assert [row.name for row in entry_rows(entries, kind, 0)] == list(shown)


def test_a_key_that_is_set_on_the_group_is_shown_whatever_it_is() -> None:
    entry = ConfigEntry(KEYS[1], "1", "group", is_sensitive=False, own_source="group")
    assert [row.name for row in entry_rows([entry], "classic", 0)] == [KEYS[1]]
