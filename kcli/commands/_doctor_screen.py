"""The report of ``kcli doctor`` on a terminal: a line for each step as it comes, and below it the remedy."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from kcli.core.exit_codes import worst
from kcli.flows.doctor.findings import FAILED, OK, SKIPPED, WARNING, Finding
from kcli.output.listing import list_rows
from kcli.output.progress import counted
from kcli.output.sanitise import visible_line
from kcli.output.stdout import Output
from kcli.output.tables import Column

FINDING = (
    Column("target"),
    Column("check"),
    Column("status"),
    Column("milliseconds", "number", spare=2),
    Column("detail", "prose"),
    Column("why", "prose", spare=1),
    Column("do", "prose"),
    Column("code", "id", wide=True),
)
_SIGNS = {OK: "✓", WARNING: "!", FAILED: "✗", SKIPPED: "-"}
_WORDS = {OK: "ok  ", WARNING: "WARN", FAILED: "FAIL", SKIPPED: "-   "}
_COLOURS = {OK: "\x1b[32m", WARNING: "\x1b[33m", FAILED: "\x1b[31m", SKIPPED: "\x1b[2m"}
_RESET = "\x1b[0m"
_CHECK_WIDTH, _TIME_WIDTH = 20, 9


def row(one: Finding) -> dict[str, Any]:
    """A finding as a row; empty texts are null."""
    return {
        "target": one.target,
        "check": one.check,
        "status": one.status,
        "milliseconds": None if one.seconds is None else round(one.seconds * 1000, 1),
        "detail": one.detail or None,
        "why": one.why or None,
        "do": one.do or None,
        "code": one.code,
    }


def print_findings(
    out: Output, found: Sequence[Finding], cluster: str | None, warnings: Sequence[str]
) -> None:
    """The report anywhere but on a terminal: a table, or the document of ``-o``."""
    failures = sum(one.status == FAILED for one in found)
    head = {"failed": failures, "exit_code": worst((one.code for one in found), done=False)}
    with list_rows(
        out, "DoctorReport", "DoctorFinding", FINDING, cluster=cluster, warnings=warnings, head=head
    ) as rows:
        for one in found:
            rows.add(row(one))


class Screen:
    """``show`` prints a finding, ``close`` the sum."""

    def __init__(
        self, out: Output, *, signs: bool | None = None, environ: Mapping[str, str] = os.environ
    ) -> None:
        self._out = out
        plain = environ.get("TERM") == "dumb" or not _is_utf8()
        self._signs = _SIGNS if (signs if signs is not None else not plain) else _WORDS
        self._target = ""

    def show(self, one: Finding) -> None:
        """Prints it, below a heading where the target changes."""
        if one.target != self._target:
            self._line(("\n" if self._target else "") + visible_line(one.target))
            self._target = one.target
        time = "" if one.seconds is None else f"{one.seconds * 1000:,.0f} ms"
        head = f"{visible_line(one.check):<{_CHECK_WIDTH}}{time:>{_TIME_WIDTH}}  {visible_line(one.detail)}"
        self._line(f"  {self._sign(one.status)} {head}".rstrip())
        for word, text in (("why", one.why), ("do", one.do)):
            if text:
                self._line(f"      {word}: {visible_line(text)}")
        self._out.flush()

    def close(self, found: Sequence[Finding]) -> None:
        """Prints the sum of all findings."""
        counts = {status: sum(one.status == status for one in found) for status in _SIGNS}
        parts = [f"{counted(counts[OK], 'check')} passed"]
        if counts[WARNING]:
            parts.append(counted(counts[WARNING], "warning"))
        if counts[SKIPPED]:
            parts.append(f"{counts[SKIPPED]} skipped")
        parts.append(f"{counts[FAILED]} failed")
        self._line("\n" + ", ".join(parts))
        self._out.flush()

    def _sign(self, status: str) -> str:
        sign = self._signs[status]
        return f"{_COLOURS[status]}{sign}{_RESET}" if self._out.colour else sign

    def _line(self, text: str) -> None:
        self._out.text(text + "\n")


def _is_utf8() -> bool:
    encoding = getattr(sys.stdout, "encoding", None) or ""
    return encoding.lower().replace("-", "") == "utf8"
