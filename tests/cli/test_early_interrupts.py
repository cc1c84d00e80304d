"""Ctrl-C while kcli starts: nothing on stderr, and the end that a shell expects (130), whatever was half imported."""

import os
import signal
import subprocess
import sys
import time

import pytest

from tests.run import environment

ENTRIES = {
    "script": "from kcli.__main__ import main; sys.exit(main())",
    "module": "sys.argv[0] = 'kcli'; runpy.run_module('kcli', run_name='__main__', alter_sys=True)",
}
"""What the console script does, and what ``python -m kcli`` does."""

COUNTING = """
import _signal, os, runpy, sys
sys.argv[1:] = {arguments!r}

class Interrupting:
    left = {at}
    def find_spec(self, name, path=None, target=None):
        frame = sys._getframe()
        while frame is not None and not frame.f_code.co_filename.endswith("kcli/__main__.py"):
            frame = frame.f_back
        if frame is None:
            return None
        Interrupting.left -= 1
        if Interrupting.left == 0:
            os.kill(os.getpid(), _signal.SIGINT)
        return None

_signal.signal(_signal.SIGINT, _signal.default_int_handler)
sys.meta_path.insert(0, Interrupting())
if {at} < 0:
    import atexit
    atexit.register(lambda: sys.stderr.write("IMPORTS %d" % ({at} - Interrupting.left)))
{entry}
"""
"""Sends itself SIGINT at the import with a number; for a negative one counts imports. What comes before the code of
``kcli.__main__`` is the start of the interpreter, which is not ours.
"""

TELLING = """
import os, kcli.__main__

class Telling:
    def __getattr__(self, name):
        return getattr(real, name)
    def signal(self, *arguments):
        before = real.signal(*arguments)
        if kcli.__main__.signal is self:
            kcli.__main__.signal = real
            os.write(1, b".")
        return before

real, kcli.__main__.signal = kcli.__main__.signal, Telling()
kcli.__main__.main()
"""
"""Writes a dot when ``main`` has set its first handler: what comes before is the start of the interpreter."""

COMMANDS = {
    "error": ["topcis"],
    "help": ["topics", "--help"],
    "run": ["consume", "t", "-b", "127.0.0.1:1", "--timeout", "1s"],
}


def interrupted(entry: str, command: str, at: int) -> "subprocess.CompletedProcess[str]":
    code = COUNTING.format(arguments=COMMANDS[command], at=at, entry=ENTRIES[entry])
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment(),
        check=False,
    )


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("entry", ENTRIES)
def test_an_interrupt_at_any_import_is_130_and_silent(entry: str, command: str) -> None:
    """Those that a shell shows as 130: death by the signal, or the status itself."""
    counted = interrupted(entry, command, -1).stderr
    count = int(counted.rpartition("IMPORTS ")[2])
    assert count > 20
    for at in {1, 2, *range(3, count + 1, max(1, count // 6))}:
        done = interrupted(entry, command, at)
        assert done.returncode in (-signal.SIGINT, 130), (at, done.returncode, done.stderr)
        assert "Traceback" not in done.stderr, (at, done.stderr)
        assert "KeyboardInterrupt" not in done.stderr, (at, done.stderr)
        said = done.stderr.replace("waiting for 127.0.0.1:1 …", "").strip()
        assert not said or command == "error", (at, done.stderr)


def test_an_interrupt_in_the_first_moments_of_a_process_is_130_and_silent() -> None:
    for number in range(16):
        with subprocess.Popen(
            [sys.executable, "-c", TELLING, "topics", "list", "-b", "127.0.0.1:1", "--timeout", "20s"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
        ) as process:
            assert process.stdout is not None
            process.stdout.read(1)
            time.sleep(0.002 + number * 0.008)
            if process.poll() is None:
                os.kill(process.pid, signal.SIGINT)
            _out, err = process.communicate(timeout=60)
        assert b"Traceback" not in err, (number, err)
        assert process.returncode in (-signal.SIGINT, 130, 3), (number, process.returncode, err)
        assert process.returncode == 3 or not err.strip(), (number, err)


def test_an_ignored_interrupt_stays_ignored() -> None:
    code = (
        "import signal, sys\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nfrom kcli.__main__ import main\n"
        "sys.argv[1:] = ['--version']\ntry: main()\nexcept SystemExit: pass\n"
        "assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN"
    )
    assert subprocess.run([sys.executable, "-c", code], env=environment(), check=False).returncode == 0
