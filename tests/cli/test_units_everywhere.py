"""Every option that takes configurations takes units: found in the command tree, so that a new one is tried too."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from kcli.cli import cli
from kcli.commands.registry import NOUN, ROWS
from tests.fake.cluster import FakeCluster
from tests.run import Done, kcli
from tests.segments import batch, write

LINES = {
    "topics create --config": "made --dry-run",
    "topics copy --config": "t made --dry-run",
    "topics alter --set": "t --dry-run",
    "configs alter --set": "topics t --dry-run",
    "quotas alter --set": "--user a --dry-run",
    "mirror run --config": "--from {broker} --to {broker} -t t --map-topic t=made --dry-run",
    "pipeline mirror --config": "--from {broker} --to {broker} -t t --map-topic t=made --dry-run --runner inline",
    "segments restore --config": "restored-0 --to {broker} --dry-run",
}
"""The rest of a line with the option."""
ELEMENTS = {"--append": "elements of a list", "--remove": "elements of a list"}
NO_CONFIGURATION = {"--spark-conf": "an option of Spark", "--command-property": "an option of kcli's clients"}


def options() -> Iterator[str]:
    for path in (path for path, row in ROWS.items() if row[1] != NOUN):
        command: click.Command = cli
        for word in path.split():
            assert isinstance(command, click.Group)
            found = command.get_command(click.Context(command), word)
            assert found is not None
            command = found
        for one in command.params:
            if isinstance(one, click.Option) and one.metavar == "KEY=VALUE" and not one.hidden:
                yield f"{path} {one.opts[-1]}"


FOUND = [one for one in options() if one.split()[-1] not in {**ELEMENTS, **NO_CONFIGURATION}]


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCluster]:
    write(tmp_path / "restored-0", [batch(0)])
    monkeypatch.chdir(tmp_path)
    with FakeCluster(1, topics={"t": 1}) as made:
        yield made


def typed(cluster: FakeCluster, option: str, value: str, *more: str) -> Done:
    path, _, flag = option.rpartition(" ")
    rest = LINES[option].replace("{broker}", cluster.bootstrap).split()
    own = {} if "--to" in rest else {"bootstrap": cluster.bootstrap}
    return kcli(*path.split(), *rest, flag, value, *more, **own)


def test_each_option_that_takes_configurations_is_known() -> None:
    assert set(FOUND) == set(LINES)


QUOTA = ("producer_byte_rate", "10MB/s", "10000000", "10 MB/s", "1G")
TIME = ("retention.ms", "3d", "259200000", "3 d", "1M")


@pytest.mark.parametrize("option", FOUND)
def test_a_unit_is_the_number_for_kafka_and_is_shown_beside_it(cluster: FakeCluster, option: str) -> None:
    key, given, number, shown, ambiguous = QUOTA if option.startswith("quotas") else TIME
    done = typed(cluster, option, f"{key}={given}")
    assert done.code == 0, done
    assert number in done.out.replace(",", "")
    assert f"({shown})" in done.out
    document = typed(cluster, option, f"{key}={given}", "-o", "json")
    assert f"({shown})" not in json.dumps(values(json.loads(document.out)))
    for wrong in (ambiguous, "1.5x"):
        refused = typed(cluster, option, f"{key}={wrong}")
        assert refused.code == 2, refused
        assert f"{key}={wrong}" in refused.err


def values(document: dict[str, Any]) -> list[Any]:
    """All but what is written for people."""
    return [
        {key: value for key, value in item.items() if key not in ("note", "effect")}
        for item in document["items"]
    ]
