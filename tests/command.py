"""Runs kcli as users do, in a process of its own, forked from one that has started already. Not a test."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.printed_json import check_printed
from tests.returned_codes import check_returned
from tests.warm_kcli import KCLI, WarmPopen

ROOT = Path(__file__).resolve().parents[1]
MEASURE = (
    "import resource,subprocess,sys;c=subprocess.run(sys.argv[1:]).returncode;"
    "sys.stderr.write('RSS %d\\n' % resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss);sys.exit(c)"
)
"""For ``python -c``: runs what its arguments say, then writes ``RSS`` and the most memory it had, in KB, to stderr."""


def environment(bootstrap: str = "", **more: str) -> dict[str, str]:
    """The environment without anybody's kcli settings; ``bootstrap`` goes into KCLI_BOOTSTRAP_SERVER."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("KCLI_", "KAFKA_"))}
    kept = {k: v for k, v in kept.items() if k not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    impl = {"KCLI_IMPL": os.environ["KCLI_IMPL"]} if "KCLI_IMPL" in os.environ else {}
    named = {"KCLI_BOOTSTRAP_SERVER": bootstrap} if bootstrap else {}
    return {**kept, "PYTHONPATH": str(ROOT), **impl, **named, **more}


def kcli(
    *arguments: str, bootstrap: str = "", stdin: bytes = b"", timeout: float = 120
) -> subprocess.CompletedProcess[bytes]:
    """Runs one command to its end."""
    return run(
        [*KCLI, *arguments], input=stdin, capture_output=True, timeout=timeout, env=environment(bootstrap)
    )


def run(
    command: Sequence[str],
    *,
    input: Any = None,  # noqa: A002 - the name in subprocess
    timeout: float = 120,
    capture_output: bool = False,
    **how: Any,
) -> "subprocess.CompletedProcess[Any]":
    """``subprocess.run`` for ``KCLI`` and what follows it; never checks the exit status."""
    if input is not None:
        how["stdin"] = subprocess.PIPE
    if capture_output:
        how |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with WarmPopen(command, **how) as process:
        try:
            out, err = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
    check_printed(out, err)
    if list(command[: len(KCLI)]) == KCLI:
        check_returned(list(map(str, command[len(KCLI) :])), process.returncode)
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def start(*arguments: str, bootstrap: str = "", **settings: object) -> "subprocess.Popen[bytes]":
    """Starts a command with pipes."""
    return WarmPopen(
        [*KCLI, *arguments],
        stdin=settings.pop("stdin", subprocess.PIPE),
        stdout=settings.pop("stdout", subprocess.PIPE),
        stderr=settings.pop("stderr", subprocess.PIPE),
        env=environment(bootstrap),
        **settings,
    )


def shell(line: str, *, bootstrap: str = "", timeout: float = 120) -> subprocess.CompletedProcess[bytes]:
    """Runs a line of bash in which ``kcli`` is this kcli."""
    define = f'kcli() {{ "{sys.executable}" -m kcli "$@"; }}; '
    return subprocess.run(
        ["bash", "-c", define + line],
        capture_output=True,
        timeout=timeout,
        env=environment(bootstrap),
        check=False,
    )


def ok(done: "subprocess.CompletedProcess[bytes]", codes: Sequence[int] = (0,)) -> bytes:
    """stdout of a command that had to end with one of ``codes``."""
    assert done.returncode in codes, (done.returncode, done.stderr.decode(errors="replace")[-2000:])
    return bytes(done.stdout)
