"""SECURITY.md: every attacker that is considered, how to report, what is out of scope; and what it names exists."""

import re
from pathlib import Path

import pytest

from kcli.core.options import is_option

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "SECURITY.md").read_text()
PARTS = (
    "Reporting", "Attackers", "A hostile broker", "Hostile producers", "A man in the middle", "Another user",
    "A stolen laptop", "A malicious file", "Mistakes", "Dependencies", "Out of scope",
)  # fmt: skip


def faults(page: str) -> list[str]:
    """The parts that are missing, and the client options that do not exist."""
    headings = re.findall(r"^##+ (.*)$", page, re.M)
    missing = [part for part in PARTS if not any(heading.startswith(part) for heading in headings)]
    keys = [key for key in re.findall(r"`([a-z]+(?:\.[a-z]+)+)`", page) if not (ROOT / key).exists()]
    return [
        *missing,
        *(key for key in keys if not is_option(key) and not key.endswith((".lock", ".md", ".py"))),
    ]


@pytest.mark.case("X29")
def test_the_page_has_every_part_and_names_what_exists() -> None:
    assert not faults(PAGE)
    assert PAGE.count("\n") <= 150
    assert "security advisories" in PAGE


@pytest.mark.case("X31")
def test_a_page_without_a_part_is_found() -> None:
    assert faults(PAGE.replace("### A man in the middle\n", "")) == ["A man in the middle"]
    assert faults(PAGE.replace("`receive.message.max.bytes`", "`receive.message.most.bytes`")) == [
        "receive.message.most.bytes"
    ]
