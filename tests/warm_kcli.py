"""Many runs of kcli, each in a process of its own that has not to start Python: forked from one that has imported it all.

    with WarmKcli() as kcli:
        code = kcli.run(["topics", "list"], environment("127.0.0.1:9092"), out="/dev/null", err=path)

Not a test. What a start costs or imports is not seen like this; everything behind it is.
"""

import importlib
import json
import os
import pkgutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Self

from tests.command import environment

PACKAGES = ("kcli.commands", "kcli.core", "kcli.flows", "kcli.output", "kcli.profiles")


class WarmKcli:
    """Use as a context manager."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.warm_kcli"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self._process.communicate(timeout=60)

    def run(
        self,
        arguments: Sequence[str],
        variables: Mapping[str, str],
        *,
        out: str,
        err: str,
        stdin: str = os.devnull,
    ) -> int:
        """One command to its end, with files for its streams; its exit status, negative for a signal."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        job = {"arguments": list(arguments), "environment": dict(variables), "files": [stdin, out, err]}
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


def serve() -> None:
    """Runs what stdin asks for, a line of JSON each; answers with exit statuses."""
    for package in PACKAGES:
        found = importlib.import_module(package)
        for module in pkgutil.walk_packages(found.__path__, package + "."):
            importlib.import_module(module.name)
    for line in sys.stdin:
        child = os.fork()
        if not child:
            _become(**json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _become(arguments: list[str], environment: dict[str, str], files: list[Any]) -> None:
    from kcli.__main__ import run

    for number, (path, flags) in enumerate(zip(files, (os.O_RDONLY, os.O_WRONLY, os.O_WRONLY), strict=True)):
        os.dup2(os.open(path, flags | os.O_CREAT * bool(flags), 0o600), number)
    # Made anew: those of the parent remember whether its own files could be positioned.
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
    os.environ.clear()
    os.environ.update(environment)
    code = run(arguments)
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    serve()
