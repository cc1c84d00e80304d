"""What runs failed tests once more, on little suites of its own: what is forgiven, and what never is."""

from pathlib import Path

import pytest

from tests.checks import once_more, skips

pytest_plugins = ["pytester"]

PASSES = "def test_passes():\n    pass\n"
FAILS = "def test_fails():\n    assert False\n"
BY_CHANCE = """
import pytest
from pathlib import Path

@pytest.mark.parametrize("what", ["a b::c"])
def test_by_chance(what):
    times = Path("times")
    before = len(times.read_text()) if times.exists() else 0
    times.write_text("x" * (before + 1))
    assert before
"""
SKIPPED_THEN = BY_CHANCE.replace(
    "    assert before", "    before and pytest.skip('listed')\n    assert before"
)
SKIPS = "import pytest\ndef test_skips():\n    pytest.skip('no kcat here')\n"
IN_TEARDOWN = """
import pytest

@pytest.fixture
def thing():
    yield
    assert False

def test_passes_first(thing):
    assert False
"""


def many(count: int) -> str:
    return f"import pytest\n@pytest.mark.parametrize('n', range({count}))\ndef test_n(n):\n    assert False\n"


def phase(pytester: pytest.Pytester, suite: str) -> bool:
    """Whether `make test` goes on after a phase of this suite: pytest was green, or has left its file."""
    pytester.mkdir("tests").joinpath("allowed-skips.txt").write_text("* | listed\n")
    pytester.makepyfile(test_suite=suite)
    plain = ("-p", "no:hypothesispytest", "--phase", "one")  # its import takes a second
    result = pytester.runpytest_inprocess(*plain, plugins=[skips, once_more])
    assert (result.ret == 0) == (suite == PASSES)
    return result.ret == 0 or (once_more.FOLDER / "one").exists()


def at_the_end(pytester: pytest.Pytester) -> int:
    def run(words: list[str], plugins: list[object]) -> int:
        return int(pytester.runpytest_inprocess(*words, plugins=plugins).ret)

    return once_more.main(["-p", "no:hypothesispytest"], run)


@pytest.mark.parametrize(
    ("suite", "goes_on", "code"),
    [
        (PASSES, True, 0),
        (PASSES + BY_CHANCE, True, 0),
        (PASSES + FAILS, True, 1),
        (BY_CHANCE + FAILS, True, 1),
        (IN_TEARDOWN, True, 1),
        (SKIPPED_THEN, True, 1),
        (many(3), True, 1),
        (many(4), False, 0),
        (BY_CHANCE + SKIPS, False, 0),
        (SKIPS, False, 0),
        ("import nothing_of_that_name\n", False, 0),
    ],
    ids=[
        "green", "once", "again", "one of two", "teardown", "skipped then", "three", "four", "refused skip",
        "refused skip alone", "collection",
    ],
)  # fmt: skip
def test_few_failures_that_are_all_that_is_wrong_run_once_more(
    pytester: pytest.Pytester, capsys: pytest.CaptureFixture[str], suite: str, goes_on: bool, code: int
) -> None:
    assert phase(pytester, suite) == goes_on
    capsys.readouterr()
    assert at_the_end(pytester) == code
    last = capsys.readouterr().out.splitlines()[-1:]
    if BY_CHANCE in suite and not code and goes_on:
        name = "test_suite.py::test_by_chance[a b::c]"
        assert last == [f"failed once among others, passed alone: to be mended: {name}"]
        assert len(Path("times").read_text()) == 2
    elif code:
        assert "did not pass alone" in last[0]
    else:
        assert last == []


def test_a_crash_of_a_process_is_red_at_once(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("import os\ndef test_crashes():\n    os._exit(1)\n" + PASSES)
    pytester.makeini(f"[pytest]\npythonpath = {Path(__file__).parents[2]}")
    words = ("-p", "no:hypothesispytest", "-p", "tests.checks.once_more", "--phase", "one", "-n", "1")
    result = pytester.runpytest_subprocess(*words)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(passed=1, failed=1)
    assert not once_more.FOLDER.exists()


def test_phases_keep_files_of_their_own_and_all_run_once_more(
    pytester: pytest.Pytester, capsys: pytest.CaptureFixture[str]
) -> None:
    pytester.mkdir("tests").joinpath("allowed-skips.txt").write_text("")
    pytester.makepyfile(test_one=FAILS, test_other=PASSES)
    once_more.FOLDER.mkdir(parents=True)
    (once_more.FOLDER / "waiting").write_text("test_other.py::test_passes\n")
    (once_more.FOLDER / "computing").write_text("test_one.py::test_fails\n")
    assert at_the_end(pytester) == 1
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "failed once among others, did not pass alone: test_one.py::test_fails",
        "failed once among others, passed alone: to be mended: test_other.py::test_passes",
    ]
