"""Descriptions that a broker repeats: most groups have the same bytes in every response, and are not decoded again.

Who looks at thousands of groups every two seconds would otherwise spend a third of its time on members that have not
changed. An encoding says where it ends itself: where a response goes on with the bytes that a group had before, it has
that group, and no other, at this place.
"""

import struct
from collections.abc import Callable
from typing import Any

from kcli.core.protocol import codec, compiler
from kcli.core.protocol.messages.describe_groups import DescribedGroup

Make = Callable[[DescribedGroup], Any]
"""What is kept of a group; the row itself, if that is not to be kept."""
_SHORTEST = 1  # bytes of a group, to refuse a count that the response cannot have


class RepeatedGroups:
    """Decodes the responses of one broker, one after the other. What a response did not have is forgotten with it.

    Groups come in the order in which they were asked about: the one expected next is compared first, then those after
    it, as many as were not found just before. Byte fields of rows are copies.
    """

    def __init__(self) -> None:
        self._before: list[tuple[bytes, Any]] = []

    def decoder(self, make: Make) -> Callable[..., tuple[Any, int]]:
        """For ``Request.decoder``. ``groups`` of the response have what ``make`` returned, now or then."""

        def decode(cls: Any, buf: memoryview, pos: int, version: int, *, flexible: bool) -> tuple[Any, int]:
            try:
                return self._decode(cls, bytes(buf), pos, version, flexible, make)
            except (struct.error, IndexError):  # too short: the compiled decoder says how
                return compiler.decode(cls, buf, pos, version, flexible=flexible)

        return decode

    def _decode(
        self, cls: Any, data: bytes, pos: int, version: int, flexible: bool, make: Make
    ) -> tuple[Any, int]:
        buf, response = memoryview(data), cls()
        if version >= 1:
            (response.throttle_time_ms,) = struct.unpack_from(">i", data, pos)
            pos += 4
        read_count = codec.read_compact_count if flexible else codec.read_count
        count, pos = read_count(buf, pos, _SHORTEST)
        before, now, at, misses = self._before, list[tuple[bytes, Any]](), 0, 0
        for _ in range(count):
            for index in range(at, min(at + misses + 2, len(before))):
                raw, kept = before[index]
                if data.startswith(raw, pos):
                    now.append(before[index])
                    response.groups.append(kept)
                    pos, at, misses = pos + len(raw), index + 1, 0
                    break
            else:
                misses += 1
                begin = pos
                _, pos = compiler.decode(DescribedGroup, buf, begin, version, flexible=flexible)
                raw = data[begin:pos]  # else what is kept of it would keep the whole response
                row, _ = compiler.decode(DescribedGroup, memoryview(raw), 0, version, flexible=flexible)
                value = make(row)
                response.groups.append(value)
                if value is not row:
                    now.append((raw, value))
        self._before = now
        return response, codec.skip_tagged(buf, pos) if flexible else pos
