"""Loads in transactions: everything is sent in one, each is committed when it has been open for its time."""

import itertools
from types import SimpleNamespace
from typing import Any

import pytest

from kcli.flows.perf import load as module
from kcli.flows.perf.deliveries import Deliveries
from kcli.flows.perf.load import Load
from kcli.flows.perf.load_plan import LoadPlan
from kcli.flows.perf.payload import Values


class Recorded:
    """A producer that only notes what it is asked for."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def begin_transaction(self) -> None:
        self.calls.append("begin")

    def commit_transaction(self, **_how: Any) -> None:
        self.calls.append("commit")

    def send_text(self, *_text: Any, **_how: Any) -> None:
        self.calls.append("send")


def calls_of(plan: LoadPlan, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the producer is asked for; each look at the clock takes a second."""
    clock = itertools.count()
    looks = SimpleNamespace(monotonic=lambda: float(next(clock)), process_time=lambda: 0.0, sleep=None)
    monkeypatch.setattr(module, "time", looks)
    payload, producer = plan.payload(), Recorded()
    load = Load(plan, payload, producer, Deliveries(payload.size, clock=looks.monotonic))  # type: ignore[arg-type]
    load._run()
    assert load._defect is None
    return producer.calls


def test_transactions_are_committed_by_their_time_and_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = LoadPlan("t", Values(1024, 1024), records=20_000, transaction=20.0)
    words = " ".join(calls_of(plan, monkeypatch))
    transactions = [one.split() for one in words.split("begin ")[1:]]
    assert len(transactions) > 3
    for sent in transactions:
        assert set(sent[:-1]) == {"send"}
        assert sent[-1] == "commit"


def test_without_transactions_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = LoadPlan("t", Values(1024, 1024), records=2_000)
    assert set(calls_of(plan, monkeypatch)) == {"send"}
