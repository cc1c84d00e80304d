"""``--extend-retention`` of a command that sends old records: sets ``retention.ms`` of a topic, reads it back, and says
how it is set back. ``kcli undo`` sets it back by the journal.
"""

from collections.abc import Mapping, Sequence

from kcli.account.outcomes import Outcome
from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigChange, ConfigOp
from kcli.core.classes import NamedTuple
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.flows.configs.alteration import AlterItem
from kcli.flows.configs.key_changes import PlannedChange
from kcli.flows.journal import Draft, Journal, RetentionEntry
from kcli.flows.mirror.topics.configs import RETENTION_MS, Values
from kcli.flows.mirror.topics.survey import configs_of
from kcli.flows.topics.alter import TopicAlter
from kcli.flows.topics.lifetime import Fates


class RetentionChangedError(KcliError):
    """``retention.ms`` was changed since a command extended it."""

    exit_code = ExitCode.REFUSED


def extended_text(topic: str, retention_ms: int, own: Values) -> str:
    """What was done, and the command that sets it back. ``own``: what was set on the topic itself before."""
    done = f"{RETENTION_MS} of topic {topic} is {retention_ms} now, for the records of this run"
    old = own.get(RETENTION_MS)
    if old is None:
        return f"{done}; `kcli topics alter {topic} --unset retention.ms` sets it back"
    return f"{done}; `kcli topics alter {topic} --set retention.ms={old}` sets it back"


class RetentionExtension:
    """Of one topic that exists. ``own``: what is set on the topic itself; ``command``: the one that extends it."""

    def __init__(self, topic: str, retention_ms: int, own: Values, command: str) -> None:
        self.topic, self.retention_ms, self._own, self._command = topic, retention_ms, own, command
        self._change = TopicAlter([topic], [ConfigChange(RETENTION_MS, str(retention_ms))], None, named=False)
        self._items: list[AlterItem] = []

    def plan(self, admin: Admin) -> None:
        """Has the brokers check it; raises what stands against it."""
        self._items = self._change.decide(admin)
        _check(self._items)

    def make(self, admin: Admin, cluster: str) -> str:
        """Makes it, after its journal; returns how it is set back. Raises what failed, also if it was changed since."""
        items = self._change.decided_again(admin, self._items)
        _check(items)
        old = int(self._own[RETENTION_MS]) if RETENTION_MS in self._own else None
        draft = Draft(self._command, [RetentionEntry(self.topic, old, self.retention_ms)])
        draft.write(cluster)
        items = self._change.act(admin, items)
        if not self._change.may_have_changed:
            draft.remove()
        _check(items)
        return f"{extended_text(self.topic, self.retention_ms, self._own)} (undo with: kcli undo {draft.id})"


class TopicValues(NamedTuple):
    """The values in force for a topic, and those set on the topic itself; empty where they may not be read."""

    in_force: Values
    own: Values


def values_of(admin: Admin, topics: Sequence[str]) -> dict[str, TopicValues]:
    """The configuration of topics, as far as it may be read."""
    return {
        name: TopicValues({}, {}) if isinstance(entries, KcliError) else TopicValues(*configs_of(entries))
        for name, entries in (admin.describe_topic_configs(topics) if topics else {}).items()
    }


def extensions_of(fates: Fates, own: Mapping[str, Values], command: str) -> list[RetentionExtension]:
    """What is to be extended of topics that exist; ``own``: what is set on them."""
    return [
        RetentionExtension(topic, fates.retention_ms, own[topic], command)
        for topic in fates.extended
        if topic in own
    ]


def _check(items: list[AlterItem]) -> None:
    for item in items:
        if item.error is not None:
            raise item.error


class RetentionRestore(TopicAlter):
    """``kcli undo`` of an extension: the value before it. One that was changed since is refused."""

    def __init__(self, journal: Journal) -> None:
        (entry,) = (entry for entry in journal.entries if isinstance(entry, RetentionEntry))
        change = (
            ConfigChange(RETENTION_MS, None, ConfigOp.DELETE)
            if entry.old is None
            else ConfigChange(RETENTION_MS, str(entry.old))
        )
        super().__init__([entry.topic], [change], None, named=False)
        self.made, self._set = journal, str(entry.new)

    def decide(self, admin: Admin) -> list[AlterItem]:
        """As when it is altered; ConfigError on another cluster."""
        self.made.check_cluster(admin.cluster_id())
        return [self._judged(item) for item in super().decide(admin)]

    def _judged(self, item: AlterItem) -> AlterItem:
        found: PlannedChange = item.facts
        if item.outcome is not Outcome.PLANNED or found.old == self._set:
            return item
        error = RetentionChangedError(
            f"{RETENTION_MS} of topic {item.key.resource.name} has been changed since",
            why=f"it is {found.old}, and the change that is to be undone left {self._set}; nothing was done to it",
            do="nothing is left that this journal could undo",
        )
        return item._replace(outcome=Outcome.REFUSED, error=error)
