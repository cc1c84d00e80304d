"""The ledger of randomized live rewinds: its judge on histories that were made up, what it draws, and a few real cells.

`python -m tests.chaos.rewind_ledger` runs hundreds of them.
"""

from collections import Counter
from dataclasses import replace

import pytest

from tests.chaos.rewind_ledger import report
from tests.chaos.rewind_ledger.__main__ import BROKER, run_cells
from tests.chaos.rewind_ledger.cells import CLIENTS, HABITS, Cell, Event, draw
from tests.chaos.rewind_ledger.judge import Fact, Run, judge
from tests.chaos.rewind_ledger.member import runs
from tests.chaos.rewind_ledger.run import Judged, Outcome
from tests.chaos.rewind_ledger.team import Ledger
from tests.kafka import QUICK_JVM, sandboxed

NEW = 100
BEGAN, REPORTED = 10.0, 20.0
A, B = "a", "b"


def read(reader: str, first: int, end: int, since: float, until: float) -> list[Run]:
    """Offsets from ``first`` to ``end`` in ten polls that are spread over a time."""
    step, pause = max(1, (end - first) // 10), (until - since) / 10
    starts = range(first, end, step)
    return [
        Run(start, min(end, start + step), since + number * pause, reader)
        for number, start in enumerate(starts)
    ]


BEFORE = read(A, 0, 1_000, 0.0, 10.0)
"""Member a had read 1,000 records when the rewind began."""


def fact(*parts: list[Run], new: int = NEW, before: list[Run] = BEFORE) -> Fact:
    return judge([*before, *(run for part in parts for run in part)], new, began=BEGAN, reported=REPORTED)


def test_read_again_from_the_new_offset_on_is_held() -> None:
    assert fact(read(A, NEW, 3_000, 12.0, 40.0)) == Fact(True)


def test_a_late_commit_of_an_old_batch_that_a_restart_begins_at_is_not_held() -> None:
    """As it was seen: 363 set, read again to 481, then from 864 on."""
    jumped = fact(read(A, NEW, 481, 12.0, 22.0), read(B, 864, 3_000, 25.0, 40.0))
    assert jumped.held is False
    assert "from 100 to 481" in jumped.why
    assert "from 864 by b" in jumped.why


def test_the_late_member_itself_that_continues_from_its_own_late_commit_is_not_held() -> None:
    """It continues its own position, as one would that has not noticed that it was sent out; but it does not end."""
    slow = [Run(481, 864, 9.0, "slow")]
    jumped = fact(slow, read(B, NEW, 481, 12.0, 22.0), read("slow", 864, 3_000, 22.0, 40.0))
    assert jumped.held is False


def test_read_on_as_if_nothing_had_happened_is_not_held() -> None:
    assert fact(read(A, 1_000, 3_000, 12.0, 40.0)) == Fact(False, "never read from 100, but from 1600 by a")


def test_read_again_from_another_offset_is_not_held() -> None:
    assert fact(read(A, NEW + 1, 3_000, 12.0, 40.0)).held is False
    assert fact(read(A, NEW - 1, 3_000, 12.0, 40.0)).held is False


def test_one_record_that_was_passed_over_after_a_restart_is_not_held() -> None:
    assert fact(read(A, NEW, 500, 12.0, 22.0), read(B, 501, 3_000, 25.0, 40.0)).held is False
    assert fact(read(A, NEW, 500, 12.0, 22.0), read(B, 500, 3_000, 25.0, 40.0)).held is True


def test_a_restart_that_begins_behind_the_new_offset_is_not_held() -> None:
    assert fact(read(A, NEW, 500, 12.0, 22.0), read(B, NEW - 50, 3_000, 25.0, 40.0)).held is False


def test_records_that_a_restart_reads_once_more_are_held() -> None:
    again = fact(
        read(A, NEW, 500, 12.0, 22.0), read(B, 300, 700, 25.0, 27.0), read(A, NEW, 3_000, 28.0, 40.0)
    )
    assert again.held is True


def test_a_jump_that_a_later_restart_repairs_by_chance_is_not_held() -> None:
    repaired = fact(
        read(A, NEW, 481, 12.0, 22.0), read(B, 864, 900, 25.0, 27.0), read(A, 481, 3_000, 28.0, 40.0)
    )
    assert repaired.held is False


def test_members_that_read_on_until_they_are_evicted_do_no_harm() -> None:
    assert fact(read(A, 1_000, 1_200, 10.0, 11.0), read(A, NEW, 3_000, 12.0, 40.0)).held is True


def test_a_member_that_reads_from_the_old_commit_before_the_new_one_is_set_does_no_harm() -> None:
    """KIP-848: it is back before the rewind has everything."""
    assert fact(read(B, 900, 1_100, 11.0, 12.0), read(B, NEW, 3_000, 13.0, 40.0)).held is True


def test_a_stopped_member_that_continues_and_reads_on_until_it_notices_does_no_harm() -> None:
    noticed = fact(read(B, NEW, 3_000, 12.0, 40.0), [Run(1_000, 1_050, 15.0, A)])
    assert noticed.held is True


def test_a_member_that_never_notices_is_not_held() -> None:
    never = fact(read(B, NEW, 900, 12.0, 40.0), read(A, 1_000, 3_000, 15.0, 40.0))
    assert never.held is False


def test_an_old_batch_that_was_in_work_is_no_jump() -> None:
    """It was polled before, whenever its end and its refused commit come."""
    assert fact([Run(1_000, 1_400, 9.9, A)], read(B, NEW, 3_000, 12.0, 40.0)).held is True


def test_a_poll_that_collects_while_another_member_takes_over_is_no_jump() -> None:
    late = [Run(500, 520, 22.10, A)]
    taken_over = [Run(520, 560, 22.05, B)]
    later = read(B, 560, 3_000, 22.2, 40.0)
    assert fact(read(A, NEW, 500, 12.0, 22.0), taken_over, late, later).held is True
    assert fact(read(A, NEW, 500, 12.0, 22.0), taken_over, later).held is False


@pytest.mark.parametrize("reported", [True, False])
def test_what_was_read_too_little_is_not_judged(reported: bool) -> None:
    some = read(A, 1_000, 1_100, 12.0, 13.0) if reported else []
    assert fact(some).held is None


def test_forward_held_when_it_is_read_from_there_or_through_it_before_the_report() -> None:
    assert fact(read(A, 1_500, 3_000, 12.0, 40.0), new=1_500).held is True
    through = [Run(1_000, 1_020, 10.5, A), Run(1_010, 1_500, 12.0, B), Run(1_500, 1_600, 30.0, B)]
    assert fact(through, new=1_010).held is True


def test_forward_a_rebalance_of_the_members_own_before_they_are_evicted_is_no_jump() -> None:
    """The new offset was counted when the plan was made; they read through it and go back to their last commit."""
    through = [Run(1_000, 1_020, 10.5, A), Run(900, 1_020, 11.0, B)]
    assert fact(through, read("c", 1_010, 1_600, 22.0, 40.0), new=1_010).held is True
    jump = [Run(1_010, 1_100, 22.0, "c"), Run(1_200, 1_600, 24.0, "d"), Run(1_600, 1_700, 30.0, "d")]
    assert fact(through, jump, new=1_010).held is False


def test_forward_records_that_are_not_left_out_after_all_are_not_held() -> None:
    assert fact(read(A, 1_000, 3_000, 12.0, 40.0), new=1_990).held is False


def test_records_that_only_a_member_on_its_way_out_has_read_are_not_covered() -> None:
    lost = fact(
        read(B, NEW, 900, 12.0, 22.0), [Run(1_000, 1_300, 15.0, A)], read("c", 1_300, 3_000, 25.0, 40.0)
    )
    assert lost.held is False


# --- what is drawn, and what is said of it -----------------------------------------------------------------------


def test_a_seed_gives_the_same_cells_and_another_seed_others() -> None:
    assert [draw(1, n) for n in range(50)] == [draw(1, n) for n in range(50)]
    assert [draw(1, n) for n in range(50)] != [draw(2, n) for n in range(50)]


def test_everything_is_drawn_in_two_hundred_cells() -> None:
    cells = [draw(1, number) for number in range(200)]
    kinds = Counter(client for cell in cells for client in set(cell.clients))
    assert set(kinds) == set(CLIENTS)
    assert kinds["java"] < 60
    assert {cell.habit for cell in cells} == set(HABITS)
    assert {event.kind for cell in cells for event in cell.events} == {"kill", "terminate", "stop", "join"}
    assert {"", "range", "roundrobin", "sticky", "cooperative-sticky"} == {cell.assignor for cell in cells}
    assert 70 < sum(not cell.events for cell in cells) < 130
    assert any(
        cell.long_seconds > 10 and any(one.kind == "join" and 7 <= one.at <= 9.5 for one in cell.events)
        for cell in cells
        if cell.long_batch is not None
    )
    assert all(len(cell.clients) <= cell.partitions for cell in cells)


def test_members_say_stretches_without_a_gap() -> None:
    assert runs({0: [5, 6, 7], 1: [1, 3, 4]}) == [(0, 5, 8), (1, 1, 2), (1, 3, 5)]


def test_the_ledger_understands_what_members_say() -> None:
    ledger = Ledger()
    ledger.hear("0.1", "owned 1.5 0 2")
    ledger.hear("0.1", "read 2.5 0 5 8 2 1 2 0 9 10")
    ledger.hear("0.1", "[main] INFO a line of a client's log")
    assert ledger.owners() == {"0.1": frozenset({0, 2})}
    assert ledger.runs(0) == [Run(5, 8, 2.5, "0.1"), Run(9, 10, 2.5, "0.1")]
    assert (ledger.position(2), ledger.last(2)) == (2, 2.5)


def outcome(*statuses: tuple[str, bool | None], code: int | None = 0, calm: bool = True) -> Outcome:
    events = () if calm else (Event("kill", 1.0),)
    judged = [Judged(n, status, Fact(held, "why")) for n, (status, held) in enumerate(statuses)]
    return Outcome(replace(draw(1, 4), events=events), judged, code)


def test_a_false_held_fails_a_run_and_names_the_cell() -> None:
    bad = outcome(("held", True), ("held", False))
    assert report.complaints([bad]) == ["cell 4: partition 1 reported held and was not: why"]
    assert "FAULT" in report.line(1, bad)
    assert report.complaints([outcome(("held", True))]) == []


def test_too_many_unknown_fail_a_run_by_kind_of_cell() -> None:
    held = [("held", True)] * 97
    some = outcome(*held, *[("unknown", True)] * 3, code=6)
    assert len(report.complaints([some])) == 1
    assert report.complaints([outcome(*held, *[("unknown", True)] * 2, code=6)]) == []
    assert report.complaints([replace(some, cell=replace(some.cell, events=(Event("kill", 1.0),)))]) == []
    assert report.complaints([outcome(*held[:80], *[("unknown", None)] * 20, code=6, calm=False)]) != []


def test_a_rewind_that_hangs_or_ends_with_zero_without_proof_fails_a_run() -> None:
    assert "did not end" in report.complaints([outcome(code=None)])[0]
    wrong = outcome(("overwritten", False))
    assert "exit status 0" in report.complaints([wrong])[0]


def test_cells_that_do_not_come_to_their_rewind_fail_a_run_when_they_are_many() -> None:
    void = Outcome(draw(1, 5), void="no group")
    good = outcome(("held", True))
    assert report.complaints([good] * 30 + [void]) == []
    assert len(report.complaints([good] * 10 + [void])) == 1


def test_the_table_compares_reports_with_the_truth() -> None:
    table = report.summary(
        [outcome(("held", True), ("unknown", True), ("unknown", False)), outcome(("held", False))]
    )
    header, *_, everything, share = table
    assert header.split()[2:] == ["held/NOT", "held", "held/held", "unknown/NOT", "held", "unknown/held"]
    assert everything.split() == ["all", "2", "4", "1", "1", "1", "1"]
    assert share == "unknown, calm: 50.0% (at most 3%)"


# --- real ones ------------------------------------------------------------------------------------------------------


def quick_cells() -> list[Cell]:
    """One of each of two clients, of seed 1, calm and soon over."""
    found: dict[str, Cell] = {}
    for number in range(1_000):
        cell = draw(1, number)
        slow = cell.busy or cell.long_batch is not None or cell.habit == "worker" or "kill" in cell.exposure
        if cell.assignor == "range" and not cell.events and not slow:
            found.setdefault("+".join(sorted(set(cell.clients))), cell)
    return [found["confluent"], found["aiokafka"]]


@pytest.mark.integration
@pytest.mark.soak
@pytest.mark.timeout(3_600)
def test_many_cells_have_no_false_report_and_few_unknown_ones() -> None:
    with sandboxed(extra=BROKER, jvm_options=QUICK_JVM) as kafka:
        outcomes = run_cells(kafka, 1, [draw(1, number) for number in range(100)], jobs=6)
    print(*report.summary(outcomes), sep="\n")
    assert report.complaints(outcomes) == []


@pytest.mark.integration
@pytest.mark.long
@pytest.mark.timeout(200)
def test_a_few_cells_are_rewound_and_nothing_is_reported_falsely() -> None:
    with sandboxed(extra=BROKER, jvm_options=QUICK_JVM) as kafka:
        cells = quick_cells()
        outcomes = run_cells(kafka, 1, cells, jobs=len(cells))
    assert [one.void for one in outcomes] == ["", ""]
    assert [fault for one in outcomes for fault in one.faults] == []
    facts = [judged.fact.held for one in outcomes for judged in one.judged]
    assert len(facts) == sum(cell.partitions for cell in cells)
    assert True in facts
