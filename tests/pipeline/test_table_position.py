"""Positions of tables, and the names in them."""

import msgspec
import pytest

from kcli.core.errors import ConfigError
from kcli.pipeline.manifest import ExportedPartition, ExportedTopic, ExportPlan, Gap, Request, new_plan
from kcli.pipeline.tables.table import (
    Identity,
    OtherTableError,
    OvertakenError,
    TableFile,
    TableState,
    added,
    check_position,
    identity_in,
    path_of,
    refuse_characters,
)

IDENTITY = Identity("here", "t", "id", Request(["t"], since="1h"))
STATE = TableState(IDENTITY, {0: 5, 1: 0}, 7, "3")


def plan(*ranges: tuple[int, int, int], after: int = 7, topic_id: str = "id") -> ExportPlan:
    partitions = [ExportedPartition(number, start, end, 0, []) for number, start, end in ranges]
    made = new_plan("here", "delta", "", IDENTITY.request, [ExportedTopic("t", topic_id, {}, partitions)], [])
    return msgspec.structs.replace(made, id=8, after=after)


@pytest.mark.parametrize("later", [plan((0, 5, 9)), plan((0, 5, 9), (2, 3, 4)), plan((1, 0, 1))])
def test_a_plan_goes_on_from_the_position(later: ExportPlan) -> None:
    assert check_position("x", STATE, later) is STATE


@pytest.mark.parametrize(
    "later",
    [plan((0, 4, 9)), plan((0, 6, 9)), plan((0, 5, 9), after=6), plan((0, 5, 9), topic_id="other")],
)
def test_a_plan_for_another_position_is_refused(later: ExportPlan) -> None:
    for state in (STATE, None):
        with pytest.raises(OvertakenError, match="was changed by another run"):
            check_position("x", state, later)


def test_a_position_has_all_partitions() -> None:
    assert STATE.after(plan((0, 5, 9), (2, 3, 4))) == {0: 9, 1: 0, 2: 4}


def test_an_identity_survives_the_properties_of_a_table() -> None:
    assert identity_in({**IDENTITY.properties(), "other": "x"}, "x") == IDENTITY
    for spoilt in ({}, {**IDENTITY.properties(), "kcli.request": "{"}):
        with pytest.raises(OtherTableError, match="x is another table"):
            identity_in(spoilt, "x")


def test_files_of_two_plans_have_different_names() -> None:
    later = msgspec.structs.replace(plan((0, 5, 9)), id=9)
    assert path_of(plan((0, 5, 9)), 0, 5, 9) != path_of(later, 0, 5, 9)
    assert path_of(later, 0, 5, 9) == f"data/00000-{5:020}-{9:020}-{9:016x}.parquet"


def test_what_a_commit_adds_has_gaps() -> None:
    one = ExportedPartition(0, 5, 12, 0, [], [Gap(5, 8)])
    made = new_plan("here", "delta", "", IDENTITY.request, [ExportedTopic("t", "id", {}, [one])], [])
    files = [TableFile("a", 0, 8, 10, 2, 1, {}), TableFile("b", 0, 10, 12, 1, 1, {})]
    assert added(made, files) == [{"partition": 0, "start": 5, "end": 12, "records": 3, "gaps": [[5, 8]]}]


def test_characters_that_a_library_does_not_understand_are_refused() -> None:
    refuse_characters("delta", "/a b", "%")
    with pytest.raises(ConfigError, match="cannot be used with --format delta"):
        refuse_characters("delta", "/a%20b", "%")
