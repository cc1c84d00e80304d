"""The plan of a rewind as it is printed: the shape that the contract shows."""

from dataclasses import replace
from datetime import timedelta, timezone

import pytest

from kcli.commands.shared.context import ClusterName
from kcli.commands.shared.offset_spec import instant_text
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.rewind.judge import OPEN, Awaited, PartitionVerdict
from kcli.flows.rewind.outcomes import FAILED, VERIFIED, GroupReport, PartitionOutcome
from kcli.flows.rewind.plan import GroupPlan, NotPossibleError, RewindItem, RewindPlan
from kcli.flows.rewind.targets import TargetError
from kcli.flows.rewind.text import (
    awaited_text,
    done_text,
    number_text,
    plan_text,
    undo_command,
)
from kcli.flows.rewind.watching import OpenPartition
from kcli.output.progress import time_span_text

BERLIN = timezone(timedelta(hours=1))
NOW = 1_795_252_443_000  # 2026-11-21T09:14:03Z

PROD = ClusterName("prod", "profile prod, as User:ops")


def item(
    number: int, old: int | None, new: int | None, note: str = "", span: int | None = None
) -> RewindItem:
    committed = None if old is None else OffsetAndMetadata(old)
    goes = None if new is None else OffsetAndMetadata(new)
    records = None if old is None or new is None else abs(new - old)
    return RewindItem(TopicPartition("orders", number), committed, goes, note, records, 0, span)


def plan(*items: RewindItem, **more: object) -> GroupPlan:
    settings: dict[str, object] = {"untouched": 2, **more}
    return GroupPlan("billing", "20261121-091403-3fa9c1", "x", "Empty", items, **settings)  # type: ignore[arg-type]


def lines(group: GroupPlan) -> list[str]:
    return plan_text(
        RewindPlan("Qx3", (group,)), ClusterName("prod", "profile prod, as User:ops")
    ).splitlines()


def test_as_in_the_contract() -> None:
    assert lines(
        plan(
            item(0, 1_204_331, 1_190_002, span=18_720_000),
            item(1, 998_120, 998_120, "no record since; stays at end", span=0),
            item(2, 1_101_777, 1_088_400, "clamped to log start", span=1_000),
        )
    ) == [
        "Rewind group billing on prod (cluster Qx3, profile prod, as User:ops)",
        "  to: x",
        "  TOPIC    PART   COMMITTED  →        NEW    CHANGE   RECORDS RE-READ   NOTE",
        "  orders      0   1,204,331  →  1,190,002   −14,329   14,329",
        "  orders      1     998,120  →    998,120         0        0            no record since; stays at end",
        "  orders      2   1,101,777  →  1,088,400   −13,377   13,377            clamped to log start",
        "  3 partitions, at most 27.7 k records will be read again (5h12m of data). "
        "Other topics of the group: untouched (2).",
        "Group state: Empty. Undo afterwards with: kcli groups rewind billing --undo=20261121-091403-3fa9c1",
    ]


def test_what_is_done_and_a_group_that_does_not_exist() -> None:
    group = GroupPlan("new", "1", "the offsets in f", "Dead", (item(0, None, 5),))
    found = plan_text(
        RewindPlan("Qx3", (group,), "Import into group"), ClusterName("prod", "profile prod, as User:ops")
    ).splitlines()
    assert found[0] == "Import into group new on prod (cluster Qx3, profile prod, as User:ops)"
    assert found[-1] == "Group state: does not exist. Undo afterwards with: kcli groups rewind new --undo=1"


def test_ahead_and_both_ways() -> None:
    ahead = lines(plan(item(0, 5, 9), untouched=0))
    assert ahead[2].endswith("CHANGE   RECORDS SKIPPED   NOTE")
    assert ahead[3].split()[5:] == ["+4", "4"]
    assert ahead[4] == "  1 partition, at most 4 records will be skipped (how much time is unknown)."
    both = lines(plan(item(0, 5, 9, span=1), item(1, 9, 5, span=2_000), untouched=0))
    assert [line.split()[6:] for line in both[3:5]] == [["4", "skipped"], ["4", "re-read"]]
    assert both[5] == (
        "  2 partitions, at most 4 records will be read again (2s of data), "
        "at most 4 records will be skipped (less than 1s of data)."
    )


def test_refused_deleted_and_without_a_commit() -> None:
    refused = RewindItem(TopicPartition("orders", 7), None, None, "refused: no", refusal=TargetError("no"))
    found = lines(
        plan(item(0, 5, None, "commit deleted: there was none"), item(1, None, 5), refused, untouched=0)
    )
    assert [line.split()[2:6] for line in found[3:6]] == [
        ["5", "→", "-", "-"],
        ["-", "→", "5", "-"],
        ["-", "→", "-", "-"],
    ]
    assert found[6] == (
        "  2 partitions. 1 partition has no commit yet and will be read from NEW on. "
        "The commits of 1 partition will be deleted. 1 partition refused."
    )


def test_a_plan_that_stays_counts_offsets_or_is_refused() -> None:
    assert lines(plan(item(0, 5, 5), untouched=0))[4] == "  1 partition, all stay where they are."
    counted = lines(plan(item(0, 5, 3, span=0), untouched=0, counts_offsets=True))
    assert counted[4].endswith("The change counts offsets, not records.")
    assert lines(plan(item(0, 5, 3), refusal=NotPossibleError("w", why="it has members")))[-1] == (
        "Group state: Empty. Refused: it has members."
    )


@pytest.mark.parametrize(
    ("ms", "ago", "text"),
    [
        (NOW - 3_600_000, True, "1h before now = 2026-11-21T08:14:03Z (09:14:03 +01:00)"),
        (NOW + 90_000, True, "1m30s after now = 2026-11-21T09:15:33Z (10:15:33 +01:00)"),
        (NOW + 50_157_007, False, "2026-11-21T23:10:00.007Z (2026-11-22 00:10:00 +01:00)"),
        (1 << 62, False, "4611686018427387904 ms since the epoch, beyond the calendar"),
    ],
)
def test_instants(ms: int, ago: bool, text: str) -> None:
    assert instant_text(ms, NOW, BERLIN, ago=ago) == text


def test_numbers_spans_and_names_that_need_quotes() -> None:
    assert [number_text(n) for n in (0, 9_999, 10_000, 999_949, 999_950, 27_706_000, 10**13)] == [
        "0", "9,999", "10.0 k", "999.9 k", "1.0 M", "27.7 M", "10.0 T",
    ]  # fmt: skip
    assert [time_span_text(ms) for ms in (0, 999, 1_000, 61_000, 3_600_000, 3_661_000, 90_000_000)] == [
        "0ms", "999ms", "1s", "1m01s", "1h", "1h01m", "1d01h",
    ]  # fmt: skip
    quoted = GroupPlan("a b", "1", "x", "Empty", ())
    assert undo_command(quoted) == "kcli groups rewind 'a b' --undo=1"


def test_the_way_back_survives_odd_names_and_a_dry_run_has_no_journal() -> None:
    plan = GroupPlan("--yes", "1", "earliest", "Empty", ())
    assert undo_command(plan) == "kcli groups rewind --undo=1 -- --yes"
    assert undo_command(replace(plan, group="a b"), planned=True) == "kcli groups rewind 'a b' --undo"


@pytest.mark.parametrize(
    ("news", "statuses", "text"),
    [
        ([5, 6], "vv", "2 partitions set and read back"),
        ([5], "f", "0 partitions set and read back, 1 failed"),
        ([5, 3, 3], "vvv", "1 partition set and read back, 2 unchanged"),
        ([3], "v", "0 partitions set and read back, 1 unchanged"),
        ([3, 5, None], "vfv", "1 commit deleted and read back, 1 unchanged, 1 failed"),
        ([None], "v", "1 commit deleted and read back"),
        ([None, None], "vf", "1 commit deleted and read back, 1 failed"),
        ([5, None, None], "vvv", "1 partition set, 2 commits deleted, all read back"),
        ([5, None], "fv", "1 commit deleted and read back, 1 failed"),
    ],
)
def test_only_what_was_set_is_said_to_be_set(news: list[int | None], statuses: str, text: str) -> None:
    """An undo deletes the commits of partitions that had none."""
    words = {"v": VERIFIED, "f": FAILED}
    made = plan(*(item(number, 3, new) for number, new in enumerate(news)))
    outcomes = tuple(PartitionOutcome(one, words[key]) for one, key in zip(made.items, statuses, strict=True))
    said = done_text(GroupReport(made, outcomes, kept=True))
    assert said.partition(";")[0] == f"group billing: {text}"


def test_a_partition_without_a_commit_that_gets_none_is_not_said_to_be_set() -> None:
    made = plan(item(0, None, None), item(1, 3, 5))
    outcomes = tuple(PartitionOutcome(one, VERIFIED) for one in made.items)
    said = done_text(GroupReport(made, outcomes, kept=True))
    assert "1 partition set, 1 partition left without a commit, all read back" in said


@pytest.mark.parametrize(("ends", "added"), [(120.0, ""), (90.0, " (the watch ends in 90 s)")])
def test_a_watch_that_ends_before_what_it_waits_for_says_so(ends: float, added: str) -> None:
    awaited = Awaited(until=95.0)
    one = OpenPartition("g", TopicPartition("t", 0), PartitionVerdict(OPEN, (), awaited), 95.0)
    assert (
        awaited_text([one], ends) == f"waiting for late commits of batches read before, 95 s left{added}: t-0"
    )
