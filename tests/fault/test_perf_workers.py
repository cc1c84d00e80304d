"""Tests in several processes: they begin together, their measurements are one, and one that dies ends the test."""

from __future__ import annotations

import pickle
import random
import signal
import sys
from threading import Timer

import pytest

from kcli.core.errors import KcliError
from kcli.core.options import ProducerOptions
from kcli.core.secret import Secret
from kcli.flows.perf.histogram import Histogram
from kcli.flows.perf.measurement import Interval, Measurement
from kcli.flows.perf.run_context import RunContext
from kcli.flows.perf.workers import run_test
from kcli.flows.stop import Stop
from tests.fault.perf_parts import Samples, measure_samples, open_processes


def measure(*parts: Samples, stop: Stop | None = None) -> tuple[Measurement, list[Interval]]:
    seen: list[Interval] = []
    found = run_test(measure_samples, parts, stop=Stop() if stop is None else stop, on_progress=seen.append)
    return found, seen


def test_merged_measurements_are_those_of_all_samples() -> None:
    chance = random.Random(5)
    samples = [round(chance.lognormvariate(9, 2)) for _ in range(3_000)]
    found, seen = measure(*(Samples(tuple(samples[number::3])) for number in range(3)))
    whole = Histogram()
    for one in samples:
        whole.add(one)
    for histogram in (found.raw, found.corrected):
        assert histogram.rows() == whole.rows()
        assert (histogram.total_us, histogram.largest) == (whole.total_us, whole.largest)
    assert found.records == sum(one.records for one in seen) == 3_000
    assert sum(one.latencies.total for one in found.intervals.values()) == 3_000


def test_processes_begin_at_the_same_time() -> None:
    found, _ = measure(Samples((1,)), Samples((1,)))
    assert found.began > 0
    assert found.began == found.ended  # the earliest and the latest of them


@pytest.mark.parametrize(
    ("fault", "why"), [("killed", "it was ended by SIGKILL"), ("gone", "it ended with exit status 7")]
)
def test_a_process_that_dies_ends_the_test_with_its_cause(fault: str, why: str) -> None:
    with pytest.raises(KcliError) as caught:
        measure(Samples((1,), "endless"), Samples((1,), fault))
    assert caught.value.what == "process 2 of 2 of the test died"
    assert why in caught.value.why


def test_an_error_of_a_process_is_that_of_the_test() -> None:
    with pytest.raises(KcliError) as caught:
        measure(Samples((1,)), Samples((1,), "refused"))
    error = caught.value
    assert (error.what, error.why, error.do, error.exit_code) == ("no broker", "it is a test", "nothing", 3)


def test_an_error_after_the_begin_leaves_what_the_others_have_measured() -> None:
    found, _ = measure(Samples((1, 2)), Samples((1,), "failing"))
    assert found.records == 2
    assert found.failure is not None
    assert (found.failure.what, found.failure.exit_code) == ("no response", 3)


def test_an_error_of_all_processes_is_raised() -> None:
    with pytest.raises(KcliError) as caught:
        measure(Samples((1,), "failing"), Samples((1,), "failing"))
    assert caught.value.what == "no response"


def test_a_signal_ends_the_process_until_the_test_begins() -> None:
    """What it connects to may not respond for long, and nothing was measured."""
    before = signal.getsignal(signal.SIGINT)
    found: list[object] = []

    def test(_part: None, context: RunContext) -> Measurement:
        found.append(signal.getsignal(signal.SIGINT))
        context.begin()
        found.append(signal.getsignal(signal.SIGINT))
        return Measurement()

    with Stop(late=True) as stop:
        run_test(test, [None], stop=stop, on_progress=lambda _: None)
    assert found[0] is before
    assert found[1] is not before
    assert signal.getsignal(signal.SIGINT) is before


def test_a_request_to_stop_reaches_all_of_them() -> None:
    stop = Stop()
    timer = Timer(1.0, stop.request)
    timer.start()
    found, _ = measure(Samples((1, 2), "endless"), Samples((3,), "endless"), stop=stop)
    timer.join()
    assert found.records in (0, 3)  # none where it came before the start


@pytest.mark.skipif(sys.platform != "linux", reason="arguments of processes are read from /proc")
def test_secrets_reach_processes_through_their_pipe_only() -> None:
    options = ProducerOptions(bootstrap_servers="b:1", sasl_password=Secret("tell-no-one"))
    with pytest.raises(TypeError):
        pickle.dumps(options)
    found = run_test(open_processes, [options, options], stop=Stop(), on_progress=lambda _: None)
    assert (found.records, found.bytes) == (0, 2 * len("tell-no-one"))
