"""``kcli help CONCEPT`` and ``kcli man``: examples and options that exist, lines within the width of any terminal."""

import json
import re
import subprocess

import click
import pytest

from kcli.cli import cli
from kcli.commands.shared.global_values import GlobalValues
from kcli.commands.shared.help import blocks_text, concept_blocks
from kcli.core.options import ALL_OPTIONS, key_of
from kcli.docgen.concepts import concept
from kcli.docgen.describe import Example, sentence, walk
from kcli.docgen.exit_codes import EXIT_CODES
from kcli.docgen.topics import CONCEPTS, RELATED, TOPICS
from kcli.flows.resources.schema import documents_schema
from kcli.serde.registry.options import RegistryOptions
from tests.command_lines import invocations, parsed
from tests.run import KCLI, environment, kcli, run
from tests.terminal import Terminal


@pytest.mark.parametrize("name", CONCEPTS)
def test_the_examples_of_a_concept_parse(name: str) -> None:
    examples = concept(name).examples
    assert examples
    for example in examples:
        assert example.says
        assert invocations(example.line)
        for words in invocations(example.line):
            assert not isinstance(parsed(words), click.Group), example.line


@pytest.mark.parametrize("name", CONCEPTS)
def test_options_that_a_concept_names_exist(name: str) -> None:
    docs = list(walk(cli, "kcli"))
    known = {option for doc in docs for one in doc.options for option in (*one.names, *one.off_names)}
    named = set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", _prose(name)))
    assert named <= known, named - known


@pytest.mark.parametrize("name", CONCEPTS)
def test_client_options_that_a_concept_names_exist(name: str) -> None:
    keys = {key_of(field) for kind in (*ALL_OPTIONS, RegistryOptions) for field in kind.__dataclass_fields__}
    keys |= {f"{key}{ending}" for key in keys for ending in ("_file", "_command")}
    named = set(re.findall(r"\b(?:sasl|ssl|security|group|schema)\.[a-z_.]*[a-z]", _prose(name)))
    assert named <= keys, named - keys


def _prose(name: str) -> str:
    lines = [line for section in concept(name).sections for line in (section.heading, *section.lines)]
    return "\n".join(
        line if isinstance(line, str) else " ".join(line) for line in lines if not isinstance(line, Example)
    )


@pytest.mark.parametrize("name", CONCEPTS)
@pytest.mark.parametrize("width", range(40, 201, 10))
def test_only_examples_are_wider_than_the_terminal(name: str, width: int) -> None:
    examples = {f"  {line}" for example in concept(name).examples for line in example.line.splitlines()}
    for line in blocks_text(concept_blocks(concept(name)), GlobalValues(), width=width).splitlines():
        assert len(line) <= width or line in examples


def test_help_lists_every_topic_and_shows_each() -> None:
    page = kcli("help").out
    for topic in TOPICS:
        assert topic in page.partition("See also:")[2]
        done = kcli("help", topic)
        assert (done.code, done.err) == (0, "")
        assert done.out.strip()


def test_every_concept_has_a_page_in_help_and_in_the_manual() -> None:
    for name in CONCEPTS:
        page = kcli("man", name).out
        assert page.startswith(f"NAME\n       kcli-{name} - ")
        for example in concept(name).examples:
            assert all(line in page for line in example.line.splitlines())


def test_the_manual_has_the_exit_codes() -> None:
    page = " ".join(kcli("man", "exit-codes").out.split())
    for _code, meaning in EXIT_CODES:
        assert sentence(meaning) in page


@pytest.mark.parametrize(
    "words", [[], ["groups"], ["groups", "rewind"], ["topic", "list"], ["options"]], ids=" ".join
)
def test_man_in_a_pipe_is_plain_text(words: list[str]) -> None:
    done = kcli("man", *words)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("NAME\n")
    assert not re.search(r"\\[-fe(\[&]|\x1b|\x08|^\.[A-Z]", done.out, re.MULTILINE)


def test_every_page_of_the_manual_becomes_text_with_all_of_its_words() -> None:
    """No macro and no escape is left; mandoc finds the same words."""
    from kcli.docgen import man, manual
    from kcli.docgen.man_text import man_text

    docs = list(walk(cli, "kcli"))
    for name, source in manual.pages(docs).items():
        text = man_text(source)
        assert not re.search(
            r"\\[-fe(\[&]|^\.[A-Z]", text.replace(r"\n", "").replace(r"\t", ""), re.MULTILINE
        ), name
    page = man.command_page(docs[1], manual.shared_by_all(docs))
    done = subprocess.run(["mandoc", "-T", "utf8"], input=page.encode(), capture_output=True, check=False)
    words = re.sub(rb".\x08", b"", done.stdout).decode().split()[4:-6]
    assert set(words) - set(man_text(page).split()) <= {"‐"}


def test_man_names_the_nearest_command() -> None:
    done = kcli("man", "topcis")
    assert (done.code, done.out) == (2, "")
    assert "did you mean `kcli man topics`?" in done.err
    assert kcli("man", "-o", "json").code == 2


def test_a_section_chooses_between_a_command_and_a_concept() -> None:
    assert kcli("man", "1", "config").out.startswith("NAME\n       kcli-config - Show and check")
    assert kcli("man", "7", "config").out == kcli("man", "config").out
    assert "`kcli config --help`" in " ".join(kcli("help", "config").out.split())


def test_words_that_are_looked_for_lead_to_topics() -> None:
    assert set(RELATED.values()) <= set(TOPICS)
    assert not set(RELATED) & {*TOPICS, *cli.commands, *getattr(cli, "table", {})}


def test_a_kind_is_found_in_any_spelling() -> None:
    assert kcli("schema", "grouplaglist").out == kcli("schema", "GroupLagList").out


def test_the_schema_of_files_is_that_of_the_reader() -> None:
    assert json.loads(kcli("schema", "apply").out) == documents_schema()
    assert kcli("schema", "apply", "-o", "table").code == 2


def test_man_on_a_terminal_is_shown_by_man_and_without_it_by_the_pager(tmp_path) -> None:  # type: ignore[no-untyped-def]
    program = tmp_path / "man"
    program.write_text('#!/bin/sh\necho "man was given: $*"; head -c 20\n')
    program.chmod(0o755)
    shown = environment(PATH=f"{tmp_path}:/usr/bin:/bin", TERM="xterm", PAGER="cat")
    with Terminal([*KCLI, "man", "times"], environ=shown) as terminal:
        terminal.wait("man was given: -l -")
    program.write_text("#!/bin/sh\nexit 1\n")
    with Terminal([*KCLI, "man", "times"], environ=shown, rows=80) as terminal:
        terminal.wait("kcli-times - instants and durations")
    assert run([*KCLI, "man", "times"], env=shown, capture_output=True).stdout.startswith(b"NAME")
