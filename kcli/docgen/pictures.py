"""``python -m kcli.docgen.pictures``: writes the pictures of the documentation, by the code that shows the same to users.

The screens of ``kcli top`` are played from docs/pictures/incident.ndjson; the plots of ``kcli perf`` and ``kcli pipeline
profile`` are those of the reports beside it, which real runs have printed. The same data and the same release of Textual
give the same bytes.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

from kcli.docgen import movie
from kcli.docgen.plots import perf_pictures, profile_pictures
from kcli.flows.monitor.playback import Recording
from kcli.tui.app import TopApp
from kcli.tui.facts import Facts
from kcli.tui.replay import ReplayFeed

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "pictures"
RECORDING = FOLDER / "incident.ndjson"
SIZE = (120, 30)
AT = 31
"""The reading that is shown: one group is stalled, one slow, one rebalances."""


def _group(app: TopApp) -> None:
    app.open_group("billing")


def _topic(app: TopApp) -> None:
    app.open_topic("orders")


def _list(name: str) -> Callable[[TopApp], None]:
    return lambda app: app.action_list(name)


def _nothing(_app: TopApp) -> None:
    """The first screen."""


PREPARED: dict[str, Callable[[TopApp], None]] = {
    "top-groups": _nothing,
    "top-group": _group,
    "top-topics": _list("topics"),
    "top-topic": _topic,
    "top-quorum": _list("quorum"),
    "top-transactions": _list("transactions"),
    "top-mirrors": _list("mirrors"),
}
"""What is done before the picture is taken."""
PICTURES = {
    f"{name}{'-light' if light else ''}.svg": (prepare, light)
    for name, prepare in PREPARED.items()
    for light in (False, True)
}
"""Each in dark and in light."""
_FONTS = '"Fira Code", "DejaVu Sans Mono", Menlo, Consolas, monospace'
"""Nothing is loaded from elsewhere: where pictures may not do that, a font without fixed widths took its place."""


def render() -> dict[str, str]:
    """All pictures by name."""
    return asyncio.run(_screens()) | asyncio.run(movie.pictures(RECORDING)) | plots()


def plots() -> dict[str, str]:
    """The pictures that are no screens. The intervals of perf.json have lost their histograms, which no plot shows."""
    perf, profile = (
        json.loads((FOLDER / name).read_text(encoding="utf-8")) for name in ("perf.json", "profile.json")
    )
    return perf_pictures(perf) | profile_pictures(profile)


async def _screens() -> dict[str, str]:
    return {name: await _picture(*how) for name, how in PICTURES.items()}


async def _picture(prepare: Callable[[TopApp], None], light: bool) -> str:
    feed = ReplayFeed(Recording(str(RECORDING)), paused=True)
    feed.jump(AT)
    app = TopApp(feed, Facts("shop", "", replay=RECORDING.name), light=light)
    async with app.run_test(size=SIZE) as pilot:
        prepare(app)
        await pilot.pause()
        while not _arrived(app, feed):
            await pilot.pause(0.01)
        app.repaint_now()
        await pilot.pause()
        return _with_fonts(app.export_screenshot(title="kcli top"))


def _with_fonts(svg: str) -> str:
    """With fonts that the reader has, all of them of one width."""
    svg = re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    svg = svg.replace("font-family: Fira Code, monospace;", f"font-family: {_FONTS};")
    # Some viewers drop no-break spaces at the ends of texts.
    svg = svg.replace("<svg ", '<svg xml:space="preserve" ', 1)
    return svg.replace("        font-variant-east-asian: full-width;\n", "")


def _arrived(app: TopApp, feed: ReplayFeed) -> bool:
    """Whether the snapshot of the position is there, with the partitions of the group on the screen."""
    listing, snapshot = app.listing, app.snapshot
    if feed.busy or listing is None or snapshot is None:
        return False
    followed = listing.view()[1]
    return snapshot.reading.sample.at_ms == feed.clock() and (followed is None or bool(snapshot.lags))


def main() -> int:
    """Writes the pictures."""
    made = render()
    for name, text in made.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    print(f"{len(made)} pictures written to {FOLDER}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
