"""A log that was truncated under a reader: what is lost is named, and the remedy leads on."""

import re

from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import batch
from tests.run import kcli


def test_a_group_goes_on_by_the_line_of_the_remedy() -> None:
    with FakeCluster(1, topics={"t": 1}) as cluster:
        for number in range(10):
            cluster.append("t", 0, batch(b"%d" % number))
        assert kcli("consume", "t", "-g", "g", "-e", bootstrap=cluster.bootstrap).code == 0
        cluster.truncate("t", 0, 5)
        lost = kcli("consume", "t", "-g", "g", "--idle-timeout", "1s", bootstrap=cluster.bootstrap)
        assert (lost.code, "offsets 5 to 9 are lost" in lost.err) == (5, True), lost.err
        line = re.search("`kcli (groups rewind [^`]+)`", lost.err)
        assert line is not None
        words = line[1].replace("GROUP", "g").split()
        assert kcli(*words, "--yes", bootstrap=cluster.bootstrap).code == 0
        cluster.append("t", 0, batch(b"new"))
        again = kcli("consume", "t", "-g", "g", "-e", bootstrap=cluster.bootstrap)
        assert (again.code, again.out) == (0, "new\n"), again.err
        chosen = kcli("consume", "t", "-p", "0", "--offset", "5", "-e", bootstrap=cluster.bootstrap)
        assert (chosen.code, chosen.out) == (0, "new\n")
