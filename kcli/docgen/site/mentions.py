"""Which pages that people have written show a command at work. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kcli.core.classes import NamedTuple
from kcli.docgen.site.places import Path, Places

_LINE = re.compile(r"\bkcli((?: [a-z][a-z0-9-]*)+)")
_TITLE = re.compile(r"^# (.+)$", re.M)
_MOST = 6


class Mention(NamedTuple):
    """A page with its title, which is Markdown."""

    title: str
    place: str


def mentions(pages: Mapping[str, str], places: Places) -> dict[Path, list[Mention]]:
    """The pages by command, those that show it most often first. ``pages``: text by place."""
    commands = {place: path for path, place in places.pages.items()}
    counts: dict[Path, dict[str, int]] = {}
    for place, text in pages.items():
        for words in _LINE.findall(text):
            found = places.command(words.split())
            if found:
                of_command = counts.setdefault(commands[found], {})
                of_command[place] = of_command.get(place, 0) + 1
    return {
        path: [
            Mention(_title(pages[place]), place)
            for place in sorted(found, key=lambda place: (-found[place], place))[:_MOST]
        ]
        for path, found in counts.items()
    }


def _title(text: str) -> str:
    found = _TITLE.search(text)
    return found[1] if found else ""
