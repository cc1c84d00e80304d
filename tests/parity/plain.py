"""The kernels once more, as plainly as they can be written: what the fast ones are compared with."""

from kcli.core.types import Header


def varint(value: int) -> bytes:
    """Zigzag varint, digit by digit."""
    number = value * 2 if value >= 0 else -value * 2 - 1
    out = b""
    while number >= 128:
        out += bytes([number % 128 + 128])
        number //= 128
    return out + bytes([number])


def field(data: bytes | None) -> bytes:
    """A length and bytes; −1 for a null."""
    return varint(-1) if data is None else varint(len(data)) + data


def header_block(headers: tuple[Header, ...]) -> bytes:
    """A count, then names and values."""
    out = varint(len(headers))
    for name, value in headers:
        out += field(name.encode() if isinstance(name, str) else name) + field(value)
    return out


def record(key: bytes | None, value: bytes | None, headers: bytes, delta: int, time: int) -> bytes:
    """A record of magic 2."""
    body = b"\0" + varint(time) + varint(delta) + field(key) + field(value) + headers
    return varint(len(body)) + body


def fill(records: list[bytes], room: int) -> tuple[bytes, int, int]:
    """The first records that fit, as the encoders return them."""
    out = b""
    taken = 0
    for one in records:
        if len(out) + len(one) > room:
            break
        out += one
        taken += 1
    return out, taken, len(out)


def murmur2(key: bytes) -> int:
    """Kafka's murmur2 with Java's wrapping 32-bit arithmetic, word by word."""
    mask = 0xFFFFFFFF
    digest = (0x9747B28C ^ len(key)) & mask
    for at in range(0, len(key) - len(key) % 4, 4):
        word = sum(key[at + index] << 8 * index for index in range(4))
        word = word * 0x5BD1E995 & mask
        word ^= word >> 24
        word = word * 0x5BD1E995 & mask
        digest = digest * 0x5BD1E995 & mask
        digest ^= word
    rest = key[len(key) - len(key) % 4 :]
    for index in reversed(range(len(rest))):
        digest ^= rest[index] << 8 * index
    if rest:
        digest = digest * 0x5BD1E995 & mask
    digest ^= digest >> 13
    digest = digest * 0x5BD1E995 & mask
    return digest ^ digest >> 15
