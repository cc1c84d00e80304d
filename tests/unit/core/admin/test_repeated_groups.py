"""What a broker repeats of groups is not decoded again, and nothing else is taken for it."""

import random
from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

import pytest

from kcli.core.admin import repeated_groups
from kcli.core.admin.repeated_groups import RepeatedGroups
from kcli.core.errors import ProtocolError
from kcli.core.protocol import compiler
from kcli.core.protocol.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsResponse,
)

VERSIONS = range(7)


def group(name: str, *members: str, state: str = "Stable") -> DescribedGroup:
    return DescribedGroup(
        group_id=name,
        group_state=state,
        members=[
            DescribedGroupMember(
                member_id=one,
                client_id="c",
                client_host="h",
                member_metadata=b"m" * 9,
                member_assignment=b"a",
            )
            for one in members
        ],
    )


def encoded(groups: Sequence[DescribedGroup], version: int) -> memoryview:
    response = DescribeGroupsResponse(throttle_time_ms=7, groups=list(groups))
    return memoryview(bytes(compiler.encode(response, version, flexible=version >= 5)[0]))


def texts(rows: Sequence[DescribedGroup]) -> list[str]:
    return [f"{row.group_id} {row.group_state} {[one.member_id for one in row.members]}" for row in rows]


class Kept:
    def __init__(self, row: DescribedGroup) -> None:
        self.text = texts([row])[0]


def kept(row: DescribedGroup) -> Any:
    return row if row.group_state == "Dead" else Kept(row)


def decoded(known: RepeatedGroups, groups: Sequence[DescribedGroup], version: int) -> tuple[list[str], int]:
    """The texts, and how many groups were decoded (each is once for its end, and once to be kept)."""
    data = encoded(groups, version)
    with patch.object(repeated_groups.compiler, "decode", side_effect=compiler.decode) as decode:
        found, end = known.decoder(kept)(DescribeGroupsResponse, data, 0, version, flexible=version >= 5)
    assert end == len(data)
    assert found.throttle_time_ms == (7 if version else 0)
    shown = [one.text if isinstance(one, Kept) else texts([one])[0] for one in found.groups]
    return shown, decode.call_count // 2


@pytest.mark.parametrize("version", VERSIONS)
def test_only_what_has_changed_is_decoded(version: int) -> None:
    known, groups = RepeatedGroups(), [group(f"g{number}", "a", "b") for number in range(9)]
    assert decoded(known, groups, version) == (texts(groups), 9)
    assert decoded(known, groups, version) == (texts(groups), 0)
    groups[3], groups[4] = group("g3", "a"), group("g4", "b", state="Empty")
    assert decoded(known, groups, version) == (texts(groups), 2)
    groups[2:3] = []
    assert decoded(known, groups, version) == (texts(groups), 0)
    groups.insert(5, group("new", "a"))
    assert decoded(known, groups, version) == (texts(groups), 1)
    groups[1] = group("g1", "a", state="Dead")
    assert decoded(known, groups, version) == (texts(groups), 1)
    assert decoded(known, groups, version) == (texts(groups), 1), "the row itself is not kept"
    assert decoded(known, [], version) == ([], 0)
    assert decoded(known, groups[:2], version) == (texts(groups[:2]), 2), "forgotten with the response before"


def test_any_two_responses_after_each_other_are_read_as_alone() -> None:
    random_ = random.Random(5)
    known = RepeatedGroups()
    for _ in range(300):
        names = random_.sample(["", "g", "gg", "ggg", "a", "b"], random_.randrange(6))
        groups = [
            group(name, *["", "m"][: random_.randrange(3)], state=random_.choice(("", "Dead", "Stable")))
            for name in names
        ]
        assert decoded(known, groups, 5)[0] == texts(groups)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_response_that_is_too_short_is_an_error_also_where_it_begins_as_before(version: int) -> None:
    known, groups = RepeatedGroups(), [group("g", "a", "b"), group("h")]
    data = encoded(groups, version)
    for size in (*range(len(data)), *range(len(data))):
        with pytest.raises(ProtocolError):
            known.decoder(kept)(DescribeGroupsResponse, data[:size], 0, version, flexible=version >= 5)
        if size % 3 == 0:
            assert decoded(known, groups, version)[0] == texts(groups)
