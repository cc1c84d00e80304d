"""Cuts the byte stream of a broker into frames: 4 bytes of length, then the response.

Small responses are copied out of one scratch buffer. A large one (a fetch) gets its own buffer from a pool and the
socket reads directly into it; records are slices of that buffer, which returns to the pool when the reader has released
the response. A reader that passes slices on has the buffer lent: it is used again when none of them is left, which a
bytearray knows. No socket here: the channel asks for the buffer to read into.
"""

import struct

from kcli.core.errors import KcliError, NotKafkaError, ProtocolError

_SIZE = struct.Struct(">i")
SCRATCH_BYTES = 65_536
_ROUND = 1 << 20
_FIRST_MAX = 16 << 20

_NOTHING = memoryview(b"")

_FOREIGN = (
    (b"HTTP", "HTTP", "this is a web server's port"),
    (b"\x15\x03", "TLS", "this port needs security.protocol=SSL or SASL_SSL"),
    (b"\x16\x03", "TLS", "this port needs security.protocol=SSL or SASL_SSL"),
    (b"SSH-", "SSH", "this is an SSH server's port"),
    (b"AMQP", "AMQP", "this is a message queue's port"),
    (b"220 ", "SMTP or FTP", "this is a mail or file server's port"),
    (b"-ERR", "Redis", "this is a Redis server's port"),
)


class BufferPool:
    """Large receive buffers, of one connection or of all to a broker, reused once their response was released."""

    def __init__(self, keep: int = 2) -> None:
        self._free: list[bytearray] = []
        self._lent: list[bytearray] = []
        self._keep = keep

    def take(self, size: int) -> bytearray:
        """A buffer of at least ``size`` bytes, with arbitrary content."""
        self._collect()
        for index, buffer in enumerate(self._free):
            if len(buffer) >= size:
                return self._free.pop(index)
        self._free.clear()
        return bytearray((size + _ROUND - 1) // _ROUND * _ROUND)

    def give(self, buffer: bytearray) -> None:
        """Returns a buffer to the pool; no view of it may be in use any more."""
        if len(self._free) < self._keep:
            self._free.append(buffer)

    def lend(self, buffer: bytearray, most: int) -> bool:
        """Keeps a buffer that is in use until no view of it is left; not if more than ``most`` bytes would be lent."""
        self._collect()
        if sum(map(len, self._lent)) + len(buffer) > most:
            return False
        self._lent.append(buffer)
        return True

    def _collect(self) -> None:
        """Takes back the lent buffers that nobody uses any more. They are kept: as many are lent again."""
        lent = self._lent
        if lent:
            self._lent = []
            for buffer in lent:
                (self._lent if _is_viewed(buffer) else self._free).append(buffer)


def _is_viewed(buffer: bytearray) -> bool:
    """Whether there is a view of the buffer: then its size cannot change."""
    try:
        buffer.pop()
    except BufferError:
        return True
    buffer.append(0)
    return False


class Frame:
    """One response: ``data`` starts with the correlation id. ``release`` lets its buffer be reused."""

    __slots__ = ("_buffer", "_lent", "_pool", "data")

    def __init__(self, data: memoryview, buffer: bytearray | None = None, pool: BufferPool | None = None):
        self.data = data
        self._buffer = buffer
        self._pool = pool
        self._lent = False

    def lend(self, most: int) -> bool:
        """Whether views may be read after ``release`` as well: they keep the buffer from being used again. Not if more
        than ``most`` bytes of the pool would be lent.
        """
        if not self._lent and self._buffer is not None and self._pool is not None:
            self._lent = self._pool.lend(self._buffer, most)
            return self._lent
        return self._lent or self._pool is None

    def release(self) -> None:
        """Returns the buffer, once; views of it must not be read any more, unless it is lent."""
        buffer, self._buffer = self._buffer, None
        if self._lent:
            self.data = _NOTHING
        elif buffer is not None and self._pool is not None:
            self._pool.give(buffer)


class FrameReader:
    """``writable()`` returns the buffer for the next bytes, ``received(n)`` the frames that they completed."""

    def __init__(self, peer: str, max_bytes: int, pool: BufferPool | None = None) -> None:
        self._peer = peer
        self._max = max_bytes
        self._pool = pool or BufferPool()
        self._scratch = bytearray(SCRATCH_BYTES)
        self._view = memoryview(self._scratch)
        self._filled = 0
        self._large: bytearray | None = None
        self._large_size = 0
        self.missing = 0
        """Bytes still missing from a large response; 0 if none has begun."""
        self._spoke_kafka = False
        self.failure: KcliError | None = None
        """Why nothing that follows the frames that were returned last can be read."""

    def writable(self) -> memoryview:
        """The memory that the next bytes must be written to; never empty."""
        if self._large is not None:
            return memoryview(self._large)[self._large_size - self.missing : self._large_size]
        return self._view[self._filled :]

    def received(self, count: int) -> list[Frame]:
        """Processes ``count`` new bytes; ProtocolError or ConnectError when they cannot be Kafka's."""
        if self._large is not None:
            self.missing -= count
            if self.missing:
                return []
            buffer, self._large = self._large, None
            return [Frame(memoryview(buffer)[: self._large_size], buffer, self._pool)]
        self._filled += count
        return self._split()

    def _split(self) -> list[Frame]:
        frames: list[Frame] = []
        pos = 0
        while self._filled - pos >= 4:
            try:
                size = self._frame_size(pos)
            except KcliError as error:
                if not frames:
                    raise
                self.failure = error
                return frames
            end = pos + 4 + size
            if end > self._filled:
                if 4 + size > SCRATCH_BYTES:
                    self._go_large(pos + 4, size)
                    return frames
                break
            frames.append(Frame(memoryview(bytes(self._view[pos + 4 : end]))))
            pos = end
        rest = self._filled - pos
        if pos and rest:
            self._scratch[:rest] = bytes(self._view[pos : self._filled])
        self._filled = rest
        return frames

    def _go_large(self, start: int, size: int) -> None:
        have = self._filled - start
        self._large = self._pool.take(size)
        self._large[:have] = self._view[start : self._filled]
        self._large_size, self.missing = size, size - have
        self._filled = 0

    def _frame_size(self, pos: int) -> int:
        (size,) = _SIZE.unpack_from(self._scratch, pos)
        # The first bytes of other protocols, read as a size, exceed any first response of a broker.
        most = self._max if self._spoke_kafka else min(self._max, _FIRST_MAX)
        if 4 <= size <= most:
            self._spoke_kafka = True
            return int(size)
        head = bytes(self._view[pos : pos + 4])
        for magic, name, hint in _FOREIGN:
            if head.startswith(magic):
                raise self._foreign(name, hint)
        raise ProtocolError(
            f"{self._peer} sent a frame of {size} bytes",
            why=f"a response has 4 to {most} bytes (receive.message.max.bytes)"
            if most == self._max
            else f"a first response has 4 to {most} bytes",
            do="check that this is a Kafka broker; for larger responses raise receive.message.max.bytes",
        )

    def _foreign(self, name: str, hint: str) -> KcliError:
        """Bytes of another protocol: at first another kind of server, later wrong data, which must not be retried."""
        if self._spoke_kafka:
            return ProtocolError(
                f"{self._peer} sent something that is no response of Kafka",
                why=f"it looks like {name}, after responses that were right",
                do="check what is between kcli and the broker, such as a proxy or a load balancer",
            )
        return NotKafkaError(
            f"{self._peer} does not speak Kafka on this port",
            why=f"its response looks like {name}: {hint}",
            do="check the port and security.protocol",
        )
