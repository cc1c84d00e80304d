"""The plugin that makes unlisted skips red, run on little suites of its own."""

import pytest

from tests.checks import skips

pytest_plugins = ["pytester"]

SUITE = """
    import pytest

    @pytest.mark.parametrize("broker", ["2.8", "4.3"])
    def test_skips(broker):
        pytest.skip("no Docker engine")

    @pytest.mark.xfail(reason="known")
    def test_expected_to_fail():
        assert False

    def test_passes():
        pass
"""


@pytest.fixture
def run(pytester):
    """Runs a suite in a folder of its own, under a given list of allowed skips."""

    def run_suite(allowed: str, suite: str = SUITE) -> pytest.RunResult:
        pytester.mkdir("tests").joinpath("allowed-skips.txt").write_text(allowed)
        pytester.makepyfile(test_suite=suite)
        without = ("-p", "no:hypothesispytest")  # its import takes a second
        return pytester.runpytest_inprocess(*without, plugins=[skips])

    return run_suite


def test_unlisted_skip_makes_the_run_fail_and_is_named(run):
    result = run("# nothing is allowed\n")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*skips that tests/allowed-skips.txt does not list*"])
    result.stdout.fnmatch_lines(["test_suite.py::test_skips?2.8? | no Docker engine"])
    result.stdout.no_fnmatch_line("test_suite.py::test_expected_to_fail | *")


@pytest.mark.parametrize(
    "allowed",
    ["test_suite.py::* | Docker", "test_*::test_skips[*] | no Docker engine"],
)
def test_listed_skip_is_green(run, allowed):
    result = run(f"{allowed}\n")
    assert result.ret == pytest.ExitCode.OK
    result.assert_outcomes(passed=1, skipped=2, xfailed=1)
    result.stdout.no_fnmatch_line("*does not list*")


@pytest.mark.parametrize(
    "allowed",
    [
        "test_suite.py::* | no network",  # another reason
        "test_other.py::* | no Docker engine",  # another test
        "test_suite.py::test_skips[2.8] | Docker",  # one of two parameters
    ],
)
def test_line_allows_nothing_but_its_own_test_and_reason(run, allowed):
    assert run(f"{allowed}\n").ret == pytest.ExitCode.TESTS_FAILED


def test_skip_of_a_whole_module_counts(run):
    suite = "import pytest\npytest.skip('no kcat here', allow_module_level=True)\n"
    result = run("", suite)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["test_suite.py | no kcat here"])


def test_failure_stays_what_it_is(run):
    result = run("", SUITE + "\n    def test_fails():\n        assert False\n")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(passed=1, skipped=2, xfailed=1, failed=1)


def test_unreadable_line_stops_the_run(run):
    assert run("test_suite.py::* no bar\n").ret == pytest.ExitCode.USAGE_ERROR


def test_line_number_of_a_mistake_is_named():
    with pytest.raises(ValueError, match=r"allowed-skips.txt:2: "):
        skips.read_allowed("# a comment\ntest_suite.py::* |\n")
