"""The runs of a file: documents and lines, and what is none of both."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kcli.core.errors import ConfigError
from kcli.flows.perf.circumstances import Unlike, unlike
from kcli.flows.perf.compare import differences, intervals_missing
from kcli.flows.perf.reports import read_runs
from kcli.flows.perf.series import series_of
from tests.unit.flows.perf.made_up_runs import made_up_item

ITEM = made_up_item(Random(1), intervals=50, records=100)
DOCUMENT = json.dumps({"kind": "PerfReport", "api": "kcli/v1", "items": [ITEM], "warnings": []}, indent=1)
LINE = json.dumps({"kind": "PerfReport", **ITEM})


@pytest.mark.parametrize(
    ("text", "runs"), [(DOCUMENT, 1), (LINE, 1), (f"{LINE}\n{LINE}\n", 2), (f"{DOCUMENT}\n{LINE}", 2)]
)
def test_documents_and_lines_are_read_however_many(tmp_path: Path, text: str, runs: int) -> None:
    path = tmp_path / "run"
    path.write_text(text)
    found = read_runs(str(path))
    assert [run.test for run in found] == ["produce"] * runs
    assert all(len(run.steps) == 50 for run in found)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "there is no run in it"),
        ("1,000 records sent", "it has no kind"),
        ("records", "it is not JSON"),
        ("[" * 100_000, "it is not JSON"),
        (DOCUMENT[:-3], "it is not JSON"),
        ('{"kind":"GroupList","items":[]}', "its kind is GroupList"),
        ('{"kind":"PerfReport","items":[]}', "there is no run in it"),
        ('{"kind":"PerfReport","items":5}', "its items are no list"),
        ('{"kind":"PerfReport","items":[5]}', "no intervals as kcli perf writes them"),
        ('{"kind":"PerfReport"}', "no intervals as kcli perf writes them"),
        ('{"kind":"PerfReport","test":"produce"}', "intervals is null"),
        ('{"kind":"PerfReport","api":"kcli/v2","items":[]}', "it is of kcli/v2, and this kcli reads kcli/v1"),
        (LINE.replace('"records": 100', '"records": -1', 1), "records is -1"),
        (LINE.replace('"host": {}', '"host": {"cpus": "many"}', 1), 'host.cpus is "many"'),
        (LINE.replace('"intervals": [{', '"intervals": [7, {', 1), "intervals[0] is no object"),
        (LINE.replace('"seconds": 0.1,', '"seconds": NaN,', 1), "intervals[0].seconds is NaN"),
        (LINE.replace('"histogram_us": [[', '"histogram_us": [[-3, 1], [', 1), "histogram_us is -3"),
    ],
)
def test_what_is_no_report_is_refused_with_its_reason(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "run"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_runs(str(path))
    assert why in caught.value.why
    assert str(path) in str(caught.value)
    assert caught.value.exit_code == 2


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read .*nowhere"):
        read_runs(str(tmp_path / "nowhere"))


def test_what_differs_besides_the_figures_is_found_in_all_parts_of_a_report() -> None:
    one = {
        **ITEM,
        "configuration": {"acks": "all", "linger.ms": 5},
        "versions": {"kcli": "1"},
        "host": {"cpus": 4, "load_1m": 1.0},
    }
    other = {
        **one,
        "topic": "u",
        "bytes": one["bytes"] * 2,
        "configuration": {"acks": "1", "linger.ms": 5, "batch.size": 9},
        "versions": {"kcli": "2"},
        "host": {"cpus": 2, "load_1m": 1.9},
    }
    assert unlike(one, one) == []
    assert set(unlike(one, other)) == {
        Unlike("topic", "t", "u"),
        Unlike("bytes of a record", 100, 200),
        Unlike("configuration.acks", "all", "1"),
        Unlike("configuration.batch.size", None, 9),
        Unlike("versions.kcli", "1", "2"),
        Unlike("host.cpus", 4, 2),
    }


def test_records_that_failed_or_differ_are_no_part_of_any_figure_and_are_listed() -> None:
    """A run that lost half of its records may well be the faster one. What was not checked is not called different."""
    sound = {**ITEM, "errors": 0, "unconfirmed": 0, "lost": None, "duplicated": None, "reordered": None}
    checked = {**sound, "lost": 0, "duplicated": 0, "reordered": 0}
    assert unlike(sound, checked) == []
    broken = {**checked, "errors": 7, "unconfirmed": 1, "lost": 2, "duplicated": 3, "reordered": 4}
    assert {(row.what, row.before, row.after) for row in unlike(sound, broken)} == {
        ("errors", 0, 7),
        ("unconfirmed", 0, 1),
        ("lost", 0, 2),
        ("duplicated", 0, 3),
        ("reordered", 0, 4),
    }


def test_the_load_of_the_host_counts_where_it_is_much_more() -> None:
    calm = {**ITEM, "host": {"cpus": 2, "load_1m": 0.5}}
    assert unlike(calm, {**ITEM, "host": {"cpus": 2, "load_1m": 1.4}}) == []
    (row,) = unlike(calm, {**ITEM, "host": {"cpus": 2, "load_1m": 1.6}})
    assert row.what == "host.load_1m"


LEAVES = st.sampled_from(
    [
        None,
        -1,
        0,
        1.5,
        1e300,
        10**400,
        float("inf"),
        float("nan"),
        True,
        "",
        "x\x1b[31m",
        [],
        [[]],
        {},
        {"a": {}},
    ]
)


@given(data=st.data(), leaf=LEAVES)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_value_that_was_damaged_is_refused_or_harmless(
    tmp_path: Path, data: st.DataObject, leaf: Any
) -> None:
    """Whatever stands in the place of whichever value: the file is compared, or ConfigError says what is wrong."""
    item = json.loads(LINE)
    for number in range(49, 51):  # some intervals, so that the places of a run are as likely as theirs
        item["intervals"].insert(number, dict(item["intervals"][0]))
    within: Any = item
    while True:
        keys = list(within) if isinstance(within, dict) else range(len(within))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(within[key], dict | list) or not within[key] or data.draw(st.integers(0, 3)) == 0:
            within[key] = leaf
            break
        within = within[key]
    path = tmp_path / "damaged"
    path.write_text(json.dumps(item))
    sound = series_of(json.loads(LINE))
    try:
        (found,) = read_runs(str(path))
    except ConfigError:
        return
    unlike(sound.item, found.item)
    if not intervals_missing(found):
        differences([sound], [found])
