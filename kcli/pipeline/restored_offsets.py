"""Where offsets of an export are in the topic that it was restored to. Pure, but for ``read_offsets``.

A pair maps an offset of the export to one of the target: a reader who begins there gets the records from that offset on.
Targets assign their own offsets: compacted records leave no gap there, and each transaction of the import takes one for
its marker. So the pairs of the offsets that groups are at are found out while records are sent, from what the brokers
return, and are committed in the transaction of the records: as metadata of groups of the import's own, some thousand
characters in each, since brokers limit them (``offset.metadata.max.bytes``).
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from kcli.core.admin.admin import Admin
from kcli.core.errors import KcliError
from kcli.core.producer.origins import OriginRows
from kcli.core.types import OffsetAndMetadata, TopicPartition

Pairs = dict[int, int]
_CHARACTERS = 3_000
_KEPT_BESIDE = 16
_NAME = ".offsets"


class RestoredOffsets:
    """Finds the pairs of one partition while its records are sent. ``known``: those of earlier transactions; ``at``:
    where the export is read next; ``is_first``: no record is before it. ``delivered`` is called by the producer's thread,
    the others while it has nothing to deliver.
    """

    def __init__(self, known: Mapping[int, int], wanted: Iterable[int], at: int, *, is_first: bool) -> None:
        offsets = sorted(set(wanted))
        beside = sorted(known.keys() - set(offsets))[-_KEPT_BESIDE:]
        self.pairs: Pairs = {offset: known[offset] for offset in (*offsets, *beside) if offset in known}
        self._kept = {*offsets, *beside}
        self._at = at
        self._after = self.pairs.get(at)
        first = -1 if is_first else at  # what an earlier run has not found of its own records is lost
        self._left = deque(one for one in offsets if one >= first and (one == at or one not in self.pairs))

    def delivered(self, origins: Sequence[OriginRows], base: int) -> None:
        """A batch is stored from offset ``base`` of the target on. The origins are offsets of the export, by row."""
        last = origins[-1]
        if self._left and self._left[0] <= last.origin[last.rows[-1]]:
            offsets = list(chain.from_iterable((one.origin[row] for row in one.rows) for one in origins))
            while self._left and self._left[0] <= offsets[-1]:
                offset = self._left.popleft()
                self.pairs[offset] = base + bisect_left(offsets, offset)
        self._after = base + last.first + len(last.rows)

    def reached(self, at: int, *, at_end: bool) -> None:
        """All before offset ``at`` is stored. ``at_end``: of the partition; what follows it follows the last record."""
        if self._at not in self._kept:
            self.pairs.pop(self._at, None)
        self._at = at
        if self._after is None:
            return
        while self._left and (self._left[0] < at or (at_end and self._left[0] == at)):
            self.pairs[self._left.popleft()] = self._after
        self.pairs[at] = self._after


# --- as metadata of commits -------------------------------------------------------------------------------


def commits_of(group: str, pairs: Mapping[int, int]) -> dict[str, OffsetAndMetadata]:
    """What is committed to keep the pairs of a partition: by group. ``group``: of the import."""
    texts = [f"{offset}:{found}" for offset, found in sorted(pairs.items())]
    lines, line = [], ""
    for text in texts:
        if len(line) + len(text) >= _CHARACTERS:
            lines.append(line)
            line = ""
        line = f"{line} {text}" if line else text
    lines.append(line)
    return {_name(group, number): OffsetAndMetadata(len(lines), found) for number, found in enumerate(lines)}


def read_offsets(
    admin: Admin, group: str, partitions: Iterable[TopicPartition], *, stable: bool = False
) -> dict[TopicPartition, Pairs]:
    """The pairs that are kept, by partition of the target; those without any are left out. Errors of brokers."""
    found: dict[TopicPartition, Pairs] = {}
    left, number = list(partitions), 0
    while left:
        name = _name(group, number)
        committed = admin.fetch_offsets({name: left}, require_stable=stable)[name]
        if isinstance(committed, KcliError):
            raise committed
        left = []
        for tp, one in committed.items():
            if isinstance(one, KcliError):
                raise one
            if one is None:
                continue
            found.setdefault(tp, {}).update(_pairs(one.metadata))
            if number + 1 < one.offset:
                left.append(tp)
        number += 1
    return found


def _name(group: str, number: int) -> str:
    return f"{group}{_NAME}" + (f".{number}" if number else "")


def _pairs(text: str) -> Pairs:
    """Nothing for what is no pair: it is of another version."""
    words = [word.partition(":") for word in text.split(" ")]
    return {
        int(offset): int(found)
        for offset, _colon, found in words
        if offset.isdecimal() and found.isdecimal() and offset.isascii() and found.isascii()
    }
