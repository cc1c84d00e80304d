"""The tests of the security checklist can fail: each guard is broken on purpose, and its test notices (`breaks.py`)."""

import json
import subprocess
import sys

import pytest

from tests.checks.breaks import BREAKS, CONTROL, OTHERWISE, ROOT, Break, broken_code
from tests.checks.traceability import marked_tests, read_sections
from tests.run import environment


@pytest.mark.long
@pytest.mark.case("X31")
def test_every_break_is_noticed_but_the_one_that_harms_nothing() -> None:
    command = [sys.executable, "-m", "tests.checks.breaks"]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
    assert json.loads(done.stdout.splitlines()[-1]) == [f"{CONTROL.row} {CONTROL.place}: {CONTROL.old}"], (
        done.stdout
    )


@pytest.mark.case("X31")
def test_every_box_that_is_built_can_be_broken() -> None:
    (checklist,) = (section for section in read_sections(ROOT) if section.id == "X")
    built = {case.id for case in checklist.cases if case.state == "built"}
    assert built <= {one.row for one in BREAKS} | OTHERWISE.keys()
    assert not {one.row for one in BREAKS} & OTHERWISE.keys()


@pytest.mark.case("X31")
def test_what_is_broken_is_held_by_a_test_of_its_row() -> None:
    files = {one.test.partition("::")[0] for one in BREAKS}
    marked = set(marked_tests(ROOT, files))
    without = []
    for one in BREAKS:
        file, _, test = one.test.partition("::")
        if not {(one.row, file, test.partition("[")[0]), (one.row, file, "")} & marked:
            without.append(f"{one.row}: {one.test}")
    assert not without


def test_a_break_whose_text_is_gone_is_an_error() -> None:
    with pytest.raises(AssertionError, match="does not have"):
        broken_code(Break("X17", CONTROL.place, "no such text", "", ""))
