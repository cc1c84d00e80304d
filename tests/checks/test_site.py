"""Everything has its place: help, manual, completion and a page of the documentation site. Without MkDocs.

Dead links are found by ``make site``, which is strict; what a browser makes of the pages by ``make site-test``.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from posixpath import dirname, join, normpath

import pytest
import yaml
from packaging.requirements import Requirement

from kcli.docgen import kinds as catalogue
from kcli.docgen.__main__ import ROOT, examples, written
from kcli.docgen.concepts import concept
from kcli.docgen.describe import CommandDoc, walk
from kcli.docgen.site import pages
from kcli.docgen.site.places import KINDS, command_place, concept_place, kind_place, option_anchor
from kcli.docgen.topics import CONCEPTS

DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
LINK = re.compile(r"\]\(([^)\s#]*)(?:#([^)\s]+))?\)")
NO_LIST_ABOVE = re.compile(r" *([-*+]|\d+\.) |\s|\||>|#|<!--|$")


class _Settings(yaml.SafeLoader):
    """mkdocs.yml names a function of Python."""


_Settings.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)
_Settings.add_constructor("!ENV", lambda loader, node: loader.construct_sequence(node))
SETTINGS = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), _Settings)


def docs() -> list[CommandDoc]:
    from kcli.cli import cli

    return list(walk(cli, "kcli"))


def places(navigation: object) -> Iterator[str]:
    """All pages that a navigation names."""
    if isinstance(navigation, str):
        yield navigation
    for entry in navigation if isinstance(navigation, list) else ():
        yield from places(next(iter(entry.values())) if isinstance(entry, dict) else entry)


COMMANDS = docs()
MADE = pages.reference(COMMANDS, written(), examples())
NAVIGATION = list(places(pages.navigation(COMMANDS)))
COMPLETIONS = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "completions").iterdir()}


@pytest.mark.parametrize("doc", COMMANDS, ids=lambda doc: " ".join(doc.path))
def test_a_command_has_examples_a_man_page_completion_and_a_page_of_the_site(doc: CommandDoc) -> None:
    name = " ".join(doc.path)
    assert doc.summary
    assert doc.examples
    assert (ROOT / "man" / ("-".join(doc.path) + ".1")).is_file()
    for script, entry in (
        ("kcli.bash", f'"{name}")'),
        ("_kcli", f"_{'_'.join(doc.path)}() {{".replace("-", "_")),
        ("kcli.fish", f"'{name}'"),
    ):
        assert entry in COMPLETIONS[script], script
    place = command_place(doc)
    assert NAVIGATION.count(place) == 1
    page = MADE[place]
    assert page.count(f"# {name}\n") == 1
    for example in doc.examples:
        assert f"\n{example.line}\n" in page
    for option in doc.own_options:
        assert f"{{ #{option_anchor(option)} .option }}" in page


@pytest.mark.parametrize("name", CONCEPTS)
def test_a_concept_has_help_a_man_page_completion_and_a_page_of_the_site(name: str) -> None:
    assert concept(name).examples
    assert (ROOT / "man" / f"kcli-{name}.7").is_file()
    for script, text in COMPLETIONS.items():
        assert re.search(rf"\b{name}\b", text), script
    assert NAVIGATION.count(concept_place(name)) == 1
    assert MADE[concept_place(name)].count(f"`kcli help {name}`") == 1


def test_every_kind_has_a_page_which_the_list_names() -> None:
    assert KINDS in NAVIGATION
    kinds = catalogue.names()
    assert len(kinds) > 100
    for name in kinds:
        assert f"[`{name}`]({name}.md)" in MADE[KINDS]
        keys = catalogue.schema_of(name)
        page = MADE[kind_place(name)]
        assert all(f"[`{key}`](#key-{key})" in page for key in keys.get("properties", ())), name


def test_pages_of_the_reference_are_reached_and_no_others_are_named() -> None:
    listed = {kind_place(name) for name in catalogue.names()}
    assert sorted({*NAVIGATION, *listed}) == sorted(MADE)


def test_links_in_the_reference_lead_somewhere() -> None:
    dead = []
    for place, text in MADE.items():
        for target, anchor in LINK.findall(re.sub(r"```.*?```", "", text, flags=re.S)):
            path = normpath(join(dirname(place), target)) if target else place
            there = MADE.get(path, "" if (DOCS / path).is_file() else None)
            headings = re.findall(r"^#+ (.*)$", there or "", re.M)
            anchors = {heading.lower().replace(" ", "-") for heading in headings}
            if there is None or (anchor and f"#{anchor} " not in there and anchor not in anchors):
                dead.append((place, target, anchor))
    assert dead == []


def test_every_page_is_in_the_navigation_or_left_out_on_purpose() -> None:
    listed = list(places(SETTINGS["nav"]))
    assert len(listed) == len(set(listed))
    patterns = f"{SETTINGS['exclude_docs']}\n{SETTINGS['not_in_nav']}".split()
    left_out = [page for page in PAGES if any(Path("/" + page).match(pattern) for pattern in patterns)]
    assert [page for page in PAGES if page not in listed and page not in left_out] == []
    assert "reference" in listed


@pytest.mark.parametrize("page", [*PAGES, *(f"../{path.name}" for path in ROOT.glob("*.md"))])
def test_lists_look_the_same_on_the_site_as_on_github(page: str) -> None:
    """Python-Markdown wants a blank line before a list, and four blanks before one within."""
    wrong = []
    before, fenced = "", False
    for number, line in enumerate((DOCS / page).read_text(encoding="utf-8").splitlines(), 1):
        fenced ^= line.lstrip().startswith("```")
        item = re.match(r"( *)(?:[-*+]|\d+\.) ", line)
        if item and not fenced and (len(item[1]) % 4 or not NO_LIST_ABOVE.match(before)):
            wrong.append((number, line))
        before = line
    assert wrong == []


def test_the_site_loads_nothing_from_elsewhere() -> None:
    assert SETTINGS["theme"]["font"] is False
    assert "analytics" not in SETTINGS["extra"]
    shims = [ROOT / SETTINGS["theme"]["custom_dir"] / path for path in SETTINGS["extra"]["polyfills"]]
    assert [path.name for path in shims] == ["iframe-worker.js"]
    assert all(path.is_file() for path in shims)
    for path in (*shims, *shims[0].parent.glob("*.css")):
        assert not re.search(r"(@import|url\(|src=)[\"']?(https?:)?//", path.read_text(encoding="utf-8"))


def test_the_page_for_a_missing_address_has_links_only_where_the_address_of_the_site_is_known() -> None:
    """A server in a folder shows it at any depth: what is relative, or begins with a slash, leads elsewhere."""
    assert SETTINGS["site_url"] == ["SITE_URL", ""]
    theme = ROOT / SETTINGS["theme"]["custom_dir"]
    assert (
        '{% extends "main.html" if config.site_url else "404-alone.html" %}'
        in (theme / "404.html").read_text()
    )
    alone = (theme / "404-alone.html").read_text()
    assert re.findall(r"(?:href|src)=\"([^\"]*)", alone) == ["data:,"]
    assert "<script" not in alone


def test_a_strict_build_is_not_quiet() -> None:
    """With --quiet MkDocs does not count its warnings, and --strict has no effect."""
    lines = [line for line in (ROOT / "Makefile").read_text().splitlines() if "mkdocs build" in line]
    assert lines
    assert all("--strict" in line and "-q" not in line for line in lines)
    rules = [rule for part in SETTINGS["validation"].values() for rule in part.values()]
    assert set(rules) == {"warn"}


def test_what_builds_the_site_is_locked() -> None:
    folder = ROOT / "tools" / "site"
    entries = (folder / "site.lock").read_text().replace("\\\n", " ").splitlines()
    locked = {Requirement(line.partition("--hash")[0]).name: line for line in entries}
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}", line) for line in locked.values())
    for line in (folder / "site.in").read_text().splitlines():
        wanted = Requirement(line)
        (exact,) = Requirement(locked[wanted.name].partition("--hash")[0]).specifier
        assert wanted.specifier.contains(exact.version)
