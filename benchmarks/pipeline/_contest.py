"""Contenders for one job, in turn, round by round: medians of what they cost per GB, and ratios with their targets."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from benchmarks._measure import Cost


class Target(NamedTuple):
    """The cost of ``ours`` is at most ``limit`` times that of ``theirs``, or so many seconds if that is None; no limit:
    None. ``what``: cpu or wall.
    """

    name: str
    ours: str
    theirs: str | None
    limit: float | None
    what: str = "cpu"


@dataclass(slots=True)
class Contest:
    """``contenders`` by name: None is one that cannot be measured here. ``gigabytes``: the values that each one moves."""

    name: str
    gigabytes: float
    contenders: dict[str, Callable[[], Cost] | None]
    targets: list[Target]
    costs: dict[str, list[Cost]] = field(default_factory=dict)
    load: float = 0.0

    def run(self, rounds: int) -> None:
        """Every contender once for each round, and once before the first: code is loaded and compiled by then."""
        for number in range(rounds + 1):
            for name, run in self.contenders.items():
                if run is None:
                    continue
                cost = run()
                if number:
                    self.costs.setdefault(name, []).append(cost)
        self.load = os.getloadavg()[0]

    def median(self, name: str, what: str) -> float:
        """Seconds."""
        return statistics.median(getattr(cost, what) for cost in self.costs[name])

    def ratio(self, target: Target) -> float | None:
        """Or seconds; None where one of both was not measured."""
        if target.theirs is None:
            return self.median(target.ours, target.what) if target.ours in self.costs else None
        if target.ours not in self.costs or target.theirs not in self.costs:
            return None
        return self.median(target.ours, target.what) / max(1e-9, self.median(target.theirs, target.what))

    def report(self, absent: str) -> str:
        """``absent``: why contenders could not be measured."""
        lines = [f"-- {self.name}, {self.gigabytes:g} GB (load {self.load:.1f})"]
        for name in self.contenders:
            if name not in self.costs:
                lines.append(f"{name:38} not measured: {absent}")
                continue
            each = [cost.cpu / self.gigabytes for cost in self.costs[name]]
            lines.append(
                f"{name:38} {self.median(name, 'cpu') / self.gigabytes:7.2f} CPU-s/GB ({min(each):.2f}–{max(each):.2f})"
                f"  {self.median(name, 'cpu'):7.2f} CPU-s  {self.median(name, 'wall'):7.2f} s"
            )
        for target in self.targets:
            ratio = self.ratio(target)
            limit = "no target" if target.limit is None else f"target ≤ {target.limit:g}"
            if ratio is None:
                said = "not measured"
            elif target.limit is None:
                said = "measured"
            else:
                said = "met" if ratio <= target.limit else "MISSED"
            shown = "" if ratio is None else f"{ratio:.2f} "
            beside = "s" if target.theirs is None else f"× {target.theirs}"
            lines.append(f"{target.name}: {target.ours}: {shown}{beside}, {target.what} ({limit}): {said}")
        return "\n".join(lines)
