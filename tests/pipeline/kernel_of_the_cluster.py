"""A kernel for tests on a cluster: slow sums, and where it runs."""

import os
import socket
import time
from typing import Any

import kcli
from kcli.core.kernels.active import IMPLEMENTATION
from kcli.pipeline.job import TaskContext

NAME = "tests.pipeline.kernel_of_the_cluster"


def run(seconds: float, number: int, context: TaskContext) -> dict[str, Any]:
    """The sum of the numbers below ``number``, after ``seconds``."""
    steps = 20
    for step in range(steps):
        time.sleep(seconds / steps)
        context.progress(1 if step < number else 0, 0)
    return {
        "topic": "t",
        "partition": number,
        "records": sum(range(number)),
        "bytes": 0,
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "kcli": kcli.__file__,
        "kernels": IMPLEMENTATION,
    }
