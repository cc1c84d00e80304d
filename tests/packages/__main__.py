"""``python -m tests.packages [CHECK…]``: installs what ``make dist`` has built, runs it, prints what is wrong.

Exit status 1 if a check found a fault, or could not be made. Without names all are made; they share one broker.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.kafka import sandboxed
from tests.packages import every_command
from tests.packages.every_command import Done
from tests.packages.installations import CHECKS


def main(names: Sequence[str]) -> int:
    unknown = sorted(set(names) - CHECKS.keys())
    if unknown:
        print(f"no such check: {', '.join(unknown)}; there are {', '.join(CHECKS)}", file=sys.stderr)
        return 2
    wrong = 0
    with sandboxed() as kafka, tempfile.TemporaryDirectory() as folder:
        every_command.prepare(_of_the_checkout, broker=kafka.bootstrap, folder=Path(folder))
        for name in names or CHECKS:
            began = time.monotonic()
            try:
                found = list(CHECKS[name](kafka.bootstrap))
            except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
                found = [f"could not be made: {error}"]
            wrong += bool(found)
            judged = f"{len(found)} faults" if found else "ok"
            print(f"{name:20} {judged:9} {time.monotonic() - began:6.1f} s", flush=True)
            for fault in found:
                print(f"  {fault}", flush=True)
    return 1 if wrong else 0


def _of_the_checkout(words: Sequence[str]) -> Done:
    done = subprocess.run([sys.executable, "-m", "kcli", *words], capture_output=True, text=True)
    return Done(done.returncode, done.stdout, done.stderr)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
