"""The plots of the pages that ``kcli perf --html`` and ``kcli pipeline profile --html`` write, as pictures. Pure.

A page is well-formed XML, so a plot is an element below its heading; alone it needs the style of the page, and a size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from xml.etree import ElementTree

from kcli.flows.perf.html import perf_page
from kcli.output.html_page import PLOT_STYLE
from kcli.pipeline.profile.html import page as profile_page

PERF = {
    "perf-rate.svg": "Rate",
    "perf-latency.svg": "Over time, from the intended time",
    "perf-distribution.svg": "Distribution",
}
PROFILE = {
    "profile-partitions.svg": "Records by partition",
    "profile-times.svg": "Records by time",
}
"""The picture of the plot below a heading."""

_MARGIN = 10
_PAPER = """
svg { background: #fff }
@media (prefers-color-scheme: dark) { svg { background: #0d1117 } }
"""


def perf_pictures(report: Mapping[str, Any]) -> dict[str, str]:
    """The pictures of a PerfReport, as ``-o json`` prints it: with times as text, which only the page's title needs."""
    item = {**report["items"][0], "began": None}
    return _pictures(perf_page(item, (), report["cluster"]), PERF)


def profile_pictures(report: Mapping[str, Any]) -> dict[str, str]:
    """The pictures of a PipelineReport of ``profile``."""
    page = profile_page(report["cluster"], report["at"], report["topics"], report["items"])
    return _pictures(page, PROFILE)


def _pictures(page: str, names: Mapping[str, str]) -> dict[str, str]:
    plots = dict(_plots(page))
    return {name: _alone(plots[heading], heading) for name, heading in names.items()}


def _plots(page: str) -> Iterator[tuple[str, ElementTree.Element]]:
    """Each plot with the heading above it."""
    heading = ""
    for element in ElementTree.fromstring(page).iter():  # noqa: S314 - which was made just now
        if element.tag in ("h2", "h3"):
            heading = element.text or ""
        elif element.tag == "svg":
            yield heading, element


def _alone(plot: ElementTree.Element, title: str) -> str:
    """The plot as a file of its own, with some space around it."""
    left, top, width, height = (int(number) for number in plot.attrib["viewBox"].split())
    wide, high = width + 2 * _MARGIN, height + 2 * _MARGIN
    inner = "\n".join(ElementTree.tostring(child, encoding="unicode") for child in plot)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{left - _MARGIN} {top - _MARGIN} {wide} {high}" '
        f'width="{wide}" height="{high}" role="img">\n<title>{title}</title>\n'
        f"<style>{_PAPER}{PLOT_STYLE}</style>\n{inner}\n</svg>\n"
    )
