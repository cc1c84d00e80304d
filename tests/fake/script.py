"""The rules a test has set: which requests they catch, how often. What they do with them is in ``faults``."""

import math
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kcli.core.protocol.api import Request
from tests.fake.journal import Seen

if TYPE_CHECKING:
    from tests.fake.exchange import Exchange

FOREVER = math.inf
When = Callable[[Any], bool]
"""A test of the decoded request; it is given the request alone."""


class Fault:
    """What happens to a request that a rule caught. Each method is one moment in its life; all default to nothing."""

    def concerns(self, seen: Seen) -> bool:
        """Whether it can happen to this request; what it cannot happen to is not counted."""
        return True

    async def on_request(self, exchange: "Exchange") -> None:
        """Before it is applied. Setting ``exchange.answer`` keeps it from being applied."""

    async def on_answer(self, exchange: "Exchange") -> None:
        """It was applied (or refused); ``exchange.answer`` is there, not yet encoded."""

    async def on_frame(self, exchange: "Exchange") -> None:
        """``exchange.frame`` is what will be sent."""

    async def on_send(self, exchange: "Exchange") -> None:
        """Instead of sending, or while."""


class Rule:
    """A fault with its conditions: what every knob of the cluster returns.

    ``count`` and ``requests`` tell what it caught so far; ``wait`` blocks until it has; ``remove`` ends it.
    """

    def __init__(
        self,
        fault: Fault,
        kinds: type[Request] | tuple[type[Request], ...] | None,
        *,
        node: int | None,
        times: float,
        after: int,
        when: When | None,
    ) -> None:
        self.fault = fault
        self.requests: list[Seen] = []
        self.passed = 0
        self._kinds = kinds if isinstance(kinds, tuple) or kinds is None else (kinds,)
        self._node, self._times, self._after, self._when = node, times, after, when
        self._changed = threading.Condition()

    @property
    def count(self) -> int:
        return len(self.requests)

    @property
    def spent(self) -> bool:
        return self.count >= self._times

    def remove(self) -> None:
        """It catches nothing any more; what it holds stays held."""
        self._times = 0

    def wait(self, count: int = 1, timeout: float = 120.0) -> list[Seen]:
        """The first ``count`` requests that it caught."""
        with self._changed:
            if not self._changed.wait_for(lambda: self.count >= count, timeout):
                raise TimeoutError(f"{self!r} caught {self.count} of {count} requests in {timeout:g} s")
            return self.requests[:count]

    def catches(self, seen: Seen) -> bool:
        """Whether this request is its; counts the ones that ``after`` lets pass."""
        if self.spent or (self._kinds is not None and seen.kind not in self._kinds):
            return False
        if self._node is not None and seen.node != self._node:
            return False
        if self._when is not None and not self._when(seen.request):
            return False
        if not self.fault.concerns(seen):
            return False
        if self.passed < self._after:
            self.passed += 1
            return False
        return True

    def caught(self, seen: Seen) -> None:
        with self._changed:
            self.requests.append(seen)
            self._changed.notify_all()

    def __repr__(self) -> str:
        names = "any" if self._kinds is None else ", ".join(k.api_name for k in self._kinds)
        return f"{type(self.fault).__name__} of {names}"


class Script:
    """All rules in the order in which they were set. Of each kind of fault the first one that fits is taken."""

    def __init__(self) -> None:
        self._rules: list[Rule] = []

    def add(self, rule: Rule) -> Rule:
        self._rules = [*(r for r in self._rules if not r.spent), rule]
        return rule

    def clear(self) -> None:
        for rule in self._rules:
            rule.remove()
        self._rules = []

    def plan(self, seen: Seen) -> list[Fault]:
        """The faults of this request; counts them as used."""
        chosen: dict[object, Rule] = {}
        for rule in self._rules:
            if _kind(rule.fault) not in chosen and rule.catches(seen):
                chosen[_kind(rule.fault)] = rule
        for rule in chosen.values():
            rule.caught(seen)
        seen.faults = [type(rule.fault).__name__ for rule in chosen.values()]
        return [rule.fault for rule in chosen.values()]


def _kind(fault: Fault) -> object:
    return getattr(fault, "kind", type(fault))
