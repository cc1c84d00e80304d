"""Runs kcli and holds its account: JSON is as its schema says, and the exit code one that its help lists. Not a test.

``kcli`` runs a command line in this process: a third of the cost of a process, and a tenth where it ends at once.
``kcli_process`` runs it as users do, in a process of its own, forked from one that has started already: for what depends
on descriptors, signals, a folder, variables that are read at the start, memory or threads. ``start`` leaves it running;
``shell`` types a line of bash.
"""

import functools
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from shlex import split
from tempfile import TemporaryFile
from typing import Any
from unittest.mock import patch

from kcli.__main__ import run as run_here
from kcli.cli import cli
from kcli.core.types import TopicPartition
from kcli.docgen.describe import CommandDoc, walk
from tests.fake.cluster import FakeCluster
from tests.printed_json import check_printed
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


class Done(subprocess.CompletedProcess[bytes]):
    """What became of a run: its code, and ``out`` and ``err``, which are texts of ``stdout`` and ``stderr``."""

    @property
    def code(self) -> int:
        return self.returncode

    @property
    def out(self) -> str:
        return self.stdout.decode()

    @property
    def err(self) -> str:
        return self.stderr.decode()

    @property
    def items(self) -> list[dict[str, Any]]:
        """Of the JSON document."""
        found: list[dict[str, Any]] = json.loads(self.stdout)["items"]
        return found

    @property
    def rows(self) -> dict[TopicPartition, dict[str, Any]]:
        """The items of a report of partitions."""
        return {TopicPartition(one["topic"], one["partition"]): one for one in self.items}

    @property
    def errors(self) -> list[dict[str, Any]]:
        """Those of a run with ``-o json``, in order."""
        lines = [json.loads(line) for line in self.err.splitlines() if line.startswith("{")]
        return [line for line in lines if line["kind"] == "Error"]


class _Stream(io.TextIOWrapper):
    """A stream without a file descriptor."""

    def __init__(self) -> None:
        self.bytes = io.BytesIO()
        super().__init__(self.bytes, "utf-8", write_through=True)


def kcli(*arguments: str, bootstrap: str = "", stdin: bytes = b"", **variables: str) -> Done:
    """One command to its end, in this process. ``variables`` are added to an environment without kcli's own."""
    with _environment_of(environment(bootstrap, **variables)):
        return kcli_as_set_up(*arguments, stdin=stdin)


def kcli_as_set_up(*arguments: str, stdin: bytes = b"") -> Done:
    """As ``kcli``, in the environment of the test: threads can use it, and those that have set variables."""
    out, err = _Stream(), _Stream()
    with _given(stdin), redirect_stdout(out), redirect_stderr(err):
        code = run_here(list(arguments))
    out.flush()
    err.flush()
    done = Done(arguments, code, out.bytes.getvalue(), err.bytes.getvalue())
    check_printed(done.stdout, done.stderr)
    check_returned(arguments, code)
    return done


@contextmanager
def _environment_of(variables: Mapping[str, str]) -> Iterator[None]:
    """As ``patch.dict(os.environ, variables, clear=True)``, but what is as it should be is not set again."""
    before = dict(os.environ)
    _set_environment(before, variables)
    try:
        yield
    finally:
        _set_environment(dict(os.environ), before)


def _set_environment(present: Mapping[str, str], wanted: Mapping[str, str]) -> None:
    for name in present.keys() - wanted.keys():
        del os.environ[name]
    for name, value in wanted.items():
        if present.get(name) != value:
            os.environ[name] = value
    time.tzset()


@contextmanager
def _given(stdin: bytes) -> Iterator[None]:
    """A file as ``sys.stdin`` and, unless it is empty, as the descriptor 0 of ``/dev/stdin``."""
    with TemporaryFile() if stdin else open(os.devnull, "rb") as file, ExitStack() as stack:
        if stdin:
            file.write(stdin)
            file.seek(0)
            before = os.dup(0)
            stack.callback(os.close, before)
            stack.callback(os.dup2, before, 0)
            os.dup2(file.fileno(), 0)
        stack.enter_context(patch.object(sys, "stdin", io.TextIOWrapper(file, "utf-8")))
        yield


class Noun:
    """The commands of a noun on a cluster, in this process and its environment: a line has to end with ``code``."""

    def __init__(self, noun: str, cluster: FakeCluster) -> None:
        self.noun = noun
        self.cluster = cluster

    def __call__(self, line: str, code: int = 0, *, stdin: str = "") -> Done:
        words = [self.noun, *split(line), "-b", self.cluster.bootstrap]
        done = kcli_as_set_up(*words, stdin=stdin.encode())
        assert done.code == code, done
        return done

    def items(self, line: str, code: int = 0) -> list[dict[str, Any]]:
        """Of the JSON document."""
        return self(f"{line} -o json", code).items


def kcli_process(
    *arguments: str, bootstrap: str = "", stdin: bytes = b"", timeout: float = 120, **variables: str
) -> Done:
    """One command to its end, in a process."""
    env = environment(bootstrap, **variables)
    done = run([*KCLI, *arguments], input=stdin, capture_output=True, timeout=timeout, env=env)
    return Done(arguments, done.returncode, done.stdout, done.stderr)


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
        env=settings.pop("env", environment(bootstrap)),
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


def check_returned(words: Sequence[str], code: int) -> None:
    """``words`` are what follows ``kcli``. A process that was killed has returned nothing.

    A code that is missing belongs to ``exits=`` of the command, with what it means there.
    """
    doc = _called(words)
    if doc.is_group or code < 0:
        return
    listed = {one for codes, _ in doc.exit_codes for one in codes.split()}
    assert str(code) in listed, (
        f"{' '.join(doc.path)} returned {code}, which its help does not list: see exits="
    )


def _called(words: Sequence[str]) -> CommandDoc:
    docs = _docs()
    path: tuple[str, ...] = ("kcli",)
    for word in words:
        doc = docs[path]
        name = dict(doc.aliases).get(word, word)
        if (*path, name) in docs:
            path = (*path, name)
    return docs[path]


@functools.cache
def _docs() -> Mapping[tuple[str, ...], CommandDoc]:
    return {doc.path: doc for doc in walk(cli, "kcli")}
