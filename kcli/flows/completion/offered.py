"""Which of a cluster's names are offered for what was typed. Pure."""

from collections.abc import Iterable

MOST = 2_000
"""More names than anybody reads; a shell takes them without a noticeable wait."""

LONGEST = 1_000


def is_offerable(name: str) -> bool:
    """Whether a shell may be given ``name``: text without control characters, which would act on its terminal."""
    return 0 < len(name) <= LONGEST and name.isprintable()


def offered(names: Iterable[str], prefix: str, *, hide: str = "") -> list[str]:
    """The names that begin with ``prefix``, sorted, at most ``MOST``.

    Names that begin with ``hide`` are shown when its first character was typed, or its first word up to a dash; so are
    those that begin with a dash, which a command would take for options.
    """
    if not prefix:
        hidden = tuple(filter(None, ("-", hide)))
    else:
        typed = hide[: max(1, hide.find("-") + 1)]
        hidden = (hide,) if hide and not prefix.startswith(typed) else ()
    found = sorted(
        {
            name
            for name in names
            if name.startswith(prefix) and not name.startswith(hidden) and is_offerable(name)
        }
    )
    if len(found) > MOST:
        # Shells insert what all candidates begin with: the last one keeps that the same as for all.
        found[MOST - 1 :] = found[-1:]
    return found
