"""What a command costs grows with the cluster, not with its square: calls of functions, and requests, at three sizes.

``python -m benchmarks scale`` measures the same up to 100,000 partitions.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks._large_cluster import LargeCluster, Size
from benchmarks._measure import environment
from benchmarks.scale import COMMANDS, words

SHARES = (0.01, 0.02, 0.04)
MOST = 1.3
"""How much a thing that the last step adds may cost, as a multiple of one that the first adds; 2 is quadratic."""
LONG = ("groups describe --all", "exporter", "mirror")
HELD = ("groups lag", "doctor", *(pytest.param(name, marks=pytest.mark.long) for name in LONG))


def costs(command: str, share: float, folder: Path) -> tuple[int, int]:
    """Calls of functions, and requests."""
    cluster, report = LargeCluster(Size.of(share)), folder / "calls.json"
    try:
        line = words(command, cluster.bootstrap, folder / "page")
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks._counted", str(report), *line],
            capture_output=True,
            env=environment(),
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        threads = json.loads(report.read_text())
        requests = {name: n for name, n in cluster.counts().items() if name not in ("connections", "open")}
        return sum(sum(functions.values()) for functions in threads.values()), sum(requests.values())
    finally:
        cluster.close()


@pytest.mark.parametrize("held", HELD)
def test_the_cost_of_a_command_is_linear(held: str, tmp_path: Path) -> None:
    (command,) = (one for one in COMMANDS if one.startswith(held) and not one.startswith("groups lag group"))
    small, middle, large = (costs(command, share, tmp_path) for share in SHARES)
    for what, at in (("calls", 0), ("requests", 1)):
        first, last = middle[at] - small[at], (large[at] - middle[at]) / 2
        assert last <= MOST * first, f"{what}: {small[at]:,}, {middle[at]:,}, {large[at]:,}"
