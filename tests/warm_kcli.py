"""Runs of kcli, each in a process of its own that need not start Python: forked from one that has imported all of kcli.

``WarmPopen`` is ``subprocess.Popen`` for ``KCLI``: a child of this process with its own pid, streams, signals and exit
status.

Another process has imported it without optional libraries, for environments that lack some (``without``).

Not a test. What a start costs or imports is not seen like this, nor the first moments of a process, nor its command line
in the list of processes (``tests/cli/test_frame.py`` and ``test_early_interrupts.py`` start Python); everything after
them is. What such a fork cannot give (``preexec_fn``, variables that the interpreter reads, no Linux) is
started as usual.
"""

import atexit
import ctypes
import importlib
import io
import json
import os
import pkgutil
import platform
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from tests.extras import ALL

KCLI = [sys.executable, "-m", "kcli"]
PACKAGES = ("kcli.cli", "kcli.commands", "kcli.core", "kcli.flows", "kcli.output", "kcli.profiles")
READ_AT_START = ("PYTHON", "LC_", "LANG", "KCLI_IMPL", "MALLOC_", "LD_")
"""Prefixes of variables that are read before a command begins: a fork has those of the server."""

ABSENT = "KCLI_TEST_ABSENT"
ROOT = Path(__file__).resolve().parents[1]

_CLONE_PARENT = 0x8000
_CLONE = {"x86_64": 56, "aarch64": 220}.get(platform.machine())
_MOST = 1 << 20
"""Bytes of a job: arguments and environment."""


class WarmPopen(subprocess.Popen[Any]):
    """``args`` begin with ``KCLI``. Restores no other signal than SIGINT."""

    def _execute_child(self, args: Any, *rest: Any) -> None:
        # The order of subprocess in Python 3.11 to 3.14.
        _executable, preexec_fn, close_fds, pass_fds, cwd, env, _info, _flags, shell, *files = rest
        stdin, _, _, stdout, _, stderr, _restore, gid, gids, uid, umask, session, group = files
        plain = close_fds and not (preexec_fn or pass_fds or shell or gids)
        plain = plain and (gid, uid, umask, group) == (None, None, -1, -1)
        variables = dict(os.environ if env is None else env)
        if not (plain and list(args[:3]) == KCLI and _fits(variables)):
            super()._execute_child(args, *rest)  # type: ignore[misc]
            return
        job = {
            "arguments": list(map(os.fspath, args[3:])), "environment": variables, "session": session,
            "folder": os.fspath(cwd or os.getcwd()),
        }  # fmt: skip
        streams = [own if given == -1 else given for own, given in enumerate((stdin, stdout, stderr))]
        text = json.dumps(job).encode("utf-8", "surrogateescape")
        pid = _fork(text, streams, extras=ABSENT not in variables)
        if pid is None:
            super()._execute_child(args, *rest)  # type: ignore[misc]
            return
        self.pid = pid
        self._child_created = True
        self._close_pipe_fds(*files[:6])  # type: ignore[attr-defined]


def without(libraries: Sequence[str]) -> dict[str, str]:
    """Variables of an environment without these libraries of ``tests/extras.py``: see ``tests/absent``."""
    return {ABSENT: " ".join(libraries), "PYTHONPATH": f"{ROOT / 'tests' / 'absent'}:{ROOT}"}


# --- here ----------------------------------------------------------------------------------------

_lock = threading.Lock()
_servers: dict[bool, socket.socket] = {}
"""With optional libraries, and without."""
_of_server: dict[str, str] = {}


def _fits(variables: Mapping[str, str]) -> bool:
    """Whether the server has the same variables that count at the start."""
    if not _of_server:
        from tests.run import environment

        _of_server.update(environment())
    return _early(variables) == _early({**_of_server, **(without(ALL) if ABSENT in variables else {})})


def _early(variables: Mapping[str, str]) -> dict[str, str]:
    found = {name: text for name, text in variables.items() if name.startswith(READ_AT_START)}
    return {"PYTHONPATH": _of_server["PYTHONPATH"], **found}


def _fork(job: bytes, streams: list[int], *, extras: bool) -> int | None:
    """The pid of a new child of this process; None where there is no such fork, and the second time that one failed."""
    with _lock:
        for _ in range(2):
            if extras not in _servers:
                _servers[extras] = _started(extras=extras)
            server = _servers[extras]
            try:
                socket.send_fds(server, [len(job).to_bytes(4)], streams)
                server.sendall(job)
                answer = server.recv(8, socket.MSG_WAITALL)
            except OSError:
                answer = b""
            if len(answer) == 8:
                pid = int.from_bytes(answer, signed=True)
                return pid if pid > 0 else None
            _servers.pop(extras).close()
    return None


def _started(*, extras: bool) -> socket.socket:
    ours, its = socket.socketpair()
    command = [sys.executable, "-m", "tests.warm_kcli", str(its.fileno())]
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        env=_of_server if extras else {**_of_server, **without(ALL)},
        pass_fds=[its.fileno()],
        start_new_session=True,
    )
    process.returncode = 0  # it ends with this process, and is not waited for
    its.close()
    return ours


# --- there ---------------------------------------------------------------------------------------


def serve(peer: socket.socket) -> None:
    """Forks what the peer sends; returns in the parent once the peer has gone, and never in a child."""
    for package in PACKAGES:
        found = importlib.import_module(package)
        for module in pkgutil.walk_packages(getattr(found, "__path__", ()), package + "."):
            try:
                importlib.import_module(module.name)
            except ModuleNotFoundError:
                if ABSENT not in os.environ:
                    raise
    # What is sent to a child before it has its handler waits for that.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    collect_once()
    while True:
        size, streams, _, _ = socket.recv_fds(peer, 4, 3)
        if not size:
            return
        job = json.loads(_exactly(peer, int.from_bytes(size)))
        pid = _clone()
        if pid == 0:
            peer.close()
            _become(streams, **job)
        for stream in streams:
            os.close(stream)
        peer.sendall(pid.to_bytes(8, signed=True))


def collect_once() -> None:
    """A collection in a child would copy every page."""
    import gc

    gc.collect()
    gc.freeze()


def _exactly(peer: socket.socket, size: int) -> bytes:
    text = b""
    while len(text) < size:
        text += peer.recv(min(size - len(text), _MOST))
    return text


def _clone() -> int:
    """fork(2), but the child is one of this process's parent; -1 if the system has no such thing."""
    if _CLONE is None or not sys.platform.startswith("linux"):
        return -1
    interpreter = ctypes.pythonapi
    interpreter.PyOS_BeforeFork()
    pid = int(ctypes.PyDLL(None).syscall(_CLONE, _CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0))
    if pid == 0:
        interpreter.PyOS_AfterFork_Child()
    else:
        interpreter.PyOS_AfterFork_Parent()
    return pid


def _become(
    streams: list[int], arguments: list[str], environment: dict[str, str], session: bool, folder: str
) -> NoReturn:
    """The rest of a start of Python, then kcli's."""
    os.chdir(folder)
    if session:
        os.setsid()
    for number, file in enumerate(streams):
        os.dup2(file, number)
    os.closerange(3, max(streams) + 1)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    if ABSENT in environment:
        importlib.import_module("sitecustomize").set_absent()
    sys.stdin = sys.__stdin__ = _stream(0, "rb", sys.stdin)  # type: ignore[misc]
    sys.stdout = sys.__stdout__ = _stream(1, "wb", sys.stdout)  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = _stream(2, "wb", sys.stderr)  # type: ignore[misc]
    import kcli.__main__

    sys.argv = [str(kcli.__main__.__file__), *arguments]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    try:
        kcli.__main__.main()
    except SystemExit as end:
        code = end.code
    # The end of an interpreter without what takes it apart, which would copy every page.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code if isinstance(code, int) else 0)


def _stream(number: int, mode: str, like: Any) -> io.TextIOWrapper:
    """As Python opens them."""
    raw = bool(os.environ.get("PYTHONUNBUFFERED")) and mode == "wb"
    file: Any = open(number, mode, buffering=0 if raw else -1, closefd=False)  # noqa: SIM115
    lines = number == 2 or file.isatty()
    return io.TextIOWrapper(
        file, like.encoding, like.errors, newline="\n", line_buffering=lines, write_through=raw
    )


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
