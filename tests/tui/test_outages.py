"""T6, T9: ``kcli top`` while brokers die and return; and a password that is nowhere."""

import sys
from pathlib import Path

import pytest

from tests.fake.cluster import FakeCluster
from tests.fake.many_groups import ManyGroups
from tests.fake.sasl import Sasl
from tests.run import environment
from tests.terminal import Terminal

CANARY = "canary-8d17e2"
PROFILE = """
[profiles.prod]
bootstrap.servers = "{bootstrap}"
security.protocol = "SASL_PLAINTEXT"
sasl.mechanism = "SCRAM-SHA-256"
sasl.username = "alice"
sasl.password = "{canary}"
"""
FEW = 10
"""Requests within which the cluster is found again by one client: not one of each reading that failed."""


@pytest.mark.case("T6", "T9", "R22", "R24")
def test_brokers_die_and_return_and_the_screen_says_so_and_nothing_else(tmp_path: Path) -> None:
    with FakeCluster(3, sasl=Sasl(users={"alice": CANARY})) as cluster:
        ManyGroups(cluster, 12, 3)
        config = tmp_path / "kcli/config.toml"
        config.parent.mkdir()
        config.write_text(PROFILE.format(bootstrap=cluster.bootstrap, canary=CANARY))
        config.chmod(0o600)
        environ = environment(XDG_CONFIG_HOME=str(tmp_path), XDG_STATE_HOME=str(tmp_path / "state"))
        argv = [
            sys.executable,
            "-m",
            "kcli",
            "--profile",
            "prod",
            "--timeout",
            "2s",
            "top",
            "--interval",
            "500ms",
            "--record",
            str(tmp_path / "seen.ndjson"),
        ]
        with Terminal(argv, environ=environ) as terminal:
            terminal.wait("group-00011")
            cluster.stop(2)
            terminal.wait("◌ 4 not read")
            terminal.wait("of broker 2: ")
            assert "group-00011" in terminal.text
            cluster.start(2)
            terminal.wait("lag 35.8 k")
            terminal.wait(lambda: "not read" not in terminal.text and "◌" not in terminal.text)
            for node in (1, 2, 3):
                cluster.stop(node)
            terminal.wait("no contact since ")
            row = next(y for y, line in enumerate(terminal.screen.display) if "group-00005" in line)
            terminal.wait(lambda: terminal.screen.buffer[row][20].italics)
            terminal.press("jj")
            terminal.wait(lambda: any(terminal.screen.buffer[y][0].data == "▌" for y in (6, 7)))
            terminal.press("rrrrrrrr")
            terminal.watch(1)
            seen = len(cluster.seen())
            for node in (1, 2, 3):
                cluster.start(node)
            terminal.wait(lambda: "no contact" not in terminal.text)
            terminal.wait(lambda: not terminal.screen.buffer[row][20].italics)
            assert len(cluster.seen()) - seen < 20 * FEW
            terminal.press("7")
            terminal.wait("WHAT")
            terminal.watch(1)
            # not "stalled": these groups have unread records and read nothing, which eight seconds show
            for word in ("gone", "new group", "joined", "left", "rebalance", "rewind"):
                shown = "\n".join(
                    line for line in terminal.screen.display if "w rewind" not in line
                )  # without the keys
                assert word not in shown, shown
            terminal.press("q")
            assert terminal.ended() == 0
            assert CANARY not in bytes(terminal.written).decode()
    assert all(
        CANARY not in path.read_text() for path in tmp_path.rglob("*") if path.is_file() and path != config
    )
