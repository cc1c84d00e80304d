"""A pytest plugin: a skipped test that tests/allowed-skips.txt does not name makes the run fail.

A skip is a test that did not look; unseen, it turns into a feature that nobody tests any more.
Switched on by ``-p tests.checks.skips`` in the Makefile, so that a run of one file by hand is free.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

ALLOWED = Path("tests", "allowed-skips.txt")


@dataclass(frozen=True, slots=True)
class AllowedSkip:
    """Tests whose id matches ``pattern`` may be skipped when the reason contains ``reason``."""

    pattern: str
    reason: str

    def covers(self, test_id: str, reason: str) -> bool:
        # Brackets are part of the id of a parametrized test, not a set of characters.
        pattern = self.pattern.replace("[", "[[]")
        return fnmatchcase(test_id, pattern) and self.reason in reason


def read_allowed(text: str) -> list[AllowedSkip]:
    """The entries of a list; ``ValueError`` names the first line that is not one."""
    entries = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        pattern, bar, reason = (part.strip() for part in line.partition("|"))
        if not (pattern and bar and reason):
            raise ValueError(f"{ALLOWED}:{number}: not 'TEST ID | REASON': {line!r}")
        entries.append(AllowedSkip(pattern, reason))
    return entries


class SkipGuard:
    """Collects the skips of one session and judges them at its end."""

    def __init__(self, allowed: list[AllowedSkip]) -> None:
        self._allowed = allowed
        self.refused: list[tuple[str, str]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            self._judge(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:  # a whole module, by importorskip
            self._judge(report)

    def _judge(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        reason = reason_of(report)
        if not any(entry.covers(report.nodeid, reason) for entry in self._allowed):
            self.refused.append((report.nodeid, reason))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        green = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
        if self.refused and session.exitstatus in green:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self.refused:
            return
        terminalreporter.section(f"skips that {ALLOWED} does not list", red=True)
        for test_id, reason in self.refused:
            terminalreporter.write_line(f"{test_id} | {reason}", red=True)


def reason_of(report: pytest.TestReport | pytest.CollectReport) -> str:
    """What the test gave as the reason of its skip."""
    if isinstance(report.longrepr, tuple):  # path, line, reason
        return report.longrepr[2].removeprefix("Skipped: ")
    return str(report.longrepr)


def pytest_configure(config: pytest.Config) -> None:
    path = config.rootpath / ALLOWED
    try:
        allowed = read_allowed(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise pytest.UsageError(str(problem)) from problem
    config.pluginmanager.register(SkipGuard(allowed), "kcli-skips")
