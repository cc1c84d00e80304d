"""One direction of a connection: frames are read into a queue and leave it in order, each when its turn has come.

A frame may start to leave before its end has come. The reader waits before it starts a frame while too much is queued.
"""

import asyncio
import struct
from collections import deque
from collections.abc import Callable

from tests.proxy.passing import Frame
from tests.proxy.wire import Wire

_SIZE = struct.Struct(">i")
_LARGEST = 256 << 20
_QUEUE_BYTES = 64 << 20


class NotFramesError(Exception):
    """The bytes on this connection are not Kafka's frames."""


class Lane:
    """``headed`` and ``completed`` are told of a frame when its first ``head`` bytes, and when all have come."""

    def __init__(
        self,
        source: Wire,
        *,
        head: int,
        headed: Callable[[Frame], None],
        completed: Callable[[Frame], None],
    ) -> None:
        self.ended = False
        self.truncated: tuple[int, int] | None = None
        self._source = source
        self._head, self._headed, self._completed = head, headed, completed
        self._queue: deque[Frame] = deque()
        self._bytes = 0
        self._news = asyncio.Event()
        self._room = asyncio.Event()

    async def read(self) -> None:
        """Until the source's FIN; OSError when it is reset."""
        try:
            while (frame := await self._begin()) is not None:
                await self._fill(frame)
                if not frame.whole:
                    return
        finally:
            self.ended = True
            self._news.set()

    async def next(self) -> Frame | None:
        """The frame whose turn it is; None when no more will come."""
        while not self._queue:
            if self.ended:
                return None
            await self._more()
        return self._queue[0]

    def took(self) -> None:
        """The turn of the first frame is over."""
        self._bytes -= self._queue.popleft().size
        self._room.set()

    async def until(self, frame: Frame, count: int) -> bool:
        """Waits for that many bytes of the frame; False when they will not come."""
        while frame.filled < min(count, len(frame.data)):
            if self.ended:
                return False
            await self._more()
        return True

    # --- inside --------------------------------------------------------------------------------------

    async def _begin(self) -> Frame | None:
        while self._bytes > _QUEUE_BYTES:
            self._room.clear()
            await self._room.wait()
        start = bytearray(4)
        have = 0
        while have < len(start):
            count = await self._source.receive(memoryview(start)[have:])
            if count == 0:
                self.truncated = (have, 4) if have else None
                return None
            have += count
        (size,) = _SIZE.unpack(start)
        if not self._head - 4 <= size <= _LARGEST:
            raise NotFramesError(f"a frame of {size} bytes")
        frame = Frame(4 + size)
        frame.data[:4] = start
        frame.filled = 4
        return frame

    async def _fill(self, frame: Frame) -> None:
        view = memoryview(frame.data)
        headed = False
        self.truncated = (frame.filled, frame.size)  # until the rest has come, whatever ends it
        while not frame.whole:
            count = await self._source.receive(view[frame.filled :])
            if count == 0:
                return
            frame.filled += count
            self.truncated = (frame.filled, frame.size)
            complete = frame.filled == len(frame.data)
            if not headed and frame.filled >= self._head:
                headed = True
                self._headed(frame)
                self._queue.append(frame)
                self._bytes += frame.size
            if complete:
                self.truncated = None
                self._completed(frame)
            self._news.set()

    async def _more(self) -> None:
        self._news.clear()
        await self._news.wait()
