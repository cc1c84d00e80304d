"""The page has a row for every option of every script, and kcli does nearly all of them."""

import pytest

from kcli.commands.registry import ROWS
from kcli.commands.shared.foreign_lines import of_script
from tests.integration.kafka_scripts.page import Row, options, rows
from tests.integration.kafka_scripts.scripts import SCRIPTS, SUBCOMMANDS, shared

pytestmark = pytest.mark.integration
ALL = rows()
SHARE = 0.97
ONLY_COMMON = ("kafka-e2e-latency", "kafka-broker-api-versions")


@pytest.mark.parametrize("script", SCRIPTS)
def test_every_option_of_its_help_has_a_row(script: str) -> None:
    shown = {name for row in ALL if row.script == script for name in options(row)}
    told = shared().options(script)
    assert told or script in ONLY_COMMON, "its help was not read"
    assert [name for name in told if name not in shown] == []


@pytest.mark.parametrize("script", SUBCOMMANDS)
def test_every_subcommand_has_a_row(script: str) -> None:
    assert set(SUBCOMMANDS[script]) <= {row.words[0] for row in ALL if row.script == script}


def test_what_kcli_does_of_them() -> None:
    assert len(ALL) >= 300
    assert sum(bool(row.kcli) for row in ALL) / len(ALL) >= SHARE
    assert all(row.differs for row in ALL if not row.kcli), "a row without a line says why"


@pytest.mark.parametrize("row", ALL, ids=str)
def test_the_translation_of_a_line_is_the_command_of_its_row(row: Row) -> None:
    """``kcli kafka-topics.sh --list`` prints what to type."""
    found = of_script(row.script, row.words)
    assert found is not None
    if row.kcli:
        assert command_of(found.line.split()[1:]) == command_of(list(row.kcli))
    assert bool(row.kcli) == (bool(found.line) and not found.lacking), found


def command_of(words: list[str]) -> str:
    """The longest beginning that is a command."""
    return next((text for n in (3, 2, 1) if (text := " ".join(words[:n])) in ROWS), "")
