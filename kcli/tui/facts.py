"""What the application knows when it starts, and what can be done by that: keys that would be refused, or have no effect,
are not offered. Pure.
"""

from kcli.core.classes import dataclass

LIVE_ONLY = frozenset({"pause", "now", "pace", "time"})
"""Actions on the readings of a cluster."""
REPLAY_ONLY = frozenset({"play", "speed", "seek", "seek_minute", "seek_end"})
"""Actions on the position in a recording."""
CHANGING = frozenset({"rewind", "undo"})


@dataclass(frozen=True, slots=True)
class Facts:
    """``name`` is the profile or address; ``color`` the profile's. ``read_only`` says why nothing may be changed.

    ``groups`` were named on the command line; ``options`` begin the commands that are copied: ``--profile prod``.
    """

    name: str
    cluster_id: str
    color: str | None = None
    read_only: str | None = None
    groups: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    replay: str | None = None


def works(action: str, facts: Facts) -> bool:
    """Whether an action (``pace(1)``) has an effect. One that is refused has: it says why."""
    name = action.partition("(")[0]
    return name not in (LIVE_ONLY if facts.replay is not None else REPLAY_ONLY)


def offered(action: str, facts: Facts) -> bool:
    """Whether it is in the help, in the palette and at the foot."""
    return works(action, facts) and (facts.read_only is None or action.partition("(")[0] not in CHANGING)
