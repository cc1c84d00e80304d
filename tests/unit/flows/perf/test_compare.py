"""Two runs are compared: the same thing is the same in 19 of 20 tries, and a tenth slower is found."""

from __future__ import annotations

from math import isclose
from random import Random

import pytest

from kcli.flows.perf.compare import (
    FEWEST_INTERVALS,
    METRICS,
    NO_DIFFERENCE,
    NOT_MEASURED,
    Difference,
    _student,
    differences,
    intervals_missing,
)
from kcli.flows.perf.series import Series, by_records, by_time, latencies_of, series_of
from tests.unit.flows.perf.made_up_runs import made_up_item, made_up_run


def differing(found: list[Difference]) -> set[str]:
    return {one.metric for one in found if one.verdict != NO_DIFFERENCE}


@pytest.mark.parametrize(
    "how",
    [
        {"resemblance": 0.0, "noise": 0.1},
        {"resemblance": 0.8, "noise": 0.03},
        {"resemblance": 0.9, "noise": 0.02},
        {"drift": 0.06},
    ],
)
def test_two_runs_of_the_same_thing_do_not_differ_in_19_of_20_tries(how: dict[str, float]) -> None:
    random = Random(21)
    tries = 20
    wrong = sum(
        bool(differing(differences([made_up_run(random, **how)], [made_up_run(random, **how)])))
        for _ in range(tries)
    )
    assert wrong <= tries / 20


@pytest.mark.parametrize(("level", "verdicts"), [(1.1, "slower"), (1 / 1.1, "faster")])
def test_a_tenth_is_found(level: float, verdicts: str) -> None:
    random = Random(22)
    found = [differences([made_up_run(random)], [made_up_run(random, level=level)]) for _ in range(10)]
    assert sum(one[0].verdict == verdicts for one in found) >= 9
    for rate, p50, _, cpu in found:
        assert rate.low is not None
        assert rate.high is not None
        assert rate.low <= (rate.change or 0) <= rate.high
        assert p50.verdict in (verdicts, NO_DIFFERENCE)
        assert cpu.verdict in ("more CPU" if level > 1 else "less CPU", NO_DIFFERENCE)


def test_the_interval_holds_the_true_change_in_19_of_20_tries() -> None:
    random, held, tries = Random(23), 0, 20
    for _ in range(tries):
        rate = differences([made_up_run(random)], [made_up_run(random, level=1.1)])[0]
        assert rate.low is not None
        assert rate.high is not None
        held += rate.low <= 1 / 1.1 - 1 <= rate.high
    assert held >= tries * 19 / 20


def test_a_change_below_the_threshold_is_none_however_certain() -> None:
    random = Random(24)
    runs = [made_up_run(random, noise=0.001, drift=0.0, level=level) for level in (1.0, 1.03)]
    rate = differences(runs[:1], runs[1:])[0]
    assert rate.verdict == NO_DIFFERENCE
    assert rate.certain == rate.change != 0.0
    assert differences(runs[:1], runs[1:], threshold=0.02)[0].verdict == "slower"


def test_a_run_equals_itself() -> None:
    run = made_up_run(Random(25))
    for one in differences([run], [run]):
        assert (one.verdict, one.change, one.certain, one.before) == (NO_DIFFERENCE, 0.0, 0.0, one.after)


def test_with_several_runs_the_difference_between_them_counts() -> None:
    """Each run is very steady, and each has another level: one pair looks certain, several show that it is not."""
    random = Random(26)

    def runs(levels: tuple[float, ...]) -> list[Series]:
        return [made_up_run(random, noise=0.001, drift=0.0, level=level) for level in levels]

    before, after = runs((0.9, 1.0, 1.1)), runs((0.98, 1.08, 1.18))
    assert differences(before[:1], after[:1])[0].verdict == "slower"
    assert differences(before, after)[0].verdict == NO_DIFFERENCE
    assert differences(runs((1.0, 1.01, 0.99)), runs((1.3, 1.31, 1.29)))[0].verdict == "slower"


def test_a_stall_widens_the_interval_and_is_no_error() -> None:
    random = Random(27)
    item = made_up_item(random)
    for interval in item["intervals"][100:130]:
        interval |= {"records": 0, "cpu_seconds": 0.0, "histogram_us": []}
    calm, stalled = made_up_run(random), series_of(item)
    wide, narrow = differences([calm], [stalled])[0], differences([calm], [made_up_run(random)])[0]
    assert None not in (wide.low, wide.high, narrow.low, narrow.high)
    assert wide.high - wide.low > narrow.high - narrow.low  # type: ignore[operator]


def test_what_is_not_measured_is_said() -> None:
    random = Random(28)
    item = made_up_item(random)
    for interval in item["intervals"]:
        interval |= {"cpu_seconds": 0.0, "histogram_us": []}
    run = series_of(item)
    found = {one.metric: one.verdict for one in differences([run], [run])}
    assert found == {"rate": NO_DIFFERENCE, "p50": NOT_MEASURED, "p99": NOT_MEASURED, "cpu": NOT_MEASURED}


def test_a_percentile_of_too_few_records_is_not_measured() -> None:
    run = made_up_run(Random(29), records=40, intervals=50)
    found = {one.metric: one.verdict for one in differences([run], [run])}
    assert (found["p50"], found["p99"]) == (NO_DIFFERENCE, NO_DIFFERENCE)
    few = made_up_item(Random(29), records=40, intervals=50)
    for interval in few["intervals"][20:]:
        interval["histogram_us"] = []
    assert {one.metric: one.verdict for one in differences([series_of(few)], [run])}["p99"] == NOT_MEASURED


def test_a_short_run_lacks_intervals() -> None:
    assert intervals_missing(made_up_run(Random(1), intervals=FEWEST_INTERVALS)) == 0
    assert intervals_missing(made_up_run(Random(1), intervals=FEWEST_INTERVALS - 7)) == 7


@pytest.mark.parametrize(
    "item", [{}, {"intervals": 1}, {"intervals": [{}], "test": "e2e"}, {"intervals": []}]
)
def test_what_is_no_run_is_refused(item: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="no intervals as kcli perf writes them"):
        series_of(item)


@pytest.mark.parametrize("batches", [2, 7, 10, 30])
def test_batches_are_all_steps_in_order(batches: int) -> None:
    run = made_up_run(Random(2), intervals=111)
    for cut in (by_time, by_records):
        parts = list(cut(run, batches))
        assert len(parts) == batches
        assert [step for part in parts for step in part] == list(run.steps)
        assert max(map(len, parts)) <= 2 * min(map(len, parts)) + 1
    assert latencies_of(run.steps).total == sum(latencies_of(part).total for part in by_records(run, batches))


@pytest.mark.parametrize(
    ("freedom", "figures", "quantile"),
    [
        (1, 1, 12.706), (2, 1, 4.303), (3, 1, 3.182), (9, 1, 2.262), (30, 1, 2.042),
        (1, 4, 50.92), (2, 4, 8.860), (9, 4, 3.111), (30, 4, 2.657), (1e6, 4, 2.498),
    ],
)  # fmt: skip
def test_quantiles_are_those_of_tables(freedom: float, figures: int, quantile: float) -> None:
    assert isclose(_student(freedom, figures), quantile, rel_tol=0.006)


def test_every_metric_has_words_for_both_directions() -> None:
    assert all(metric.more_is != metric.less_is for metric in METRICS.values())
