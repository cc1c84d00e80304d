"""A target that goes away for good during ``kcli segments restore``: it ends by itself, and reports what is not known."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcli.core.protocol.messages.join_group import JoinGroupRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from tests.fake.cluster import FakeCluster
from tests.run import kcli
from tests.segments import batch, write


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"__consumer_offsets": 1}) as made:
        yield made


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    for number in (0, 1):
        write(tmp_path / "disk" / f"t-{number}", [batch(0, [b"a", b"b"]), batch(2, [b"c"])])
    (tmp_path / "disk" / "meta.properties").write_text("version=1\ncluster.id=gone\nnode.id=1\n")
    return tmp_path / "disk"


@pytest.mark.parametrize(
    ("held", "which"),
    [(JoinGroupRequest, {}), (ProduceRequest, {"after": 1})],
    ids=["lease", "records"],
)
def test_the_report_has_every_partition_whatever_could_not_be_asked(
    cluster: FakeCluster, disk: Path, held: type, which: dict[str, int]
) -> None:
    last = cluster.hold(held, **which)

    def end() -> None:
        last.wait()
        for node in cluster.node_ids:
            cluster.stop(node)

    ending = threading.Thread(target=end)
    ending.start()
    limits = ("--max-wait", "1s", "--timeout", "2s")
    done = kcli("segments", "restore", str(disk), "--to", cluster.bootstrap, "--yes", "-o", "json", *limits)
    ending.join()
    assert done.code in (3, 6), done.err
    report = json.loads(done.out)
    assert [(one["topic"], one["partition"]) for one in report["items"]] == [("t", 0), ("t", 1)]
    assert all(one["error"] is not None or one["to_offset"] == 3 for one in report["items"])
    assert all(one["copied_to"] is None for one in report["items"])  # nobody could be asked
    assert (report["complete"], [one["what"] for one in report["missing"]]) == (False, ["recovery points"])
    assert "commit again" not in done.err
