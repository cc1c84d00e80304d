"""What the application needs to know when it starts. Values only."""

from dataclasses import dataclass


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
