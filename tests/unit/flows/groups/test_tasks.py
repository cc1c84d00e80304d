"""The tasks of streams groups: who has them, and what of their input is unread."""

from kcli.core.admin.group_description import GroupDescription, MemberDescription
from kcli.core.admin.streams_members import StreamsClient, Subtopology, Task, Tasks
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.groups.offsets import Position
from kcli.flows.groups.tasks import owned_tasks, task_lag

PARTS = (
    Subtopology("0", ("a", "b"), ("app-r-repartition",)),
    Subtopology("1", (), (), ("app-r-repartition",)),
)


def member(name: str, now: Tasks, target: Tasks, client: StreamsClient | None = None) -> MemberDescription:
    return MemberDescription(name, None, name, "/h", tasks=now, target_tasks=target, streams=client)


def described(*members: MemberDescription) -> GroupDescription:
    return GroupDescription("app", "streams", "Stable", "streams", "", 1, members, subtopologies=PARTS)


def position(committed: int | None, end: int, start: int = 0) -> Position:
    return Position(None if committed is None else OffsetAndMetadata(committed), start, end)


def test_the_lag_of_a_task_is_the_sum_of_its_partitions() -> None:
    positions = {
        TopicPartition("a", 0): position(3, 10),
        TopicPartition("b", 0): position(8, 9),
        TopicPartition("a", 1): position(0, 100),
    }
    assert task_lag(Task("0", 0), ("a", "b"), positions) == 8


def test_a_topic_with_fewer_partitions_has_none_for_the_task() -> None:
    assert task_lag(Task("0", 1), ("a", "b"), {TopicPartition("a", 1): position(4, 6)}) == 2


def test_it_is_unknown_where_one_part_is_and_an_empty_log_is_read() -> None:
    unknown = {TopicPartition("a", 0): position(3, 10), TopicPartition("b", 0): position(None, 9)}
    assert task_lag(Task("0", 0), ("a", "b"), unknown) is None
    empty = {TopicPartition("a", 0): position(3, 10), TopicPartition("b", 0): position(None, 9, 9)}
    assert task_lag(Task("0", 0), ("a", "b"), empty) == 7
    assert task_lag(Task("0", 0), ("a", "b"), {}) is None


def test_tasks_that_move_are_to_be_revoked_here_and_assigned_there() -> None:
    moved = Task("0", 0)
    found = owned_tasks(
        described(
            member("m", Tasks((moved, Task("1", 0))), Tasks((Task("1", 0),))),
            member("n", Tasks(), Tasks((moved,))),
        ),
        {},
    )
    assert [(one.name, one.role, one.state, one.member.member_id) for one in found] == [
        ("0_0", "active", "to be revoked", "m"),
        ("0_0", "active", "to be assigned", "n"),
        ("1_0", "active", "assigned", "m"),
    ]


def test_only_active_tasks_have_a_lag_and_others_what_is_to_be_restored() -> None:
    warm = Task("0", 1)
    client = StreamsClient("p", 0, offsets=((warm, 40),), end_offsets=((warm, 100),))
    tasks = Tasks((Task("0", 0),), (Task("0", 2),), (warm,))
    positions = {TopicPartition("a", number): position(1, 4) for number in range(3)}
    found = owned_tasks(described(member("m", tasks, tasks, client)), positions)
    assert [(one.role, one.lag, one.restoring) for one in found] == [
        ("active", 3, None),
        ("warmup", None, 60),
        ("standby", None, None),
    ]


def test_members_of_other_groups_have_no_tasks() -> None:
    classic = MemberDescription("m", None, "m", "/h")
    assert owned_tasks(GroupDescription("g", "classic", "Stable", "consumer", "", 1, (classic,)), {}) == []
