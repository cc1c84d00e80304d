"""Commands that a page names become links to the reference, each the first time. Pure."""

import re
from collections.abc import Callable

_PIECE = re.compile(r"<(a|pre|h[1-6])\b.*?</\1>|<code>kcli ([^<]+)</code>", re.DOTALL)


def with_command_links(html: str, address: Callable[[str], str | None]) -> str:
    """``html`` of a page; ``address`` of the page on a command, from the words after ``kcli``.

    Links, headings and blocks of code stay as they are.
    """
    seen: set[str] = set()

    def linked(match: re.Match[str]) -> str:
        words = match[2]
        found = address(words) if words else None
        if found is None or found in seen:
            return match[0]
        seen.add(found)
        return f'<a class="command" href="{found}">{match[0]}</a>'

    return _PIECE.sub(linked, html)


def page_on(words: str, pages: set[str]) -> str | None:
    """The place of the page on ``groups rewind billing --undo``, or on ``help times``."""
    parts = words.split()
    if parts[0] == "help" and len(parts) == 2 and f"reference/{parts[1]}.md" in pages:
        return f"reference/{parts[1]}.md"
    for count in range(len(parts), 0, -1):
        place = "/".join(("reference/commands", *parts[:count]))
        for found in (f"{place}.md", f"{place}/index.md"):
            if found in pages:
                return found
    return None
