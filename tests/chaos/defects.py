"""Six defects to be put into a good history, so that the judge is seen to find them before it is believed."""

import random
from collections.abc import Callable
from dataclasses import replace

from tests.chaos.checker import Read, check
from tests.chaos.ledger import Ledger
from tests.chaos.payload import WILL_ABORT, Payload, decode

History = list[Read]
Defect = Callable[[History, Ledger, random.Random], History]


def _loss(history: History, _ledger: Ledger, rng: random.Random) -> History:
    gone = rng.randrange(len(history))
    return history[:gone] + history[gone + 1 :]


def _duplicate(history: History, _ledger: Ledger, rng: random.Random) -> History:
    twice = rng.choice(history)
    return [*history, replace(twice, offset=max(r.offset for r in history) + 1)]


def _swap(history: History, _ledger: Ledger, rng: random.Random) -> History:
    by_sender: dict[tuple[int, int, str], list[int]] = {}
    for index, read in enumerate(history):
        payload = decode(read.value)
        assert payload is not None
        by_sender.setdefault((payload.id.producer, read.partition, read.topic), []).append(index)
    first, second = sorted(rng.sample(rng.choice([p for p in by_sender.values() if len(p) > 1]), 2))
    swapped = list(history)
    swapped[first] = replace(history[second], offset=history[first].offset)
    swapped[second] = replace(history[first], offset=history[second].offset)
    return swapped


def _misroute(history: History, _ledger: Ledger, rng: random.Random) -> History:
    wrong = rng.randrange(len(history))
    moved = replace(history[wrong], partition=history[wrong].partition + 1_000)
    return [*history[:wrong], moved, *history[wrong + 1 :]]


def _flipped_bit(history: History, _ledger: Ledger, rng: random.Random) -> History:
    hit = rng.randrange(len(history))
    value = bytearray(history[hit].value)
    value[rng.randrange(len(value))] ^= 1 << rng.randrange(8)
    return [*history[:hit], replace(history[hit], value=bytes(value)), *history[hit + 1 :]]


def _aborted(history: History, ledger: Ledger, rng: random.Random) -> History:
    model = rng.choice(history)
    payload = decode(model.value)
    assert payload is not None
    one = replace(payload.id, sequence=1 << 40)
    ledger.sent[one] = None
    ledger.failed[one] = "aborted"
    value = Payload(payload.run, one, 0, WILL_ABORT).encode()
    end = max(r.offset for r in history) + 1
    return [*history, replace(model, offset=end, value=value)]


DEFECTS: dict[str, Defect] = {
    "lost": _loss,
    "duplicate": _duplicate,
    "reorder": _swap,
    "misrouted": _misroute,
    "corrupt": _flipped_bit,
    "aborted_read": _aborted,
}
"""Verdict that has to be reached → what provokes it."""


def prove_the_judge(ledger: Ledger, run: bytes, history: History, seed: int) -> None:
    """Puts each defect into a copy of the history and asserts that the judge finds it: run before it counts."""
    rng = random.Random(seed)
    for verdict, defect in DEFECTS.items():
        copy = Ledger(dict(ledger.sent), dict(ledger.acked), dict(ledger.failed))
        found = check(copy, run, defect(list(history), copy, rng))
        assert found[verdict] >= 1, f"the judge does not see {verdict} (seed {seed}): {dict(found)}"
