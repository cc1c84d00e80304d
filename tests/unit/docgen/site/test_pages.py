"""Pages of commands and of kinds of JSON, from small trees and schemas of their own."""

from typing import Any

import click

from kcli.docgen.describe import CommandDoc, walk
from kcli.docgen.kinds import Kind
from kcli.docgen.site.command_pages import command_page
from kcli.docgen.site.kind_pages import kind_page
from kcli.docgen.site.mentions import Mention, mentions
from kcli.docgen.site.places import places_of


def tree() -> list[CommandDoc]:
    @click.group()
    def cli() -> None:
        """The root."""

    @cli.group()
    def groups() -> None:
        """Groups."""

    @groups.command()
    @click.option("--undo", "-u", is_flag=True, help="undo it; see --to")
    @click.option("--to", metavar="SPEC", help="where to")
    @click.argument("group")
    def rewind(group: str, undo: bool, to: str) -> None:
        """Move offsets.

        With --undo as before.

            indented | as it is
        """

    return list(walk(cli, "kcli"))


DOCS = tree()
PLACES = places_of(DOCS)


def doc_of(*path: str) -> CommandDoc:
    return next(doc for doc in DOCS if doc.path == path)


def test_the_page_of_a_command_explains_its_options_and_links_them() -> None:
    page = command_page(
        doc_of("kcli", "groups", "rewind"), PLACES, [Mention("Replay yesterday", "tasks/replay.md")]
    )
    assert "# kcli groups rewind\n" in page
    assert "```\nkcli groups rewind [options] GROUP\n```" in page
    assert "With [`--undo`](#opt-undo) as before." in page
    assert "    indented | as it is" in page
    assert "[`--undo, -u`](#opt-undo){ #opt-undo .option }\n:   Undo it; see [`--to`](#opt-to)." in page
    assert "[`--to SPEC`](#opt-to)" in page
    assert "- [Replay yesterday](../../../tasks/replay.md)" in page
    assert "- [`kcli groups`](index.md)" in page


def test_options_are_in_their_groups_and_what_is_looked_up_comes_last() -> None:
    doc = doc_of("kcli", "groups", "rewind")
    undo, to, *others = doc.options
    doc = doc._replace(
        options=(undo._replace(heading="Instead"), to, *others),
        environment=(("A, B", "as -X"),),
        exit_codes=(("6", "partly --undo"),),
        concepts=("times",),
    )
    page = command_page(doc, PLACES, [])
    order = (
        "## Options",
        "--to SPEC",
        "### Instead",
        "--undo",
        "## Details",
        "## Environment",
        "## Exit codes",
    )
    at = page.index("## Options")
    for part in order:
        at = page.index(part, at)
    assert "| `A`, `B` | As -X. |" in page
    assert "| `6` | Partly [`--undo`](#opt-undo). |" in page
    assert "](../../times.md)" in page


def test_a_group_lists_its_commands() -> None:
    page = command_page(doc_of("kcli", "groups"), PLACES, [])
    assert "| [`kcli groups rewind`](rewind.md) | Move offsets. |" in page


def test_pages_that_show_a_command_more_often_come_first() -> None:
    written = {
        "a.md": "# A\n`kcli groups rewind g`",
        "b.md": "# B\nkcli groups rewind g\nkcli groups rewind h --undo",
        "c.md": "# C\nkcli groups, kcli nothing",
    }
    found = mentions(written, PLACES)
    assert found["kcli", "groups", "rewind"] == [Mention("B", "b.md"), Mention("A", "a.md")]
    assert found["kcli", "groups"] == [Mention("C", "c.md")]


SCHEMA: dict[str, Any] = {
    "required": ["kind", "items"],
    "properties": {
        "kind": {"const": "LagList"},
        "items": {"type": "array", "items": {"$ref": "#/$defs/Lag"}},
        "at": {"$ref": "#/$defs/at", "description": "When it began."},
        "node": {"type": ["object", "null"], "properties": {"id": {"enum": [1, "x"], "description": "Id."}}},
        "parts": {"type": "array", "items": {"type": "object", "properties": {"size": {"type": "integer"}}}},
    },
    "$defs": {"Lag": {"type": "object"}, "at": {"type": "string", "format": "date-time"}},
}


def test_the_keys_of_a_kind_have_types_and_those_of_inner_objects_follow() -> None:
    kind = Kind("LagList", ("groups rewind --dry-run",), "The lag.")
    page = kind_page(kind, SCHEMA, '{"kind":"LagList","items":[]}', PLACES)
    terms = [line for line in page.splitlines() if line.startswith("[`") and "{ #key-" in line]
    assert terms == [
        '[`kind`](#key-kind){ #key-kind .option } `"LagList"`',
        "[`items`](#key-items){ #key-items .option } list of [`Lag`](Lag.md)",
        "[`at`](#key-at){ #key-at .option } time, not always there",
        "[`node`](#key-node){ #key-node .option } object or null, not always there",
        '[`node.id`](#key-node.id){ #key-node.id .option } `1`, `"x"`, not always there',
        "[`parts`](#key-parts){ #key-parts .option } list of object, not always there",
        "[`parts[].size`](#key-parts.size){ #key-parts.size .option } integer, not always there",
    ]
    assert "printed by [`groups rewind --dry-run`](../commands/groups/rewind.md)" in page
    assert '```json\n{\n  "kind": "LagList",\n  "items": []\n}\n```' in page
