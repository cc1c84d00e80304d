"""Options in code within a line are not broken at their dashes, where browsers would. Pure."""

import re

_PIECE = re.compile(r"<pre\b.*?</pre>|<code>[^<]*-[^<]*</code>", re.DOTALL)
_OPTION = re.compile(r"(?<![^\s>])-{1,2}[A-Za-z][\w-]{0,30}(?![\w-])")


def with_whole_options(html: str) -> str:
    """``html`` of a page with each option in an element of the class ``word``; blocks of code stay as they are."""
    return _PIECE.sub(_marked, html)


def _marked(match: re.Match[str]) -> str:
    if match[0].startswith("<pre"):
        return match[0]
    return _OPTION.sub(r'<span class="word">\g<0></span>', match[0])
