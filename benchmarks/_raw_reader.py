"""The least that a reader of values can do: ``recv`` → kernel → ``write``, in one thread. Run as a process of its own.

    python -m benchmarks._raw_reader BROKER TOPIC PARTITIONS

The kernels of kcli and blocking socket calls: checksums are compared, the next fetch is sent before the last one is
decoded; nothing is compressed, and there are no transactions. It bounds what ``kcli consume`` can reach.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from benchmarks._bare_mirror import Wire, ends_of, fetch_request
from kcli.core.kernels.active import decode_run, walk_batches
from kcli.core.protocol.messages.fetch import FetchRequest
from kcli.core.records.run import RUN_BYTES

_FETCH = 11  # with names of topics
_ALL = (1 << 63) - 1
_STDOUT = 1


def main(address: str, topic: str, partitions: int) -> None:
    """Reads to the ends that the partitions have at the start. Buffers take turns: one is read while one is filled."""
    wires = [Wire(address), Wire(address)]
    ends = ends_of(wires[0], topic, partitions)
    positions = dict.fromkeys(range(partitions), 0)
    wires[0].send(fetch_request(topic, positions), _FETCH)
    turn = 0
    while True:
        answer = wires[turn].receive(FetchRequest, _FETCH)
        runs = list(_runs(answer, positions))
        more = any(positions[number] < end for number, end in ends.items())
        turn = 1 - turn
        if more:
            wires[turn].send(fetch_request(topic, positions), _FETCH)
        for run in runs:
            _write(decode_run(run, 0, _ALL, b"\n", b"")[0])
        if not more:
            return


def _runs(answer: object, positions: dict[int, int]) -> Iterator[memoryview]:
    """Adjacent whole batches; the positions move behind them."""
    for topic in answer.responses:  # type: ignore[attr-defined]
        for part in topic.partitions:
            data, start = memoryview(part.records or b""), 0
            while True:
                end, batches, _, then = walk_batches(data, start, RUN_BYTES, True, True)
                if not batches:
                    break
                yield data[start:end]
                positions[part.partition_index], start = then, end


def _write(data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(_STDOUT, rest) :]


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
