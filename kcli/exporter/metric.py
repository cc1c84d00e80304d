"""What a metric is: its name, type and labels, and what it means. Values only."""

from collections.abc import Callable
from typing import Any

from kcli.core.classes import NamedTuple

GAUGE, COUNTER, SUMMARY, STATESET, INFO = "gauge", "counter", "summary", "stateset", "info"


class Metric(NamedTuple):
    """``name`` without the suffixes that a type adds (``_total``, ``_info``); ``labels`` in the order of the page.

    ``of`` takes the value, or those by partition, from what a page shows; the others are filled in where they are known.
    """

    name: str
    kind: str
    labels: tuple[str, ...]
    text: str
    of: Callable[[Any], Any] = lambda _shown: None

    @property
    def unit(self) -> str:
        """The unit that OpenMetrics is given; empty where the name does not end with a base unit."""
        last = self.name.rpartition("_")[2]
        return last if last in ("seconds", "bytes") else ""
