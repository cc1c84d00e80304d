"""Lag by column is the lag by row, where there are columns."""

import pytest

from kcli.core.admin.commit_columns import CommitColumns
from kcli.core.admin.group_description import GroupDescription, MemberDescription
from kcli.core.types import TopicPartition
from kcli.flows.groups.offsets import LogEnds
from kcli.flows.lag.lag_columns import ColumnsOf, LagColumns
from kcli.flows.lag.look import lags_of
from kcli.flows.lag.partition_lag import partition_lags
from kcli.flows.lag.sample import GroupSample, LagSample
from kcli.flows.lag.summary import summary
from kcli.flows.lag.verdicts import History
from tests.unit.flows.lag.looking import NOW, P0, P1

BOUNDS = {P0: LogEnds(10, 100, 100), P1: LogEnds(0, 50, 50)}
MEMBER = MemberDescription("m-1", None, "c", "/host", assignment=(P1,))


def looked_at(
    *offsets: int, bounds: dict[TopicPartition, LogEnds] = BOUNDS, owned: bool = False
) -> LagSample:
    group = GroupDescription("g", "classic", "Stable", "consumer", "range", 1, (MEMBER,)) if owned else None
    commits = CommitColumns((P0, P1), offsets, (-1, -1))
    return LagSample(NOW, [GroupSample("g", "Stable", commits, group)], bounds)


@pytest.mark.parametrize("owned", [False, True])
@pytest.mark.parametrize("offsets", [(10, 0), (100, 50), (100, 3), (55, 50)])
def test_columns_are_rows(offsets: tuple[int, int], *, owned: bool) -> None:
    sample = looked_at(*offsets, owned=owned)
    columns, rows = lags_of(sample)["g"], list(partition_lags(sample, {}, {}, {}))
    assert isinstance(columns, LagColumns)
    assert list(columns) == rows
    assert (columns[0], columns[1:]) == (rows[0], rows[1:])
    assert summary(columns) == summary(rows)
    by_column, by_row = History(), History()
    for at, add in ((NOW, columns), (NOW + 10_000, columns)):
        by_column.add(at, "g", add)
        by_row.add(at, "g", list(add))
    assert by_column.trend("g") == by_row.trend("g")
    for state in ("Stable", "Empty", ""):
        assert by_column.verdict("g", state, columns) == by_row.verdict("g", state, rows)


@pytest.mark.parametrize(
    "sample",
    [
        looked_at(9, 0),
        looked_at(101, 0),
        looked_at(10, 0, bounds={P0: LogEnds(note="no leader"), P1: LogEnds(0, 50, 50)}),
        looked_at(10, 0, bounds={P0: LogEnds(10, None, None), P1: LogEnds(None, 50, 50)}),
    ],
)
def test_anything_special_is_reported_by_row(sample: LagSample) -> None:
    assert ColumnsOf(sample.bounds).group(sample.groups[0]) is None
    assert lags_of(sample)["g"] == list(partition_lags(sample, {}, {}, {}))
