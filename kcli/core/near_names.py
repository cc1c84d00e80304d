"""Suggestions for a mistyped name. ``difflib`` is imported only when they are needed."""

from collections.abc import Iterable


def near_names(name: str, known: Iterable[str], most: int = 1) -> list[str]:
    """The most similar names, nearest first; empty if none is similar."""
    from difflib import get_close_matches  # noqa: TID251 - the only use, for mistyped names

    return get_close_matches(name, list(known), most)
