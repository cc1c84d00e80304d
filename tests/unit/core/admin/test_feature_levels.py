"""Names of levels, what belongs to a release, and the way back."""

import pytest

from kcli.core.admin.feature_levels import (
    default_level,
    first_release,
    levels_of_release,
    lowest_return,
    metadata_level,
    metadata_name,
)


@pytest.mark.parametrize(
    ("text", "level"), [("30", 30), ("4.3-IV0", 30), ("4.3", 30), ("4.4", 33), ("4.4-IV1", 32), ("3.7", 19)]
)
def test_a_version_is_given_as_level_name_or_release(text: str, level: int) -> None:
    assert metadata_level(text) == level


@pytest.mark.parametrize("text", ["", "4.4-IV9", "5.0", "-1", "metadata", "٣"])
def test_another_word_is_no_version(text: str) -> None:
    with pytest.raises(ValueError, match=r"neither a level nor a name such as 4\.4-IV2 or 4\.4"):
        metadata_level(text)


def test_every_level_has_a_name_that_leads_back_to_it() -> None:
    assert [metadata_level(metadata_name(level) or "") for level in range(1, 34)] == list(range(1, 34))
    assert metadata_name(34) is None


@pytest.mark.parametrize(
    ("release", "levels"),
    [
        ("3.3", (7, 0, 0, 0, 0, 0, 0)),
        ("3.9", (21, 1, 0, 0, 0, 0, 0)),
        ("4.0", (25, 1, 2, 1, 0, 0, 0)),
        ("4.1", (27, 1, 2, 1, 1, 0, 0)),
        ("4.2", (29, 1, 2, 1, 1, 1, 1)),
        ("4.4", (33, 1, 2, 1, 1, 2, 1)),
    ],
)
def test_the_levels_of_a_release_are_those_of_kafka_s_script(release: str, levels: tuple[int, ...]) -> None:
    """``kafka-features.sh version-mapping`` of 4.4.0 prints them."""
    found = levels_of_release(release)
    names = ("metadata", "kraft", "transaction", "group", "eligible.leader.replicas", "share", "streams")
    assert tuple(found[f"{name}.version"] for name in names) == levels


@pytest.mark.parametrize(
    ("level", "lowest"), [(33, 33), (32, 32), (31, 30), (30, 30), (29, 23), (22, 17), (19, 17)]
)
def test_there_is_a_way_back_until_the_records_change(level: int, lowest: int) -> None:
    assert lowest_return(level) == lowest


def test_of_a_feature_that_is_not_known_nothing_is_said() -> None:
    assert (default_level("new.version", 33), first_release("new.version", 1)) == (0, None)
    assert (first_release("share.version", 2), first_release("metadata.version", 30)) == ("4.4", "4.3")
