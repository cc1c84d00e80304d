"""What long work says while it runs, on the terminal: the observer of flows that know no command."""

from kcli.commands.shared.context import Invocation


class Shown:
    """The observer of a job, or of a mirror: a command with its options."""

    def __init__(self, inv: Invocation) -> None:
        self._inv = inv
        self.dry_run, self.hooks = inv.dry_run, inv.hooks
        self.contact, self.progress, self.failed = inv.first_contact, inv.progress, inv.failed
        self.lacks = inv.lacks
        self.note, self.warn, self.detail = inv.talk.note, inv.talk.warn, inv.talk.detail

    @property
    def timeout(self) -> float:
        """Seconds for a first contact, and for each call; known when the configuration is."""
        return self._inv.timeout
