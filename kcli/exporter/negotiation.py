"""What a scraper accepts: the format of the page, and whether compressed (RFC 9110). Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kcli.core.classes import NamedTuple
from kcli.exporter.exposition import CLASSIC, OPENMETRICS


class _Accepted(NamedTuple):
    name: str
    parameters: Mapping[str, str]
    quality: float


def chosen_format(accept: str) -> str:
    """OpenMetrics where it is accepted at least as much as plain text, and named; else the classic format."""
    openmetrics, classic = 0.0, 0.0
    for one in _accepted(accept):
        if one.name == "application/openmetrics-text":
            if one.parameters.get("version", "1.0.0").startswith(("0.", "1.")):
                openmetrics = max(openmetrics, one.quality)
        elif one.name in ("text/plain", "text/*"):
            classic = max(classic, one.quality)
    return OPENMETRICS if openmetrics > 0 and openmetrics >= classic else CLASSIC


def accepts_gzip(accept_encoding: str) -> bool:
    """Whether gzip is named and not refused."""
    return any(one.name in ("gzip", "x-gzip") and one.quality > 0 for one in _accepted(accept_encoding))


def _accepted(header: str) -> Iterator[_Accepted]:
    for text in header.lower().split(","):
        name, *others = (part.strip() for part in text.split(";"))
        parameters = dict(_pair(one) for one in others)
        if name:
            yield _Accepted(name, parameters, _quality(parameters.get("q", "1")))


def _pair(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name.strip(), value.strip().strip('"')


def _quality(text: str) -> float:
    """What is no number between 0 and 1 is refused."""
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if 0 <= value <= 1 else 0.0
