"""What the feed posts to the application."""

from textual.message import Message

from kcli.core.errors import KcliError
from kcli.flows.monitor.snapshot import Snapshot


class Taken(Message):
    """A new snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__()
        self.snapshot = snapshot


class Lost(Message):
    """A reading that began at ``at_ms`` failed as a whole: what is on the screen gets old."""

    def __init__(self, error: KcliError, at_ms: int) -> None:
        super().__init__()
        self.error, self.at_ms = error, at_ms


class Broken(Message):
    """The feed ended by an error of its own: the application ends with it."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error
