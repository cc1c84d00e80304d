"""A long run goes on where it was stopped: with what failed and was not reached, under the same code only."""

import pytest

from tests.checks import remembered

pytest_plugins = ["pytester"]

SUITE = """
import pytest
from pathlib import Path

def note(name):
    with open("ran", "a") as file:
        file.write(name)

def test_a():
    note("a")

def test_b():
    note("b")
    assert Path("mended").exists()

@pytest.fixture
def thing():
    yield
    assert Path("mended").exists()

def test_c(thing):
    note("c")
"""


def run(pytester: pytest.Pytester, *words: str) -> tuple[int, str]:
    """Its exit status, and the tests that ran."""
    pytester.makepyfile(test_suite=SUITE)
    ran = pytester.path / "ran"
    ran.write_text("")
    plain = ("-p", "no:hypothesispytest", "--remember", "one", *words)
    code = int(pytester.runpytest_inprocess(*plain, plugins=[remembered]).ret)
    return code, ran.read_text()


def test_a_run_goes_on_with_what_did_not_pass(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(pytester) == (1, "abc")
    assert run(pytester) == (1, "bc")
    pytester.path.joinpath("mended").touch()
    assert run(pytester) == (0, "bc")
    assert run(pytester) == (0, "")
    monkeypatch.setattr(remembered, "state_of", lambda _: "other code")
    assert run(pytester) == (0, "abc")


def test_a_run_ends_when_its_time_is_over(pytester: pytest.Pytester) -> None:
    assert run(pytester, "--minutes", "1e-9") == (remembered.LEFT, "a")
    assert run(pytester, "--minutes", "60") == (1, "bc")
