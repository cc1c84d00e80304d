"""Sentences for a terminal, folded between words; commands to be typed stay whole. Pure."""

import re

_COMMAND = r"(.*?\S: )(kcli \S.*)"
_ESCAPED = r"\\(?:n|x[0-9a-f]{2}|u[0-9a-f]{4})"
"""What the sanitiser has made visible: such text may be meant to look like another line, and begins none."""
_WORDS = r"(?:`[^`]*`|[^ ])+"
"""What stays on one line: also a command in backquotes, which is copied."""


def folded_text(text: str, width: int) -> str:
    """Lines for a terminal of this width, continued with an indentation. No word is broken (one that fits on no line, as
    a long path, begins none), and no command that is to be typed, which a terminal wraps so that it can be copied; lines
    of a table, with several blanks between words, stay.
    """
    return "\n".join(folded for line in text.split("\n") for folded in _folded(line, width))


def _folded(line: str, width: int) -> list[str]:
    if _wide(line) <= width:
        return [line]
    if match := re.fullmatch(_COMMAND, line):
        return [*_filled(match[1].rstrip(), width), *_continued(match[2], width)]
    return _filled(line, width)


def _filled(line: str, width: int) -> list[str]:
    indent = line[: len(line) - len(line.lstrip(" "))]
    if "  " in line.strip(" ") or re.search(_ESCAPED, line):
        return [line]
    lines, at = [], indent
    for word in re.findall(_WORDS, line):
        joined = f"{at} {word}" if at.strip(" ") else at + word
        fits_below = _wide(f"{indent}    {word}") <= width
        if _wide(joined) > width and at.strip(" ") and (fits_below or _wide(at) >= width):
            lines.append(at)
            joined = f"{indent}    {word}"
        at = joined
    return [*lines, at]


def _continued(command: str, width: int) -> list[str]:
    """The command on lines of its own, continued in the shell's syntax."""
    lines, at = [], "  "
    for word in command.split(" "):
        joined = f"{at} {word}" if at.strip() else at + word
        if len(joined) + len(" \\") > width and at.strip():
            lines.append(f"{at} \\")
            joined = f"      {word}"
        at = joined
    return [*lines, at]


def _wide(text: str) -> int:
    """The width on a terminal."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width  # tables that few texts need

    return sum(0 if combining(sign) else 2 if east_asian_width(sign) in "WF" else 1 for sign in text)
