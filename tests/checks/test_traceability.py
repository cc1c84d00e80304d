"""No case is untested or without its code."""

from pathlib import Path

import pytest

from tests.checks import traceability


def test_no_case_is_without_its_code_and_a_test() -> None:
    _sections, faults = traceability.joined(traceability.ROOT)
    assert not faults, "\n".join(faults)


CASE = 'text = "not Kafka"\nstate = "built"\nwhere = ["kcli/good.py:Loop.poll"]\n'
TEST = 'import pytest\n@pytest.mark.case("N1")\ndef test_names_http(): ...\n'


def tree_with(folder: Path, cases: str = CASE, tests: str = TEST) -> Path:
    """A small project: one module, one case, one test."""
    for name in ("docs", "kcli", "tests"):
        (folder / name).mkdir()
    (folder / "kcli/good.py").write_text(
        "LIMIT = 1\nclass Loop:\n    turns: int = 0\n    def poll(self): ...\n"
    )
    section = '[[section]]\nid = "N"\ntitle = "Network"\nkind = "case"\n[section.case.N1]\n'
    (folder / "docs/cases.toml").write_text(section + cases)
    (folder / "tests/test_good.py").write_text(tests)
    return folder


def test_a_project_without_a_fault(tmp_path: Path) -> None:
    sections, faults = traceability.joined(tree_with(tmp_path))
    assert faults == []
    assert traceability.page_of(sections).endswith(
        "| N1 | not Kafka | built | [good.py#Loop.poll](../kcli/good.py)"
        " | [test_good.py::test_names_http](../tests/test_good.py) |\n"
    )


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"cases": CASE.replace("built", "done")}, "N1: unknown state 'done'"),
        ({"cases": CASE.replace("built", "planned")}, "N1: planned for an unknown milestone ''"),
        (
            {"cases": CASE.replace("built", "planned: someday")},
            "N1: planned for an unknown milestone 'someday'",
        ),
        ({"cases": CASE.replace("built", "impossible")}, "N1: impossible without a reason"),
        ({"cases": CASE.replace('"kcli/good.py:Loop.poll"', "")}, "N1: built, but does not say where"),
        ({"cases": CASE.replace("good", "gone")}, "N1: kcli/gone.py does not exist"),
        ({"cases": CASE.replace("Loop.poll", "Loop.push")}, "N1: Loop.push is not in kcli/good.py"),
        ({"cases": CASE.replace("Loop.poll", "poll")}, "N1: poll is not in kcli/good.py"),
        ({"cases": CASE + "[section.case.N3]\n" + CASE}, "section N: ids are not consecutive"),
        ({"tests": "def test_names_http(): ...\n"}, "N1: built, but no test has this id"),
        ({"tests": TEST.replace("N1", "N2")}, "tests/test_good.py::test_names_http: no case 'N2'"),
    ],
    ids=str,
)
def test_a_fault_is_found(changed: dict[str, str], fault: str, tmp_path: Path) -> None:
    assert fault in traceability.joined(tree_with(tmp_path, **changed))[1]


@pytest.mark.parametrize("place", ["kcli", "kcli/good.py", "kcli/good.py:LIMIT", "kcli/good.py:Loop.turns"])
def test_places_of_code(place: str, tmp_path: Path) -> None:
    tree = tree_with(tmp_path, CASE.replace("kcli/good.py:Loop.poll", place))
    assert traceability.joined(tree)[1] == []


@pytest.mark.parametrize(
    ("source", "tests"),
    [
        (
            '@pytest.mark.case("N1", "N2")\nasync def test_http(): ...',
            [("N1", "test_http"), ("N2", "test_http")],
        ),
        ('class TestHttp:\n    @pytest.mark.case("N1")\n    def test_http(self): ...', [("N1", "test_http")]),
        ('pytestmark = [pytest.mark.soak, pytest.mark.case("N1")]', [("N1", "")]),
        (
            '@pytest.mark.parametrize("n", [pytest.param(1, marks=pytest.mark.case("N1"))])\ndef test_n(n): ...',
            [("N1", "test_n")],
        ),
        ('@pytest.mark.parametrize("N4", [])\ndef test_http(): ...', []),
        ('@pytest.mark.case("N1")\ndef helper(): ...', []),
    ],
)
def test_ids_that_tests_carry(source: str, tests: list[tuple[str, str]], tmp_path: Path) -> None:
    marks = traceability.marked_tests(tree_with(tmp_path, tests=source))
    assert [(id_, name) for id_, _, name in marks] == tests
