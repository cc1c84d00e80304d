"""``kcli acls``, ``users`` and ``quotas``, run in this process against the fake cluster, or on a terminal. Not a test."""

import os
import pty
import select
import signal
import termios
import time
from collections.abc import Sequence
from shlex import split

from tests.run import KCLI, Noun, environment


class Kcli(Noun):
    """The commands of a noun on a cluster."""

    def refused(self, line: str, code: int, *words: str) -> str:
        """stderr, which has all the words; stdout is empty."""
        done = self(line, code)
        assert done.out == ""
        for word in words:
            assert word in done.err, done.err
        return done.err

    def on_terminal(self, line: str, *answers: tuple[str, str], code: int = 0) -> str:
        """A run on a terminal of 80 columns: once a prompt is shown, its answer is typed. All that was shown."""
        variables = environment(self.cluster.bootstrap, TERM="xterm", NO_COLOR="1")
        pid, terminal = pty.fork()
        if pid == 0:
            termios.tcsetwinsize(0, (24, 80))
            os.execve(KCLI[0], [*KCLI, self.noun, *split(line)], variables)
        found, shown = _converse(pid, terminal, answers)
        assert found == code, shown
        return shown


def _converse(
    pid: int, terminal: int, answers: Sequence[tuple[str, str]], timeout: float = 60
) -> tuple[int, str]:
    left, shown, since = list(answers), "", 0
    until = time.monotonic() + timeout
    try:
        while time.monotonic() < until:
            if not select.select([terminal], [], [], 0.1)[0]:
                continue
            try:
                data = os.read(terminal, 65536)
            except OSError:  # the other end is closed
                break
            if not data:
                break
            shown += data.decode()
            if left and left[0][0] in shown[since:]:
                since = len(shown)
                os.write(terminal, left.pop(0)[1].encode() + b"\n")
        else:
            os.kill(pid, signal.SIGKILL)
    finally:
        os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown
