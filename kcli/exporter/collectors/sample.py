"""One sample of a collector. Values only."""

from kcli.core.classes import NamedTuple
from kcli.exporter.metric import Metric


class Sample(NamedTuple):
    """``labels`` in the order of the metric's; a ``value`` of None is not known, and is left out.

    ``key`` is what it belongs to: where there are too many series, those of a key are left out together.
    """

    metric: Metric
    labels: tuple[str | int, ...]
    value: float | None
    key: str = ""
