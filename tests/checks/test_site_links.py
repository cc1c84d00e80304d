"""Links of pages of the repository lead to the same things on the site."""

import pytest

from tools.site.links import site_links

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


def test_a_link_after_a_block_of_code_is_changed() -> None:
    assert changed("```sh\nx\n```\n[x](../kcli/cli.py)\n") == "```sh\nx\n```\nx\n"
