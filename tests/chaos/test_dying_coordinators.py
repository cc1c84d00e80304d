"""Real coordinators that are killed: what was asked of them is answered by their heirs, the rest by whom it was asked."""

import time

import pytest

from kcli.core import Admin, GroupDescription, OffsetAndMetadata, TopicPartition
from kcli.core.admin.topics import TopicInfo
from kcli.sandbox.node import Node
from tests.kafka import Kafka

pytestmark = [pytest.mark.integration, pytest.mark.long]

GROUPS = 60
OFFSETS = "__consumer_offsets"


def assert_committed_soon(admin: Admin, wanted: dict[str, dict[TopicPartition, OffsetAndMetadata]]) -> None:
    """A new coordinator answers at first from what its log held below the high watermark that it had as a follower:
    the last commits may be missing for a moment (KAFKA-15910), but no other ones may be there.
    """
    deadline = time.monotonic() + 10
    while (found := admin.fetch_offsets(dict.fromkeys(wanted))) != wanted and time.monotonic() < deadline:
        assert {name: rows for name, rows in found.items() if rows}.items() <= wanted.items()
        time.sleep(0.1)
    assert found == wanted


def coordinators(admin: Admin, names: list[str]) -> dict[str, int | None]:
    """Of each group; several, also where a broker that was away before leads none of its partitions yet."""
    deadline = time.monotonic() + 120
    described = admin.describe_topics([OFFSETS])[OFFSETS]
    assert isinstance(described, TopicInfo)
    while True:
        admin.elect_leaders([TopicPartition(OFFSETS, part.partition) for part in described.partitions])
        found = {row.group_id: row.coordinator for row in admin.list_groups().groups if row.group_id in names}
        if len(found) == len(names) and len(set(found.values())) > 1:
            return found
        assert time.monotonic() < deadline, found
        time.sleep(0.1)


@pytest.mark.case("B15")
@pytest.mark.timeout(200)
@pytest.mark.parametrize(
    "end",
    [pytest.param(Node.stop, id="SIGTERM"), pytest.param(Node.kill, id="SIGKILL", marks=pytest.mark.soak)],
)
def test_groups_of_a_broker_that_dies_are_reported_by_the_rest(kafka3: Kafka, end: object) -> None:
    topic = kafka3.topic("moved", replicas=3, config={"min.insync.replicas": "2"})
    tp = TopicPartition(topic, 0)
    names = [kafka3.unused_name("moved") for _ in range(GROUPS)]
    wanted = {name: {tp: OffsetAndMetadata(number)} for number, name in enumerate(names)}
    with Admin(bootstrap_servers=kafka3.bootstrap, timeout=60) as admin:
        outcome = admin.commit_offsets(wanted)  # type: ignore[arg-type]
        assert {error for rows in outcome.values() for error in rows.values()} == {None}
        homes = coordinators(admin, names)
        victim = next(node for node in kafka3.nodes if node.node_id in homes.values())
        end(victim)  # type: ignore[operator]
        try:
            assert_committed_soon(admin, wanted)
            listing = admin.list_groups()
            assert not listing.is_partial
            assert set(names) <= {row.group_id for row in listing.groups}
            found = admin.describe_groups(names)
            told = [group for group in found.values() if isinstance(group, GroupDescription)]
            assert [group.state for group in told] == ["Empty"] * GROUPS
            assert victim.node_id not in {group.coordinator for group in told}
            new = {name: {tp: OffsetAndMetadata(100)} for name in names}
            outcome = admin.commit_offsets(new)  # type: ignore[arg-type]
            assert {error for rows in outcome.values() for error in rows.values()} == {None}
        finally:
            victim.start()
        assert_committed_soon(admin, new)
        assert set(admin.delete_groups(names).values()) == {None}
