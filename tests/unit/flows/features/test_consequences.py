"""What a plan says of a change of levels."""

import pytest

from kcli.flows.features.consequences import can_return, consequences


@pytest.mark.parametrize(
    ("feature", "before", "after", "possible"),
    [
        ("metadata.version", 30, 31, True),
        ("metadata.version", 30, 33, False),
        ("metadata.version", 27, 29, True),
        ("metadata.version", 33, 30, True),
        ("kraft.version", 0, 1, False),
        ("group.version", 0, 1, True),
        ("group.version", 1, 0, True),
    ],
)
def test_whether_there_is_a_way_back(feature: str, before: int, after: int, possible: bool) -> None:
    assert can_return(feature, before, after) is possible
    said = " ".join(consequences(feature, before, after))
    assert ("there is no way back" in said) is not possible


def test_older_brokers_can_no_longer_join() -> None:
    assert "brokers and controllers before Kafka 4.4 can no longer join" in consequences(
        "share.version", 1, 2
    )
    assert "brokers and controllers before Kafka 4.3 can no longer join" in consequences(
        "metadata.version", 29, 30
    )
    assert list(consequences("new.version", 0, 1)) == []


def test_how_far_metadata_can_go_back() -> None:
    assert list(consequences("metadata.version", 29, 31))[-1] == (
        "there is no way back below 4.3-IV0, with which the records of the metadata change"
    )


def test_what_is_lost_when_a_feature_is_switched_off() -> None:
    assert list(consequences("share.version", 1, 0)) == [
        "share groups can no longer be used: stop them first"
    ]
    assert list(consequences("share.version", 2, 1)) == []
