"""docs/exporter.md has the table of metrics that ``metrics.py`` has, and this is what pages have (``test_page.py``)."""

import re
from pathlib import Path

from kcli.exporter.metric import COUNTER, INFO
from kcli.exporter.metrics import METRICS

DOCS = Path(__file__).parents[3] / "docs"
DOCUMENT = DOCS / "exporter.md"
OTHERS = DOCS / "from" / "exporters.md"


def test_the_table_of_metrics_is_the_one_of_the_exporter() -> None:
    rows = re.findall(r"^\| `(kcli_\w+)` \| (\w+) \| (.*?) \| (.*) \|$", DOCUMENT.read_text(), re.M)
    assert rows == [
        (one.name, one.kind, ", ".join(f"`{label}`" for label in one.labels), one.text) for one in METRICS
    ]


def test_names_are_unique_and_in_the_form_of_prometheus() -> None:
    names = [one.name for one in METRICS]
    assert len(set(names)) == len(names)
    for name in names:
        assert re.fullmatch(r"kcli_[a-z]+(_[a-z]+)*", name)
        assert not name.endswith(("_total", "_sum", "_count", "_bucket", "_info", "_created"))


def test_each_metric_of_other_exporters_is_one_of_kcli_or_has_a_reason() -> None:
    text = OTHERS.read_text()
    rows = re.findall(r"^\| `((?:kafka|kminion|burrow)_\w+)` \| (.*?) \| (.*?) ?\|$", text, re.M)
    assert len({name for name, _, _ in rows}) == len(rows) >= 50
    for name, own, remark in rows:
        assert own.startswith("`") or (own == "–" and remark), name


def test_names_of_the_page_on_other_exporters_exist() -> None:
    suffixes = {COUNTER: "_total", INFO: "_info"}
    known = {one.name + suffixes.get(one.kind, "") for one in METRICS}
    named = set(re.findall(r"\bkcli_\w+", OTHERS.read_text()))
    assert len(named) > 40
    assert named <= known
