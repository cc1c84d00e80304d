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


def _splitmix64(count: int) -> list[int]:
    """The first numbers of SplitMix64 from 0, as its authors give it in C."""
    found = []
    for index in range(1, count + 1):
        z = index * 0x9E3779B97F4A7C15 % 2**64
        z = (z ^ z // 2**30) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ z // 2**27) * 0x94D049BB133111EB % 2**64
        found.append(z ^ z // 2**31)
    return found


DIGEST_KEYS = _splitmix64(34)


def digest(rows: list[tuple[int, bytes | None, bytes | None, bytes]]) -> bytes:
    """Of timestamps, keys, values and header blocks with short numbers, word by word."""
    factor = (DIGEST_KEYS[32] * 2**64 + DIGEST_KEYS[33]) // 4
    state = 1
    for time, key, value, headers in rows:
        body = field(key) + field(value) + headers
        data = time.to_bytes(8, "little", signed=True) + len(body).to_bytes(8, "little") + body
        data += bytes(-len(data) % 16)
        for start in range(0, len(data), 256):
            group, total = data[start : start + 256], 0
            for at in range(0, len(group), 16):
                one = int.from_bytes(group[at : at + 8], "little") + DIGEST_KEYS[at // 8]
                two = int.from_bytes(group[at + 8 : at + 16], "little") + DIGEST_KEYS[at // 8 + 1]
                total += one % 2**64 * (two % 2**64)
            state = (state * factor + total % 2**128) % (2**127 - 1)
    return state.to_bytes(16, "little")
