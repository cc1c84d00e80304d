"""Completions in the real shells: a command name, an option, a choice, a nested command.

Each shell loads the committed script as a user's would; kcli itself need not be installed for it to work.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "completions"

CASES = [
    ("kcli top", {"topics"}, {"produce"}),
    ("kcli topics ", {"list", "describe", "create", "delete", "offsets"}, {"produce"}),
    ("kcli topics create --part", {"--partitions"}, set()),
    ("kcli -b host:9092 topics cr", {"create"}, {"list"}),
    ("kcli topics list --color ", {"auto", "always", "never"}, {"list"}),
    ("kcli topics list --bootstrap-server x -o js", {"json"}, {"table"}),
    ("kcli sandbox u", {"up"}, {"down"}),
    ("kcli topic ", {"list", "describe"}, {"produce"}),
    ("kcli group rewind g --to ", {"earliest", "latest", "current"}, {"rewind"}),
    ("kcli groups list --state ", {"stable", "empty"}, {"list"}),
    ("kcli consume t -X max.poll.rec", {"max.poll.records="}, {"linger.ms="}),
    ("kcli help ", {"topics", "options", "exit-codes"}, {"help"}),
    ("kcli help group ", {"rewind", "lag"}, {"topics"}),
    ("kcli man ", {"topics", "offsets", "options"}, {"man", "help"}),
    ("kcli man groups ", {"rewind", "lag"}, {"topics"}),
    ("kcli schema GroupLagL", {"GroupLagList"}, {"GroupLag"}),
    ("kcli exporter --collect ", {"owners", "log-dirs", "all"}, {"exporter"}),
]
LISTS = [
    ("kcli exporter --collect groups,ow", {"groups,owners"}, {"owners", "groups,all"}),
    ("kcli groups list --state stable,", {"stable,empty"}, {"empty", "list"}),
]
"""zsh shows the words without those before the comma."""
IN_ZSH = [
    *CASES,
    *((line, {word.rpartition(",")[2] for word in found}, {"list"}) for line, found, _not in LISTS),
]
CASES += LISTS
IDS = [case[0] for case in CASES]


def need(shell: str) -> str:
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"{shell} is not installed")
    return path


def environment(tmp_path: Path) -> dict[str, str]:
    return {
        "HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "PATH": os.environ["PATH"],
        "TERM": "xterm",
        "LANG": "C.UTF-8",
    }


BASH = r"""
source "$1"
line=$2
COMP_LINE=$line COMP_POINT=${#line}
eval "COMP_WORDS=($line)"
[[ $line == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_kcli
printf '%s\n' "${COMPREPLY[@]}"
"""


@pytest.mark.parametrize(("line", "offered", "not_offered"), CASES, ids=IDS)
def test_bash_completes(line: str, offered: set[str], not_offered: set[str], tmp_path: Path) -> None:
    bash = need("bash")
    done = subprocess.run(
        [bash, "--norc", "-c", BASH, "bash", SCRIPTS / "kcli.bash", line],
        capture_output=True, text=True, env=environment(tmp_path), timeout=30,
    )  # fmt: skip
    found = set(done.stdout.split())
    assert done.stderr == ""
    assert offered <= found
    assert not not_offered & found


def test_bash_loads_it_as_an_interactive_shell_does(tmp_path: Path) -> None:
    pexpect = pytest.importorskip("pexpect")
    bash = need("bash")
    child = pexpect.spawn(
        bash,
        ["--norc", "--noprofile", "-i"],
        env=environment(tmp_path) | {"PS1": "$ "},
        encoding="utf-8",
        timeout=120,
    )
    child.sendline(f"PS1='ready'; source '{SCRIPTS / 'kcli.bash'}'; kcli() {{ printf '<%s>' \"$@\"; }}")
    child.expect("\nready|ready\x1b|ready$")
    child.send("kcli topi\tcrea\t--partit\t5\r")
    child.expect("<topics><create><--partitions><5>")
    child.close(force=True)


def test_bash_completes_files(tmp_path: Path) -> None:
    bash = need("bash")
    (tmp_path / "settings.properties").write_text("")
    done = subprocess.run(
        [bash, "--norc", "-c", BASH, "bash", SCRIPTS / "kcli.bash", "kcli -F sett"],
        capture_output=True, text=True, cwd=tmp_path, env=environment(tmp_path), timeout=30,
    )  # fmt: skip
    assert done.stdout.split() == ["settings.properties"]


def test_fish_completes(tmp_path: Path) -> None:
    """All lines in one shell, which loads the script once."""
    fish = need("fish")
    lines = "; ".join(f"complete -C '{line}'; echo =" for line, _, _ in CASES)
    done = subprocess.run(
        [fish, "--no-config", "-c", f"source '{SCRIPTS / 'kcli.fish'}'; {lines}"],
        capture_output=True, text=True, env=environment(tmp_path), timeout=120,
    )  # fmt: skip
    assert done.stderr == ""
    parts = done.stdout.split("=\n")[:-1]
    for (line, offered, not_offered), part in zip(CASES, parts, strict=True):
        found = {row.split("\t")[0] for row in part.splitlines()}
        assert offered <= found, line
        assert not not_offered & found, line


ZSH = """
PS1='ready'
fpath=('{scripts}' $fpath)
autoload -Uz compinit && compinit -u -d '{home}/dump'
zstyle ':completion:*' menu no
setopt no_beep no_auto_menu no_always_last_prompt
zstyle ':completion:*' list-separator '--'
"""


def test_zsh_completes(tmp_path: Path) -> None:
    """All lines in one shell; ``list-choices`` shows what is offered without inserting it."""
    pexpect = pytest.importorskip("pexpect")
    zsh = need("zsh")
    (tmp_path / ".zshrc").write_text(
        ZSH.format(scripts=SCRIPTS, home=tmp_path) + "bindkey '^D' list-choices\n"
    )
    child = pexpect.spawn(
        zsh, ["-i"], env=environment(tmp_path), encoding="utf-8", timeout=120, dimensions=(60, 200)
    )
    child.expect("ready")
    for number, (line, offered, not_offered) in enumerate(IN_ZSH):
        child.send(line + "\x04")
        shown, deadline = "", time.monotonic() + 120
        while time.monotonic() < deadline and not all(word in shown for word in offered):
            with contextlib.suppress(pexpect.TIMEOUT):
                shown += child.read_nonblocking(4096, timeout=0.2)
        child.send(f"\x15print line''{number}\r")  # the line goes; what is printed follows all that was shown
        child.expect(f"line{number}\r\n")
        shown += child.before
        assert all(word in shown for word in offered), shown
        assert "zsh:" not in shown
        assert not any(f"\n{word} " in shown for word in not_offered), line
    child.close(force=True)


def test_scripts_do_not_call_kcli_for_what_is_known_beforehand() -> None:
    """Completion must not start Python for what is known beforehand."""
    text = (SCRIPTS / "kcli.bash").read_text() + (SCRIPTS / "kcli.fish").read_text()
    assert "$(kcli" not in text
    assert "(kcli" not in text.replace("(__kcli", "")
    assert sys.executable not in text
