"""The limits of ``calls.toml``: the most calls that a flow may make, and how far below them it should not stay."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

PATH = Path(__file__).with_name("calls.toml")
_SLACK = 0.8


class Limit(NamedTuple):
    """``calls`` of functions, ``transfers`` of bytes to and from sockets. ``exact``: it has a lower bound as well."""

    calls: float
    transfers: float
    exact: bool

    def complaint(self, calls: float, transfers: float) -> str:
        """What is wrong with a flow that makes so many; empty if nothing is."""
        return _complaint("calls", calls, self.calls, exact=self.exact) or _complaint(
            "transfers", transfers, self.transfers, exact=False
        )


def limits() -> dict[str, Limit]:
    """Those of the flows, by name."""
    table = tomllib.loads(PATH.read_text())
    exact = table["python"] == f"{sys.version_info.major}.{sys.version_info.minor}"
    return {
        name: Limit(row["calls"], row["transfers"], exact and not row.get("varies", False))
        for name, row in table["limits"].items()
    }


def _complaint(what: str, count: float, limit: float, *, exact: bool) -> str:
    if count > limit:
        return f"{count:,.1f} {what}, the limit is {limit:,}"
    if exact and count < _SLACK * limit:
        return f"{count:,.1f} {what} are far below the limit of {limit:,}: lower it in benchmarks/{PATH.name}"
    return ""
