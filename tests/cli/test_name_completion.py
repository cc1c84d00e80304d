"""Names of groups and topics in the real shells: ``TAB`` asks the cluster, and what is inserted is one word, the name.

``kcli`` is a script that notes what it was called with; only what a shell asks goes to the real one.
"""

import contextlib
import os
import shlex
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from kcli.core import Admin, Producer
from kcli.core.types import OffsetAndMetadata, ProducerRecord, TopicPartition
from tests.fake.cluster import FakeCluster
from tests.run import ROOT

SCRIPTS = ROOT / "completions"
BOOM = "touch BOOM"

# What is typed, in a shell's quoting, and the name that it begins.
ODD = [
    ("bill", "billing"),
    ("my", "my group"),
    ("it\\'", "it's"),
    ("q", 'q"uote'),
    ("\\$", f"$({BOOM})"),
    ("\\`", f"`{BOOM}`"),
    ("ns\\:", f"ns:$({BOOM})"),
    ("semi", f"semi;{BOOM}"),
    ("amp", f"amp&{BOOM}"),
    ("pipe", f"pipe|{BOOM}"),
    ("out", "out>BOOM"),
    ("\\~", "~root"),
    ("\\*", "*"),
    ("brace", "brace{a,b}"),
    ("back", "back\\slash"),
    ("bang", "bang!$"),
    ("eq", "eq=ual"),
    ("\\#", "#hash"),
    ("é", "été"),
    ("two", "two  blanks "),
    ("end", "ends with\\"),
    ("co", "co:l:on"),
    ("\\=", "=ls"),
    ("\\[", "[a]?^x^y%1"),
    ("\\:", ":x"),
    ("user@h", "user@host:x"),
    ("@a", "@at"),
]
PLAIN = ["ns2:one", "ns2:two", "-dash", "new\nline", "esc\x1b]0;title\x07", "tab\there", "bidi\u202eeman"]
TOPICS = {"orders": 1, "orders.dlq": 1, "payments": 1, "__internal": 1}


@pytest.fixture(scope="module")
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(2, topics=TOPICS) as found:
        names = [name for _typed, name in ODD] + PLAIN
        with Admin(bootstrap_servers=found.bootstrap) as admin:
            place = {TopicPartition("orders", 0): OffsetAndMetadata(0)}
            done = admin.commit_offsets(dict.fromkeys(names, place))
        assert all(error is None for answer in done.values() for error in answer.values())
        with Producer(bootstrap_servers=found.bootstrap) as producer:
            producer.send(ProducerRecord("orders", b'{"customer_id": 1, "total": {"net": 2, "a b": 3}}'))
        yield found


TOOL = """#!/bin/sh
if [ "$1" = __complete ]; then exec {python} -m kcli "$@"; fi
printf '%s\\0' "$@" > seen.new
mv seen.new seen
"""


class Shell:
    """A folder with a kcli to call, and the environment of a shell in it."""

    def __init__(self, folder: Path, cluster: FakeCluster) -> None:
        self.folder = folder
        self.cluster = cluster
        (folder / "bin").mkdir()
        tool = folder / "bin" / "kcli"
        tool.write_text(TOOL.format(python=shlex.quote(sys.executable)))
        tool.chmod(0o755)
        self.environment = {
            "HOME": str(folder),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "XDG_DATA_HOME": str(folder / "data"),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "XDG_STATE_HOME": str(folder / "state"),
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "KCLI_BOOTSTRAP_SERVER": cluster.bootstrap,
            "TERM": "xterm",
            "LANG": "C.UTF-8",
        }

    def open(self, *command: str) -> Any:
        pexpect = pytest.importorskip("pexpect")
        path = shutil.which(command[0])
        if path is None:
            pytest.skip(f"{command[0]} is not installed")
        return pexpect.spawn(
            path, list(command[1:]), env=self.environment, cwd=str(self.folder), encoding="utf-8",
            timeout=120, dimensions=(60, 250),
        )  # fmt: skip

    def ran(self, child: Any, typed: str) -> list[str]:
        """What kcli was called with when ``typed``, with its tabs, was entered."""
        seen = self.folder / "seen"
        seen.unlink(missing_ok=True)
        child.send(typed + "\r")
        deadline = time.monotonic() + 120
        while not seen.exists() and time.monotonic() < deadline:
            self._read(child)
        return seen.read_text().split("\0")[:-1] if seen.exists() else []

    def unharmed(self) -> bool:
        """Nothing that a name says was executed."""
        return not list(self.folder.glob("BOOM*"))

    @staticmethod
    def _read(child: Any) -> None:
        """What the terminal shows, so that the shell never waits for its reader."""
        import pexpect

        with contextlib.suppress(pexpect.TIMEOUT):
            child.read_nonblocking(65_536, timeout=0.05)


@pytest.fixture
def shell(tmp_path: Path, cluster: FakeCluster) -> Shell:
    return Shell(tmp_path, cluster)


@pytest.fixture
def bash(shell: Shell) -> Iterator[Any]:
    shell.environment |= {"PS1": "$ ", "INPUTRC": "/dev/null"}
    child = shell.open("bash", "--norc", "--noprofile", "-i")
    child.sendline("bind 'set enable-bracketed-paste off'; bind 'set bell-style none'")
    child.sendline(f"source '{SCRIPTS / 'kcli.bash'}'; PS1='ready'")
    child.expect("ready\x1b|\nready|ready$")
    yield child
    child.close(force=True)


def check(shell: Shell, child: Any, cases: Sequence[tuple[str, list[str]]]) -> None:
    """A request that takes 0.3 s is given up, on a busy machine too: the line is typed again then, as people do."""
    found = {typed: shell.ran(child, typed) for typed, _words in cases}
    for typed, words in [*cases] * 3:
        if found[typed] != words:
            found[typed] = shell.ran(child, typed)
    assert found == dict(cases)
    assert shell.unharmed()


def test_bash_inserts_names_as_one_word(shell: Shell, bash: Any) -> None:
    check(shell, bash, [(f"kcli groups lag {typed}\t", ["groups", "lag", name]) for typed, name in ODD])


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ('kcli groups lag "my\t', ["groups", "lag", "my group"]),
        ("kcli groups lag 'my\t", ["groups", "lag", "my group"]),
        ('kcli groups lag "\\$\t', ["groups", "lag", f"$({BOOM})"]),
        ("kcli groups lag '$\t", ["groups", "lag", f"$({BOOM})"]),
        ("kcli groups lag 'it\t", ["groups", "lag", "it's"]),
        ("kcli groups lag 'bang\t", ["groups", "lag", "bang!$"]),
        ("kcli groups lag ns2\to\t", ["groups", "lag", "ns2:one"]),
        ("kcli groups lag ns2:t\t", ["groups", "lag", "ns2:two"]),
        ("kcli groups lag co:l:\t", ["groups", "lag", "co:l:on"]),
        ("kcli groups lag 'co:\t", ["groups", "lag", "co:l:on"]),
        ("kcli groups rewind x --topic=pa\t", ["groups", "rewind", "x", "--topic=payments"]),
        ("kcli consume -t pa\t", ["consume", "-t", "payments"]),
        ("kcli consume new\t", ["consume", "new"]),
        ("kcli groups lag new\t", ["groups", "lag", "new"]),
        ("kcli groups lag esc\t", ["groups", "lag", "esc"]),
        ("kcli groups lag bidi\t", ["groups", "lag", "bidi"]),
    ],
)
def test_bash_completes_where_it_is_particular(shell: Shell, bash: Any, typed: str, words: list[str]) -> None:
    check(shell, bash, [(typed, words)])


def test_bash_completes_fields(shell: Shell, bash: Any) -> None:
    check(shell, bash, FIELDS)


def test_bash_completes(shell: Shell, bash: Any) -> None:
    (shell.folder / "settings.txt").write_text("")
    check(shell, bash, EVERYWHERE)


FIELDS = [
    ("kcli consume orders --select value.cus\t", ["consume", "orders", "--select", "value.customer_id"]),
    ("kcli consume orders --select=key,value.cus\t", ["consume", "orders", "--select=key,value.customer_id"]),
    ("kcli consume -g my\torders --by ho\t", ["consume", "-g", "my group", "orders", "--by", "hour"]),
    (
        "kcli consume -t orders --distinct value.total.n\t",
        ["consume", "-t", "orders", "--distinct", "value.total.net"],
    ),
    ("kcli produce orders --key-from value.cus\t", ["produce", "orders", "--key-from", "value.customer_id"]),
    (
        "kcli consume orders --where 'value.total.net > 1 and value.cus\t",
        ["consume", "orders", "--where", "value.total.net > 1 and value.customer_id"],
    ),
    ('kcli consume orders --where value.total.\\"\t', ["consume", "orders", "--where", 'value.total."a b"']),
    ("kcli consume nowhere --where value.cus\t", ["consume", "nowhere", "--where", "value.cus"]),
]


def closed(cases: Sequence[tuple[str, list[str]]]) -> list[tuple[str, list[str]]]:
    """A shell that adds no blank leaves a quote open: the word is ended as people do."""
    return [(f"{typed}'" if "'" in typed else typed, words) for typed, words in cases]


EVERYWHERE = [
    ("kcli groups lag ns2:o\t", ["groups", "lag", "ns2:one"]),
    ("kcli groups lag 'my\t", ["groups", "lag", "my group"]),
    ("kcli groups lag billing my\t", ["groups", "lag", "billing", "my group"]),
    ("kcli groups rewind x --to-group=ns2:o\t", ["groups", "rewind", "x", "--to-group=ns2:one"]),
    ("kcli groups rewind x --to-group my\t", ["groups", "rewind", "x", "--to-group", "my group"]),
    ("kcli groups copy bill\tq\t", ["groups", "copy", "billing", 'q"uote']),
    ("kcli consume -g my\tpa\t", ["consume", "-g", "my group", "payments"]),
    ("kcli consume _\t", ["consume", "__internal"]),
    ("kcli produce pay\tsett\t", ["produce", "payments", "settings.txt"]),
    ("~/bin/kcli consume pay\t", ["consume", "payments"]),
    ("kcli produce -k bill -- pay\t", ["produce", "-k", "bill", "--", "payments"]),
]


@pytest.fixture
def elsewhere(shell: Shell) -> list[tuple[str, list[str]]]:
    """The environment names a broker that is none; the line, a file or an option the right one."""
    shell.environment["KCLI_BOOTSTRAP_SERVER"] = "127.0.0.1:1"
    server = shell.environment["RIGHT"] = shell.cluster.bootstrap
    (shell.folder / "my settings").write_text(f"bootstrap.servers={server}\n")
    (shell.folder / "settings.txt").write_text("")
    return [
        (f"kcli -b {server} consume pay\t", ["-b", server, "consume", "payments"]),
        (
            f"kcli consume --bootstrap-server={server} pay\t",
            ["consume", f"--bootstrap-server={server}", "payments"],
        ),
        ("kcli consume -F 'my settings' pay\t", ["consume", "-F", "my settings", "payments"]),
        ("kcli -F my\\ settings consume pay\t", ["-F", "my settings", "consume", "payments"]),
        (
            f"kcli -qX bootstrap.servers={server} consume pay\t",
            ["-qX", f"bootstrap.servers={server}", "consume", "payments"],
        ),
        ("kcli consume pay\t", ["consume", "pay"]),
        ("kcli consume \t", ["consume"]),
    ]


def by_variable(shell: Shell) -> tuple[str, list[str]]:
    return 'kcli -b "$RIGHT" consume pay\t', ["-b", shell.cluster.bootstrap, "consume", "payments"]


def test_bash_asks_the_cluster_that_the_line_names(
    shell: Shell, elsewhere: list[tuple[str, list[str]]], bash: Any
) -> None:
    check(shell, bash, [*elsewhere, by_variable(shell)])


def test_zsh_asks_the_cluster_that_the_line_names(
    shell: Shell, elsewhere: list[tuple[str, list[str]]], zsh: Any
) -> None:
    check(shell, zsh, [*elsewhere, by_variable(shell)])


def test_fish_asks_the_cluster_that_the_line_names(
    shell: Shell, elsewhere: list[tuple[str, list[str]]], fish: Any
) -> None:
    check(shell, fish, elsewhere)


ZSHRC = """
PS1='ready'
fpath=('{scripts}' $fpath)
autoload -Uz compinit && compinit -u -d '{home}/dump'
setopt no_beep
"""


@pytest.fixture
def zsh(shell: Shell) -> Iterator[Any]:
    (shell.folder / ".zshrc").write_text(ZSHRC.format(scripts=SCRIPTS, home=shell.folder))
    child = shell.open("zsh", "-i")
    child.expect("ready")
    yield child
    child.close(force=True)


def test_zsh_inserts_names_as_one_word(shell: Shell, zsh: Any) -> None:
    check(shell, zsh, [(f"kcli groups lag {typed}\t", ["groups", "lag", name]) for typed, name in ODD])


def test_zsh_completes_fields(shell: Shell, zsh: Any) -> None:
    check(shell, zsh, closed(FIELDS))


def test_zsh_completes(shell: Shell, zsh: Any) -> None:
    (shell.folder / "settings.txt").write_text("")
    check(shell, zsh, EVERYWHERE)


@pytest.fixture
def fish(shell: Shell) -> Iterator[Any]:
    child = shell.open("fish", "--no-config", "-i")
    child.sendline(f"source '{SCRIPTS / 'kcli.fish'}'")
    yield child
    child.close(force=True)


def test_fish_inserts_names_as_one_word(shell: Shell, fish: Any) -> None:
    check(shell, fish, [(f"kcli groups lag {typed}\t", ["groups", "lag", name]) for typed, name in ODD])


def test_fish_completes_fields(shell: Shell, fish: Any) -> None:
    check(shell, fish, FIELDS)


def test_fish_completes(shell: Shell, fish: Any) -> None:
    (shell.folder / "settings.txt").write_text("")
    check(shell, fish, EVERYWHERE)
