"""Lag by column is the lag by row, where there are columns."""

import pytest

from kcli.core.admin.commit_columns import CommitColumns
from kcli.core.admin.group_description import GroupDescription, MemberDescription
from kcli.core.types import TopicPartition
from kcli.flows.groups.offsets import LogEnds
from kcli.flows.lag.lag_columns import ColumnsOf, LagColumns, by_partition
from kcli.flows.lag.measure import lags_of
from kcli.flows.lag.partition_lag import OF_PARTITION, partition_lags
from kcli.flows.lag.sample import GroupSample, LagSample
from kcli.flows.lag.summary import summary
from kcli.flows.lag.verdicts import History
from tests.unit.flows.lag.samples import NOW, P0, P1

BOUNDS = {P0: LogEnds(10, 100, 100), P1: LogEnds(0, 50, 50)}
MEMBER = MemberDescription("m-1", None, "c", "/host", assignment=(P1,))


def measured(*offsets: int, bounds: dict[TopicPartition, LogEnds] = BOUNDS, owned: bool = False) -> LagSample:
    group = GroupDescription("g", "classic", "Stable", "consumer", "range", 1, (MEMBER,)) if owned else None
    commits = CommitColumns((P0, P1), offsets, (-1, -1))
    return LagSample(NOW, [GroupSample("g", "Stable", commits, group)], bounds)


@pytest.mark.parametrize("owned", [False, True])
@pytest.mark.parametrize("offsets", [(10, 0), (100, 50), (100, 3), (55, 50)])
def test_columns_are_rows(offsets: tuple[int, int], *, owned: bool) -> None:
    sample = measured(*offsets, owned=owned)
    columns, rows = lags_of(sample)["g"], list(partition_lags(sample, sample.groups[0], {}, {}, {}))
    assert isinstance(columns, LagColumns)
    assert list(columns) == rows
    assert len(columns) == len(rows)
    assert summary(columns) == summary(rows)
    for field in OF_PARTITION:
        assert list(by_partition(field, columns)) == [field.value(row) for row in rows], field.key
    by_column, by_row = History(), History()
    for at, rows_then in ((NOW, columns), (NOW + 10_000, columns)):
        by_column.add_rows(at, "g", rows_then, "Stable")
        by_row.add_rows(at, "g", list(rows_then), "Stable")
    assert by_column.trend("g") == by_row.trend("g")
    for state in ("Stable", "Empty", ""):
        one, other = by_column.verdict("g", state, columns), by_row.verdict("g", state, rows)
        assert one._replace(partitions=None) == other._replace(partitions=None)
        assert list(one.of(columns)) == list(other.of(rows))


@pytest.mark.parametrize(
    "sample",
    [
        measured(9, 0),
        measured(101, 0),
        measured(10, 0, bounds={P0: LogEnds(note="no leader"), P1: LogEnds(0, 50, 50)}),
        measured(10, 0, bounds={P0: LogEnds(10, None, None), P1: LogEnds(None, 50, 50)}),
    ],
)
def test_anything_special_is_reported_by_row(sample: LagSample) -> None:
    assert ColumnsOf(sample.bounds).group(sample.groups[0]) is None
    assert lags_of(sample)["g"] == list(partition_lags(sample, sample.groups[0], {}, {}, {}))
