"""The end of a test: every format of ``-o``, the summary, what is an error, and the exit status."""

from __future__ import annotations

import csv
import errno
import io
import json
from pathlib import Path
from typing import Any

import pytest

from kcli.commands.perf.conclusion import conclude
from kcli.commands.perf.result import OUTPUTS
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.global_values import GlobalValues
from kcli.core.errors import AuthError
from kcli.flows.perf.limits import Limit, parse_limit
from kcli.flows.perf.measurement import Integrity, Measurement
from kcli.flows.perf.result import Run, perf_item
from kcli.flows.stop import Stop
from kcli.output.stdout import Output
from kcli.output.talk import Talk


def measured(**fields: Any) -> Measurement:
    made = Measurement(began=1_700_000_000.0, ended=1_700_000_002.0, records=10, bytes=1_000, **fields)
    for number in range(10):
        made.raw.add(500)
        made.corrected.add(1_000 * (number + 1))
        interval = made.interval_at(number / 5)
        interval.records += 1
        interval.latencies.add(1_000 * (number + 1))
    return made


def ended(
    measurement: Measurement,
    *,
    test: str = "produce",
    form: str | None = None,
    limits: tuple[Limit, ...] = (),
    html: Path | None = None,
    signal: int = 0,
    first: AuthError | None = None,
    terminal: bool = False,
    run: Run | None = None,
    configuration: dict[str, str] | None = None,
) -> tuple[int, str, str]:
    """Exit status, stdout, stderr."""
    values = GlobalValues()
    values.output = form
    inv = Invocation(values)
    out, err = io.BytesIO(), io.StringIO()
    inv.out = Output(io.TextIOWrapper(out), kind=form, isatty=terminal, width=100)
    inv.talk = Talk(err, isatty=terminal)
    stop = Stop()
    stop.signal = signal
    item = perf_item(run or Run(test, "t", configuration=configuration or {}), measurement)
    page = None if html is None else str(html)
    code = conclude(inv, item, fail_if=limits, html=page, cluster="c", stop=stop, first=first)
    return code, out.getvalue().decode(), err.getvalue()


@pytest.mark.parametrize("form", OUTPUTS)
@pytest.mark.parametrize("test", ["produce", "consume", "e2e"])
def test_every_format_prints_every_test(form: str, test: str) -> None:
    code, out, _ = ended(measured(), test=test, form=form)
    assert code == 0
    assert out.endswith("\n")


def test_json_and_its_relatives_have_all_keys_and_times_as_text() -> None:
    document = json.loads(ended(measured(), form="json")[1])
    (item,) = document["items"]
    assert (document["kind"], document["cluster"]) == ("PerfReport", "c")
    assert list(item) == list(perf_item(Run("produce", "t"), measured()))
    assert item["began"] == "2023-11-14T22:13:20.000Z"
    (line,) = ended(measured(), form="ndjson")[1].splitlines()
    assert json.loads(line) == {"kind": "PerfReport", **item}


def test_csv_has_one_line_with_both_latencies_and_nothing_nested() -> None:
    (row,) = csv.DictReader(io.StringIO(ended(measured(), form="csv")[1]))
    assert (row["latency_p50_us"], row["latency_p50_corrected_us"]) == ("500", "5003")
    assert (row["records"], row["lost"], row["errors"]) == ("10", "", "0")
    assert not any("[" in value or "{" in value for value in row.values())


def test_people_get_a_table_of_rates_and_one_of_latencies() -> None:
    rates, latencies = ended(measured(), form="plain")[1].split("\n\n")
    assert rates.split()[:2] == ["TEST", "TOPIC"]
    assert [line.split()[0] for line in latencies.splitlines()] == ["LATENCY", "corrected", "raw"]
    empty = Measurement(began=1.0, ended=2.0, records=1)
    assert "\n\n" not in ended(empty, test="consume", form="plain")[1]


def test_the_summary_has_both_latencies_what_was_checked_and_what_it_cost() -> None:
    _, _, err = ended(measured(integrity=Integrity(10), cpu_seconds=1.0))
    assert "10 records confirmed (1.0 kB) in 2.0 s: 5 records/s" in err
    assert "latency from the intended time: p50 5.0 ms" in err
    assert "latency of requests: p50 500 µs" in err
    assert "10 records checked: 0 lost, 0 duplicated, 0 reordered" in err
    assert "kcli used 1.00 s of CPU (50% of one)" in err


@pytest.mark.parametrize(
    ("test", "acks", "what"),
    [
        ("produce", "0", "sent, not confirmed (acks=0)"),
        ("produce", "1", "confirmed"),
        ("e2e", "0", "received"),
        ("consume", "0", "read"),
    ],
)
def test_the_summary_calls_nothing_confirmed_that_was_not(test: str, acks: str, what: str) -> None:
    _, _, err = ended(measured(), test=test, configuration={"acks": acks})
    assert f"10 records {what} (1.0 kB)" in err


def test_the_summary_counts_the_warm_up_also_where_nothing_else_was_measured() -> None:
    assert "not in these figures: 70 records of the warm-up" in ended(Measurement(warmup_records=70))[2]
    assert "warm-up" not in ended(measured())[2]


def test_the_page_is_there_although_stdout_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_arguments: object) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr("kcli.commands.perf.conclusion.print_result", full)
    with pytest.raises(OSError, match="no space"):
        ended(measured(), html=tmp_path / "page.html")
    assert "</html>" in (tmp_path / "page.html").read_text()


def test_the_page_has_the_mode_of_a_new_file(tmp_path: Path) -> None:
    """It is written to be shown to others; only the umask takes that away."""
    (tmp_path / "other").touch()
    ended(measured(), html=tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_result_without_records_is_one() -> None:
    assert ended(Measurement())[0] == 0


def broken(**counts: int) -> Measurement:
    """Of ten records."""
    checked = 10 - counts.get("lost", 0) + counts.get("duplicated", 0)
    return measured(integrity=Integrity(checked, **counts))


@pytest.mark.parametrize("counts", [{"lost": 1}, {"duplicated": 2}, {"reordered": 3}])
def test_a_record_that_differs_is_exit_5_whatever_else_is_true(
    counts: dict[str, int], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = ended(broken(**counts), form="tsv", limits=(parse_limit("p50>1us"),))
    ((name, count),) = counts.items()
    assert (code, bool(out)) == (5, True)
    assert f"kcli: {count} {name} of 10 records of t" in capsys.readouterr().err


@pytest.mark.parametrize(("test", "hinted"), [("consume", True), ("produce", False), ("e2e", False)])
def test_records_that_were_never_stored_are_a_cause_only_where_the_sender_is_unknown(
    test: str, hinted: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """perf consume knows the topic alone: a record that was refused has left a gap in the numbers."""
    ended(broken(lost=1), test=test)
    assert ("records that failed in the test which sent them" in capsys.readouterr().err) is hinted


@pytest.mark.parametrize(
    ("limit", "code"), [("p50>1ms", 8), ("p50>1s", 0), ("rate<5.1", 8), ("rate<5", 0), ("errors>0", 0)]
)
def test_a_limit_that_is_exceeded_is_exit_8(
    limit: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(measured(), limits=(parse_limit(limit),))[0] == code
    assert (f"--fail-if {limit}: it is" in capsys.readouterr().err) is bool(code)


def test_some_failed_records_are_exit_6_and_all_of_them_1(capsys: pytest.CaptureFixture[str]) -> None:
    some = measured()
    some.errors.update({"NOT_ENOUGH_REPLICAS": 2, "MESSAGE_TOO_LARGE": 1})
    assert ended(some)[0] == 6
    assert (
        "3 of 13 records of t failed: 2 NOT_ENOUGH_REPLICAS, 1 MESSAGE_TOO_LARGE" in capsys.readouterr().err
    )
    every = Measurement()
    every.errors["NOT_ENOUGH_REPLICAS"] = 2
    assert ended(every)[0] == 1


def test_the_first_error_decides_if_nothing_was_done() -> None:
    every = Measurement()
    every.errors["TOPIC_AUTHORIZATION_FAILED"] = 2
    assert ended(every, first=AuthError("no"))[0] == 4


def test_unconfirmed_records_are_no_success(capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(measured(unconfirmed=7))[0] == 6
    assert "7 records of t may or may not be stored" in capsys.readouterr().err
    ended(measured(unconfirmed=1))
    assert "kcli: 1 record of t may or may not be stored" in capsys.readouterr().err


def test_a_stop_prints_the_result_so_far_and_is_the_signal() -> None:
    code, out, err = ended(measured(), form="json", signal=2)
    assert code == 130
    assert json.loads(out)["items"][0]["records"] == 10
    assert "stopped before its end" in err


def test_the_page_is_written_and_a_failure_to_write_it_keeps_the_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    code, _, err = ended(measured(), html=page)
    assert (code, f"wrote {page}" in err) == (0, True)
    assert "<svg" in page.read_text()
    code, out, _ = ended(measured(), form="json", html=tmp_path / "gone" / "page.html")
    assert (code, json.loads(out)["items"][0]["records"]) == (6, 10)
    assert "cannot write" in capsys.readouterr().err


def test_a_terminal_shows_the_figures_once() -> None:
    """The table on stdout has them; beside it stderr has what the table lacks. A file gets the table, stderr all."""
    _, table, said = ended(measured(), terminal=True)
    assert "RECORDS" in table
    assert "P99-US" in table
    assert said.startswith("kcli used ")
    assert said.count("\n") == 1
    _, _, said = ended(measured())
    assert "10 records confirmed" in said
    assert "latency of requests" in said


@pytest.mark.parametrize(
    ("makes", "processes", "verdict"),
    [
        (
            1_000_000,
            1,
            "20 records for each second of CPU; kcli does not limit the rate",
        ),
        (8, 1, "; kcli may limit the rate: see --processes"),
        (None, 1, None),
    ],
)
def test_whether_kcli_itself_limits_the_rate(makes: int | None, processes: int, verdict: str | None) -> None:
    """10 records in 2 s were measured: what kcli makes alone should be twice that at least."""
    run = Run("produce", "t", processes=processes, generator_records_per_second=makes)
    _, _, said = ended(measured(cpu_seconds=0.5), run=run)
    assert said.rstrip().endswith(verdict) if verdict else "limit the rate" not in said
