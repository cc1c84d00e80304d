"""The frame of the command line as a user meets it: real processes, real pipes, exit codes."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests import run

ROOT = Path(__file__).resolve().parents[2]
KCLI = [sys.executable, "-m", "kcli"]
NOWHERE = "127.0.0.1:1"
"""A port on which nothing listens."""


def environment(**more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("KCLI_", "KAFKA_"))}
    kept = {k: v for k, v in kept.items() if k not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    return {**kept, "PYTHONPATH": str(ROOT), **more}


def kcli(
    *arguments: str, env: dict[str, str] | None = None, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*KCLI, *arguments], capture_output=True, text=True, input=stdin, timeout=60, env=env or environment()
    )


def typed(*arguments: str) -> subprocess.CompletedProcess[str]:
    """In this process: for what the command tree says to many lines."""
    done = run.kcli(*arguments)
    return subprocess.CompletedProcess(arguments, done.code, done.out, done.err)


def shell(line: str) -> subprocess.CompletedProcess[str]:
    """Runs a line of bash in which ``kcli`` is this kcli."""
    define = f'kcli() {{ "{sys.executable}" -m kcli "$@"; }}; '
    return subprocess.run(
        ["bash", "-c", define + line], capture_output=True, text=True, timeout=60, env=environment()
    )


# help and version


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["help"], []], ids=str)
def test_help_goes_to_stdout_with_0(arguments: Sequence[str]) -> None:
    done = kcli(*arguments)
    assert done.returncode == 0
    assert done.stderr == ""
    for heading in ("Usage:", "Examples:", "Records:", "This tool:", "Global options", "See also:"):
        assert heading in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.parametrize(
    "words", [["topics"], ["topics", "create"], ["produce"], ["consume"], ["sandbox", "up"]]
)
def test_help_of_a_command_is_the_same_three_ways_and_has_examples(words: list[str]) -> None:
    pages = {typed(*words, "--help").stdout, typed(*words, "-h").stdout, typed("help", *words).stdout}
    assert len(pages) == 1
    page = pages.pop()
    assert f"kcli {' '.join(words)}" in page.split("Usage:")[1]
    assert "Examples:" in page
    assert max(map(len, page.splitlines())) <= 80


def test_a_noun_without_a_verb_shows_its_help() -> None:
    done = kcli("topics")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Commands:" in done.stdout


def test_singular_nouns_are_hidden_aliases() -> None:
    assert typed("topic", "list", "--help").stdout.startswith("Usage:\n  kcli topics list")
    assert "\n  topic " not in typed("--help").stdout


@pytest.mark.parametrize("arguments", [["-V"], ["--version"], ["topics", "list", "--version"]], ids=str)
def test_version_is_one_line(arguments: Sequence[str]) -> None:
    done = kcli(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("kcli ")
    assert done.stdout.count("\n") == 1


@pytest.mark.parametrize("arguments", [["-V", "-v"], ["-vV"], ["-v", "--version"]], ids=str)
def test_verbose_version_says_what_it_is_built_on(arguments: Sequence[str]) -> None:
    lines = dict(line.split(": ", 1) for line in kcli(*arguments).stdout.splitlines()[1:])
    assert {"python", "records", "lz4"} <= lines.keys()


def test_help_on_options_lists_each_client_option() -> None:
    from kcli.core.options import ALL_OPTIONS, key_of
    from kcli.serde.registry.options import RegistryOptions

    page = kcli("help", "options").stdout
    names = {
        name
        for options in (*ALL_OPTIONS, RegistryOptions)
        for name, field in options.__dataclass_fields__.items()
        if not field.metadata["in_code"]
    }
    assert all(f"  {key_of(name)} = " in page for name in names)


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["topics", "--help"]], ids=str)
def test_start_imports_little(arguments: Sequence[str]) -> None:
    code = (
        "import sys\nfrom kcli.__main__ import run\n"
        f"run({list(arguments)!r})\nsys.stderr.write(' '.join(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment())
    loaded = set(done.stderr.split())
    assert "click" in loaded
    heavy = {"rich", "json", "logging", "ssl", "msgspec", "socket", "textual", "asyncio", "subprocess", "csv"}
    assert not heavy & loaded


# mistakes


def lines_of(done: subprocess.CompletedProcess[str]) -> tuple[str, str, str]:
    what, why, do = done.stderr.splitlines()
    assert what.startswith("kcli: ")
    assert why.startswith("  why: ")
    assert do.startswith("  do: ")
    return what, why, do


@pytest.mark.case("R15")
@pytest.mark.parametrize(
    ("arguments", "what", "do"),
    [
        (["topcis"], "there is no command 'topcis'", "did you mean `kcli topics`?"),
        (["topics", "lst"], "topics: there is no command 'lst'", "did you mean `kcli topics list`?"),
        (["top"], "top: needs a terminal", "`kcli groups lag --watch`"),
        (["top", "-o", "csv"], "top: there is no output format 'csv'", "leave out -o"),
        (
            ["topics", "list", "--mach", "x"],
            "topics list: there is no option --mach",
            "did you mean --match?",
        ),
        (["topics", "list", "--matc", "x"], "there is no option --matc", "did you mean --match?"),
        (["produce", "t", "--checkpoint"], "produce: option '--checkpoint' requires", "kcli produce --help"),
        (["topics", "create"], "missing argument TOPIC", "kcli topics create --help"),
        (["topics", "create", "a", "--partitions", "x"], "--partitions is not valid", "--help"),
        (["topics", "list", "--timeout", "soon"], "--timeout is not valid", "--help"),
        (["help", "topcis"], "help: nothing is called 'topcis'", "did you mean `kcli help topics`?"),
        (["help", "groups", "rewnd"], "nothing is called 'groups rewnd'", "`kcli help groups rewind`?"),
        (["help", "groups", "seek"], "nothing is called 'groups seek'", "`kcli groups rewind"),
        (["help", "groups", "rewind", "x"], "'groups rewind x'", "`kcli help groups rewind`"),
        (["help", "oficets"], "nothing is called 'oficets'", "did you mean `kcli help offsets`?"),
        (["man", "sasl"], "man: nothing is called 'sasl'", "did you mean `kcli man security`?"),
        (["schema", "lag"], "schema: there is no kind 'lag'", "did you mean `kcli schema Group"),
        (["topics", "list", "--debug=prot"], "--debug is not valid", "--help"),
        (["topics", "list", "-o", "kcat"], "there is no output format 'kcat'", "-o table"),
        (["topics", "list", "-X", "linger"], "-X 'linger' is not KEY=VALUE", "kcli help options"),
        (["topics", "list", "-X", "linger.mss=1"], "unknown option 'linger.mss'", "'linger.ms'"),
        (["topics", "list", "-F", "/no/such/file"], "cannot read /no/such/file", "-F"),
    ],
)
def test_usage_errors_are_three_lines_and_2(arguments: list[str], what: str, do: str) -> None:
    done = typed(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    said = lines_of(done)
    assert what in said[0]
    assert do in said[2]


@pytest.mark.parametrize(
    ("word", "option"),
    [
        ("beginning", "--offset beginning"),
        ("end", "--offset end"),
        ("-5", "--offset -5"),
        ("10", "--offset 10"),
        ("s@1700000000000", "--since 1700000000000"),
        ("e@1700000000000", "--until 1700000000000"),
    ],
)
def test_kcats_o_option_is_explained(word: str, option: str) -> None:
    done = typed("consume", "orders", "-o", word)
    assert (done.returncode, done.stdout) == (2, "")
    assert option in lines_of(done)[2]
    assert ("--from-beginning" in done.stderr) == (word == "beginning")


@pytest.mark.parametrize(
    ("line", "translated"),
    [
        ("-C -b x:9 -t orders", "consume orders -b x:9"),
        ("-b x:9 -t orders -C", "consume orders -b x:9"),
        ("-b x:9 -t orders -C -o -10 -e", "consume orders -b x:9 --offset -10 -e"),
        ("-t orders -p 0 -b x:9 -eC", "consume orders -p 0 -b x:9 -e"),
        ("-P -b x:9 -t orders", "produce orders -b x:9"),
        ("-b x:9 -t orders -qP", "produce orders -b x:9 -q"),
        ("-G billing -b x:9 orders -o -10", "consume orders -g billing -b x:9 --offset -10"),
        ("-b x:9 -G billing orders", "consume orders -b x:9 -g billing"),
        ("-L -b x:9 -t orders", "topics describe orders -b x:9"),
        ("-J -L -t orders", "topics describe orders -o json"),
        ("-b x:9 -JL", "cluster describe -b x:9 -o json"),
        ("-b x:9 -Q -t orders:0:-1", "topics offsets orders -b x:9"),
    ],
)
def test_a_line_of_kcat_in_any_order_is_translated(line: str, translated: str) -> None:
    done = typed(*line.split())
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        f"kcli: there is no option -{next(mode for mode in 'CPGLQ' if mode in line)}",
        "  why: other tools have such lines; nothing was run",
        f"  do: `kcli {translated}`",
    ]


@pytest.mark.parametrize("line", ["-G -b x:9 -t orders", "-t orders -b x:9 -eG"])
def test_a_group_that_is_not_named_is_not_made_up(line: str) -> None:
    assert "kcli has nothing for -G" in typed(*line.split()).stderr


@pytest.mark.parametrize("words", [("-t", "CAR"), ("-tCAR",), ("--nope", "-x"), ("topics", "-t", "T", "-C")])
def test_other_lines_are_not_taken_for_kcats(words: tuple[str, ...]) -> None:
    assert "kcat" not in typed(*words).stderr


@pytest.mark.parametrize("flag", ["-C", "-P", "-G", "-c"])
def test_kcats_modes_fail_loudly(flag: str) -> None:
    assert typed(flag, "-t", "orders").returncode == 2


def test_no_broker_is_an_error_that_shows_the_ways(tmp_path: Path) -> None:
    done = kcli("topics", "list", env=environment(XDG_STATE_HOME=str(tmp_path)))
    assert (done.returncode, done.stdout) == (2, "")
    do = lines_of(done)[2]
    assert all(way in do for way in ("-b", "KCLI_BOOTSTRAP_SERVER", "-F", "kcli sandbox up"))
    assert "localhost" not in done.stderr


@pytest.mark.case("N2")
def test_an_unreachable_broker_is_3_and_named() -> None:
    done = kcli("topics", "list", "-b", NOWHERE, "--timeout", "2s", "-q")
    assert (done.returncode, done.stdout) == (3, "")
    assert NOWHERE in lines_of(done)[0]


def test_errors_are_an_object_where_the_output_is_json() -> None:
    done = kcli("topics", "list", "-b", NOWHERE, "--timeout", "2s", "-q", "-o", "json")
    assert (done.returncode, done.stdout) == (3, "")
    error = json.loads(done.stderr)
    assert (error["kind"], error["code"]) == ("Error", 3)
    assert {"what", "why", "do"} <= error.keys()


@pytest.mark.case("S0-5")
def test_debug_shows_the_traceback_and_only_debug() -> None:
    plain = kcli("topics", "list", "-b", NOWHERE, "--timeout", "1s")
    debug = kcli("topics", "list", "-b", NOWHERE, "--timeout", "1s", "--debug=conf")
    assert "Traceback" not in plain.stderr
    assert "Traceback" in debug.stderr
    assert "bootstrap.servers = 127.0.0.1:1 (-b)" in debug.stderr


def test_an_internal_error_is_one_line_without_debug() -> None:
    code = (
        "from kcli.commands import help\nfrom kcli.__main__ import run\nimport sys\n"
        "def broken(*_): raise RuntimeError('boom')\nhelp._concept = broken\n"
        "sys.exit(run(['help', 'exit-codes'] + sys.argv[1:]))"
    )

    def broken(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", code, *arguments]
        return subprocess.run(command, capture_output=True, text=True, env=environment())

    assert broken().returncode == 1
    assert "internal error: RuntimeError: boom" in lines_of(broken())[0]
    assert "run again with --debug and report" in lines_of(broken())[2]
    assert "Traceback" in broken("--debug").stderr


# global options


@pytest.mark.parametrize(
    "arguments",
    [
        ["-b", NOWHERE, "topics", "list"],
        ["topics", "-b", NOWHERE, "list"],
        ["topics", "list", "-b", NOWHERE],
        ["-b", NOWHERE, "topics", "list", "-b", NOWHERE],
        ["topics", "list", "--bootstrap-servers", NOWHERE],
        ["topics", "list", "--brokers", NOWHERE],
        ["-X", f"bootstrap.servers={NOWHERE}", "topics", "list", "-X", "client.id=x"],
    ],
    ids=" ".join,
)
def test_global_options_work_before_and_after(arguments: list[str]) -> None:
    done = typed(*arguments, "--timeout", "1s", "-q")
    assert done.returncode == 3
    assert NOWHERE in done.stderr


def test_debug_never_takes_the_next_word() -> None:
    for flag in ("--debug", "-d"):
        done = kcli(flag, "topics", "list", "-b", NOWHERE, "--timeout", "1s")
        assert done.returncode == 3, done.stderr
        assert "conf  bootstrap.servers" in done.stderr


def test_a_later_v_adds_up() -> None:
    env = environment(KAFKA_SSL_KEYSTORE_PASSWORDD="x")
    said = "KAFKA_SSL_KEYSTORE_PASSWORDD in the environment is not used"
    assert said in kcli("-v", "topics", "list", "-b", NOWHERE, "--timeout", "1s", env=env).stderr
    assert said not in kcli("topics", "list", "-b", NOWHERE, "--timeout", "1s", env=env).stderr


def test_used_kafka_variables_are_reported() -> None:
    done = kcli("topics", "list", "--timeout", "1s", env=environment(KAFKA_BOOTSTRAP_SERVERS=NOWHERE))
    assert done.returncode == 3
    assert "using KAFKA_BOOTSTRAP_SERVERS from the environment" in done.stderr


def test_stray_kcli_variable_is_warned_of() -> None:
    env = environment(KCLI_BOOTSTRAPSERVER="x")
    done = kcli("topics", "list", "-b", NOWHERE, "--timeout", "1s", env=env)
    assert "did you mean KCLI_BOOTSTRAP_SERVER" in done.stderr


def test_color_always_and_never() -> None:
    assert "\x1b[1mUsage:" in kcli("--help", "--color", "always").stdout
    assert "\x1b" not in kcli("--help", env=environment(NO_COLOR="1")).stdout
    assert "\x1b[1m" in kcli("--help", env=environment(FORCE_COLOR="1")).stdout


@pytest.mark.case("C12")
def test_odd_locales_never_break_output() -> None:
    done = kcli("--help", env=environment(LC_ALL="C", PYTHONIOENCODING="ascii"))
    assert done.returncode == 0
    assert "UnicodeEncodeError" not in done.stderr


# pipes and signals


@pytest.mark.case("C1")
def test_a_closed_pipe_is_141_and_quiet() -> None:
    done = shell("kcli help options | head -n 1; echo ${PIPESTATUS[0]}")
    first, status = done.stdout.splitlines()
    assert first.startswith("Client options")
    assert status in ("0", "141")  # 0 where all of it fitted into the pipe before head had read
    assert done.stderr == ""


@pytest.mark.case("C1")
def test_a_pipe_closed_before_the_first_byte_is_141() -> None:
    read, write = os.pipe()
    os.close(read)
    with subprocess.Popen(
        [*KCLI, "help", "options"], stdout=write, stderr=subprocess.PIPE, env=environment()
    ) as process:
        os.close(write)
        assert process.communicate(timeout=60)[1] == b""
    assert process.returncode == -signal.SIGPIPE
    done = shell("(sleep 1; kcli help options; echo $? >&2) | true")
    assert done.stderr.split() == ["141"]


@pytest.mark.case("C2")
@pytest.mark.parametrize("arguments", ["--help", "help options", "-V"])
def test_a_full_disk_exits_with_1_and_is_reported(arguments: str) -> None:
    done = shell(f"kcli {arguments} > /dev/full")
    assert done.returncode == 1
    what, _why, _do = lines_of(done)
    assert what == "kcli: cannot write output: No space left on device"


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("stderr", ["&-", "/dev/full"])
def test_a_closed_stderr_is_no_reason_to_fail_otherwise(stderr: str, unbuffered: str) -> None:
    python = f"export PYTHONUNBUFFERED={unbuffered};"
    assert shell(f"{python} kcli topcis 2>{stderr}").returncode == 2
    done = shell(f"{python} kcli -v help times 2>{stderr}")
    assert done.returncode == 0
    assert done.stdout
    full = shell(f"{python} kcli help times 2>{stderr} >/dev/full")
    assert full.returncode == 1


def test_interrupt_is_130() -> None:
    code = (
        "import signal, os\nfrom kcli.commands import help\nfrom kcli.__main__ import run\nimport sys\n"
        + (
            "help._concept = lambda *_: os.kill(os.getpid(), signal.SIGINT)\nsys.exit(run(['help', 'exit-codes']))"
        )
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment())
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


STOPPED = """
import os, select, signal, sys, time
from kcli.flows.stop import Stop
with Stop(unconfirmed=lambda: "3 records are unconfirmed") as stop:
    sys.stdout.write("ready\\n"); sys.stdout.flush()
    select.select([stop.fileno()], [], [])
    if sys.argv[1] == "hang":
        sys.stdout.write("stopping\\n"); sys.stdout.flush()
        while True: time.sleep(0.01)
    sys.exit(stop.exit_code)
"""


@pytest.mark.case("C3")
@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)], ids=str
)
def test_the_first_signal_stops_in_order_the_second_at_once(number: signal.Signals, status: int) -> None:
    for way in ("orderly", "hang"):
        with subprocess.Popen(
            [sys.executable, "-c", STOPPED, way],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(),
        ) as process:  # fmt: skip
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            process.send_signal(number)
            if way == "hang":
                assert process.stdout.readline() == "stopping\n"
                process.send_signal(number)
            _out, err = process.communicate(timeout=30)
        assert process.returncode == status
        assert err == ("kcli: stopped at once: 3 records are unconfirmed\n" if way == "hang" else "")


@pytest.mark.case("C3")
def test_a_signal_that_the_parent_ignores_stays_ignored() -> None:
    code = "import signal\nfrom kcli.flows.stop import Stop\nwith Stop():\n print(repr(signal.getsignal(signal.SIGHUP)))"
    done = subprocess.run(
        ["bash", "-c", f"trap '' HUP; \"{sys.executable}\" -c '{code}'"],
        capture_output=True, text=True, env=environment(),
    )  # fmt: skip
    assert "SIG_IGN" in done.stdout


@pytest.mark.case("C18")
def test_confirmation_without_a_terminal_is_2(tmp_path: Path) -> None:
    code = (
        "import sys\nimport click\nfrom kcli.commands.shared import command, confirm, context\nfrom kcli import cli\n"
        "@command.command('ask')\n@context.pass_invocation\n"
        "def ask(inv):\n    return 0 if confirm.confirm(inv, 'PLAN', 'Do it?', name='x') else 0\n"
        "cli.cli.get_command = lambda ctx, name: ask\n"
        "from kcli.__main__ import run\nsys.exit(run(['ask'] + sys.argv[1:]))"
    )

    def ask(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", code, *arguments]
        return subprocess.run(command, capture_output=True, text=True, input="x\n", env=environment())

    refused = ask()
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith("PLAN\nkcli: confirmation required, and there is no terminal")
    assert (ask("--yes").returncode, ask("--confirm", "x").returncode) == (0, 0)
    assert ask("--confirm", "y").returncode == 2
    dry = ask("--dry-run")
    assert (dry.returncode, dry.stdout) == (0, "PLAN\n")
