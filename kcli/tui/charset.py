"""What is drawn on a terminal whose character set lacks boxes and bars: the nearest character that it has. Pure."""

from functools import lru_cache

from rich.cells import cell_len

_NEAREST = (
    str.maketrans("─━╌│┃▌▐█▇▆▅▄▃▂▁", "--:|||##%*+=-._")
    | str.maketrans("╭╮╰╯┌┐└┘├┤┬┴┼", "+" * 13)
    | str.maketrans("●○◌▲▼▴▾✖▶‖↵↑↓←→⇄–—…≈≥×·▔▏▕▎", "*o!^v^vx>|<^v<><--.~>x.-|||")
    | str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
)


def in_charset(text: str, encoding: str) -> str:
    """The text in as many columns, with nothing that the encoding lacks."""
    if text.isascii() or _is_unicode(encoding):
        return text
    return "".join(char if _has(char, encoding) else _nearest(char, encoding) for char in text)


@lru_cache(maxsize=4)
def _is_unicode(encoding: str) -> bool:
    return _has("▁", encoding)


@lru_cache(maxsize=1_024)
def _has(char: str, encoding: str) -> bool:
    try:
        return bool(char.encode(encoding))
    except (UnicodeEncodeError, LookupError):
        return False


def _nearest(char: str, encoding: str) -> str:
    near = char.translate(_NEAREST)
    return near if near != char and _has(near, encoding) else "?" * cell_len(char)
