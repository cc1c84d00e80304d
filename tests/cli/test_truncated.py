"""A log that was truncated under a reader: what is lost is named, and the remedy leads on."""

from tests.cli.errors.typing_remedies import type_remedy
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
        type_remedy(
            "in a group by `kcli groups rewind GROUP --topic t:0 --to 5`, else with -p 0 --offset 5",
            lost.err, cluster.bootstrap, GROUP="g",
        )  # fmt: skip
        words = ["groups", "rewind", "g", "--topic", "t:0", "--to", "5", "--yes"]
        assert kcli(*words, bootstrap=cluster.bootstrap).code == 0
        cluster.append("t", 0, batch(b"new"))
        again = kcli("consume", "t", "-g", "g", "-e", bootstrap=cluster.bootstrap)
        assert (again.code, again.out) == (0, "new\n"), again.err
        chosen = kcli("consume", "t", "-p", "0", "--offset", "5", "-e", bootstrap=cluster.bootstrap)
        assert (chosen.code, chosen.out) == (0, "new\n")
