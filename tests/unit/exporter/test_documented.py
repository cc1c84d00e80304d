"""docs/exporter.md has the table of metrics that ``metrics.py`` has, and this is what pages have (``test_page.py``)."""

import re
from pathlib import Path

from kcli.exporter.metrics import METRICS

DOCUMENT = Path(__file__).parents[3] / "docs" / "exporter.md"


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
