"""The help of all commands looks alike: case, mood, full stops, the form of defaults, and one name of one thing.

Lists (options, commands, notes of examples) are phrases: no capital, no full stop, an imperative or a noun, the default
as ``(default: …)``. The summary of a command is a sentence.
"""

import inspect
import re
from collections.abc import Iterator

import click

from kcli.cli import cli
from kcli.commands.registry import ROWS
from kcli.commands.shared.options import GROUP, TOPIC, global_options
from kcli.commands.shared.params import DURATION, INSTANT, OFFSET_RANGE, PARTITIONS, RATE, TOPIC_PARTITIONS
from kcli.docgen.describe import walk

DOCS = list(walk(cli, "kcli"))
PROPER = ("ACLs", "Avro", "JSON", "Java", "Kafka", "MB", "SCRAM", "SQL", "Spark", "TLS", "Unix")
"""What begins with a capital anywhere."""

METAVARS = {
    "A": "a name before", "ADDRESS": "an IP address", "AFTER": "a later result",
    "APP": "an application of Kafka Streams", "AREA": "a subject of --debug",
    "B": "a name after", "BEFORE": "an earlier result", "CHROOT": "a path in ZooKeeper", "CODEC": "a compression",
    "COMMAND": "a program", "CONDITION": "a limit for figures",
    "CONTEXT": "of a schema registry", "DELIM": "a delimiter", "DIR": "a folder", "PATH": "a folder or a file",
    "DUR": "a duration", "EXPR": "an expression over records", "FIELD": "a part of a record", "FILE": "a path",
    "FORMAT": "a template of output", "GLOB": "a shell pattern", "GROUP": "a group", "HOST": "a host", "ID": "an id",
    "KEY": "a key of a record or a configuration", "KIND": "an output format, a kind of document",
    "LEVEL": "of a codec or a feature, of compatibility",
    "LIST": "numbers and ranges: 0,2,5-7", "M": "a number after N", "MAX": "a most",
    "MEMBER": "a member of a group", "MODE": "of a schema registry", "MIN": "a least",
    "N": "a number", "NAME": "a name of what no other word is for", "OPERATION": "of an ACL",
    "PATTERN": "a template of input", "PERCENT": "a share of 100", "PORT": "a port", "PROFILE": "a profile",
    "RACK": "a rack", "RATE": "records or bytes in a second", "REGEX": "a regular expression", "SERDE": "a serializer",
    "SHARE": "0 to 1", "SIZE": "bytes, with a unit", "SPEC": "an offset, a time, or a range", "SQL": "of Spark",
    "STATE": "of a group", "STR": "any text", "SUBJECT": "of a schema registry", "TIME": "an instant", "TOPIC": "a topic",
    "TYPE": "of a group or a principal", "URL": "a URL", "VERSION": "of Kafka, of a subject",
    "VALUE": "what a key is set to, a value of a record",
    "WORD": "what is searched for", "ZONE": "a time zone of IANA",
}  # fmt: skip
BY_TYPE = {
    DURATION: "DUR", INSTANT: "TIME", OFFSET_RANGE: "SPEC", PARTITIONS: "LIST", RATE: "RATE", GROUP: "GROUP",
    TOPIC: "TOPIC", TOPIC_PARTITIONS: "TOPIC[:LIST]",
}  # fmt: skip
NOUNS = {"clients", "headers", "keys", "partitions", "ports", "records", "topics", "values"}
"""Plurals that are no third person."""


def options(command: click.Command = cli, path: str = "") -> Iterator[tuple[str, click.Option]]:
    """Those that are shown, with their commands; global ones once."""
    own = [*command.params, *(() if path else global_options())]
    yield from ((path, one) for one in own if isinstance(one, click.Option) and not one.hidden)
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from options(found, f"{path} {name}".lstrip())


OPTIONS = [(f"{path} {option.opts[0]}".lstrip(), option) for path, option in options()]
PHRASES = [
    *((name, option.help or "") for name, option in OPTIONS),
    *(("registry", summary) for _place, _effect, summary in ROWS.values()),
    *((example.line, example.says) for doc in DOCS for example in doc.examples if example.says),
]
FIRST_WORDS = {re.split(r"[ ,:]", text)[0] for _name, text in PHRASES} - {"a"}


def test_an_option_and_a_command_are_phrases() -> None:
    assert [(name, text) for name, text in PHRASES if not text or text.endswith(".")] == []
    capital = [text for _name, text in PHRASES if text[:1].isupper() and not text[1:2].isdigit()]
    assert [text for text in capital if not text.startswith(PROPER)] == []
    names = re.compile(rf"({'|'.join(map(str.lower, PROPER))})\b")
    assert [(name, text) for name, text in PHRASES if names.match(text)] == []


def test_what_is_done_is_an_imperative() -> None:
    """As in "show", not "shows": no first word is another one with an s."""
    third = {word for word in FIRST_WORDS if word.removesuffix("s") != word and word[:-1] in FIRST_WORDS}
    third |= {word for word in FIRST_WORDS if word.endswith("es") and word[:-2] in FIRST_WORDS}
    assert third - NOUNS == set()


def test_a_default_has_one_form() -> None:
    wrong = [
        (name, text)
        for name, text in PHRASES
        if "default:" in text and not re.search(r"[^ .] \(default: [^()]+\)(?=$|[:;] )", text)
    ]
    assert wrong == []
    assert [name for name, option in OPTIONS if option.show_default] == []


def summaries() -> Iterator[tuple[str, str]]:
    for path in ROWS:
        command: click.Command = cli
        for word in path.split():
            assert isinstance(command, click.Group)
            command = command.get_command(click.Context(command), word) or cli
        yield path, inspect.cleandoc(command.help or "").split("\n\n", maxsplit=1)[0]


def test_a_summary_is_a_sentence() -> None:
    assert [path for path, text in summaries() if not (text[:1].isupper() and text.endswith("."))] == []


def test_one_thing_has_one_name() -> None:
    shown = [(name, option.metavar) for name, option in OPTIONS if option.metavar]
    shown += [(" ".join(doc.path), argument.shown) for doc in DOCS for argument in doc.arguments]
    words = {(word, name) for name, text in shown for word in re.findall(r"\b[A-Z]+\b|[A-Z_]{2,}", text)}
    assert [one for one in sorted(words) if one[0] not in METAVARS] == []
    assert sorted(METAVARS.keys() - {word for word, _name in words}) == []


def test_values_of_one_type_have_one_name() -> None:
    wrong = [
        (name, option.metavar)
        for name, option in OPTIONS
        for kind, metavar in BY_TYPE.items()
        if option.type is kind and metavar not in (option.metavar or "")
    ]
    assert wrong == []
