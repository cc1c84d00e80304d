"""What a feed reports to the application. Values only, without Textual: a feed may begin before that is loaded."""

from __future__ import annotations

from kcli.core.classes import dataclass
from kcli.core.errors import KcliError
from kcli.flows.monitor.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Taken:
    """A new snapshot."""

    snapshot: Snapshot


@dataclass(frozen=True, slots=True)
class Lost:
    """A reading that began at ``at_ms`` failed as a whole: what is on the screen gets old."""

    error: KcliError
    at_ms: int


@dataclass(frozen=True, slots=True)
class Broken:
    """The feed ended by an error of its own: the application ends with it."""

    error: BaseException


Report = Taken | Lost | Broken
