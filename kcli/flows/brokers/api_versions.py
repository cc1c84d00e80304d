"""The versions of APIs that brokers offer, as rows and as Kafka's script prints them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from kcli.core.protocol.all_apis import all_requests
from kcli.output.tables import Column

if TYPE_CHECKING:
    from kcli.core.admin.api_versions import ApiRanges
    from kcli.core.admin.brokers import BrokerDescription

COLUMNS = (
    Column("api", values="string?", meaning="Name of the API; null of one that kcli does not know."),
    Column("key", "id", values="integer", meaning="Number of the API."),
    Column(
        "min_version",
        "id",
        values="integer?",
        meaning="First version; null where the brokers do not offer it.",
    ),
    Column(
        "max_version",
        "id",
        values="integer?",
        meaning="Last version; null where the brokers do not offer it.",
    ),
    Column(
        "usable",
        "id",
        values="integer?",
        meaning="Last version that kcli knows, too; null where there is none.",
    ),
    Column("brokers", spare=1, values="integers", meaning="Numbers of the brokers that offer this range."),
)
_NAME_OF_SCRIPT = "UNKNOWN"


def usable(key: int, first: int, last: int) -> int | None:
    """The last version that both sides know."""
    api = all_requests().get(key)
    if api is None:
        return None
    version = min(last, api.versions[1])
    return version if version >= max(first, api.versions[0]) else None


def api_rows(offers: Mapping[int, ApiRanges], *, differing: bool = False) -> list[dict[str, Any]]:
    """A row for each API and range, with the brokers that offer it; brokers of one version share all rows.

    ``differing``: only APIs that not all of them offer with the same range, with a row for those that do not offer it.
    """
    ranges: dict[int, dict[tuple[int, int] | None, list[int]]] = {}
    for key in sorted({key for offer in offers.values() for key in offer}):
        for number, offer in sorted(offers.items()):
            ranges.setdefault(key, {}).setdefault(offer.get(key), []).append(number)
    return [
        _row(key, versions, numbers)
        for key, by_range in ranges.items()
        for versions, numbers in by_range.items()
        if (len(by_range) > 1 or not differing) and (versions is not None or differing)
    ]


def _row(key: int, versions: tuple[int, int] | None, numbers: list[int]) -> dict[str, Any]:
    api = all_requests().get(key)
    first, last = versions or (None, None)
    return {
        "api": None if api is None else api.api_name,
        "key": key,
        "min_version": first,
        "max_version": last,
        "usable": None if versions is None else usable(key, *versions),
        "brokers": numbers,
    }


def script_lines(broker: BrokerDescription, offer: ApiRanges) -> Iterator[str]:
    """A broker as kafka-broker-api-versions.sh prints it; what the client lacks is not usable there, either."""
    node = broker.node
    rack = "null" if node.rack is None else node.rack
    fenced = str(broker.is_fenced).lower()
    yield f"{node.host}:{node.port} (id: {node.id} rack: {rack} isFenced: {fenced}) -> ("
    keys = sorted(offer.keys() | all_requests().keys())
    for key in keys:
        yield f"\t{_script_line(key, offer.get(key))}{',' if key != keys[-1] else ''}"
    yield ")"


def _script_line(key: int, versions: tuple[int, int] | None) -> str:
    api = all_requests().get(key)
    name = f"{_NAME_OF_SCRIPT if api is None else api.api_name}({key})"
    if versions is None:
        return f"{name}: UNSUPPORTED"
    first, last = versions
    text = f"{name}: {first}" if first == last else f"{name}: {first} to {last}"
    if api is None:
        return text
    best = usable(key, first, last)
    if best is None:
        return f"{text} [unusable: node too {'new' if first > api.versions[1] else 'old'}]"
    return f"{text} [usable: {best}]"
