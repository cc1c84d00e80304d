"""``python -m tests.hostile.guided``: inputs that follow the coverage of the parsers; ``make fuzz-guided``. Not a test.

By atheris, with a process for each family of targets; the first two bytes of an input choose the target. It begins with
samples of the targets and the corpus, keeps what reaches new code below ``.cache/fuzz/guided``, and continues there the
next time. Only Python code is measured, so it runs the Python kernels. Findings are kept as by ``make fuzz``.
"""

import argparse
import hashlib
import itertools
import os
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

KEPT = Path(".cache/fuzz/guided")
CORPUS = Path(__file__).parent / "corpus"
_LONGEST = 4096
_SAMPLES = 4
_RESETS = 200  # inputs
_RARE = 20  # findings of one process, then it ends


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile.guided")
    parser.add_argument("--seconds", type=int, default=60, help="for each family")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", help="families, with commas")
    parser.add_argument("--family", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.family:
        return _fuzz(given.family, given.seconds)
    from tests.hostile.families import NAMES  # not before: it imports what is to be measured

    waiting = given.only.split(",") if given.only else list(NAMES)
    busy, failed = dict[str, "subprocess.Popen[str]"](), 0
    while waiting or busy:
        while waiting and len(busy) < given.jobs:
            name = waiting.pop(0)
            busy[name] = _start(name, given.seconds)
        time.sleep(0.2)
        for name, process in list(busy.items()):
            if process.poll() is not None:
                failed += _end(name, busy.pop(name))
    return 1 if failed else 0


def _start(name: str, seconds: int) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "tests.hostile.guided", "--family", name, "--seconds", str(seconds)]
    KEPT.mkdir(parents=True, exist_ok=True)
    with (KEPT / f"{name}.log").open("w") as log:
        return subprocess.Popen(
            command, env=os.environ | {"KCLI_IMPL": "pure"}, stdout=log, stderr=subprocess.STDOUT, text=True
        )


def _end(name: str, process: "subprocess.Popen[str]") -> int:
    """Prints what a process found and how far it came; 1 if it found something or did not end as it should."""
    lines = (KEPT / f"{name}.log").read_text(errors="replace").splitlines()
    found = [line for line in lines if line.startswith("FOUND ")]
    far = [line for line in lines if line[:1] == "#" and line[1:2].isdigit()]
    done = next(
        (line for line in reversed(lines) if line.startswith("Done ")), f"ended with {process.returncode}"
    )
    print(f"{name}: {done}, {len(found)} findings, {far[-1] if far else ''}", *found, sep="\n  ", flush=True)
    if process.returncode and not found:
        print(*lines[-20:], sep="\n")
    return 1 if found or process.returncode else 0


def _fuzz(name: str, seconds: int) -> int:
    """Runs in a process of its own: libFuzzer ends it."""
    import atheris

    with atheris.instrument_imports(include=["kcli"]):
        from kcli.core.protocol import compiler
        from tests.hostile.families import families
    _instrument_made_code(atheris, compiler)

    from tests.hostile.__main__ import keep
    from tests.hostile.harness import Memory, Plan, Watch, alarm

    (family,) = families((name,))
    Plan([family]).warm()
    targets = family.targets
    seeds, kept = KEPT / f"{name}.seeds", KEPT / name
    for folder in (seeds, kept):
        folder.mkdir(parents=True, exist_ok=True)
    for at, target in enumerate(targets):
        known = [path.read_bytes() for path in CORPUS.iterdir() if path.name.partition(".")[0] == target.name]
        for data in (*known, *(target.make(Random(number)) for number in range(_SAMPLES))):
            whole = at.to_bytes(2, "big") + data
            (seeds / hashlib.sha256(whole).hexdigest()[:16]).write_bytes(whole)
    findings = []
    memory, numbers = Memory(), itertools.count(1)
    with alarm() as arm:
        watch = Watch(arm, memory)

        def one(data: bytes) -> None:
            if not next(numbers) % _RESETS:
                memory.reset()  # what libFuzzer keeps grows slowly
            target = targets[int.from_bytes(data[:2], "big") % len(targets)]
            found = watch.judge(target, data[2:], family.spare)
            if found is None:
                return
            findings.append(found)
            keep([found])
            print(f"FOUND {found}", flush=True)
            if len(findings) >= _RARE:
                os._exit(1)

        atheris.Setup(
            [
                sys.argv[0], f"-max_total_time={seconds}", f"-max_len={_LONGEST}", "-timeout=60", "-rss_limit_mb=4096",
                f"-artifact_prefix={KEPT}/{name}-", "-print_final_stats=1", str(kept), str(seeds),
            ],
            one,
        )  # fmt: skip
        atheris.Fuzz()
    return 0


def _instrument_made_code(atheris: Any, compiler: Any) -> None:
    """The decoders of responses are made from field tables: no import brings them."""
    plain = compiler._Source.compile
    compiler._Source.compile = lambda source, function: atheris.instrument_func(plain(source, function))


if __name__ == "__main__":
    sys.exit(main())
