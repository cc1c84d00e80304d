"""No documented command line has a command, an option, a client option or a value that does not exist.

Blocks ```console of docs/ are run (``tests/integration/test_stories.py``). Of all others, of the README and of what is
written in running text or tables as `kcli …`, each kcli command is parsed by the command tree, without being run. A few
pages are also run by tests of their own; ``RUN`` says which.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command_lines import FENCE, in_text, invocations, problem

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"))
    if path.name != "CHANGELOG.md" and path.parent.name != "decisions"
)
"""Not the change log, which also has lines that are refused."""
RUN = {
    "README.md": "tests/cli/test_examples.py",
    "docs/filters.md": "tests/cli/test_filters.py",
    "docs/pipeline.md": "tests/integration/test_pipeline_page.py",
}
"""Pages with blocks ```sh that are run, and where; ``README.md`` only its lines of produce and consume."""


def in_blocks(text: str, *, of_docs: bool) -> Iterator[list[str]]:
    """The commands of all blocks that are not run as a story. Blocks of no language may be output: of these only lines
    that begin with kcli.
    """
    for _, info, block in FENCE.findall(text):
        language = info.split(" ")[0]
        if language in ("sh", "bash", "shell"):
            yield from invocations(block)
        elif language in ("", "text") or (language == "console" and not of_docs):
            lines = [line.removeprefix("$ ") for line in block.splitlines()]
            yield from invocations("\n".join(line for line in lines if line.startswith("kcli ")))


@pytest.mark.parametrize("page", PAGES)
def test_the_command_tree_accepts_what_a_page_tells_people_to_type(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "headers.txt").write_text("src=web\n")  # files of headers are read with the options
    monkeypatch.chdir(tmp_path)
    text = (ROOT / page).read_text(encoding="utf-8")
    found = [(words, True) for words in in_blocks(text, of_docs=page.startswith("docs/"))]
    found += [(words, False) for words in in_text(text)]
    wrong = {" ".join(words): problem(words, complete=complete) for words, complete in found}
    assert {line: why for line, why in wrong.items() if why} == {}


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("docs/")])
def test_what_is_shown_with_its_output_is_run(page: str) -> None:
    """A line with a prompt is in a block of a console, which runs."""
    blocks = FENCE.findall((ROOT / page).read_text(encoding="utf-8"))
    typed = [line for _, info, block in blocks if info != "console" for line in block.splitlines()]
    assert [line for line in typed if line.startswith("$ ")] == []


def test_pages_that_other_tests_run_and_these_tests_exist() -> None:
    for page, test in RUN.items():
        assert page in PAGES
        assert Path(page).name in (ROOT / test).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("kcli consume a -e | kcli produce b", [["consume", "a", "-e"], ["produce", "b"]]),
        ("for i in 1 2; do kcli perf produce -t t >> x; done", [["perf", "produce", "-t", "t"]]),
        ("F=$(dirname \"$(kcli sandbox status s -o json | jq '.[\"a\"]')\")", [["sandbox", "status", "s", "-o", "json"]]),
        ("X=1 kcli a 2>&1 # kcli no, that's all\n! kcli b", [["a"], ["b"]]),
        ("echo kcli no; diff <(kcli c) d; ~/bin/kcli e < f -q", [["c"], ["e", "-q"]]),
        ("kcli produce o \\\n  -k 'a b' \"c \\\"d\" $n", [["produce", "o", "-k", "a b", 'c "d', "$n"]]),
    ],
)  # fmt: skip
def test_commands_are_found_in_lines_of_shell(text: str, words: list[list[str]]) -> None:
    assert invocations(text) == words


@pytest.mark.parametrize(
    "line",
    [
        "consume orders --exti",
        "consum orders",
        "groups rewnd billing",
        "topics create",
        "consume orders --tail many",
        "topics list -o raw",
        "produce orders -X ackz=all",
    ],
)
def test_a_wrong_line_is_found(line: str) -> None:
    assert problem(line.split(), complete=True)
