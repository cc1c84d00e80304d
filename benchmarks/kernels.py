"""Throughput of the record kernels, checksum and codecs in CPU time: ``python -m benchmarks kernels``.

Medians of five rounds, in one process; ``KCLI_IMPL`` chooses the implementation. No broker and no socket.
"""

import random
import statistics
import time
from collections.abc import Callable

from kcli.core.records import kernels
from kcli.core.records.codec import CODEC_NAMES
from kcli.core.records.compression import compress, decompress
from kcli.core.records.crc32c import crc32c

RECORDS = 10_000
ROUNDS = 5


def cpu_seconds(call: Callable[[], object]) -> float:
    """The median CPU time of one call, each round long enough for the clock."""
    call()
    rounds = []
    for _ in range(ROUNDS):
        calls = 0
        started = now = time.process_time()
        while now - started < 0.2:
            call()
            calls += 1
            now = time.process_time()
        rounds.append((now - started) / calls)
    return statistics.median(rounds)


def show(name: str, amount: float, unit: str, call: Callable[[], object]) -> None:
    """One line: how much of ``unit`` a CPU second does, when one call does ``amount``."""
    print(f"{name:28} {amount / cpu_seconds(call):10.2f} {unit}")


def fill(lines: list[bytes], room: int) -> None:
    """Batch after batch, as a producer does with the lines of one read."""
    done = 0
    while done < len(lines):
        done += kernels.encode_lines(lines, done, 0, 0, None, b"\0", room)[1]


def records(seeded: random.Random) -> None:
    """Encoders and decoders, millions of records."""
    unit, amount = "M records/s", RECORDS / 1e6
    for name, lines in (
        ("60-140 B", [seeded.randbytes(seeded.randrange(60, 141)) for _ in range(RECORDS)]),
        ("100 B", [seeded.randbytes(100) for _ in range(RECORDS)]),
    ):
        keys = [b"key-%d" % index for index in range(RECORDS)]
        rows = [
            (key, line, b"\0", index // 50) for index, (key, line) in enumerate(zip(keys, lines, strict=True))
        ]
        plain = kernels.encode_lines(lines, 0, 0, 0, None, b"\0", 1 << 30)[0]
        keyed = kernels.encode_rows(rows, 0, 0, 0, 1 << 30)[0]
        show(f"encode_lines {name}, 1 MB", amount, unit, lambda lines=lines: fill(lines, 1_000_000))
        show(f"encode_lines {name}, 16 KB", amount, unit, lambda lines=lines: fill(lines, 16_384))
        show(
            f"encode_keyed {name}",
            amount,
            unit,
            lambda keys=keys, lines=lines: kernels.encode_keyed(keys, lines, 0, 0, 0, b"\0", 1 << 30),
        )
        show(
            f"encode_rows {name}", amount, unit, lambda rows=rows: kernels.encode_rows(rows, 0, 0, 0, 1 << 30)
        )
        for kind, payload in (("", plain), (", keys, times", keyed)):
            show(
                f"decode_values {name}{kind}",
                amount,
                unit,
                lambda payload=payload: kernels.decode_values(payload, RECORDS, 0, RECORDS, b"\n", b""),
            )
        show(
            f"decode_columns {name}", amount, unit, lambda plain=plain: kernels.decode_columns(plain, RECORDS)
        )
        show("partition_keys 8 B", amount, "M keys/s", lambda keys=keys: kernels.partition_keys(keys, 12))


def bytes_per_second(seeded: random.Random) -> None:
    """Checksum and codecs on a megabyte of JSON lines."""
    names = [f"user-{seeded.randrange(10_000)}" for _ in range(300)]
    text = "\n".join(
        f'{{"id":{index},"name":"{seeded.choice(names)}","amount":{seeded.random():.6f}}}'
        for index in range(17_000)
    )
    data = text.encode()[: 1 << 20]
    mega = len(data) / 1e6
    show("crc32c", mega / 1000, "GB/s", lambda: crc32c(data))
    for codec, name in enumerate(CODEC_NAMES[1:], 1):
        packed = compress(codec, data)
        show(
            f"{name} in (1:{len(data) / len(packed):.1f})",
            mega,
            "MB/s",
            lambda codec=codec: compress(codec, data),
        )
        show(f"{name} out", mega, "MB/s", lambda codec=codec, packed=packed: decompress(codec, packed))


def main() -> None:
    """All figures, one a line."""
    print(f"kernels: {kernels.IMPLEMENTATION}")
    records(random.Random(1))
    bytes_per_second(random.Random(2))


if __name__ == "__main__":
    main()
