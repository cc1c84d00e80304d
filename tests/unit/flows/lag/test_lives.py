"""Verdicts over simulated days: how late the right one is, how often a wrong one comes, and how often it flips."""

from collections.abc import Callable
from itertools import pairwise

import pytest

from kcli.flows.lag.verdicts import History
from tests.unit.flows.lag.lives import LIVES, Life, samples

EVERY = [
    pytest.param(2.0, marks=pytest.mark.long),
    pytest.param(5.0, marks=pytest.mark.long),
    pytest.param(10.0, marks=pytest.mark.long),
    pytest.param(30.0, marks=pytest.mark.long),
    60.0,
]
LATE = 30.0  # seconds, or three samples
JITTER = 1.05  # as far apart are samples at most, as a multiple of what they are on average


class Lived:
    """What the verdicts of a day were. ``late``: the longest time with a wrong one; ``alarms``: words other than ok that
    were never right; ``flips``: changes of the word beyond those that were due.
    """

    def __init__(self, life: Life, every: float) -> None:
        history = History()
        words = []
        for at, state, rows in samples(life, every):
            history.add_rows(int(at * 1_000), "g", rows, state)
            words.append((at, history.verdict("g", state, rows).word))
        self.patience = max(LATE, 3 * every)
        self.late, self.alarms = 0.0, 0
        known = [word for _, word in words if word is not None]
        self.flips = sum(a != b for a, b in pairwise(known))
        right = [life.word(at) for at, _ in words]
        self.changes = sum(a != b for a, b in pairwise(right))
        wrong_since, before = None, "ok"
        for at, word in words:
            if word == life.word(at):
                wrong_since = None
            else:
                wrong_since = at - every if wrong_since is None else wrong_since
                self.late = max(self.late, at - wrong_since)
            if word not in (None, "ok", before) and not self._is_right(life.word, at, word):
                self.alarms += 1
            before = word

    def _is_right(self, right: Callable[[float], str], at: float, word: str) -> bool:
        """Whether it was, or will be, about now."""
        step = self.patience / 10
        return any(right(max(0.0, at + number * step)) == word for number in range(-10, 11))


@pytest.mark.parametrize("every", EVERY)
@pytest.mark.parametrize("life", LIVES, ids=lambda life: life.name.replace(" ", "-"))
def test_the_verdict_on_a_day(life: Life, every: float) -> None:
    lived = Lived(life, every)
    assert lived.late <= JITTER * (lived.patience + every)
    assert lived.alarms <= 1
    assert lived.flips <= lived.changes + 2 * max(1, lived.alarms)
