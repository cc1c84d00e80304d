"""The one sanitiser: text made by a peer, shown on a terminal, with everything unprintable made visible.

Control characters except tab and newline, DEL, C1, bidirectional and zero-width characters and lone
surrogates become ``\\x1b``, ``\\u202e`` and so on. Not for pipes, where bytes stay as they are.
"""

import re

_BIDI_AND_INVISIBLE = (
    "\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb"
)
_UNSAFE = f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_BIDI_AND_INVISIBLE}\ud800-\udfff\U000e0000-\U000e0fff]"
_JSON_UNSAFE = f"[\x7f-\x9f{_BIDI_AND_INVISIBLE}\ud800-\udfff\U000e0000-\U000e0fff]"


def visible(text: str) -> str:
    """``text`` with unsafe characters as escapes; the same object where there are none."""
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return re.sub(_UNSAFE, _escape, text)


def visible_line(text: str) -> str:
    """Like ``visible``, but escapes tab and newline as well: for a cell or one line."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def visible_json(text: str) -> str:
    """JSON text whose strings show nothing unsafe: JSON's own escapes, so the values stay the same."""
    return re.sub(_JSON_UNSAFE, _escape_json, text)


def visible_yaml(text: str) -> str:
    """A JSON string as a YAML string in double quotes: the same, but with YAML's own escapes for what is above U+FFFF,
    and for what YAML has only as an escape.
    """
    return re.sub(f"{_JSON_UNSAFE}|[\ufffe\uffff]", _escape_yaml, text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _escape_json(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code <= 0xFFFF:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def _escape_yaml(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
