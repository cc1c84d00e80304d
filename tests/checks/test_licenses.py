"""docs/licenses.md has the license of every package that kcli may bring, and each is allowed."""

from importlib import metadata

import pytest

from tools.packaging.licenses import LOCK, PAGE, license_of, locked, page, rows, unwanted

LISTED = rows(PAGE.read_text())


def lines_of(name: str) -> list[str]:
    """The lines of the lock with the versions of a package."""
    return [line for line in LOCK.read_text().splitlines() if line.startswith(f"{name}==")]


def test_the_page_lists_every_locked_package() -> None:
    assert list(LISTED) == locked(LOCK.read_text()), "make licenses"
    assert page(LISTED) == PAGE.read_text()


def test_every_license_is_allowed() -> None:
    assert unwanted(LISTED) == []


def test_the_page_says_what_installed_packages_declare() -> None:
    installed = {f"{one.name}=={one.version}" for one in metadata.distributions()}
    there = [name for name in LISTED if any(line.split(" ")[0] in installed for line in lines_of(name))]
    assert there  # other versions may declare their license in other words
    assert {name: license_of(name) for name in there} == {name: LISTED[name] for name in there}, (
        "make licenses"
    )


@pytest.mark.parametrize(
    ("name", "expression"),
    [
        ("other", "GPL-3.0-only"),
        ("other", "LGPL-2.1-or-later"),
        ("other", "MIT AND GPL-2.0-only"),
        ("crc32c", "GPL-2.0-only"),
        ("other", "not declared"),
    ],
)
def test_the_check_finds(name: str, expression: str) -> None:
    assert unwanted({name: expression}) == [f"{name}: {expression}"]


def test_choices_and_parentheses_are_read() -> None:
    assert unwanted({"a": "(MIT OR Apache-2.0) AND BSD-3-Clause", "crc32c": "LGPL-2.1-or-later"}) == []
