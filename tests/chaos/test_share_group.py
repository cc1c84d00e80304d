"""Members of a share group are killed, stopped beyond their locks, and give records back: every record is accepted, and
none that its member had not written. ``python -m tests.chaos.share_crowd`` is the long run.
"""

import copy
from pathlib import Path

import pytest

from tests.chaos.share_crowd import Plan, run
from tests.chaos.share_judge import ACKNOWLEDGED, ARCHIVED, Account
from tests.chaos.workload import SEED
from tests.kafka import Kafka


def state(first: int, last: int, deliveries: int, kind: int = ACKNOWLEDGED) -> dict[str, object]:
    batch = {
        "first_offset": first,
        "last_offset": last,
        "delivery_state": kind,
        "delivery_count": deliveries,
    }
    return {
        "key": {"data": {"group_id": "g", "partition": 0}},
        "value": {"data": {"state_batches": [batch]}},
    }


def judged() -> Account:
    """Four records, one of which was delivered twice: nothing is wrong."""
    account = Account({0: 4})
    account.add_log(
        [b"0 0 1\n", b"0 1 1\n", b"Partition:0\tOffset:2\tDelivery:1\n", b"0 3 1\n", b"0 3 2\n", b"0 1"]
    )
    account.add_state(state(0, 2, 1), "g")
    account.add_state(state(3, 3, 2), "g")
    return account


def test_the_judge_is_silent_where_all_is_well() -> None:
    account = judged()
    assert account.verdicts() == {}
    assert account.redelivered == (1, 1)


def test_the_judge_finds_what_must_not_be() -> None:
    """Each defect by itself: a record that nobody wrote, one that is not accepted, one that is archived."""
    unwritten = copy.deepcopy(judged())
    unwritten.written[0][1] = 0
    assert unwritten.verdicts() == {"accepted unwritten": 1}
    other_delivery = copy.deepcopy(judged())
    other_delivery.written[0][3] = 1 << 1
    assert other_delivery.verdicts() == {"accepted unwritten": 1}
    open_ = copy.deepcopy(judged())
    open_.accepted[0][2] = 0
    assert open_.verdicts() == {"never accepted": 1}
    archived = judged()
    archived.add_state(state(2, 2, 5, ARCHIVED), "g")
    assert archived.verdicts() == {"archived": 1}


@pytest.mark.integration
@pytest.mark.long
@pytest.mark.timeout(600)
def test_members_are_killed_stopped_and_give_back(kafka3: Kafka, tmp_path: Path) -> None:
    if kafka3.version != "unknown" and tuple(map(int, kafka3.version.split(".")[:2])) < (4, 2):
        pytest.skip(f"Kafka {kafka3.version} has no share groups by default")
    topic = kafka3.topic("queue", partitions=6, replicas=3)
    plan = Plan(
        servers=kafka3.bootstrap,
        topic=topic,
        group=kafka3.unused_name("crowd"),
        records=40_000,
        kills=4,
        expiries=1,
        releases=1,
        lock=15.0,
        rate=1_500,
        seed=SEED,
    )
    outcome = run(plan, tmp_path)
    print(outcome.text())
    assert outcome.account.verdicts() == {}, f"seed {SEED}"
