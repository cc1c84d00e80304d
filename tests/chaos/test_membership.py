"""The judge of groups finds each defect, and does not accuse a good run: it must be seen to fail."""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from tests.chaos.group_member import POLL
from tests.chaos.membership import (
    KILLED,
    LOST,
    SLACK,
    Commit,
    History,
    judge,
    read_events,
    tell,
)

PARTITIONS, EACH = 4, 100
ENDS = dict.fromkeys(range(PARTITIONS), EACH)


@dataclass
class Run:
    """Events as members write them, for a group that changes hands from one member to the next."""

    rng: random.Random

    def __post_init__(self) -> None:
        self.logs: dict[str, list[dict[str, object]]] = {}
        self.killed: dict[str, float] = {}
        self.commits: list[Commit] = []
        self.now = 1.0
        self.committed = dict.fromkeys(range(PARTITIONS), 0)

    def step(self) -> float:
        self.now += 0.01
        return self.now

    def hold(self, member: str, generation: int, up_to: int, *, ends: str) -> None:
        """One member has everything, reads on, commits, and ends in some way."""
        log = self.logs.setdefault(member, [])
        places = list(range(PARTITIONS))
        log.append(
            {
                "event": "assigned",
                "at": self.step(),
                "places": places,
                "owned": places,
                "generation": generation,
            }
        )
        for place in places:
            first, middle = self.committed[place], self.rng.randrange(self.committed[place] + 1, up_to)
            for start, to in ((first, middle), (middle, up_to)):
                log.append(
                    {
                        "event": "read",
                        "at": self.step(),
                        "partition": place,
                        "first": start,
                        "to": to,
                        "bad": 0,
                    }
                )
                if ends == "revoked" or to == middle:
                    self.commits.append(Commit(self.step(), place, to))
                    self.committed[place] = to
        if ends == "killed":
            self.killed[member] = self.step()
        else:
            log.append({"event": ends, "at": self.step(), "places": places})
        self.now += 0.1

    def history(self) -> History:
        found = History(commits=list(self.commits))
        for member, events in self.logs.items():
            tell(found, member, events, self.killed.get(member))
        return found


def good(seed: int) -> Run:
    run = Run(random.Random(seed))
    run.hold("a", 1, 30, ends="revoked")
    run.hold("b", 2, 60, ends="killed")
    run.hold("c", 3, 80, ends="lost")
    run.hold("a", 5, EACH, ends="revoked")
    return run


@pytest.mark.parametrize("seed", range(20))
def test_a_good_run_is_not_accused(seed: int) -> None:
    history = good(seed).history()
    assert judge(history, ENDS) == {}
    assert {spell.how for spell in history.spells} == {"revoked", KILLED, LOST}
    assert sum(to - first for _, _, first, to in history.reads) > PARTITIONS * EACH, (
        "the dead leave something"
    )


def _unread(history: History) -> None:
    history.reads = [row for row in history.reads if row[1] != 2]


def _two_owners(history: History) -> None:
    spell = next(spell for spell in history.spells if spell.member == "b")
    spell.since -= 0.5


def _two_in_generation(history: History) -> None:
    history.given[1, "b"] = frozenset({3})


def _reread(history: History) -> None:
    spell = next(spell for spell in history.spells if spell.member == "b")
    assert spell.first is not None
    spell.first -= 1


def _rewound(history: History) -> None:
    spell = next(spell for spell in history.spells if spell.member == "c")
    assert spell.first is not None
    spell.first -= 1


def _commit_back(history: History) -> None:
    last = history.commits[-1]
    history.commits.append(replace(last, offset=last.offset - 1))


def _commit_ahead(history: History) -> None:
    first = history.commits[0]
    history.commits[0] = replace(first, offset=first.offset + 1)


DEFECTS: dict[str, Callable[[History], None]] = {
    "unread": _unread,
    "two_owners": _two_owners,
    "two_in_generation": _two_in_generation,
    "reread": _reread,
    "rewound": _rewound,
    "commit_back": _commit_back,
    "commit_ahead": _commit_ahead,
}


@pytest.mark.case("R5")
@pytest.mark.parametrize("defect", DEFECTS)
@pytest.mark.parametrize("seed", range(5))
def test_each_defect_is_found(defect: str, seed: int) -> None:
    history = good(seed).history()
    DEFECTS[defect](history)
    assert judge(history, ENDS)[defect] >= 1


@pytest.mark.parametrize(
    ("verdict", "event"),
    [
        ("skipped", {"event": "read", "partition": 0, "first": 7, "to": 8, "bad": 0}),
        ("bad", {"event": "read", "partition": 0, "first": 5, "to": 6, "bad": 1}),
        ("slow", {"event": "leaving", "slowest": POLL + SLACK + 0.1}),
    ],
)
def test_what_a_member_reports_about_itself(verdict: str, event: dict[str, object]) -> None:
    history = History()
    given = {"event": "assigned", "at": 1.0, "places": [0], "owned": [0], "generation": 1}
    read = {"event": "read", "at": 1.1, "partition": 0, "first": 0, "to": 5, "bad": 0}
    tell(history, "a", [given, read, {"at": 1.2, **event}])
    assert judge(history, {0: 5})[verdict] == 1


def test_records_of_a_partition_that_is_not_owned_are_noticed() -> None:
    history = History()
    tell(history, "a", [{"event": "read", "at": 1.0, "partition": 0, "first": 0, "to": 5, "bad": 0}])
    assert judge(history, {0: 5}) == {"skipped": 1}


def test_a_line_that_a_kill_cut_off_is_left_out() -> None:
    assert read_events('{"event": "started"}\n{"event": "re') == [{"event": "started"}]
