"""When the first unread records were written: read from the records themselves, or estimated from the time index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kcli.core.cluster.offsets import OffsetInfo
from kcli.core.errors import KcliError
from kcli.core.types import TopicPartition
from kcli.flows.groups.first_records import Place, first_unread_records
from kcli.flows.lag.partition_lag import INTERPOLATED, READ, UNKNOWN, Moment, unread_from

if TYPE_CHECKING:
    from kcli.core.admin.admin import Admin
    from kcli.flows.lag.sample import LagSample

_ROUNDS = 60
_CLOSE_MS = 1_000


def places_of(sample: LagSample) -> dict[Place, None]:
    """The distinct offsets from which groups have records to read."""
    found: dict[Place, None] = {}
    for one in sample.groups:
        for tp, commit in one.committed.items():
            first = unread_from(commit, sample.bounds[tp])
            if first is not None:
                found[tp, first] = None
    return found


def read_moments(admin: Admin, sample: LagSample) -> dict[Place, Moment]:
    """Reads the records; where an open transaction blocks a group, the first record that it waits for."""
    found: dict[Place, Moment] = {}
    records = first_unread_records(admin, places_of(sample), sample.bounds)
    for place, record in records.items():
        if isinstance(record, KcliError) or (record is not None and record.timestamp < 0):
            found[place] = Moment(None, UNKNOWN)
        else:
            found[place] = Moment(record.timestamp if record is not None else None, READ)
    return found


def estimate_moments(admin: Admin, sample: LagSample) -> dict[Place, Moment]:
    """Bisects the time of each offset, with one request to all leaders per round, until it is known to a second.

    No record is read: leaders look times up in their index. All searches in a partition use each response; the one with
    the widest interval asks next. After 60 rounds the time is interpolated between the known points. The result can be
    wrong where timestamps do not increase.
    """
    wanted: dict[TopicPartition, list[int]] = {}
    for tp, at in places_of(sample):
        wanted.setdefault(tp, []).append(at)
    searches: dict[TopicPartition, list[TimeSearch]] = {}
    for tp, oldest in _look_up(admin, dict.fromkeys(wanted, 0)).items():
        bounds = sample.bounds[tp]
        assert bounds.end is not None  # there is something to read
        searches[tp] = [
            TimeSearch(at, (oldest.offset, oldest.timestamp), (bounds.end, sample.at_ms)) for at in wanted[tp]
        ]
    for _ in range(_ROUNDS):
        asked = {
            tp: max((one for one in some if not one.done), key=lambda one: one.width).middle
            for tp, some in searches.items()
            if not all(one.done for one in some)
        }
        if not asked:
            break
        for tp, told in _look_up(admin, asked).items():
            for one in searches[tp]:
                one.learn(asked[tp], told)
    found = {(tp, at): Moment(None, UNKNOWN) for tp, offsets in wanted.items() for at in offsets}
    return found | {(tp, one.at): one.moment for tp, some in searches.items() for one in some}


class TimeSearch:
    """When the record at offset ``at`` was written, between an older record and the end of the log. Pure.

    Points are (offset, ms since the epoch).
    """

    def __init__(self, at: int, oldest: tuple[int, int], end: tuple[int, int]) -> None:
        self.at = at
        self._before, self._behind = oldest, end

    @property
    def done(self) -> bool:
        """Whether the time is known, exactly or to a second."""
        return self._before[0] >= self.at or self.width <= _CLOSE_MS

    @property
    def width(self) -> int:
        """Milliseconds within which it lies."""
        return self._behind[1] - self._before[1]

    @property
    def middle(self) -> int:
        """The time to look up next."""
        return (self._before[1] + self._behind[1]) // 2

    def learn(self, asked: int, told: OffsetInfo) -> None:
        """``told`` is the first record that is not older than ``asked``; an offset of −1 means there is none."""
        if told.offset < 0 or told.offset > self.at:
            behind = self._behind[0] if told.offset < 0 else min(told.offset, self._behind[0])
            self._behind = (behind, min(asked, self._behind[1]))
        elif told.timestamp >= self._before[1]:
            self._before = (told.offset, told.timestamp)

    @property
    def moment(self) -> Moment:
        """What is known so far, interpolated linearly between two points."""
        (first, before), (last, behind) = self._before, self._behind
        if first >= self.at or last <= first:
            return Moment(before, INTERPOLATED)
        share = (self.at - first) / (last - first)
        return Moment(round(before + share * max(0, behind - before)), INTERPOLATED)


def _look_up(admin: Admin, wanted: Mapping[TopicPartition, int]) -> dict[TopicPartition, OffsetInfo]:
    answers = admin.list_offsets(wanted) if wanted else {}
    return {
        tp: told
        for tp, told in answers.items()
        if isinstance(told, OffsetInfo) and (told.offset >= 0 or wanted[tp] > 0)
    }
