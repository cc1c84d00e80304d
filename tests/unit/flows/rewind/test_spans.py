"""How much time lies in a range of offsets, from what first records tell."""

from collections.abc import Mapping, Sequence
from typing import cast

import pytest

from kcli.core.admin.admin import Admin
from kcli.core.admin.first_records import FirstRecord
from kcli.core.errors import KcliError, TimedOutError
from kcli.core.types import TopicPartition
from kcli.flows.groups.first_records import PartitionOffset
from kcli.flows.rewind.spans import MOST_PARTITIONS, time_spans

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class StandIn:
    """Partitions with records at some offsets, by their times."""

    def __init__(
        self, logs: Mapping[TopicPartition, Mapping[int, int]], error: KcliError | None = None
    ) -> None:
        self.logs, self.error, self.asked = logs, error, 0

    def first_records(
        self, places: Sequence[PartitionOffset], *, committed_only: bool, timeout: float
    ) -> dict[PartitionOffset, FirstRecord | KcliError | None]:
        assert (committed_only, timeout > 0) == (False, True)
        self.asked += 1
        if self.error is not None:
            raise self.error
        found: dict[PartitionOffset, FirstRecord | KcliError | None] = {}
        for tp, at in places:
            log = self.logs[tp]
            offset = min((offset for offset in log if offset >= at), default=None)
            found[tp, at] = None if offset is None else FirstRecord(offset, log[offset])
        return found


def spans(log: Mapping[int, int], low: int, high: int) -> int | None:
    return time_spans(cast(Admin, StandIn({T0: log})), [{T0: (low, high)}])[0].get(T0)


@pytest.mark.parametrize(
    ("log", "low", "high", "span"),
    [
        ({n: 10 * n for n in range(9)}, 2, 6, 30),
        ({5: 50}, 5, 6, 0),
        ({2: 20, 4: 40, 7: 99}, 2, 6, 20),  # at 5 is the marker of a transaction
        ({2: 20, 7: 99}, 2, 6, None),  # compaction took the end
        ({7: 99}, 2, 6, None),
        ({}, 2, 6, None),
        ({2: 20, 5: -1}, 2, 6, None),
        ({2: 20, 4: 40, 5: -1}, 2, 6, 20),
        ({2: -1, 5: 50}, 2, 6, None),
        ({2: 90, 5: 50}, 2, 6, 0),
    ],
)
def test_span(log: Mapping[int, int], low: int, high: int, span: int | None) -> None:
    assert spans(log, low, high) == span


def test_one_request_for_all_partitions() -> None:
    admin = StandIn({T0: {n: n for n in range(9)}, T1: {}})
    assert time_spans(cast(Admin, admin), [{T0: (0, 9)}, {T1: (3, 7)}]) == [{T0: 8}, {}]
    assert admin.asked == 1


def test_what_cannot_be_known_cheaply_stays_unknown() -> None:
    assert time_spans(cast(Admin, StandIn({T0: {}}, TimedOutError("late"))), [{T0: (0, 9)}]) == [{}]
    many = {TopicPartition("t", n): (0, 9) for n in range(MOST_PARTITIONS + 1)}
    admin = StandIn({})
    assert (time_spans(cast(Admin, admin), [many]), admin.asked) == ([{}], 0)
