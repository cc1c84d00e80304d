"""Which replica a restore reads, and what its plan says of the others."""

from kcli.core.errors import DamagedFileError
from kcli.core.logdir.folders import LogDirectory, PartitionFolder
from kcli.core.logdir.replicas import Replica
from kcli.core.types import TopicPartition
from kcli.flows.segments.inventory import Chosen, Examined, Hole, Inventory, OpenEnd, choose, lines, remarks

TP = TopicPartition("t", 0)


def replica(node: int, end: int, *, epoch: int = 3, high: int = 0, damaged: int = -1) -> Examined:
    path = f"/disk{node}/t-0"
    damages = [
        DamagedFileError(
            f"{path}/0.log", 70, why="its checksum is wrong", offset=damaged, next_offset=damaged + 5
        )
    ]
    return Examined(
        PartitionFolder(path, TP, log_dir=LogDirectory(f"/disk{node}")),
        Replica(node, epoch, end),
        high_watermark=high,
        damages=damages if damaged >= 0 else (),
    )  # fmt: skip


def node(chosen: Chosen) -> int:
    return chosen.taken.replica.node_id


def test_the_replica_that_has_most_is_taken() -> None:
    assert node(choose([replica(1, 90), replica(2, 100), replica(3, 95)])) == 2
    assert node(choose([replica(1, 90, epoch=4), replica(2, 100)])) == 1


def test_only_those_that_were_in_sync_if_one_of_them_is_there() -> None:
    assert node(choose([replica(1, 90), replica(2, 100)], isr=[1])) == 1
    assert node(choose([replica(1, 90), replica(2, 100)], isr=[3])) == 2


def test_a_damaged_replica_is_passed_over_for_one_that_has_all_that_can_have_been_acknowledged() -> None:
    damaged = replica(1, 100, high=80, damaged=40)
    for other, isr, taken in (
        (replica(2, 90), [], 2),  # it reaches the high watermark
        (replica(2, 70), [], 1),  # it does not
        (replica(2, 70), [1, 2], 2),  # it was in sync
        (replica(2, 99, epoch=2), [1], 1),  # it follows another leader
        (replica(2, 99, damaged=3), [], 1),
    ):
        found = choose([damaged, other], isr)
        assert (node(found), found.instead is damaged) == (taken, taken == 2)


def test_the_plan_names_the_damage_the_holes_and_what_was_open() -> None:
    damaged, whole = replica(1, 100, high=80, damaged=40), replica(2, 90)
    other = TopicPartition("t", 1)
    found = Inventory(
        {
            TP: choose([damaged, whole]),
            other: Chosen(damaged._replace(holes=[Hole(50, 60)]), []),
        },
        [],
        [OpenEnd(TP, 7, 33, "billing", commits=False), OpenEnd(other, 7, 44, "billing", commits=False)],
    )
    assert next(remarks(found)) == "  1 of 2 partitions whole, all checksums compared"
    said = [text for _, text in lines(found, skips=True)]
    assert said == [
        "a transaction of billing (producer 7) was open, in t-0 from offset 33, t-1 from offset 44: its records are not "
        "restored",
        "t-0: read from /disk2/t-0, since /disk1/t-0 is damaged: /disk1/t-0/0.log at byte 70 (offset 40)",
        "t-1: damaged: /disk1/t-0/0.log at byte 70, offsets 40 to 44, left out: its checksum is wrong",
        "t-1: offsets 50 to 59 are missing: no segment of /disk1/t-0 has them",
    ]
