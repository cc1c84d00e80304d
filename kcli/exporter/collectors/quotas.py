"""Client quotas, as they are set. Pure."""

from collections.abc import Iterator, Mapping

from kcli.core.admin.quotas import QuotaEntity
from kcli.exporter.collectors.sample import Sample
from kcli.exporter.metric import GAUGE, Metric
from kcli.flows.quotas.values import entity_row

LIMIT = Metric(
    "kcli_quota_limit",
    GAUGE,
    ("user", "client_id", "ip", "quota"),
    "The quota that is set; a label is empty where it is not by that, <default> where it is the default.",
)
METRICS = (LIMIT,)


def samples(quotas: Mapping[QuotaEntity, Mapping[str, float]]) -> Iterator[Sample]:
    """By entity."""
    for entity, values in sorted(quotas.items(), key=lambda one: str(one[0])):
        row = entity_row(entity)
        who = tuple(row[name] or "" for name in LIMIT.labels[:-1])
        for key, value in sorted(values.items()):
            yield Sample(LIMIT, (*who, key), value, str(entity))
