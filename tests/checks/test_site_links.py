"""Pages of the repository say the same on the site, and their links lead to the same things."""

import re

import pytest

from tools.site.command_links import page_on, with_command_links
from tools.site.dialect import for_python_markdown
from tools.site.links import site_links
from tools.site.words import with_whole_options

PUBLISHED = {
    "docs/groups.md": "groups.md",
    "docs/how/mirror.md": "how/mirror.md",
    "docs/decisions/README.md": "decisions/README.md",
    "docs/pictures/top.svg": "pictures/top.svg",
    "SECURITY.md": "project/security.md",
}
THERE = {*PUBLISHED, "kcli/cli.py", "contrib"}


def changed(text: str, page: str = "docs/groups.md", repository: str = "") -> str:
    return site_links(text, page, PUBLISHED, THERE.__contains__, repository)


@pytest.mark.parametrize(
    ("text", "page", "expected"),
    [
        ("see [x](how/mirror.md#a)", "docs/groups.md", "see [x](how/mirror.md#a)"),
        ("[x](../SECURITY.md)", "docs/groups.md", "[x](project/security.md)"),
        ("[x](docs/groups.md#lag)", "SECURITY.md", "[x](../groups.md#lag)"),
        ("[all](decisions)", "docs/groups.md", "[all](decisions/README.md)"),
        ("![a screen](docs/pictures/top.svg)", "SECURITY.md", "![a screen](../pictures/top.svg)"),
        (
            "[`code`](../groups.md), twice [y](mirror.md)",
            "docs/how/mirror.md",
            "[`code`](../groups.md), twice [y](mirror.md)",
        ),
    ],
)
def test_a_link_to_a_published_page_is_one_on_the_site(text: str, page: str, expected: str) -> None:
    assert changed(text, page) == expected


def test_a_link_to_another_file_is_its_text_or_leads_to_the_repository() -> None:
    assert changed("[`cli.py`](../kcli/cli.py#L3) and [the folder](../contrib)") == "`cli.py` and the folder"
    assert changed("[x](../kcli/cli.py#L3)", repository="https://r.example/blob/main/") == (
        "[x](https://r.example/blob/main/kcli/cli.py#L3)"
    )


@pytest.mark.parametrize(
    "text",
    [
        "[x](https://kafka.apache.org/docs)",
        "[x](mailto:a@b.example)",
        "[x](#lag)",
        "[x](nowhere.md)",
        "`[x](../kcli/cli.py)`",
        "```\n[x](../kcli/cli.py)\n```\n",
    ],
)
def test_other_links_code_and_dead_links_stay(text: str) -> None:
    assert changed(text) == text


def test_the_text_of_a_link_may_go_on_in_the_next_line() -> None:
    assert (
        changed("see [the\nfolder](../contrib) and\n\n[x](../kcli/cli.py)\n") == "see the\nfolder and\n\nx\n"
    )


def test_a_link_after_a_block_of_code_is_changed() -> None:
    assert changed("```sh\nx\n```\n[x](../kcli/cli.py)\n") == "```sh\nx\n```\nx\n"


PAGES = {"reference/commands/groups/index.md", "reference/commands/groups/lag.md", "reference/times.md"}


@pytest.mark.parametrize(
    ("words", "place"),
    [
        ("groups", "reference/commands/groups/index.md"),
        ("groups lag billing --watch", "reference/commands/groups/lag.md"),
        ("groups frobnicate", "reference/commands/groups/index.md"),
        ("help times", "reference/times.md"),
        ("COMMAND --help", None),
    ],
)
def test_the_page_on_a_command_is_that_of_its_longest_known_part(words: str, place: str | None) -> None:
    assert page_on(words, PAGES) == place


def test_a_command_is_a_link_the_first_time_and_outside_of_links_headings_and_blocks() -> None:
    other = "<h2><code>kcli groups</code></h2><pre><code>kcli groups</code></pre><a href='x'><code>kcli groups</code></a>"
    once, again = (
        "<code>kcli groups lag</code>",
        "<code>kcli groups lag --watch</code>, <code>kcli nothing</code>",
    )
    assert with_command_links(other + once + again, lambda words: page_on(words, PAGES)) == (
        f'{other}<a class="command" href="reference/commands/groups/lag.md">{once}</a>{again}'
    )


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<code>kcli x --to -1h -e</code>", "<code>kcli x {--to} -1h {-e}</code>"),
        ("<code>--dry-run</code> and --dry-run", "<code>{--dry-run}</code> and --dry-run"),
        ("<pre><code>x --to y</code></pre>", "<pre><code>x --to y</code></pre>"),
        ("<code>loss-risk a-b</code>", "<code>loss-risk a-b</code>"),
    ],
)
def test_options_in_code_are_kept_whole(html: str, expected: str) -> None:
    spans = re.sub(r"\{(.*?)\}", r'<span class="word">\1</span>', expected)
    assert with_whole_options(html) == spans


def test_bars_in_the_code_of_a_table_have_no_backslash_and_blocks_a_language_only() -> None:
    page = "```sh cluster\nx \\| y\n```\n| a | b |\n|---|---|\n| `x \\| y` | c \\| d |\n`x \\| y`\n"
    assert for_python_markdown(page) == (
        "```sh\nx \\| y\n```\n| a | b |\n|---|---|\n| `x | y` | c \\| d |\n`x \\| y`\n"
    )
