"""All pages of the reference by their places, and their order in the navigation. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kcli.docgen import kinds as catalogue
from kcli.docgen import manual
from kcli.docgen.concepts import concept
from kcli.docgen.describe import CommandDoc, sentence
from kcli.docgen.site import markdown
from kcli.docgen.site.command_pages import command_page
from kcli.docgen.site.concept_pages import concept_page, concept_title, options_page
from kcli.docgen.site.kind_pages import kind_page, kinds_page
from kcli.docgen.site.mentions import mentions
from kcli.docgen.site.places import (
    CLIENT_OPTIONS,
    INDEX,
    KINDS,
    ROOT,
    Places,
    command_place,
    concept_place,
    kind_place,
    places_of,
)
from kcli.docgen.topics import CONCEPTS

Navigation = list[Any]
"""As in mkdocs.yml: places, and mappings of a title to a place or to such a list."""


def reference(
    docs: Sequence[CommandDoc], written: Mapping[str, str], examples: Mapping[str, str]
) -> dict[str, str]:
    """All pages. ``docs`` are those of all commands, ``written`` the pages of people, ``examples`` a document by kind."""
    places = places_of(docs)
    found = mentions(written, places)
    made = {command_place(doc): command_page(doc, places, found.get(doc.path, [])) for doc in docs}
    made |= {concept_place(name): concept_page(concept(name), places) for name in CONCEPTS}
    made[CLIENT_OPTIONS] = options_page(manual.option_terms(), places)
    kinds = catalogue.kinds()
    made[KINDS] = kinds_page(kinds, places)
    for kind in kinds:
        schema = catalogue.schema_of(kind.name)
        made[kind_place(kind.name)] = kind_page(kind, schema, examples.get(kind.name), places)
    made[INDEX] = _index(docs, places)
    return made


def navigation(docs: Sequence[CommandDoc]) -> Navigation:
    """The reference in the order of its pages. Kinds are reached from their list."""
    concepts = [{concept_title(name): concept_place(name)} for name in CONCEPTS]
    return [
        INDEX,
        {"Commands": [{"kcli": ROOT}, *_below(docs[0], docs)]},
        {"Client options": CLIENT_OPTIONS},
        *concepts,
        {"JSON kinds": KINDS},
    ]


def _below(parent: CommandDoc, docs: Sequence[CommandDoc]) -> Navigation:
    children = [doc for doc in docs if doc.path[:-1] == parent.path]
    return [
        {doc.path[-1]: [command_place(doc), *_below(doc, docs)] if doc.is_group else command_place(doc)}
        for doc in children
    ]


def _index(docs: Sequence[CommandDoc], places: Places) -> str:
    link = places.linker(INDEX)
    rows = [
        (
            markdown.code(" ".join(doc.path), markdown.between(INDEX, command_place(doc))),
            markdown.prose(sentence(doc.summary), link),
        )
        for doc in docs
        if not doc.is_group
    ]
    concepts = [
        (
            f"[{concept_title(name)}]({markdown.between(INDEX, concept_place(name))})",
            markdown.prose(sentence(text), link),
        )
        for name, text in CONCEPTS.items()
    ]
    others = [
        (f"[{title}]({markdown.between(INDEX, place)})", markdown.prose(text, link))
        for title, place, text in (
            ("Global options", ROOT, "Those that every command has."),
            ("Client options", CLIENT_OPTIONS, "For -X, -F, profiles and variables."),
            ("JSON kinds", KINDS, "What -o json and -o ndjson print, key by key."),
        )
    ]
    text = (
        "All of this is made from the program itself: the same text is printed by `kcli help`, by `kcli man`, and by the "
        "option `--help` of each command.\n"
    )
    parts = [
        text,
        "## For all commands\n",
        markdown.table(("", ""), others),
        "## Concepts\n",
        markdown.table(("", ""), concepts),
        "## Commands\n",
        markdown.table(("", ""), rows),
    ]
    return markdown.page("Reference", parts)
