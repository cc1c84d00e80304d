"""The flags of ``topics alter`` and ``configs alter`` as changes, and the rows and lines of a plan."""

from kcli.commands.shared.config_flags import config_changes
from kcli.core import ConfigChange, ConfigEntry, ConfigKind, ConfigOp, ConfigResource
from kcli.flows.topics.alter import TopicAlter

TOPIC = ConfigResource(ConfigKind.TOPIC, "t")


def test_repeated_elements_are_one_change() -> None:
    expected = [ConfigChange("k", "a,b", ConfigOp.APPEND)]
    assert config_changes("topics alter", (), (), ("k=a", "k=b"), ()) == expected


def test_the_same_change_given_twice_is_one() -> None:
    assert config_changes("configs alter", ("k=a", "k=a"), (), (), ()) == [ConfigChange("k", "a")]


def test_a_secret_is_shown_neither_as_a_row_nor_as_a_line() -> None:
    found = ConfigEntry("k", None, "topic", is_sensitive=True, type="password")
    change = TopicAlter(["t"], [ConfigChange("k", "canary")], None, named=False)
    (item,) = change.items(TOPIC, [found])
    row, text = change.row(item), change.text([item])
    assert (row["new"], row["sensitive"]) == (None, True)
    assert "k: (hidden) (topic) → (hidden) (topic)" in text
    assert "canary" not in text + str(row)
