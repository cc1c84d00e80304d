"""The findings of ``kcli doctor`` and ``kcli pipeline doctor``: on a terminal a line for each as it comes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

from kcli.commands.shared.context import Invocation
from kcli.core.classes import replace
from kcli.core.exit_codes import worst
from kcli.core.hooks import Hooks
from kcli.flows.doctor.findings import FAILED, OK, SKIPPED, WARNING, Finding
from kcli.output.listing import list_rows
from kcli.output.progress import counted
from kcli.output.sanitise import visible_line
from kcli.output.stdout import Output
from kcli.output.tables import Column

FINDING = (
    Column("target", values="string", meaning="What was checked: a broker, the cluster, a topic, …"),
    Column("check", values="string", meaning="The step."),
    Column(
        "status",
        values=("ok", "warning", "failed", "skipped"),
        meaning="Its result.",
    ),
    Column(
        "milliseconds",
        "number",
        spare=2,
        values="number?",
        meaning="How long it took; null where it was not measured.",
    ),
    Column("detail", "prose", values="string", meaning="What was found."),
    Column("why", "prose", spare=1, meaning="Why it failed; null where it did not."),
    Column("do", "prose", meaning="What to do; null where there is nothing."),
    Column(
        "code",
        "id",
        wide=True,
        values="count",
        meaning="The exit code that the failure stands for; 0 without one.",
    ),
)
HEAD = (
    Column("failed", values="count", meaning="How many steps failed."),
    Column("exit_code", values="count", meaning="The exit code of the command."),
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


def show_findings(
    inv: Invocation, findings: Iterable[Finding], servers: str, *, cluster: Callable[[], str | None]
) -> int:
    """Prints findings as they come, on a terminal, or all of them at the end; returns the exit status. ``servers`` are
    contacted; ``cluster``: the cluster's id, when all is done.
    """
    found: list[Finding] = []
    screen = Screen(inv.out) if inv.out.kind is None and inv.out.isatty and not inv.omits_passed else None
    # On a terminal, the report itself shows what is being waited for.
    with nullcontext() if screen else inv.first_contact(servers):
        for finding in findings:
            found.append(replace(finding, do=inv.with_user(finding.do)))
            if screen is not None:
                screen.show(found[-1])
    if screen is not None:
        screen.close(found)
    elif not inv.omits_passed or any(one.status in (FAILED, WARNING) for one in found):
        print_findings(inv.out, found, cluster() or None, inv.talk.warnings)
    return worst((one.code for one in found), done=False)


def without_security(hooks: Hooks) -> Hooks:
    """The report has the warnings about encryption and authentication: its clients need not repeat them."""

    def log(level: str, area: str, text: str) -> None:
        if level != "warning" or area not in ("auth", "conf"):
            hooks.log(level, area, text)

    return Hooks(log=log, wire=hooks.wire)


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
