"""Commands that change something ask first: without an answer nothing is done, nor by a dry run; by ``--yes`` it is.

The table of commands is that of the command tree: a new one needs a line in ``test_every_option.py``, or a reason here.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.files.journal_folder import JournalFolder
from kcli.flows.journal import KIND, Journal, OffsetEntry
from tests.cli.test_acls import acl
from tests.cli.test_read_only import CHANGING, SOMETIMES, line_of
from tests.committing import commit
from tests.effects import changes
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import RawClient
from tests.fake.raw_transaction import RawTransaction
from tests.fake.scram_store import Credential
from tests.rewinding import QUICK, others
from tests.run import Done, kcli
from tests.walked import fill, write_files

WITHOUT_A_QUESTION = {
    "produce": "it only adds records",
    "segments restore": "tests/cli/test_segments_restore.py",
    "topics copy": "a topic that has records is refused",
    "topics create": "it only adds a topic",
    "perf produce": "it only adds records",
    "perf e2e": "it only adds records",
    "mirror accept-gap": "it needs a job: tests/fault/test_mirror_jobs.py",
    "mirror promote": "it needs a job: tests/fault/test_mirror_promotion.py",
    "mirror reset": "it needs a job: tests/fault/test_mirror_jobs.py",
    "mirror reverse": "it needs a job: tests/fault/test_mirror_reversal.py",
    "mirror run": "it asks where the target has records: tests/cli/test_mirror_runs.py",
    "pipeline import": "it asks where the target has records: tests/pipeline/test_import.py",
    "pipeline mirror": "it asks where the target has records: tests/pipeline/test_mirror.py",
    "pipeline perf": "it only adds records",
    "pipeline replay": "tests/pipeline/test_replay_command.py",
    "pipeline verify": "it asks before a repair: tests/pipeline/test_verify.py",
}
WITHOUT_A_JOURNAL = {
    "brokers unregister", "configs alter", "elect-leaders", "groups remove-members", "quotas alter", "reassign cancel",
    "tokens create", "tokens expire", "tokens renew", "topics alter", "topics trim", "txn abort", "users set",
}  # fmt: skip
"""The others keep what was there on this machine, before they change it."""
MEMBER = "member"
UNDONE = "20261121-091403-3fa9c1"
LINES = {
    "brokers drain": "brokers drain 1",
    "groups remove-members": "groups remove-members live",
    "tokens create": "tokens create --hmac-file {dir}/token --allow-plaintext-secrets",
    "tokens expire": "tokens expire token-of-a --allow-plaintext-secrets",
    "tokens renew": "tokens renew token-of-a --for 1h --allow-plaintext-secrets",
    "undo": f"undo {UNDONE}",
    "users delete": "users delete a",
    "users set": "users set a --password-file {dir}/password --allow-plaintext-secrets",
}


class World:
    """A cluster in which every command has something to do."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.cluster = stack.enter_context(FakeCluster(4))
        self.folder = folder
        self._stack = stack
        fill(self.cluster)
        write_files(folder)

    def prepare(self, path: str) -> None:
        """What takes a moment, for the command that needs it."""
        match path.split(maxsplit=1)[0], path:
            case "acls", _:
                self.cluster.acls.add(acl("User:bob allow read topic t literal *"))
            case "elect-leaders", _:
                self.cluster.move_leader("t", 0, 2)
            case "reassign", _:
                rows = [{"topic": "t", "partition": 0, "replicas": [4, 2, 1]}]
                (self.folder / "moves.json").write_text(json.dumps({"version": 1, "partitions": rows}))
                if path == "reassign cancel":
                    self.cluster.settings.hold_reassignments = True
                    assert self.run("reassign run {dir}/moves.json", "--yes").code == 0
            case "txn", _:
                self._hang()
            case "users", _:
                self.cluster.scram.changed["a", 2] = Credential.of_password("sha512", b"salt", 4096, "old")
                (self.folder / "password").write_text("new")
                (self.folder / "password").chmod(0o600)
            case "undo", _:
                cluster = self.cluster.settings.cluster_id
                entries = (OffsetEntry("gone", "t", 0, 3, "", -1),)
                journal = Journal(KIND, UNDONE, 0, cluster, "groups delete", entries)
                JournalFolder("journal", cluster, self.folder / "state/kcli/journal").put(UNDONE, journal)
            case _, "groups remove-members":
                commit(self.cluster, "live", {TopicPartition("t", 0): OffsetAndMetadata(1)})
                self._stack.enter_context(
                    others(self.cluster.bootstrap, "t", "live", 1, client_id=MEMBER, **QUICK)
                )
                self.cluster.wait_until(lambda: self.cluster.group_members("live"))

    def _hang(self) -> None:
        node = self.cluster.coordinator("transaction", "x")
        one = RawTransaction(self._stack.enter_context(RawClient(self.cluster.address(node))), "x")
        assert one.init() == 0
        one.client = self._stack.enter_context(RawClient(self.cluster.address(self.cluster.leader("t", 1))))
        assert one.produce(0, b"a", partition=1) == 0

    def run(self, line: str, *more: str, state: str = "state") -> Done:
        words = line.format(dir=self.folder).split()
        folders = {"XDG_STATE_HOME": str(self.folder / state), "XDG_CONFIG_HOME": str(self.folder)}
        # No terminal.
        return kcli(*words, *more, bootstrap=self.cluster.bootstrap, stdin=b"y\n", **folders)

    def changes(self, since: int) -> list[str]:
        """The requests of kcli from then on that changed something."""
        return changes(one for one in self.cluster.requests[since:] if one.client_id != MEMBER)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with ExitStack() as stack:
        yield World(tmp_path, stack)


def test_every_exception_has_a_command() -> None:
    assert WITHOUT_A_QUESTION.keys() <= CHANGING | SOMETIMES


@pytest.mark.case("X25", "C18")
@pytest.mark.parametrize("path", sorted((CHANGING | SOMETIMES) - WITHOUT_A_QUESTION.keys()))
def test_nothing_is_changed_without_an_answer(world: World, path: str) -> None:
    """The last run proves that the command had something to do."""
    world.prepare(path)
    line = LINES.get(path, line_of(path))
    since = len(world.cluster.requests)
    asked = world.run(line)
    assert (asked.code, asked.out, world.changes(since)) == (2, "", []), asked.err
    assert "give --yes to confirm" in asked.err
    plan, question = asked.err.split("kcli: confirmation required, and there is no terminal: ")
    named = plan.splitlines()[0]
    assert f"(cluster {world.cluster.settings.cluster_id}" in named
    assert world.cluster.bootstrap.split(",")[0] in named
    assert question.splitlines()[0].endswith("?")
    dry = world.run(line, "--dry-run")
    assert (dry.code, world.changes(since)) == (0, []), dry.err
    assert dry.out.splitlines()[0] == named
    done = world.run(line, "--yes")
    assert done.code == 0, done.err
    assert world.changes(since)


@pytest.mark.parametrize("path", sorted((CHANGING | SOMETIMES) - WITHOUT_A_QUESTION.keys() - {"undo"}))
def test_nothing_is_changed_where_the_journal_cannot_be_written(world: World, path: str) -> None:
    """Nor does it say that something may have been, or how to undo it."""
    world.prepare(path)
    (world.folder / "file").touch()
    since = len(world.cluster.requests)
    done = world.run(LINES.get(path, line_of(path)), "--yes", state="file/state")
    assert "Undo with" not in done.err
    assert "may have been" not in done.err
    if path in WITHOUT_A_JOURNAL:
        assert done.code == 0, done.err
    else:
        assert (done.code, world.changes(since)) == (1, []), done.err
        assert "cannot create the directory" in done.err
