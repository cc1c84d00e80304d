"""Types the command lines of a message as its reader would, in the situation that printed it. Not a test.

What changes something is typed with ``--dry-run``, unless it is to mend; what never ends is given its end.
"""

import os
import re
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from tests.command_lines import invocations, parsed
from tests.run import KCLI, environment, kcli_as_set_up
from tests.warm_kcli import WarmPopen

COMMAND = re.compile(r"`((?:[^`]*\| )?kcli [^`]+)`")
READERS_WORDS = {
    "profile add NAME -b HOST:PORT --replace": "profile add ann -b h:1 --replace",
    "profile add NAME": "profile add brandnew",
    "profile import FILE": "profile import {dir}/rpk.yaml",
    "profile use NAME": "profile use test",
    "profile copy A B": "profile copy ann brandnew",
    "profile rename A B": "profile rename ann brandnew",
    "topics copy A B": "topics copy orders brandnew",
    "topics create TOPIC": "topics create brandnew",
    "produce NEW": "produce scratch",
    "replay TOPIC --to TOPIC": "replay scratch --to orders",
    "--to HOST:PORT": "--to {other}",
    "--operation OPERATION --cluster": "--operation describe --cluster",
    "delete-offsets GROUP -t TOPIC": "delete-offsets billing -t orders",
    "groups import FILE": "groups import {dir}/billing.csv",
    "reassign run FILE": "reassign run {dir}/moves.json",
    "reassign plan FILE": "reassign plan {dir}/plan.json",
    "export TOPIC DIR": "export scratch {dir}/exported",
    "TOPIC --partitions N": "scratch --partitions 2",
    "^orders-.*": "^orders.*",
    "TOPIC": "scratch",
    "GROUP": "billing",
    "MEMBER": "{member}",
    "HOST:PORT": "{cluster}",
    "NAME": "ann",
    "ID": "import-1",
    "STATE": "stable",
    "SPEC": "earliest",
    "OFFSET": "0",
    "FORMAT": "'%k %v'",
    "PATTERN": "'%v'",
    "SERDE": "value=str",
    "SQL": "'select 1'",
    "EXPR": "'partition == `0`'",
    "FILE": "{dir}/two.txt",
    "BEFORE": "{dir}/before.json",
    "AFTER": "{dir}/after.json",
    "DIR": "{dir}/new",
    "GLOB": "'bil*'",
    "-X KEY=VALUE": "-X client.id=me",
    "KEY=VALUE": "retention.ms=3600000",
    "OPERATION": "read",
    "--unset KEY": "--unset retention.ms",
    "T": "held",
    "A": "billing",
    "B": "another",
    "-n N": "-n 1",
    "--partitions N": "--partitions 1",
    "--num-records N": "--num-records 1",
    "N": "0",
}
"""What somebody writes for the placeholders and examples, in the world of ``error_world``; the first that fits."""

_PLACEHOLDER = re.compile(rf"(?<![\w.])(?:{'|'.join(map(re.escape, READERS_WORDS))})(?![\w.-])")
_JOBS = {"export", "import", "mirror", "profile", "replay", "verify"}
_ENDS = {"-e", "--exit", "--tail", "--idle-timeout"}


def command_lines(text: str) -> list[str]:
    """Those of a message."""
    return COMMAND.findall(text)


def type_remedy(part: str, said: str, bootstrap: str = "", *, then: str = "", **words: str) -> None:
    """For tests beside the tables: ``part`` of what was said, with all commands in it. ``then`` as in a row.

    ``words``: placeholders, and those of ``READERS_WORDS``; ``state`` is the folder of kcli's state, ``registry`` the
    address of a schema registry.
    """
    assert part in said, said
    registry = {"KCLI_X_SCHEMA_REGISTRY_URL": words.pop("registry")} if "registry" in words else {}
    with TemporaryDirectory() as name:
        state = words.pop("state", name)
        variables = environment(bootstrap, XDG_STATE_HOME=state, XDG_CONFIG_HOME=name, **registry)
        known = {"cluster": bootstrap, "other": bootstrap, "dir": name, **words}
        type_lines(command_lines(part), known, variables, Path(name), then=then)


def type_lines(
    lines: Iterable[str],
    words: Mapping[str, str],
    variables: Mapping[str, str],
    folder: Path,
    *,
    then: str = "",
    mend: bool = False,
) -> None:
    """Types each of them, placeholders filled; a command after a pipe reads what the one before wrote."""
    failing, _, beginning = then.partition(":")[0].partition(" ")
    for line in dict.fromkeys(lines):
        expected = int(failing or 0) if beginning in line else 0
        (folder / "typed-out").write_bytes(b"a\n")
        for given in arguments(line, words, mend=mend):
            if given[1:3] == ["pipeline", "query"]:
                continue  # it was parsed; a start of Spark is too expensive here (tests/pipeline/test_query_command.py)
            (folder / "typed-out").rename(folder / "typed-in")
            code, answer = run_to_end(given, variables, folder)
            assert code == expected, f"{given}: {code} {answer}"
            assert "defect of kcli" not in answer


def arguments(line: str, words: Mapping[str, str], *, mend: bool = False) -> Iterator[list[str]]:
    """What follows each ``kcli`` of the line when it is typed."""
    filled = _PLACEHOLDER.sub(
        lambda found: words.get(found[0], READERS_WORDS[found[0]]).format(**words), line
    )
    for given in invocations(filled):
        yield [*(["--yes"] if mend else ["--dry-run"] if _changes(given) else []), *given, *_end(given)]


def _changes(given: list[str]) -> bool:
    """Also the files of this machine; a job of Spark is only planned."""
    if given[0] == "consume" or {"--help", "--version"} & set(given):
        return "-g" in given
    is_kept = getattr(parsed(given), "changes", False) is False
    return not is_kept or given[0] in ("profile", "sandbox", "pipeline")


def _end(given: list[str]) -> list[str]:
    """What a reader of files adds, or answers at the terminal."""
    if given[0] == "consume" and not _ENDS & set(given):
        return ["-e"]
    if given[0] == "pipeline" and given[1] in _JOBS and "--runner" not in given:
        return ["--runner", "inline"]  # a start of Spark is too expensive here
    if given[:2] == ["users", "set"] and "--password-file" not in given:
        return ["--password-file", "/dev/stdin", "--allow-plaintext-secrets"]
    if given[0] == "tokens":
        return ["--allow-plaintext-secrets"]
    return []


def run_to_end(given: list[str], variables: Mapping[str, str], folder: Path) -> tuple[int, str]:
    """Exit status and stderr; what watches is interrupted once it has shown something, which is its success."""
    if "--watch" not in given:
        stdin = (folder / "typed-in").read_bytes()
        with patch.dict(os.environ, variables, clear=True), chdir(folder):
            done = kcli_as_set_up(*given, stdin=stdin)
        (folder / "typed-out").write_bytes(done.stdout)
        return done.code, done.err
    files = [(folder / name) for name in ("typed-in", "typed-out", "typed-err")]
    with files[0].open("rb") as given_in, files[1].open("wb") as out, files[2].open("wb") as err:
        process = WarmPopen(
            [*KCLI, *given],
            env={**variables, "KCLI_PROGRESS": "json"},
            stdin=given_in,
            stdout=out,
            stderr=err,
            cwd=folder,
        )
        _wait(
            lambda: (
                files[1].stat().st_size
                or b'"Progress"' in files[2].read_bytes()
                or process.poll() is not None
            )
        )
        process.send_signal(signal.SIGINT)
        code = process.wait(60)
    return 0 if code == 128 + signal.SIGINT else code, files[2].read_text()


def _wait(ready: Callable[[], object]) -> None:
    until = time.monotonic() + 120
    while not ready():
        assert time.monotonic() < until, "what watches shows nothing"
        time.sleep(0.02)
