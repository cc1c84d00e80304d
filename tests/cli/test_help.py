"""The help of every command: one order, each option once and below one heading, what it reads and returns."""

import re
from collections.abc import Sequence
from pathlib import Path

import click
import pytest

from kcli.cli import cli
from kcli.commands.registry import ROWS, SECTIONS
from kcli.commands.shared.command import Command
from kcli.docgen.describe import sentence, walk
from kcli.docgen.environment import COMMON, ENVIRONMENT
from kcli.docgen.exit_codes import EXIT_CODES
from kcli.docgen.topics import TOPICS
from tests.run import KCLI, environment, kcli
from tests.terminal import Terminal

DOCS = {" ".join(doc.path): doc for doc in walk(cli, "kcli")}
SOURCES = Path(__file__).parents[2] / "kcli"
FIRST, LAST = (
    ("Usage", "Examples"),
    ("Details", "Global options", "Environment", "Exit codes", "See also"),
)
"""Headings before and after those of the command's own options, in their order."""


def sections(page: str) -> dict[str, list[str]]:
    """The lines below each heading. Headings of global options are one."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    before = ""
    for line in page.splitlines():
        if not before and re.match(r"\S.*:$|Global options", line):
            lines = found.setdefault(re.sub(r"(Global options).*|:$", r"\1", line), [])
        else:
            lines.append(line)
        before = line
    return found


def terms(lines: list[str]) -> list[str]:
    """The names of options at the beginning of lines: ``-o``, ``--output``; a list of names is all of them."""
    shown = [match[1] for line in lines if (match := re.match(r" {2,6}(-.*?)(?:  |$)", line))]
    return [word.strip(",") for text in shown for word in re.findall(r"(?:(?<=^)|(?<= ))--?[\w.-]+", text)]


@pytest.mark.parametrize("name", DOCS)
def test_examples_come_first_and_what_is_looked_up_last(name: str) -> None:
    doc, page = DOCS[name], kcli(*name.split()[1:], "--help").out
    groups = [heading or "Options" for heading, _ in doc.own_groups]
    commands = list(SECTIONS) if name == "kcli" else ["Commands"] if doc.is_group else []
    headings = list(sections(page))
    assert headings == [one for one in (*FIRST, *commands, *groups, *LAST) if one in headings]
    assert {"Usage", "Examples", *commands, *groups, "Global options", "See also"} <= set(headings)
    paragraphs = page.partition("\nExamples:")[0].strip().split("\n\n")
    assert len(paragraphs) == 2, "a usage line, and one paragraph on what it does"
    assert len(paragraphs[1].splitlines()) <= 6, "what is longer belongs to the details"


@pytest.mark.parametrize("name", DOCS)
def test_help_is_the_same_however_it_is_asked_for(name: str) -> None:
    """No command has another -h."""
    words = name.split()[1:]
    page = kcli(*words, "--help").out
    assert kcli(*words, "-h").out == page
    if words not in (["groups"], ["mirror"], ["config"]):  # concepts, too
        assert kcli("help", *words).out == page


def test_every_command_is_in_one_section_of_the_first_page() -> None:
    named = [name for names in SECTIONS.values() for name in names]
    assert sorted(named) == sorted(name for name in ROWS if " " not in name)
    page = kcli("--help").out
    assert "\nCommands:" not in page
    for heading, names in SECTIONS.items():
        shown = [line.split()[0] for line in sections(page)[heading] if line]
        assert shown == list(names)


@pytest.mark.parametrize("name", [name for name, doc in DOCS.items() if not doc.is_group])
def test_what_all_commands_share_is_not_repeated(name: str) -> None:
    """A variable and a code are in the help of the commands that have their own, and nowhere else."""
    doc, found = DOCS[name], sections(kcli(*name.split()[1:], "--help").out)
    command = find(name)
    own_variables = set(command.reads) - {name for names, _ in COMMON for name in names.split(", ")}
    assert {names.split(", ")[0] for names, _ in doc.particular_environment} == own_variables
    own = {str(int(code)) for code in command.exits}
    assert {code for code, _ in doc.particular_exit_codes} == own
    assert ("Environment" in found) is bool(own_variables)
    assert ("Exit codes" in found) is bool(own)
    shown = [line.split()[0] for line in found.get("Exit codes", ()) if re.match(r"  \S", line)]
    assert shown == [code for code, _ in doc.particular_exit_codes]


@pytest.mark.parametrize(("word", "rows"), [("environment", ENVIRONMENT), ("exit-codes", EXIT_CODES)])
def test_what_all_commands_share_is_a_page(word: str, rows: Sequence[tuple[str, str]]) -> None:
    page = " ".join(kcli("help", word).out.split())
    for term, meaning in rows:
        assert term in page
        assert meaning in page
    assert f" {word}" in kcli("topics", "list", "--help").out


def find(name: str) -> Command:
    """The command of a path that begins with ``kcli``."""
    found: click.Command = cli
    for word in name.split()[1:]:
        assert isinstance(found, click.Group)
        found = found.get_command(click.Context(found), word) or found
    assert isinstance(found, Command)
    return found


@pytest.mark.parametrize("name", DOCS)
def test_each_option_is_below_one_heading_and_shown_once(name: str) -> None:
    doc, found = DOCS[name], sections(kcli(*name.split()[1:], "--help").out)
    own = [name for heading, _ in doc.own_groups for name in terms(found[heading or "Options"])]
    assert sorted(own) == sorted(n for one in doc.own_options for n in (*one.names, *one.off_names))
    shown = terms(found["Global options"])
    for option in doc.global_options:
        assert shown.count(option.names[0]) == 1, option.names
    for groups in (doc.own_groups, doc.global_groups):
        assert len({heading for heading, _ in groups}) == len(groups)


def test_long_lists_of_options_have_headings() -> None:
    assert [name for name, doc in DOCS.items() if len(doc.own_options) > 8 and len(doc.own_groups) == 1] == []
    assert all(heading for heading, _ in DOCS["kcli"].global_groups)


@pytest.mark.parametrize("name", [name for name, doc in DOCS.items() if not doc.is_group])
def test_the_manual_has_what_the_help_has(name: str) -> None:
    doc = DOCS[name]
    page = " ".join(kcli("man", *name.split()[1:]).out.split())
    headings = [heading for heading, _ in (*doc.own_groups, *doc.global_groups) if heading]
    meanings = [sentence(meaning) for _, meaning in (*doc.exit_codes, *doc.environment)]
    for text in (*headings, *meanings, *(f"kcli-{word}(7)" for word in doc.concepts)):
        assert text in page


def test_exit_codes_of_a_command_are_those_of_the_table() -> None:
    codes = [code for code, _ in EXIT_CODES]
    for name, doc in DOCS.items():
        own = [code for code, _ in doc.exit_codes]
        assert own == [code for code in codes if code in own], name
        assert {"0", "1", "2", "141"} <= set(own), name


def test_a_command_without_a_cluster_names_no_code_of_clusters() -> None:
    assert {"3", "4"} & {code for code, _ in DOCS["kcli man"].exit_codes} == set()
    assert {"3", "4"} <= {code for code, _ in DOCS["kcli topics list"].exit_codes}
    assert dict(DOCS["kcli groups lag"].exit_codes)["8"].startswith("a limit is exceeded")
    assert "8" not in dict(DOCS["kcli topics list"].exit_codes)


def test_every_variable_that_the_code_reads_is_explained() -> None:
    explained = {name for names, _ in ENVIRONMENT for name in names.split(", ")}
    used = set()
    for path in SOURCES.rglob("*.py"):
        used |= set(re.findall(r'environ(?:\.get\(|\[)"([A-Z_]+)"', path.read_text()))
    assert {"KCLI_CACHE", "KCLI_IMPL", "NO_COLOR", "PAGER"} <= used
    passed_on = {
        "HOME",
        "PATH",
        "PYTHONPATH",
        "VIRTUAL_ENV",
        "PYSPARK_PYTHON",
        "SPARK_HOME",
        "KCL_CONFIG_DIR",
        "KCL_CONFIG_FILE",
    }
    """Of the system, of Python, of Spark, and of tools whose files are imported."""
    assert used - passed_on <= explained


def test_concepts_follow_from_the_values_of_options() -> None:
    assert set(DOCS["kcli consume"].concepts) == set(TOPICS) - {
        "options",
        "profiles",
        "groups",
        "mirror",
        "tasks",
    }
    assert "offsets" not in DOCS["kcli topics list"].concepts
    assert "output" not in DOCS["kcli exporter"].concepts


@pytest.mark.parametrize(
    "line",
    [
        "exporter",
        "completion bash",
        "profile use a",
        "profile add a",
        "profile remove a",
        "profile rename a b",
        "profile copy a b",
    ],
)
def test_where_there_is_no_list_no_output_is_offered(line: str) -> None:
    """The command refuses -o, so neither its help nor its page has it."""
    assert "--output" not in kcli(*line.split(), "--help").out
    done = kcli(*line.split(), "-o", "json")
    assert (done.code, "prints no list" in done.err) == (2, True)


def test_a_terminal_has_bold_headings_and_at_most_100_columns() -> None:
    shown = environment(TERM="xterm", PAGER="cat")
    with Terminal([*KCLI, "groups", "rewind", "--help"], environ=shown, columns=140, rows=200) as terminal:
        terminal.wait("the commands beside it")
        page = terminal.written.decode()
    assert "\x1b[1mExamples:\x1b[0m" in page
    widths = [len(line.rstrip()) for line in re.sub(r"\x1b\[\d*m", "", page).splitlines()]
    assert 80 < max(widths) <= 100
    assert "\x1b" not in kcli("groups", "rewind", "--help").out


def test_one_concept_explains_an_option_at_least() -> None:
    """The words of ``kcli help`` that options lead to are pages."""
    named = {word for doc in DOCS.values() for word in doc.concepts}
    assert named <= set(TOPICS)
