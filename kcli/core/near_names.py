"""What somebody may have meant who mistyped a name. ``difflib`` is imported when somebody did."""

from collections.abc import Iterable


def near_names(name: str, known: Iterable[str], most: int = 1) -> list[str]:
    """The names most like it, the nearest first; none where nothing is near."""
    from difflib import get_close_matches  # noqa: TID251 - the one place

    return get_close_matches(name, list(known), most)
