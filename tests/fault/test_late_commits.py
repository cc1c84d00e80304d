"""A live rewind whose members commit an old batch when they are released again, in the new epoch (KIP-848)."""

import json
from pathlib import Path
from threading import Thread

import pytest
from click.testing import CliRunner

from kcli.cli import cli
from kcli.commands.shared.global_values import GlobalValues
from kcli.core.types import OffsetAndMetadata, TopicPartition
from tests.committing import commit, put
from tests.fake.cluster import FakeCluster
from tests.fake.groups import asks
from tests.fake.raw_client import RawClient
from tests.printed_json import check_printed
from tests.rewinding import QUICK, others, wait_for

OLD, END, NEW = 10, 20, 3


def test_a_late_commit_of_an_old_batch_in_a_new_epoch_is_not_reported_as_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The members have read to 20 and committed nothing yet. One commits 15 after the release: nobody has read that
    from offset 3 on.
    """
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(
        "kcli.flows.rewind.live.LONGEST_BATCH", 0.5
    )  # the group is not held until batches end
    for name, seconds in (
        ("live.USUAL_SESSION", 2.0),
        ("live.UNKNOWN_PACE", 0.5),
        ("attendance.LONGEST_BATCH", 3.0),
    ):
        monkeypatch.setattr(
            f"kcli.flows.rewind.{name}", seconds
        )  # the time in which old batches are expected is over
    silent = {**QUICK, "enable_auto_commit": False, "group_protocol": "consumer"}
    with FakeCluster(1, topics={"t": 2}) as cluster:
        for partition in range(2):
            put(cluster, "t", partition, END)
        commit(cluster, "g", {TopicPartition("t", number): OffsetAndMetadata(OLD) for number in range(2)})
        with others(cluster.bootstrap, "t", "g", 2, watched=True, **silent) as group:
            wait_for(lambda: group.first == dict.fromkeys(range(2), OLD))
            wait_for(lambda: len(cluster.group_members("g")) == 2 and cluster.group_state("g") == "Stable")
            members = set(cluster.group_members("g"))
            late = Thread(target=commit_late, args=(cluster, members))
            late.start()
            words = ["groups", "rewind", "g", "--to", str(NEW), "--live", "--yes", "--watch=8s", "-o", "json"]
            done = CliRunner().invoke(
                cli, [*words, "-b", cluster.bootstrap], obj=GlobalValues(), standalone_mode=False
            )
            late.join(120)
    assert done.return_value in (6, 7), done.output
    check_printed(done.stdout)
    (item,) = (one for one in json.loads(done.stdout)["items"] if one["partition"] == 0)
    assert [one["offset"] for one in item["commits"]] == [15]
    assert item["status"] == "unknown"
    assert "may have been of an old batch" in done.stderr


def commit_late(cluster: FakeCluster, members: set[str]) -> None:
    """Partition 0, by its owner, as soon as the guard has left the group."""
    wait_for(lambda: len(cluster.group_members("g")) > len(members))
    wait_for(lambda: set(cluster.group_members("g")) == members and len(owners(cluster)) == 1)
    (owner,) = owners(cluster)
    with RawClient(cluster.address(1)) as client:
        epoch = cluster.group_members("g")[owner].epoch
        told = client.ask(asks.commit({"t": {0: 15}}, owner, epoch), 9)
        assert asks.code(told) == 0, told


def owners(cluster: FakeCluster) -> list[str]:
    tp = TopicPartition("t", 0)
    return [name for name, view in cluster.group_members("g").items() if tp in view.partitions]
