"""Text of peers on a terminal: whatever is in the strings of responses, no control character gets through (C13).

Every command runs on a pseudo-terminal against a cluster whose responses have a hostile text in all their strings: first
in all that kcli does not need in order to go on, then in the names as well, which leads to errors that quote them.
"""

import os
import pty
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.core.protocol.messages.api_versions import ApiVersionsRequest
from kcli.core.types import OffsetAndMetadata, Record, TopicPartition
from tests.batches import batch_of
from tests.cli.test_every_option import ADMIN
from tests.committing import commit
from tests.fake.cluster import FakeCluster
from tests.fake.scram_store import Credential
from tests.run import environment
from tests.warm_kcli import KCLI, WarmPopen

pytestmark = pytest.mark.case("C13", "X21", "X24")

FORGED = "forged line"
HOSTILE = f"\x1b]0;title\x07\x1b[31m\x9b3m\u202e\u200b\x7f\r\b\nkcli: {FORGED}"
NAMES = frozenset({
    "topic", "name", "topic_name", "group_id", "key", "host", "protocol_type", "protocol_name", "group_state",
    "group_type", "assignor_name", "leader", "member_id", "user",
})  # fmt: skip
"""Fields that kcli finds its way by."""
_HARMFUL = {chr(code) for code in (*range(32), *range(127, 160))} - {"\n", "\t"} | {"\u202e", "\u200b"}
_MESSAGES = "kcli.core.protocol.messages."

LINES = [
    *(f"{command} {rest}".strip() for command, rest in ADMIN.items()),
    "groups describe g --members",
    *(f"groups describe g -o {form}" for form in ("csv", "tsv", "yaml")),
    "topics list -o csv",
    "groups rewind g --to earliest --dry-run --export",
    "consume ^t --dry-run",
    "consume t -e -o csv",
    "consume t -e",
    "consume t -e -o table",
    "consume t -e -o json",
    "consume t -e -g readers",
    "produce t",
]


def spoil(value: Any, kept: frozenset[str]) -> None:
    """Puts the hostile text at the end of every string of a message."""
    if isinstance(value, list | tuple):
        for each in value:
            spoil(each, kept)
    elif type(value).__module__.startswith(_MESSAGES):
        for name in _fields(value):
            _spoil_field(value, name, kept)


def _fields(message: Any) -> set[str]:
    slots = {name for kind in type(message).__mro__ for name in getattr(kind, "__slots__", ())}
    return {name for name in slots | set(getattr(message, "__dict__", ())) if hasattr(message, name)}


def _spoil_field(message: Any, name: str, kept: frozenset[str]) -> None:
    found = getattr(message, name)
    if name == "error_message":
        setattr(message, name, (found or "") + HOSTILE)
    elif isinstance(found, str) and name not in kept:
        setattr(message, name, found + HOSTILE)
    elif isinstance(found, list) and found and isinstance(found[0], str):
        setattr(message, name, [one + HOSTILE for one in found])
    else:
        spoil(found, kept)


def spoiling(kept: frozenset[str]) -> Callable[[Any, Any], None]:
    def edit(request: Any, answer: Any) -> None:
        if not isinstance(request, ApiVersionsRequest):
            spoil(answer, kept)

    return edit


class Terminal:
    """Runs a command on a terminal of its own and returns its exit status and all that the terminal received."""

    def __init__(self, cluster: FakeCluster) -> None:
        self._cluster = cluster

    def run(self, line: str) -> tuple[int, str]:
        mine, its = pty.openpty()
        pieces: list[bytes] = []
        reader = threading.Thread(target=self._collect, args=(mine, pieces))
        reader.start()
        plain = environment(self._cluster.bootstrap, NO_COLOR="1", TERM="dumb")
        words = [*line.split(), "--timeout", "1500ms", "--no-pager", "--no-input"]
        process = WarmPopen([*KCLI, *words], env=plain, stdin=subprocess.DEVNULL, stdout=its, stderr=its)
        os.close(its)
        code = process.wait()
        reader.join(120)
        os.close(mine)
        return code, b"".join(pieces).decode("utf-8", "replace").replace("\r\n", "\n")

    @staticmethod
    def _collect(terminal: int, pieces: list[bytes]) -> None:
        try:
            while piece := os.read(terminal, 65_536):
                pieces.append(piece)
        except OSError:  # EIO: the other side is closed
            pass


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[FakeCluster, Terminal, Path]]:
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "offsets.csv").write_text("g,t,0,3\n")
    text = HOSTILE.replace("\n", " ").encode()  # a line end in a value is one in the output
    with FakeCluster(1, topics={"t": 3}) as cluster:
        row = Record("t", 0, 0, 1_700_000_000_000, 0, text, text, ((HOSTILE, text),))
        cluster.append("t", 0, bytes(batch_of([row]).raw))
        commit(cluster, "g", {TopicPartition("t", 0): OffsetAndMetadata(1, HOSTILE)})
        cluster.scram.changed["a", 1] = Credential(b"salt", 4_096, b"", b"")
        yield cluster, Terminal(cluster), folder


def test_the_test_would_see_it() -> None:
    """A control that reaches the terminal, and a line that a newline has made."""
    with pytest.raises(AssertionError):
        check("orders\x1b[31m\n")
    with pytest.raises(AssertionError):
        check(f"orders\nkcli: {FORGED}\n")
    check("orders\\x1b[31m\n")


def check(shown: str) -> None:
    found = sorted(hex(ord(sign)) for sign in set(shown) & _HARMFUL)
    assert not found, shown
    assert not [
        line for line in shown.splitlines() if line.strip().startswith((f"kcli: {FORGED}", FORGED))
    ], shown


@pytest.mark.parametrize(
    ("kept", "more"),
    [(NAMES, "-vv"), (frozenset({"host"}), "--debug=proto,fetch,group,auth,conf")],
    ids=["texts", "names"],
)
@pytest.mark.parametrize("line", LINES)
def test_no_control_of_a_peer_reaches_the_terminal(
    world: tuple[FakeCluster, Terminal, Path], line: str, kept: frozenset[str], more: str
) -> None:
    cluster, terminal, folder = world
    cluster.replace(None, spoiling(kept))
    try:
        code, shown = terminal.run(f"{line.format(dir=folder)} {more}")
    finally:
        cluster.heal()
    assert "internal error" not in shown
    assert "Traceback" not in shown or more.startswith("--debug")
    assert shown or code == 0
    check(shown)
