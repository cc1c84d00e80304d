"""``python -m tests.site FOLDER``: opens each page of the built site on two widths, and names what is wrong with it.

A page has no error on the console, needs no horizontal scroll bar, shows all its pictures, and is reached from the first
page by links. The search finds what it should, with a server and without.
"""

import functools
import sys
import threading
import time
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from tests.site.browser import PROGRAM, Browser

WIDTHS = ((1280, 800), (390, 844))
FIRST, LOST = "index.html", "404.html"
SEARCHED = "rewind"
_FIELD = "[data-md-component=search-query]"
_RESULTS = (
    "Array.from(document.querySelectorAll('.md-search-result__link'), link => link.getAttribute('href'))"
)
_SCROLL = "document.scrollingElement.scrollWidth"
_MISSING = "Array.from(document.images).filter(one => !one.complete || !one.naturalWidth).map(one => one.src)"
_LINKS = "Array.from(document.querySelectorAll('a[href]'), link => link.href)"
_PATIENCE = 20.0


def main(folder: Path) -> int:
    """Exit status 0 if nothing is wrong."""
    pages = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.html"))
    if FIRST not in pages:
        print(f"no {FIRST} in {folder}: make site", file=sys.stderr)
        return 2
    try:
        browser = Browser()
    except FileNotFoundError:
        print(f"{PROGRAM} is not installed (Debian: apt install chromium-driver)", file=sys.stderr)
        return 2
    try:
        with _Server(folder) as address:
            problems = [*_judged(browser, address, pages), *_search(browser, f"{address}/{FIRST}")]
            problems += _search(browser, (folder / FIRST).resolve().as_uri())
    finally:
        browser.close()
    for problem in problems:
        print(problem)
    print(f"{len(pages)} pages on {len(WIDTHS)} widths: {len(problems)} problems")
    return 1 if problems else 0


def _judged(browser: Browser, address: str, pages: list[str]) -> Iterator[str]:
    led_to: dict[str, set[str]] = {}
    for page in pages:
        for number, (width, height) in enumerate(WIDTHS):
            browser.resize(width, height)
            if number == 0:
                browser.open(f"{address}/{page}")
                led_to[page] = {
                    urlsplit(link).path.lstrip("/") or FIRST
                    for link in browser.value_of(_LINKS)
                    if link.startswith(address)
                }
            for problem in _of_page(browser, width):
                yield f"{page} ({width} px): {problem}"
    for page, targets in led_to.items():
        yield from (f"{page}: a link to {target}, which is not there" for target in targets - {*pages})
    reached = _reached(led_to)
    yield from (f"{page}: no path of links leads there" for page in pages if page not in reached | {LOST})


def _of_page(browser: Browser, width: int) -> Iterator[str]:
    wide = browser.value_of(_SCROLL)
    if wide > width:
        yield f"it is {wide} px wide"
    for missing in browser.value_of(_MISSING):
        yield f"a picture is not shown: {missing}"
    yield from browser.errors()


def _reached(led_to: dict[str, set[str]]) -> set[str]:
    """All pages to which a path leads from the first."""
    found, new = {FIRST}, {FIRST}
    while new:
        new = {target for page in new for target in led_to.get(page, ())} - found
        found |= new
    return found


def _search(browser: Browser, address: str) -> Iterator[str]:
    """Whether typing in the field of the search finds the page of the command."""
    browser.resize(*WIDTHS[0])
    browser.open(address)
    browser.type(_FIELD, SEARCHED)
    wanted = f"reference/commands/groups/{SEARCHED}.html"
    end = time.monotonic() + _PATIENCE
    results: list[str] = []
    while time.monotonic() < end:
        results = browser.value_of(_RESULTS)
        if any(wanted in result for result in results):
            break
        time.sleep(0.1)
    else:
        yield f"{address}: a search for {SEARCHED} finds {results}, but not {wanted}"
    yield from browser.errors()


class _Server:
    """The folder on a free port of this machine."""

    def __init__(self, folder: Path) -> None:
        handler = functools.partial(_Quiet, directory=str(folder))
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)

    def __enter__(self) -> str:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self._server.server_port}"

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Quiet(SimpleHTTPRequestHandler):
    def log_request(self, *_: object) -> None:
        """Nothing."""


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
