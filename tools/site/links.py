"""Links of pages of the repository as links of the site: the same page is read at both places. Pure."""

import re
from collections.abc import Callable, Mapping
from posixpath import dirname, join, normpath, relpath

_FENCE = re.compile(r"^ *(```|~~~)")
_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
_LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\])\(([^)\s#]*)(#[^)\s]*)?\)")
_ELSEWHERE = re.compile(r"[a-z]+:|//")


def site_links(
    text: str, page: str, published: Mapping[str, str], exists: Callable[[str], bool], repository: str
) -> str:
    """The text of a page with its links changed.

    ``page`` is its path in the repository, ``published`` the places on the site by such paths. A link to a file that is
    not published becomes one to the ``repository``, an address that ends before the path, or its text alone if there is
    no address. A link to nothing stays, so that the build reports it.
    """

    def changed(match: re.Match[str]) -> str:
        words, target, anchor = match[1], match[2], match[3] or ""
        if not target or _ELSEWHERE.match(target):
            return match[0]
        path = normpath(join(dirname(page), target))
        for found in (path, f"{path}/README.md"):
            if found in published:
                return f"{words}({relpath(published[found], dirname(published[page]))}{anchor})"
        if not exists(path):
            return match[0]
        return f"{words}({repository}{path}{anchor})" if repository else words.lstrip("!")[1:-1]

    done: list[str] = []
    paragraph = ""  # the text of a link may go on in the next line
    fenced = False
    for line in text.splitlines(keepends=True):
        fence = _FENCE.match(line) is not None
        fenced ^= fence
        if not (fence or fenced):
            paragraph += line
        if fence or fenced or not line.strip():
            done.append(_outside_code(paragraph, changed))
            paragraph = ""
        if fence or fenced:
            done.append(line)
    return "".join([*done, _outside_code(paragraph, changed)])


def _outside_code(text: str, changed: Callable[[re.Match[str]], str]) -> str:
    """``text`` with its links changed; brackets in code are no link, but code may be the text of one."""
    inside = [match.span() for match in _CODE.finditer(text)]

    def unless_code(match: re.Match[str]) -> str:
        at = match.start(2) - 1
        return match[0] if any(start <= at < end for start, end in inside) else changed(match)

    return _LINK.sub(unless_code, text)
