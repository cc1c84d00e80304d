"""``topics delete`` keeps the configuration of topics in a journal, and ``undo`` creates them again, empty."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.commands.shared import changing
from kcli.core.admin.admin import Admin
from kcli.core.protocol.messages.create_topics import CreateTopicsRequest
from kcli.core.protocol.messages.delete_topics import DeleteTopicsRequest
from kcli.core.protocol.messages.describe_configs import DescribeConfigsRequest
from tests.cli.errors.typing_remedies import type_remedy
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.script import FOREVER
from tests.run import Done, kcli


class World:
    def __init__(self, cluster: FakeCluster, folder: Path) -> None:
        self.cluster, self.folder = cluster, folder

    def __call__(self, line: str, *, code: int = 0) -> Done:
        done = kcli(*line.split(), bootstrap=self.cluster.bootstrap, XDG_STATE_HOME=str(self.folder))
        assert done.code == code, done
        return done

    @property
    def journal(self) -> str:
        (found,) = (self.folder / "kcli/journal").glob("*/*.json")
        return found.stem


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with FakeCluster(2) as cluster:
        world = World(cluster, tmp_path)
        world("topics create orders pay --partitions 3 --replication-factor 2 --config retention.ms=5000")
        yield world


def statuses(done: Done) -> list[str]:
    return [item["status"] for item in json.loads(done.out)["items"]]


def test_topics_come_back_empty_with_their_configuration(world: World) -> None:
    report = json.loads(world("topics delete orders pay --yes -o json").out)
    assert report["undo"] == world.journal
    (row,) = json.loads(world("undo -o json").out)["items"]
    assert row["what"] == "topics orders, pay, without records"
    dry = world(f"undo {world.journal} --dry-run")
    assert "The topics will be empty" in dry.out
    assert statuses(world(f"undo {world.journal} --dry-run -o json")) == ["planned", "planned"]
    assert world(f"undo {world.journal} --dry-run -o ndjson").out
    assert statuses(world(f"undo {world.journal} --yes -o json")) == ["done", "done"]
    with Admin(bootstrap_servers=world.cluster.bootstrap) as admin:
        found: Any = admin.describe_topics(["orders"])["orders"]
        configs: Any = admin.describe_topic_configs(["orders"])["orders"]
    assert [len(part.replicas) for part in found.partitions] == [2, 2, 2]
    assert {one.name: one.value for one in configs if not one.is_default} == {"retention.ms": "5000"}
    for how in ("--dry-run", "--yes"):
        err = world(f"undo {world.journal} {how} -o ndjson", code=7).err
        assert "TOPIC_ALREADY_EXISTS" in err
        type_remedy(
            "`kcli topics describe orders` shows the topic that has the name now",
            err,
            world.cluster.bootstrap,
        )


def test_partitions_that_were_added_during_the_question_come_back_too(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as during:
        during.setattr(changing, "ask", lambda *_: world.cluster.add_partitions("orders", 5))
        (row,) = json.loads(world("topics delete orders -o json").out)["items"]
    assert (row["status"], row["partitions"]) == ("done", 5)
    world(f"undo {world.journal} --yes")
    with Admin(bootstrap_servers=world.cluster.bootstrap) as admin:
        found: Any = admin.describe_topics(["orders"])["orders"]
    assert len(found.partitions) == 5


def test_a_topic_that_was_not_deleted_is_as_it_should_be(world: World) -> None:
    world.cluster.fail(DeleteTopicsRequest, Code.REQUEST_TIMED_OUT, times=FOREVER)
    world("topics delete orders --yes --timeout 1s", code=3)
    assert statuses(world(f"undo {world.journal} --yes -o json")) == ["unchanged"]


def test_a_topic_that_may_not_be_created_is_refused_in_the_plan(world: World) -> None:
    world("topics delete orders --yes")
    world.cluster.settings.cluster_operations = world.cluster.settings.topic_operations = 1 << 8
    for how in ("--dry-run", "--yes"):
        assert "no CREATE permission on topic orders" in world(f"undo {world.journal} {how}", code=4).err


def test_a_topic_with_more_replicas_than_brokers_is_refused(tmp_path: Path, world: World) -> None:
    world("topics delete orders --yes")
    with FakeCluster(1) as smaller:
        world.cluster = smaller
        assert "INVALID_REPLICATION_FACTOR" in world(f"undo {world.journal} --dry-run", code=1).err


def test_a_lost_answer_is_settled_by_what_is_there(world: World) -> None:
    world("topics delete orders --yes")
    world.cluster.fail(CreateTopicsRequest, Code.REQUEST_TIMED_OUT, applied=True, times=FOREVER)
    assert statuses(world(f"undo {world.journal} --yes --timeout 2s -o json")) == ["done"]


def test_a_topic_that_brokers_do_not_show_with_leaders_is_unknown(world: World) -> None:
    def without_leader(answer: Any) -> None:
        for row in answer.topics:
            if row.partitions:
                row.partitions[-1].leader_id = -1

    world("topics delete orders --yes")
    world.cluster.lie(without_leader, node=2, when=lambda request: bool(request.topics))
    done = world(f"undo {world.journal} --yes --timeout 1s -o json", code=6)
    assert statuses(done) == ["unknown"]
    assert "not all brokers showed it" in done.err


def test_a_configuration_that_could_not_be_read_is_said_to_be_missing(world: World) -> None:
    world.cluster.fail(DescribeConfigsRequest, Code.TOPIC_AUTHORIZATION_FAILED, times=FOREVER)
    world("topics delete orders --yes")
    done = world(f"undo {world.journal} --yes -o json")
    (warning,) = json.loads(done.out)["warnings"]
    assert warning.startswith("the configuration of topic orders is not in the journal")


def test_what_a_broker_refused_to_delete_leaves_no_journal(world: World) -> None:
    world.cluster.fail(DeleteTopicsRequest, Code.POLICY_VIOLATION, times=FOREVER)
    assert "Undo with" not in world("topics delete orders --yes", code=7).err
    assert list((world.folder / "kcli/journal").glob("*/*.json")) == []
