"""A pytest plugin: a long run that was stopped goes on where it ended.

``--remember NAME`` (with ``-p tests.checks.remembered``) adds each test that passed to ``FOLDER/NAME`` and leaves out
those that are in it: what failed, was skipped or was not reached runs the next time. Under other code all run again.
Who started the run removes the file once all is done. ``--minutes N`` ends the run after the test in which they are over,
with exit status 3.
"""

import time
from pathlib import Path

import pytest

from tests.hostile.ledger import state_of

FOLDER = Path(".cache", "passed")
CODE = ("kcli", "tests")
LEFT = 3


class Remembered:
    """The tests that passed before, and those that do now."""

    def __init__(self, file: Path, code: str) -> None:
        self._file = file
        lines = file.read_text("utf-8").splitlines() if file.exists() else []
        self.before = set(lines[1:]) if lines[:1] == [code] else set()
        if not self.before:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{code}\n", "utf-8")
        self._called: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self._called.add(report.nodeid)
        if report.when == "teardown" and report.passed and report.nodeid in self._called:
            with self._file.open("a", encoding="utf-8") as file:
                file.write(f"{report.nodeid}\n")

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: object) -> None:
        node.workerinput["passed-before"] = sorted(self.before)  # type: ignore[attr-defined]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.before:
            terminalreporter.write_line(f"passed before: {len(self.before)} tests of {self._file}")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and self.before:
            session.exitstatus = pytest.ExitCode.OK


class LeftOut:
    """Takes tests that passed before out of what was collected; in each process alike."""

    def __init__(self, before: set[str]) -> None:
        self._before = before

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        passed = [item for item in items if item.nodeid in self._before]
        items[:] = [item for item in items if item.nodeid not in self._before]
        config.hook.pytest_deselected(items=passed)


class Limited:
    """Ends the run when its time is over."""

    def __init__(self, minutes: float) -> None:
        self._until = time.monotonic() + 60 * minutes

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown" and time.monotonic() > self._until:
            pytest.exit("the time is over", returncode=LEFT)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--remember", metavar="NAME", help="leave out what passed in an earlier run of this name"
    )
    parser.addoption("--minutes", type=float, help="end the run after this time")


def pytest_configure(config: pytest.Config) -> None:
    worker = getattr(config, "workerinput", None)
    if worker is not None:
        config.pluginmanager.register(LeftOut(set(worker.get("passed-before", ()))))
        return
    if name := config.getoption("remember"):
        remembered = Remembered(FOLDER / name, state_of(CODE))
        config.pluginmanager.register(remembered)
        config.pluginmanager.register(LeftOut(remembered.before))
    if minutes := config.getoption("minutes"):
        config.pluginmanager.register(Limited(minutes))
