"""The versions of Kafka that are tested are those that the pages and the Makefile name."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from kcli.commands.registry import ROWS
from kcli.sandbox.config import DEFAULT_VERSION, parse_version
from tests.kafka_versions import FURTHER, LACKS, VERSIONS, table

ROOT = Path(__file__).parents[2]


def versions_of(*settings: str) -> list[str]:
    """The versions on which ``make test-brokers`` repeats the tests."""
    own = {
        name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "KAFKA"))
    }
    command = ["make", "--dry-run", "test-brokers", *settings]
    done = subprocess.run(command, cwd=ROOT, env=own, capture_output=True, text=True, check=True, timeout=60)
    (found,) = re.findall(r"^\s*for version in (.*?);", done.stdout, re.M)
    return str(found).split()


def test_the_newest_is_the_default_and_the_others_are_in_order() -> None:
    assert VERSIONS[-1] == DEFAULT_VERSION
    assert list(VERSIONS) == sorted(VERSIONS, key=parse_version)


def test_the_makefile_repeats_the_tests_on_each() -> None:
    assert versions_of() == list(VERSIONS)


def test_one_version_is_run_alone() -> None:
    assert versions_of("KAFKA=3.0.2") == ["3.0.2"]


def test_the_page_has_the_table() -> None:
    assert "\n".join(table()) in (ROOT / "docs/compatibility.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("what", LACKS)
def test_what_versions_lack_is_a_line_that_is_typed(what: str) -> None:
    assert what in ROWS or what in FURTHER
    named = [version for versions in LACKS[what] for version in versions]
    assert set(named) < set(VERSIONS)
    assert len(named) == len(set(named))
