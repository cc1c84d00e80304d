"""The page of ``--html``: well-formed XML, complete, without a network, and without what a topic's name could inject."""

from __future__ import annotations

import re
from random import Random
from typing import Any
from xml.etree import ElementTree

import pytest

from kcli.flows.perf.html import perf_page
from kcli.flows.perf.limits import parse_limit
from kcli.flows.perf.measurement import Measurement
from kcli.flows.perf.result import Run, perf_item
from tests.unit.flows.perf.made_up_runs import made_up_item

LIMITS = [parse_limit(text) for text in ("p99>1s", "p50>1us")]


def made_up(**fields: Any) -> dict[str, Any]:
    item = made_up_item(Random(5), intervals=120)
    rows = item["histogram_corrected_us"]
    return {
        **item,
        "histogram_raw_us": [[bucket // 2, count] for bucket, count in rows],
        "latency_mean_us": 1.0,
        "began": 1_700_000_000_000,
        **fields,
    }


def parsed(item: dict[str, Any]) -> ElementTree.Element:
    return ElementTree.fromstring(perf_page(item, LIMITS, "x<y"))


def plots(page: ElementTree.Element) -> list[ElementTree.Element]:
    return page.findall(".//svg")


def all_text(page: ElementTree.Element) -> str:
    return " ".join(page.itertext())


def test_a_page_has_plots_of_rate_latency_and_distribution_with_their_lines() -> None:
    page = parsed(made_up())
    names = [[line.text for line in plot.findall(".//path/title")] for plot in plots(page)]
    assert names == [["records confirmed or read"], ["p50", "p99", "max"], ["corrected", "raw"]]


def test_every_point_is_inside_its_plot() -> None:
    for plot in plots(parsed(made_up())):
        _, _, width, height = map(float, plot.attrib["viewBox"].split())
        for path in plot.findall("path"):
            points = re.findall(r"[ML]([\d.]+) ([\d.]+)", path.attrib["d"])
            assert len(points) > 50
            assert all(0 <= float(x) <= width and 0 <= float(y) <= height for x, y in points)
            assert [float(x) for x, _ in points] == sorted(float(x) for x, _ in points)


def test_a_higher_latency_is_drawn_higher() -> None:
    distribution = plots(parsed(made_up()))[2]
    corrected, raw = (
        [float(y) for y in re.findall(r"[ML][\d.]+ ([\d.]+)", path.attrib["d"])]
        for path in distribution.findall("path")
    )
    assert corrected[-1] < raw[-1]
    assert corrected == sorted(corrected, reverse=True)


def test_a_page_needs_no_network_and_no_script() -> None:
    text = perf_page(made_up(), LIMITS, "c")
    page = ElementTree.fromstring(text)
    assert "http" not in text
    assert not {"script", "link", "img", "iframe"} & {element.tag for element in page.iter()}
    assert not any(
        name.startswith("on") or name in ("src", "href") for one in page.iter() for name in one.attrib
    )


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "a&b\"'", "\x1b[31m\x00\x07", "]]>", "\ud800"])
def test_what_others_have_named_is_text(name: str) -> None:
    item = made_up(
        topic=name, group=name, configuration={name: name}, errors_by_kind={name: 3}, host={"system": name}
    )
    page = ElementTree.fromstring(perf_page(item, LIMITS, name).encode("utf-8", "backslashreplace"))
    assert "script" not in {element.tag for element in page.iter()}
    assert len(plots(page)) == 3


def test_limits_are_shown_with_their_result() -> None:
    page = parsed(made_up())
    cells = [all_text(row) for row in page.findall(".//tr") if row.find("td/code") is not None]
    assert any(cell.startswith("p99>1s passed") for cell in cells)
    assert any(cell.startswith("p50>1us failed: p50>1us: it is 2.0 ms") for cell in cells)


def test_configuration_versions_host_and_failures_are_shown() -> None:
    words = all_text(
        parsed(
            made_up(
                configuration={"acks": "all"},
                versions={"kcli": "9.9"},
                host={"cpus": 64},
                errors=3,
                errors_by_kind={"NOT_ENOUGH_REPLICAS": 3},
                checked=7,
                lost=1,
                duplicated=2,
                reordered=4,
            )
        )
    )
    for expected in ("acks all", "kcli 9.9", "cpus 64", "NOT_ENOUGH_REPLICAS 3", "1, 2, 4"):
        assert expected in words


def test_a_run_without_latencies_has_a_plot_of_its_rate_only() -> None:
    measured = Measurement(began=1.0, ended=2.0, records=2)
    for at in (0.0, 0.9):
        measured.interval_at(at).records += 1
    item = perf_item(Run("consume", "t", "g"), measured) | {"began": 1000}
    assert len(plots(parsed(item))) == 1


def test_a_run_without_any_record_has_a_page() -> None:
    page = parsed(perf_item(Run("produce", "t"), Measurement()))
    assert not plots(page)
    assert "it was not measured" in all_text(page)


@pytest.mark.parametrize("test", ["produce", "consume", "e2e"])
@pytest.mark.parametrize("ended", [1.0, 3.5], ids=["at once", "after a while"])
def test_a_run_in_which_nothing_succeeded_has_a_page_with_a_rate_of_zero(test: str, ended: float) -> None:
    """Every record was refused, or none came for the whole duration: there are intervals, all without records."""
    measured = Measurement(began=1.0, ended=ended)
    for at in (0.0, ended - 1.0):
        measured.interval_at(at).errors += 1
    measured.errors["INVALID_RECORD"] = 2
    page = parsed(perf_item(Run(test, "t"), measured))
    (rate,) = plots(page)
    assert "INVALID_RECORD" in all_text(page)
    assert "nan" not in "".join(path.attrib["d"] for path in rate.findall("path"))


def test_an_interval_without_records_is_a_gap_in_the_latencies() -> None:
    item = made_up()
    for interval in item["intervals"][50:60]:
        interval |= {"records": 0, "latency_p50_us": None, "latency_p99_us": None, "latency_max_us": None}
    for path in plots(parsed(item))[1].findall("path"):
        assert path.attrib["d"].count("M") == 2


def test_a_long_run_is_drawn_with_as_many_points_as_can_be_seen_and_its_peaks() -> None:
    item = made_up()
    long = [dict(interval) for interval in item["intervals"] * 20]
    for number, interval in enumerate(long):
        interval["at_seconds"] = number / 10
    long[777]["latency_max_us"] = 9_000_000
    page = parsed({**item, "intervals": long})
    path = plots(page)[1].findall("path")[2].attrib["d"]
    assert path.count("L") < 900
    ys = [float(y) for y in re.findall(r"[ML][\d.]+ ([\d.]+)", path)]
    assert min(ys) < sorted(ys)[1] - 10
