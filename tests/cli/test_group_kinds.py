"""Every verb of ``kcli groups`` on every type of group: it does what it says, or refuses with a reason and a way out."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcli.commands.registry import ROWS
from kcli.core.types import OffsetAndMetadata, TopicPartition
from tests.committing import commit, put
from tests.effects import changes
from tests.fake.cluster import FakeCluster
from tests.fake.groups.other_groups import ShareGroup, SharePlace, StreamsGroup
from tests.run import Done, kcli

T0 = TopicPartition("t", 0)
TYPES = ("classic", "consumer", "share", "streams")
DONE, REFUSED, USAGE = 0, 7, 2
LINES = {
    "list": "list --match {0} --with-lag",
    "describe": "describe {0}",
    "lag": "lag {0}",
    "why": "why {0}",
    "create": "create new --type {0} -t t --from earliest --yes",
    "copy": "copy {0} new --yes",
    "export": "export {0}",
    "import": "import {file} --group {0} --yes",
    "rewind": "rewind {0} --to earliest --topic t --yes",
    "delete": "delete {0} --yes",
    "delete-offsets": "delete-offsets {0} -t t --yes",
    "remove-members": "remove-members {0} --yes",
    "reset-app": "reset-app {0} --yes",
}
"""By verb; {0} is a type and the name of a group of it, which has an offset of t-0 and no members."""
REFUSALS = {
    ("create", "streams"): USAGE,
    ("remove-members", "share"): REFUSED,
    ("reset-app", "share"): REFUSED,
}
"""Everything else is done."""
WITHOUT_LOG = {"why": 6}
"""The fake cluster keeps no log of commits, so that a part of the page is missing."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("offsets")
    (made / "offsets.csv").write_text("t,0,1\n")
    return made


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"t": 1}) as made:
        put(made, "t", 0)
        made.with_groups(lambda groups: groups._do.registry.consumer_to_join("consumer"))
        for name in ("classic", "consumer", "streams"):
            commit(made, name, {T0: OffsetAndMetadata(5)})
        made.with_groups(lambda groups: groups._do.registry.drop("streams"))
        made.add_group(StreamsGroup("streams", {"0": ["t"]}))
        made.add_group(ShareGroup("share", {T0: SharePlace(5)}))
        yield made


def run(cluster: FakeCluster, folder: Path, verb: str, kind: str, *more: str) -> Done:
    line = LINES[verb].format(kind, file=folder / "offsets.csv").split()
    return kcli(
        "groups", *line, *more, bootstrap=cluster.bootstrap, XDG_STATE_HOME=str(folder), XDG_CONFIG_HOME=str(folder)
    )  # fmt: skip


def test_the_table_has_every_verb() -> None:
    verbs = {path[1] for path in (row.split() for row in ROWS) if path[0] == "groups" and len(path) > 1}
    assert verbs == set(LINES)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("verb", LINES)
def test_it_is_done_or_refused_with_a_way_out(
    cluster: FakeCluster, folder: Path, verb: str, kind: str
) -> None:
    since = len(cluster.requests)
    done = run(cluster, folder, verb, kind)
    code = REFUSALS.get((verb, kind), WITHOUT_LOG.get(verb, DONE))
    assert done.code == code, done
    if (verb, kind) not in REFUSALS:
        assert ("kcli:" in done.err) == (verb in WITHOUT_LOG)
        return
    lines = done.err.splitlines()
    assert any(line.startswith("  why: ") for line in lines)
    assert any(line.startswith("  do: ") and len(line) > len("  do: ") for line in lines)
    assert changes(cluster.requests[since:]) == []


@pytest.mark.parametrize("kind", TYPES)
def test_what_is_done_is_there(cluster: FakeCluster, folder: Path, kind: str) -> None:
    """A rewind and its undo, as the broker reports the offsets afterwards."""

    def offset() -> int:
        done = run(cluster, folder, "describe", kind, "--offsets", "-o", "json")
        (part,) = json.loads(done.out)["items"][0]["partitions"]
        found: int = part["committed"]
        return found

    moved = run(cluster, folder, "rewind", kind)
    assert offset() == (5 if moved.code else 0)
    if not moved.code:
        kcli(
            "groups", "rewind", kind, "--undo", "--yes",
            bootstrap=cluster.bootstrap, XDG_STATE_HOME=str(folder), XDG_CONFIG_HOME=str(folder),
        )  # fmt: skip
        assert offset() == 5
