"""Selects the names of a cluster that match what was typed. Pure."""

from collections.abc import Iterable

MOST = 2_000
"""More names than a user reads; a shell accepts them without a noticeable delay."""

LONGEST = 1_000


def is_offerable(name: str) -> bool:
    """Whether a shell may be given ``name``: text without control characters, which would act on its terminal."""
    return 0 < len(name) <= LONGEST and name.isprintable()


def offered(names: Iterable[str], prefix: str, *, hide: str | tuple[str, ...] = "") -> list[str]:
    """The names that begin with ``prefix``, sorted, at most ``MOST``.

    Names that begin with ``hide``, or with one of several, are shown only once its first character was typed, or its
    first word up to a dash.
    Names that begin with a dash, which a command would treat as options, are shown only once something was typed.
    """
    starts = tuple(filter(None, (hide,) if isinstance(hide, str) else hide))
    if not prefix:
        hidden: tuple[str, ...] = ("-", *starts)
    else:
        hidden = tuple(one for one in starts if not prefix.startswith(one[: max(1, one.find("-") + 1)]))
    found = sorted(
        {
            name
            for name in names
            if name.startswith(prefix) and not name.startswith(hidden) and is_offerable(name)
        }
    )
    if len(found) > MOST:
        # Shells insert the common prefix of all candidates: keeping the last name keeps that prefix.
        found[MOST - 1 :] = found[-1:]
    return found
