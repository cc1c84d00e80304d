"""Reads that do not depend on each other, at the same time: while one of them waits, the next is begun. Nothing blocks
besides, and what is read continues as the last one that was begun ends, so each read should wait once or twice.

For clusters that are read by one thread; their requests go out in the order of the reads.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kcli.core.errors import KcliError

if TYPE_CHECKING:
    from kcli.core.cluster.cluster import Cluster

Begin = Callable[[], None]


def together(clusters: "Sequence[Cluster]", reads: Sequence[Callable[[], Any]]) -> list[Any]:
    """What the reads return, in order; raises the first one's error once all have ended."""
    ended: dict[int, tuple[Any, KcliError | None]] = {}

    def begin(number: int) -> Begin:
        def run() -> None:
            try:
                ended[number] = reads[number](), None
            except KcliError as error:
                ended[number] = None, error

        return run

    waiting: deque[Begin] = deque(map(begin, range(len(reads))))
    for cluster in clusters:
        cluster.beside.append(waiting)
    try:
        while waiting:
            waiting.popleft()()
    finally:
        for cluster in clusters:
            cluster.beside.remove(waiting)
    for number in range(len(reads)):
        error = ended[number][1]
        if error is not None:
            raise error
    return [ended[number][0] for number in range(len(reads))]
