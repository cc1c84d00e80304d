"""What the documents name is there: links, the ``file:function`` of DESIGN.md, every decision in the index."""

import re
from pathlib import Path

import pytest

from kcli.commands.registry import NOUN, ROWS, below
from tests.command_lines import FENCE, invocations

ROOT = Path(__file__).parents[2]
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")))
DECISIONS = ROOT / "docs" / "decisions"

PATH_AS_TEXT = re.compile(r"\[`?([\w./-]+\.md|[\w-]+/[\w./-]*)`?\]\(")
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)")

FOR_USERS = [page for page in PAGES if page.startswith(("docs/tasks/", "docs/how/", "docs/from/"))]
NEEDS = {
    r"kcli pipeline (?:export|import|profile|query)|kcli pipeline mirror`?[^|\n]* on Spark": "spark",
    r"-s value=(?:avro|protobuf|jsonschema)": "schemas",
    r"kcli exporter --": "exporter",
    r"kcli groups (?:export|import) [^|\n]*--zookeeper": "zookeeper",
}
"""What a page shows, and the extra without which it does not work."""

DECISION = re.compile(r"\bdecisions?[ /](\d{4})\b")
PLACE = re.compile(r"`((?:\w+/)*\w+\.py)(?::([\w.]+))?`")


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    dead = []
    for target, anchor in LINK.findall((ROOT / page).read_text()):
        path = (ROOT / page).parent / target if target else ROOT / page
        if not path.exists() or (anchor and anchor not in anchors(path)):
            dead.append(f"{target}#{anchor}")
    assert not dead


@pytest.mark.parametrize("page", sorted(PAGES))
def test_a_link_has_words_for_its_text(page):
    """A path says nothing on the site, where pages have other addresses."""
    assert PATH_AS_TEXT.findall((ROOT / page).read_text()) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[docs/x.md](x.md)", ["docs/x.md"]),
        ("[`x.md`](x.md#a)", ["x.md"]),
        ("[decisions/0110-calls](x.md)", ["decisions/0110-calls"]),
        ("[0110](x.md), [Calls and/or more](x.md), [`cli.py`](kcli/cli.py)", []),
    ],
)
def test_a_path_as_the_text_of_a_link_is_found(text, found):
    assert PATH_AS_TEXT.findall(text) == found


@pytest.mark.parametrize("page", FOR_USERS)
def test_a_page_names_the_extras_that_its_lines_need(page):
    text = (ROOT / page).read_text()
    needed = {extra for line, extra in NEEDS.items() if re.search(line, text)}
    assert needed - set(re.findall(r"'kcli-kafka\[(\w+)\]'", text)) == set()


@pytest.mark.parametrize("page", [page for page in FOR_USERS if "```console" in (ROOT / page).read_text()])
def test_a_page_says_how_to_get_the_cluster_that_its_commands_use(page):
    """A profile, or a sandbox that the page starts, so that it can be typed through from nothing."""
    before, _, blocks = (ROOT / page).read_text().partition("```console")
    if "<!-- clusters: none -->" in before:
        assert blocks.lstrip().startswith("$ kcli sandbox up")
        assert "<!-- setup:" not in blocks
    elif "<!-- clusters: sandbox -->" in before:
        assert "```sh\nkcli sandbox up\n```" in before
        assert "<!-- setup:" not in before + blocks
    else:
        for words in ("kcli profile add ", "kcli profile use ", "](../profiles.md)"):
            assert words in before


@pytest.mark.parametrize("noun", [name for name, (_, kind, _) in ROWS.items() if kind == NOUN])
def test_the_page_of_commands_has_a_section_for_each_noun_with_all_its_verbs(noun):
    _, found, rest = (ROOT / "docs/commands.md").read_text().partition(f"\n## {noun}\n")
    assert found
    section, _, _ = rest.partition("\n## ")
    typed = {" ".join(words[:2]) for _, _, block in FENCE.findall(section) for words in invocations(block)}
    assert {f"{noun} {verb}" for verb in below(noun)} - typed == set()


def test_the_page_of_commands_names_each_command_that_is_no_noun():
    table, _, _ = (ROOT / "docs/commands.md").read_text().partition("\n## ")
    lone = [name for name, (_, kind, _) in ROWS.items() if kind != NOUN and " " not in name]
    assert [name for name in lone if f"`kcli {name}" not in table and f"`{name}`" not in table] == []


@pytest.mark.parametrize("path", sorted((ROOT / ".github").rglob("*.*")), ids=lambda path: path.name)
def test_templates_have_no_relative_links(path):
    """GitHub shows them in pull requests and issues, from where the path of the file leads nowhere."""
    assert not [target for target, _ in LINK.findall(path.read_text()) if target]


def places(text: str) -> list[tuple[Path, str]]:
    """Files and names in them. In a paragraph a path is from the root, from kcli, or from the folder of the file before
    or one above that.
    """
    found = []
    for paragraph in text.split("\n\n"):
        folder = ROOT
        for path, name in PLACE.findall(paragraph):
            around = [one for one in (folder, *folder.parents) if one.is_relative_to(ROOT)]
            tried = [top / path for top in (ROOT, ROOT / "kcli", *around)]
            there = [one for one in tried if one.is_file()] or tried
            found.append((there[0], name))
            folder = there[0].parent
    return found


def defines(path: Path, name: str) -> bool:
    text = path.read_text()
    return all(
        re.search(rf"^\s*(?:async )?(?:def|class) {part}\b|^{part}\b.*=", text, re.M)
        for part in name.split(".")
    )


def test_what_the_design_names_exists():
    named = places((ROOT / "DESIGN.md").read_text())
    assert len(named) > 100
    assert not [f"{path}:{name}" for path, name in named if not path.is_file()]
    assert not [f"{path}:{name}" for path, name in named if name and not defines(path, name)]


def test_the_index_lists_every_decision_once_with_its_title_and_date():
    index = (DECISIONS / "README.md").read_text()
    listed = re.findall(r"^- \[(\d{4})\]\((\S+)\) (.*) \((\d{4}-\d\d-\d\d)\)$", index, re.M)
    files = sorted(path.name for path in DECISIONS.glob("[0-9]*.md"))
    assert sorted(name for _, name, _, _ in listed) == files
    assert len({name[:4] for name in files}) == len(files)
    for number, name, title, date in listed:
        assert name.startswith(number)
        assert (DECISIONS / name).read_text().startswith(f"# {title}\n\nDate: {date}\n")


@pytest.mark.parametrize("path", sorted(DECISIONS.glob("[0-9]*.md")), ids=lambda path: path.name[:4])
def test_a_decision_says_what_it_forbids_today_and_names_tests_that_are_there(path):
    text = path.read_text()
    assert text.count("\n**Forbids today.** ") == 1
    assert [name for name in re.findall(r"`(tests/[\w./]+)`", text) if not (ROOT / name).exists()] == []


def test_decisions_that_are_named_are_there():
    there = {path.name[:4] for path in DECISIONS.glob("[0-9]*.md")}
    pages = [ROOT / page for page in PAGES]
    texts = (*pages, *ROOT.glob("kcli/**/*.py"), *ROOT.glob("tests/**/*.py"))
    named = {(path.name, number) for path in texts for number in DECISION.findall(path.read_text())}
    assert len(named) > 10
    assert not [one for one in named if one[1] not in there]
