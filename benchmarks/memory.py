"""Memory of a long produce and a long consume: 5 GB of 100-byte lines through a throw-away broker.

Prints the largest resident size of each command; the goal is to stay below 200 MB whatever the input.
"""

import os
import shlex
import subprocess
import sys

from benchmarks._measure import create_topic
from kcli.sandbox.sandbox import Sandbox
from kcli.sandbox.settings import Settings

BYTES = int(os.environ.get("KCLI_BENCH_BYTES", "5_000_000_000"))
LIMIT_KB = 200_000
TOPIC = "bench-memory"

# Runs its arguments and tells the largest resident size (kB) and the CPU time (s) of what it ran.
_MEASURE = (
    "import resource,subprocess,sys;code=subprocess.run(sys.argv[1:]).returncode;"
    "use=resource.getrusage(resource.RUSAGE_CHILDREN);"
    "print(use.ru_maxrss,round(use.ru_utime+use.ru_stime,2),file=sys.stderr);sys.exit(code)"
)


def main() -> None:
    """Starts a broker, measures, takes it down."""
    sandbox = Sandbox(f"bench-{os.getpid()}")
    status = sandbox.up(Settings(port=0, ephemeral=True, die_with_parent=True))
    try:
        environment = {**os.environ, "KCLI_BOOTSTRAP_SERVER": status.bootstrap}
        kcli = f"{shlex.quote(sys.executable)} -m kcli"
        measured = f"{shlex.quote(sys.executable)} -c {shlex.quote(_MEASURE)} {kcli}"
        create_topic(status.bootstrap, TOPIC, 3)
        lines = f"yes {'x' * 99} | head -c {BYTES}"
        for name, command in (
            ("produce", f"{lines} | {measured} produce {TOPIC} -q"),
            ("consume", f"{measured} consume {TOPIC} -e -q > /dev/null"),
        ):
            done = subprocess.run(command, shell=True, check=True, env=environment, stderr=subprocess.PIPE)
            resident, seconds = done.stderr.decode().split()[-2:]
            verdict = "flat" if int(resident) < LIMIT_KB else "ABOVE THE LIMIT"
            print(
                f"{name} {BYTES / 1e9:g} GB: {int(resident) / 1000:.0f} MB resident ({verdict}), {seconds} s of CPU"
            )
    finally:
        sandbox.down(delete=True)
