"""What is shown while a test runs: a line for each reporting interval, on stdout in the form of Kafka's tool."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from kcli.commands.perf.live_figures import Reporting, window_line
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.global_values import GlobalValues
from kcli.flows.perf.measurement import Interval
from kcli.output.stdout import Output
from kcli.output.talk import Talk


def interval(records: int, micros: int | None = 1_500, errors: int = 0) -> Interval:
    made = Interval(0, records=records, bytes=records * 100, errors=errors)
    if micros is not None:
        made.latencies.add(micros, records)
    return made


def shown(test: str, *, form: str | None = None, **values: Any) -> tuple[str, str]:
    """Stdout and stderr of ten intervals of a second, with lines every 5 s."""
    given = GlobalValues()
    for name, value in {"output": form, **values}.items():
        setattr(given, name, value)
    inv = Invocation(given)
    out, err = io.BytesIO(), io.StringIO()
    inv.out = Output(io.TextIOWrapper(out), kind=form, isatty=False)
    inv.talk = Talk(err, isatty=False, quiet=given.quiet)
    with Reporting(inv, test, total=1_000, duration=None, every=5.0) as reporting:
        for second in range(1, 11):
            reporting.add(interval(100), float(second))
    return out.getvalue().decode(), err.getvalue()


def test_each_reporting_interval_has_a_line_of_its_own_figures() -> None:
    out, err = shown("produce")
    assert out == ""
    assert err.splitlines() == [
        "at 5 s: 100 records/s, 0.01 MB/s, p50 1.5 ms, p99 1.5 ms, max 1.5 ms",
        "at 10 s: 100 records/s, 0.01 MB/s, p50 1.5 ms, p99 1.5 ms, max 1.5 ms",
    ]


@pytest.mark.parametrize(
    ("values", "lines"), [({}, 2), ({"quiet": True}, 0), ({"progress": "none"}, 0), ({"progress": "json"}, 0)]
)
def test_a_long_warm_up_shows_that_it_lasts(values: dict[str, Any], lines: int) -> None:
    given = GlobalValues()
    for name, value in values.items():
        setattr(given, name, value)
    inv = Invocation(given)
    err = io.StringIO()
    inv.talk = Talk(err, isatty=False, quiet=given.quiet)
    with Reporting(inv, "produce", total=1_000, duration=None, every=5.0) as reporting:
        for tenth in range(120):
            reporting.warming_up(tenth / 10)
    found = [line for line in err.getvalue().splitlines() if "warm-up" in line]
    assert found == [f"warm-up: {5 * n} s, not measured" for n in range(1, lines + 1)]


def test_windows_of_the_producers_tool_are_on_stdout() -> None:
    out, err = shown("produce", form="kafka")
    assert err == ""
    assert (
        out.splitlines()
        == ["500 records sent, 100.0 records/sec (0.01 MB/sec), 1.5 ms avg latency, 1.0 ms max latency."] * 2
    )


@pytest.mark.parametrize(("form", "lines"), [("kafka", ["0\t2.125", "1000\t0.9"]), (None, [])])
def test_samples_of_the_end_to_end_tool_are_on_stdout(form: str | None, lines: list[str]) -> None:
    given = GlobalValues()
    given.output = form
    inv = Invocation(given)
    out = io.BytesIO()
    inv.out = Output(io.TextIOWrapper(out), kind=form, isatty=False)
    inv.talk = Talk(io.StringIO(), isatty=False)
    with Reporting(inv, "e2e", total=2_000, duration=None, every=5.0) as reporting:
        for sample in ((0, 2_125), (1_000, 900)):
            made = interval(1_000)
            made.samples.append(sample)
            reporting.add(made, 1.0)
    assert out.getvalue().decode().splitlines() == lines


@pytest.mark.parametrize("test", ["consume", "e2e"])
def test_the_other_tools_have_no_windows_on_stdout(test: str) -> None:
    out, err = shown(test, form="kafka")
    assert (out, len(err.splitlines())) == ("", 2)


def test_quiet_and_none_show_nothing() -> None:
    assert shown("produce", quiet=True) == ("", "")
    assert shown("produce", progress="none") == ("", "")


def test_json_has_objects_with_the_total_so_far() -> None:
    _, err = shown("produce", progress="json")
    last = json.loads(err.splitlines()[-1])
    assert (last["kind"], last["done"], last["total"], last["share"]) == ("Progress", 1_000, 1_000, 1.0)


def test_a_line_has_no_latencies_where_none_are_measured_and_names_failures() -> None:
    assert window_line(interval(10, None, errors=3), 20.0, 5.0) == (
        "at 20 s: 2 records/s, 0.00 MB/s, 3 failed"
    )
