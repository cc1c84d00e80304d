"""``kcli top`` as a user starts and ends it: options, files, exit codes. The screens are in tests/tui."""

import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fcntl import ioctl
from pathlib import Path

import pytest

from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.monitor.recording import read_line
from kcli.output.tables import time_text
from tests.committing import commit, put
from tests.fake.cluster import FakeCluster
from tests.run import environment, kcli_process
from tests.tui.made_up import BEGIN, line_of, readings
from tests.tui.screens import recording_in
from tests.warm_kcli import KCLI, WarmPopen

PATIENCE = 120.0
OPENED, CLOSED = b"\x1b[?1049h", b"\x1b[?1049l"
COLOUR = re.compile(rb"\x1b\[(?:[0-9;]*;)?(?:[349][0-7]|10[0-7]|[34]8)(?:;[0-9;]*)?m")


@dataclass
class Done:
    """``raw`` is everything that the terminal got; ``after`` what it got when the screen was left."""

    code: int
    raw: bytes

    @property
    def after(self) -> str:
        text = self.raw.rpartition(CLOSED)[2].decode(errors="replace").replace("\r\n", "\n")
        return re.sub(r"\x1b\[[?0-9;]*[a-zA-Z]", "", text)


def on_a_terminal(
    *arguments: str,
    keys: bytes = b"q",
    shown: bytes = b"GROUP",
    written: Path | None = None,
    bootstrap: str = "",
    **variables: str,
) -> Done:
    """Runs kcli on a terminal of 100 × 24; types ``keys`` when it shows ``shown``, and ``written`` has a line."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    env = {**environment(bootstrap), "TERM": "xterm", **variables}
    process = WarmPopen(
        [*KCLI, "top", *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=env,
        start_new_session=True,
    )
    os.close(theirs)
    raw, limit = b"", time.monotonic() + PATIENCE
    try:
        while time.monotonic() < limit:
            recorded = written is None or (written.exists() and b"\n" in written.read_bytes())
            if keys and shown in raw and recorded:
                os.write(ours, keys)
                keys = b""
            if select.select([ours], [], [], 0.1)[0]:
                try:
                    raw += os.read(ours, 65_536)
                except OSError:  # the other side is closed
                    break
        return Done(process.wait(PATIENCE), raw)
    finally:
        process.kill()
        process.wait()
        os.close(ours)


@pytest.fixture(scope="module")
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"t": 2}) as one:
        put(one, "t", 0)
        commit(one, "g", {TopicPartition("t", 0): OffsetAndMetadata(10)})
        yield one


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(recording_in(tmp_path_factory.mktemp("recorded"), 3))


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ((), "top: needs a terminal"),
        (("--interval", "0.4s"), "top: --interval is too short"),
        (("--screen", "members"), "--screen is not valid"),
        (("--replay", "f", "--record", "f"), "top: --replay with --record"),
        (("--replay", "f", "--interval", "1s"), "top: --replay with --interval"),
        (("--replay", "f", "g"), "top: --replay with names of groups"),
        (("--replay", "f", "-b", "h:1"), "top: --replay with --bootstrap-server"),
        (("--replay", "f", "-F", "f"), "top: --replay with --command-config"),
        (("--replay", "f", "-X", "client.id=a"), "top: --replay with --command-property"),
        (("--replay", "f", "--profile", "p"), "top: --replay with --profile"),
        (("--replay", "f", "--client-id", "p"), "top: --replay with --client-id"),
        (("--replay", "f", "--timeout", "3s"), "top: --replay with --timeout"),
        (("--at", "02:13"), "top: --at without --replay"),
        (("--replay", "f", "--at", "soon"), "--at is not valid"),
        (("-o", "json"), "top: there is no output format 'json'"),
    ],
)
def test_usage_errors(arguments: tuple[str, ...], what: str) -> None:
    done = kcli_process("top", *arguments)
    assert (done.returncode, done.stdout) == (2, b"")
    assert what in done.stderr.decode()
    assert b'"do"' in done.stderr or b"\n  do: " in done.stderr


def test_the_stream_that_is_no_terminal_is_named(path: str, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    try:
        for name, streams in (
            ("stdin", {"stdin": subprocess.DEVNULL, "stderr": theirs}),
            ("stderr", {"stdin": theirs, "stderr": subprocess.PIPE}),
        ):
            command = [sys.executable, "-m", "kcli", "tui", "--replay", path]
            done = subprocess.run(
                command, env=environment(), stdout=theirs, check=False, timeout=60, **streams
            )  # type: ignore[call-overload]
            said = os.read(ours, 4096) if name == "stdin" else done.stderr
            assert done.returncode == 2
            assert f"why: {name} is not one" in said.decode()
    finally:
        os.close(ours)
        os.close(theirs)


def test_a_dumb_terminal_is_refused(path: str) -> None:
    done = on_a_terminal("--replay", path, keys=b"", TERM="dumb")
    assert done.code == 2
    assert b"TERM=dumb" in done.raw
    assert OPENED not in done.raw


# --- replay ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "variables"), [(b"q", {}), (b"\x03", {"NO_COLOR": "1"}), (b"\x11", {"TERM": "screen"})]
)
def test_a_recording_is_played_and_left(path: str, keys: bytes, variables: dict[str, str]) -> None:
    done = on_a_terminal("--replay", path, keys=keys, **variables)
    assert (done.code, done.after.strip()) == (0, "")
    assert b"search-index" in done.raw
    assert bool(COLOUR.search(done.raw)) == ("NO_COLOR" not in variables)


@pytest.mark.parametrize(("choice", "variables"), [("never", {}), ("always", {"NO_COLOR": "1"})])
def test_color_is_obeyed(path: str, choice: str, variables: dict[str, str]) -> None:
    done = on_a_terminal(
        "--replay", path, "--screen", "brokers", "--color", choice, shown=b"LATENCY", **variables
    )
    assert done.code == 0
    assert bool(COLOUR.search(done.raw)) == (choice == "always")


def test_a_recording_is_opened_at_a_time_and_stays_there(tmp_path: Path) -> None:
    path = recording_in(tmp_path, 30)
    done = on_a_terminal("--replay", str(path), "--at", time_text(BEGIN + 121_000), shown=b"09:07:00")
    assert done.code == 0
    assert b"09:07:10" not in done.raw


def test_a_time_without_a_sample_is_1_before_the_screen_opens(path: str) -> None:
    done = on_a_terminal("--replay", path, "--at", "2020-01-01T00:00Z", keys=b"")
    assert (done.code, OPENED in done.raw) == (1, False)
    assert f"do: --at {time_text(BEGIN)}" in done.raw.decode()


def test_lines_that_were_skipped_are_counted_in_the_end(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("".join(["foreign\n", *map(line_of, readings(2)), "{\n"]))
    done = on_a_terminal("--replay", str(path))
    assert done.code == 0
    assert "warning: 2 lines of " in done.after


@pytest.mark.parametrize(
    ("text", "why"), [(None, "no such file"), ("", "it is empty"), ("foreign\n", "first line")]
)
def test_a_file_without_samples_is_2(tmp_path: Path, text: str | None, why: str) -> None:
    path = tmp_path / "file"
    if text is not None:
        path.write_text(text)
    done = on_a_terminal("--replay", str(path), keys=b"")
    assert done.code == 2
    assert OPENED not in done.raw
    assert why in done.raw.decode()


# --- live ------------------------------------------------------------------------------------------------------------


def test_what_was_recorded_can_be_played(cluster: FakeCluster, tmp_path: Path) -> None:
    path = tmp_path / "file"
    done = on_a_terminal("--record", str(path), bootstrap=cluster.bootstrap, shown=b"recording", written=path)
    assert done.code == 0
    lines = path.read_bytes().splitlines()
    reading = read_line(lines[0], "line 1")
    assert [one.group for one in reading.sample.groups] == ["g"]
    assert [topic.name for topic in reading.cluster.topics or ()] == ["t"]
    assert on_a_terminal("--replay", str(path)).code == 0


def test_a_full_disk_does_not_end_the_screen_but_is_6(cluster: FakeCluster) -> None:
    done = on_a_terminal("--record", "/dev/full", bootstrap=cluster.bootstrap, shown=b"NOT RECORDED")
    assert done.code == 6
    assert re.search(r"kcli: (\d+) of \1 readings? were not recorded in /dev/full", done.after)
    assert "no space left on device" in done.after


def test_a_file_that_cannot_be_opened_is_2(cluster: FakeCluster, tmp_path: Path) -> None:
    done = on_a_terminal("--record", str(tmp_path / "no" / "file"), bootstrap=cluster.bootstrap, keys=b"")
    assert done.code == 2
    assert OPENED not in done.raw


def test_a_trace_goes_to_a_file_that_is_named_in_the_end(cluster: FakeCluster, tmp_path: Path) -> None:
    done = on_a_terminal("--debug=proto", bootstrap=cluster.bootstrap, XDG_STATE_HOME=str(tmp_path))
    assert done.code == 0
    inside = done.raw.partition(OPENED)[2].partition(CLOSED)[0]
    assert b"ListGroups" in done.raw or b"ApiVersions" in done.raw.partition(OPENED)[0]
    assert b"bytes" not in inside
    (log,) = (tmp_path / "kcli" / "top").iterdir()
    assert f"log: {log}" in " ".join(done.after.split())
    assert " OffsetFetch v" in log.read_text()
    assert log.stat().st_mode & 0o777 == 0o600


def test_without_a_folder_for_it_the_trace_is_shown_after_the_screen(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    (tmp_path / "kcli").write_text("no folder")
    done = on_a_terminal("--debug=proto", bootstrap=cluster.bootstrap, XDG_STATE_HOME=str(tmp_path))
    assert done.code == 0
    assert " v" in done.after
    assert b"bytes" not in done.raw.partition(OPENED)[2].partition(CLOSED)[0]


def test_a_cluster_that_cannot_be_reached_is_3_before_the_screen() -> None:
    done = on_a_terminal("-b", "127.0.0.1:1", "--timeout", "2s", keys=b"")
    assert done.code == 3
    assert OPENED not in done.raw


def test_groups_that_do_not_exist(cluster: FakeCluster) -> None:
    done = on_a_terminal("nosuch", bootstrap=cluster.bootstrap, keys=b"")
    assert done.code == 1
    assert OPENED not in done.raw
    assert b"group nosuch does not exist" in done.raw
    assert on_a_terminal("nosuch", "g", bootstrap=cluster.bootstrap).code == 6


def test_the_profile_gives_name_colour_and_reason(cluster: FakeCluster, tmp_path: Path) -> None:
    (tmp_path / "kcli").mkdir()
    config = tmp_path / "kcli" / "config.toml"
    config.write_text(
        f'[profiles.prod]\n"bootstrap.servers" = "{cluster.bootstrap}"\ncolor = "red"\nread_only = true\n'
    )
    config.chmod(0o600)
    done = on_a_terminal("--profile", "prod", XDG_CONFIG_HOME=str(tmp_path), shown=b"READ ONLY")
    assert done.code == 0
    for text in (b"prod", b"READ ONLY"):
        assert text in done.raw
    flagged = on_a_terminal("--read-only", bootstrap=cluster.bootstrap, shown=b"READ ONLY")
    assert b"READ ONLY" in flagged.raw
