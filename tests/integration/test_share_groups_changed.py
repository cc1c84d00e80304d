"""Share groups of a real broker that are created, moved, deleted and restored, beside Kafka's own script."""

import json
from pathlib import Path

import pytest

from kcli.core.types import TopicPartition
from tests.integration.kafka_script import configs, share_groups, sorted_lines
from tests.integration.test_share_and_streams_groups import (
    needs_lag_of_share_groups,
    produce,
    rows_of,
    share_member,
    wait_until,
)
from tests.kafka import Kafka
from tests.run import Done, kcli_process

pytestmark = pytest.mark.integration
COUNT = 100


class World:
    """A topic with 30 records in each of two partitions, and a folder for journals."""

    def __init__(self, kafka: Kafka, folder: Path) -> None:
        needs_lag_of_share_groups(kafka)
        self.kafka, self.folder = kafka, folder
        self.topic, self.group = kafka.topic("shares", partitions=2), kafka.unused_name("share")
        for number in range(2):
            produce(kafka, self.topic, number, 30)

    def __call__(self, *arguments: str, code: int = 0) -> Done:
        done = kcli_process(
            *arguments, bootstrap=self.kafka.bootstrap, XDG_STATE_HOME=str(self.folder), XDG_CONFIG_HOME=str(self.folder)
        )  # fmt: skip
        assert done.code == code, done.err
        return done

    def script(self, *arguments: str) -> str:
        return share_groups(self.kafka, *arguments).stdout

    def judged(self, group: str) -> dict[int, tuple[str, str]]:
        """Start offset and lag by partition, as the script prints them."""
        text = self.script("--describe", "--group", group, "--offsets", "--verbose")
        return {int(row["PARTITION"]): (row["START-OFFSET"], row["LAG"]) for row in rows_of(text)}

    def undo(self) -> Done:
        journal = max(self.folder.glob("kcli/journal/*/*.json"), key=lambda path: path.stat().st_mtime_ns)
        return self("undo", journal.stem, "--yes")


@pytest.fixture
def world(kafka: Kafka, tmp_path: Path) -> World:
    return World(kafka, tmp_path)


def test_a_group_is_created_and_moved_as_by_the_script(world: World) -> None:
    """Each target set by kcli in one group and by the script in another: both are at the same offsets."""
    mine, other = world.group, world.kafka.unused_name("share")
    world("groups", "create", mine, "--type", "share", "-t", world.topic, "--from", "earliest", "--yes")
    reset = ("--reset-offsets", "--execute", "--group", other, "--topic", world.topic)
    world.script(*reset, "--to-earliest")
    assert world.judged(mine) == world.judged(other) == {0: ("0", "30"), 1: ("0", "30")}
    time_ago = "2020-01-01T00:00:00.000"
    file = world.folder / "offsets.csv"
    file.write_text(f"{world.topic},0,11\n{world.topic},1,12\n")
    for spec, script in (
        (("--to", "latest"), ("--to-latest",)),
        (("--to-datetime", time_ago), ("--to-datetime", time_ago)),
        (("--from-file", str(file)), ("--from-file", str(file))),
    ):
        topic = () if "--from-file" in spec else ("--topic", world.topic)
        world("groups", "rewind", mine, *topic, *spec, "--execute")
        world.script(*(reset[:4] if "--from-file" in spec else reset), *script)
        assert starts_of(world, mine) == starts_of(world, other), spec
    exported = world(
        "groups", "rewind", mine, "--topic", world.topic, "--to", "3", "--dry-run", "--export"
    ).out
    judge = world.script(
        "--reset-offsets",
        "--group",
        mine,
        "--topic",
        world.topic,
        "--to-offset",
        "3",
        "--dry-run",
        "--export",
    )
    assert sorted_lines(exported) == [line for line in sorted_lines(judge) if line]
    world("groups", "rewind", mine, "--undo", "--yes")
    assert world.judged(mine) == {0: ("0", "30"), 1: ("0", "30")}  # before --from-file


def starts_of(world: World, group: str) -> list[tuple[int, int, int]]:
    """Partition, start offset and lag, as kcli reads them."""
    items = json.loads(world("groups", "lag", group, "-o", "json").out)["items"]
    return [(row["partition"], row["committed"], row["lag_records"]) for row in items]


def test_the_form_of_the_script_is_the_scripts_text(world: World) -> None:
    world("groups", "create", world.group, "--type", "share", "-t", world.topic, "--from", "5", "--yes")
    for section in ("--offsets", "--state", "--members"):
        for more, verbose in ((("-v",), ("--verbose",)), ((), ())):
            mine = world("groups", "describe", world.group, section, "-o", "kafka", *more)
            judge = share_groups(world.kafka, "--describe", "--group", world.group, section, *verbose)
            assert sorted_lines(mine.out) == sorted_lines(judge.stdout), section


def test_members_stand_in_the_way_and_the_script_prints_the_same_of_them(world: World) -> None:
    world(
        "groups", "create", world.group, "--type", "share", "-t", world.topic, "--from", "earliest", "--yes"
    )
    with share_member(world.kafka, world.group, world.topic, 60):
        assert '"Stable"' in world("groups", "list", "--match", world.group, "-o", "json").out
        assert [lag for _, lag in world.judged(world.group).values()] == ["0", "0"]
        for section in ("--members", "--state"):
            mine = world("groups", "describe", world.group, section, "-o", "kafka", "-v")
            judge = share_groups(world.kafka, "--describe", "--group", world.group, section, "--verbose")
            assert sorted_lines(mine.out) == sorted_lines(judge.stdout)
        before = world.judged(world.group)
        for line in (
            ("rewind", world.group, "--topic", world.topic, "--to", "earliest"),
            ("delete-offsets", world.group, "-t", world.topic),
            ("delete", world.group),
        ):
            assert "member" in world("groups", *line, "--yes", code=7).err
        assert world.judged(world.group) == before
    assert '"Empty"' in world("groups", "list", "--match", world.group, "-o", "json").out
    world("groups", "rewind", world.group, "--topic", world.topic, "--to", "10", "--yes")
    assert world.judged(world.group) == {0: ("10", "20"), 1: ("10", "20")}


def test_what_is_acknowledged_is_forgotten_only_where_something_is_set(world: World) -> None:
    """A member that has acknowledged records behind others, which it gives back when it leaves."""
    topic, group, accepted = world.kafka.topic("acknowledged"), world.group, range(40, 60)
    produce(world.kafka, topic, 0, COUNT)
    world("groups", "create", group, "--type", "share", "-t", topic, "--from", "earliest", "--yes")
    with share_member(world.kafka, group, topic, COUNT, accepted):
        pass
    lag = COUNT - len(accepted)
    assert world.judged(group) == {0: ("0", str(lag))}
    assert starts_of(world, group) == [(0, 0, lag)]
    kept = world("groups", "rewind", group, "--to", "current", "--yes")
    assert world.judged(group) == {0: ("0", str(lag))}, kept.err
    done = world("groups", "rewind", group, "--to", "0", "--topic", topic, "--yes")
    assert f"{len(accepted)} acknowledged after it, delivered again" in done.err
    assert world.judged(group) == {0: ("0", str(COUNT))}


def test_what_is_deleted_is_restored(world: World) -> None:
    group, second = world.group, world.kafka.topic("second")
    produce(world.kafka, second, 0, 4)
    create = ("groups", "create", group, "--type", "share", "-t", world.topic, "-t", second)
    world(*create, "--from", "3", "--yes")
    world("groups", "delete-offsets", group, "-t", world.topic, "--yes")
    assert world.judged(group) == {0: ("3", "1")}  # of the other topic
    world.undo()
    assert len(rows_of(world.script("--describe", "--group", group))) == 3
    assert (
        "by topic" in world("groups", "delete-offsets", group, "-t", f"{world.topic}:0", "--yes", code=7).err
    )
    world("groups", "delete", group, "--yes")
    assert group not in world.script("--list").split()
    world.undo()
    assert group in world.script("--list").split()
    wait_until(lambda: len(rows_of(world.script("--describe", "--group", group))) == 3)
    found = {
        (row["TOPIC"], row["PARTITION"]): row["START-OFFSET"]
        for row in rows_of(world.script("--describe", "--group", group))
    }
    assert set(found.values()) == {"3"}
    assert len(found) == 3


def test_a_configuration_of_a_group_is_changed_shown_and_undone(world: World) -> None:
    keys = {"share.auto.offset.reset": "earliest", "share.record.lock.duration.ms": "15000",
            "share.isolation.level": "read_committed", "share.delivery.count.limit": "3"}  # fmt: skip
    given = [word for key, value in keys.items() for word in ("--set", f"{key}={value}")]
    world("configs", "alter", "groups", world.group, *given, "--yes")
    judge = configs(world.kafka, "--describe", "--entity-type", "groups", "--entity-name", world.group).stdout
    assert all(f"{key}={value}" in judge for key, value in keys.items())
    world("groups", "create", world.group, "--type", "share", "-t", world.topic, "--from", "1", "--yes")
    done = world("groups", "describe", world.group, "--config", "-o", "json")
    (item,) = json.loads(done.out)["items"]
    shown = {row["key"]: row["value"] for row in item["configs"] if row["source"] == "group"}
    assert shown == keys
    world.undo()
    (item,) = json.loads(world("groups", "describe", world.group, "--config", "-o", "json").out)["items"]
    assert not [row for row in item["configs"] if row["source"] == "group"]


def test_a_missing_partition_fails_alone(world: World) -> None:
    topic = world.topic
    create = ("groups", "create", world.group, "--type", "share", "-t", f"{topic}:0,7", "--from", "1")
    items = json.loads(world(*create, "--yes", "-o", "json", code=6).out)["items"]
    statuses = {TopicPartition(row["topic"], row["partition"]): row["status"] for row in items}
    assert statuses == {TopicPartition(topic, 0): "done", TopicPartition(topic, 7): "refused"}
