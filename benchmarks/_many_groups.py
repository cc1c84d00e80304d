"""A fake cluster with many groups that move, in a process of its own: ``python -m benchmarks._many_groups 1000 100``.

Prints its addresses. Each second logs grow, and half of the groups read. Ends when its stdin does.
"""

import gc
import sys
import threading

from tests.fake.cluster import FakeCluster
from tests.fake.many_groups import ManyGroups


def main(groups: int, partitions: int) -> None:
    """Until stdin ends."""
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    with FakeCluster(3) as cluster:
        many = ManyGroups(cluster, groups, partitions)
        gc.freeze()  # a broker has no garbage collection over all that is committed
        print(cluster.bootstrap, flush=True)
        while not ended.wait(1.0):
            many.move(groups // 2)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
