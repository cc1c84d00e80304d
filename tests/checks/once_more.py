"""A pytest plugin, and what `make test` runs last: a test that failed among others runs once more, alone.

``--phase NAME`` (with ``-p tests.checks.once_more``) writes the ids of the tests that failed, if these are few and all
that was wrong, to ``FOLDER/NAME``, so that phases that run at the same time do not meet. The run itself stays red: who
started it lets that pass where there is such a file. ``python -m tests.checks.once_more`` runs what the files name, and
is green if all of it passes.
"""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

FOLDER = Path(".cache", "failed")
MOST = 3
"""More failed tests in one phase are no accident."""


class FailedTests:
    """Collects the failures of one phase, and keeps those that may run once more."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._failed: dict[str, None] = {}
        self._other = False
        """A crash, or a file that could not be collected."""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed[report.nodeid] = None
            self._other |= report.when not in ("setup", "call", "teardown")  # its process crashed

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._other |= report.failed

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, error: object) -> None:
        self._other |= error is not None

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        skips = session.config.pluginmanager.get_plugin("kcli-skips")
        if session.exitstatus != pytest.ExitCode.TESTS_FAILED or self._other or (skips and skips.refused):
            return
        if 0 < len(self._failed) <= MOST:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._file.write_text("".join(f"{one}\n" for one in self._failed), encoding="utf-8")


class PassedTests:
    """The ids of what was called and passed."""

    def __init__(self) -> None:
        self.ids: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self.ids.add(report.nodeid)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--phase", metavar="NAME", help="failed tests of this run may run once more")


def pytest_configure(config: pytest.Config) -> None:
    phase = config.getoption("phase")
    if phase and not hasattr(config, "workerinput"):
        config.pluginmanager.register(FailedTests(FOLDER / phase))


def main(arguments: Sequence[str], run: Callable[..., int] = pytest.main) -> int:
    """Run the failed tests of all phases, with further ``arguments`` for pytest; its exit code.

    1, too, where one of them was neither a failure nor a success, such as one that is skipped now.
    """
    asked = [one for file in sorted(FOLDER.glob("*")) for one in file.read_text("utf-8").splitlines()]
    if not asked:
        return 0
    print("\nfailed, and run once more, alone:", *asked, sep="\n  ", flush=True)
    passed = PassedTests()
    code = int(run(["-p", "tests.checks.skips", *arguments, "-n", "0", *asked], plugins=[passed]))
    if code == 0 and not passed.ids.issuperset(asked):
        code = 1
    for one in asked:
        alone = "passed alone: to be mended" if code == 0 or one in passed.ids else "did not pass alone"
        print(f"failed once among others, {alone}: {one}")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
