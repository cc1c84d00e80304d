"""The release of Kafka that a level of metadata.version implies."""

import pytest

from kcli.core.admin.feature_levels import release_of


@pytest.mark.parametrize(
    ("level", "release"),
    [
        (-1, None),
        (0, None),
        (1, "3.0"),
        (4, "3.3"),
        (7, "3.3"),
        (21, "3.9"),
        (22, "4.0"),
        (30, "4.3"),
        (31, "4.4"),
        (33, "4.4"),
        (34, None),
    ],
)
def test_release_of_a_level(level: int, release: str | None) -> None:
    assert release_of(level) == release
