"""An offset map that remembers only where it ends, for copies that translate no offsets. Pure.

It notices a target that lost records as the whole map does, and needs no memory for a partition however it is compacted.
"""

from collections.abc import Sequence

from kcli.flows.mirror.copy.offset_map import OffsetMap


class LastOffset(OffsetMap):
    """See ``OffsetMap``; begins at whatever offset comes first."""

    def __init__(self, start: int = 0, target_start: int = 0) -> None:
        super().__init__(start, target_start)
        self._end = target_start

    @property
    def target_end(self) -> int:
        """The target offset after the last copied record."""
        return self._end

    def append(self, source: int, target: int, length: int) -> None:
        """See ``OffsetMap.append``."""
        self.check(source, target)
        self.position, self._end = source + length, target + length

    def append_offsets(self, offsets: Sequence[int], target: int) -> None:
        """See ``OffsetMap.append_offsets``."""
        if offsets:
            self.append(offsets[0], target, len(offsets))
            self.position = offsets[-1] + 1

    def mark(self) -> tuple[int, int, int]:
        """See ``OffsetMap.mark``. An aborted transaction leaves its offsets in the target: the end stays."""
        return 0, 0, self.position

    def rollback(self, mark: tuple[int, int, int]) -> None:
        """See ``OffsetMap.rollback``."""
        self.position = mark[2]
