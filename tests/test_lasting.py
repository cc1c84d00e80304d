"""Time for which nobody waits does not count, and all other time does."""

import os
import time
from pathlib import Path

import pytest

from tests.lasting import Moment, lasted


def test_a_wait_counts() -> None:
    began = Moment.now()
    time.sleep(0.3)
    assert lasted(began) <= time.monotonic() - began
    assert lasted(began) > 0.1


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="this kernel has no account of waits")
def test_a_wait_for_a_processor_does_not() -> None:
    """Two threads of two processes want the same processor: each has half of it."""
    all_of_them = os.sched_getaffinity(0)
    end = time.monotonic() + 1.0
    os.sched_setaffinity(0, {min(all_of_them)})
    try:
        child = os.fork()
        if child == 0:
            while time.monotonic() < end:
                pass
            os._exit(0)
        began = Moment.now()
        while time.monotonic() < end:
            pass
        elapsed = time.monotonic() - began
        assert lasted(began) < 0.9 * elapsed
        os.waitpid(child, 0)
    finally:
        os.sched_setaffinity(0, all_of_them)
