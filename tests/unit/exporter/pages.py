"""Pages of readings by hand, and their text read by prometheus_client's parsers. Not a test."""

from collections.abc import Iterable, Mapping

from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as of_openmetrics
from prometheus_client.parser import text_string_to_metric_families as of_classic

from kcli.exporter.collectors.choice import ALL
from kcli.exporter.collectors.reading import NO_FACTS, Facts
from kcli.exporter.exposition import CLASSIC, OPENMETRICS, document
from kcli.exporter.page import Page, Pages
from kcli.flows.monitor.board import Board
from kcli.flows.monitor.cluster_reading import Reading

Labels = frozenset[tuple[str, str]]
Found = Mapping[str, Mapping[Labels, float]]


def page_of(
    *readings: Reading,
    most: int = 1_000_000,
    facts: Facts = NO_FACTS,
    chosen: frozenset[str] = ALL,
    label: str = "",
) -> Page:
    """The page after the last of them, all with the same facts."""
    board, pages = Board(), Pages(most, chosen, label=label)
    return [pages.of(board.add(one), facts) for one in readings][-1]


def text_of(page: Page, form: str = CLASSIC) -> str:
    return b"".join(document(form, page.text.parts(form))).decode()


def parsed(text: str, form: str = CLASSIC) -> Found:
    """Name of a sample → labels → value. Raises ValueError for what is not in the format."""
    return _by_name((of_openmetrics if form == OPENMETRICS else of_classic)(text))


def labels(**given: object) -> Labels:
    return frozenset((name, str(value)) for name, value in given.items())


def _by_name(families: Iterable[Metric]) -> Found:
    found: dict[str, dict[Labels, float]] = {}
    for family in families:
        for sample in family.samples:
            one = found.setdefault(sample.name, {})
            key = frozenset(sample.labels.items())
            assert key not in one, f"{sample} twice"
            one[key] = sample.value
    return found
