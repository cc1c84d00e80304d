"""``kcli produce --dry-run``: every check without sending: files, brokers, topic, schemas, and all of the input."""

from collections.abc import Callable

from kcli.commands.produce.input import encoded_key
from kcli.commands.produce.report import report_dry_run
from kcli.commands.produce.run import SendingRun
from kcli.commands.shared.check_permitted import check_permitted
from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigKind, ConfigResource
from kcli.core.errors import KcliError, NotFoundError
from kcli.core.options import ClientOptions
from kcli.flows.partition_failures import partition_names
from kcli.flows.produce.dry_run import DryProducer
from kcli.flows.produce.failed_file import check_writable
from kcli.flows.produce.run import ProduceRun
from kcli.flows.stop import Stop

_CREATES, _PARTITIONS = "auto.create.topics.enable", "num.partitions"


class DryRun(SendingRun):
    """A run whose records reach a ``DryProducer`` only."""

    def run(self, prepare: Callable[[], object], forget: Callable[[], object]) -> int:  # noqa: ARG002
        """See ``SendingRun``; in this process alone."""
        for name in (self.asked.failed, self.asked.checkpoint):
            if name is not None:
                check_writable(name)
        self._open_checkpoint()
        self._open_producer()
        prepare()
        self.form = encoded_key(self.form)
        self._note_terminal()
        dry, stop = DryProducer(self.partitions, self.outcomes.delivered), Stop()
        run = ProduceRun(
            dry,
            self._sending(),
            stop=stop,
            progress=lambda _read, _confirmed, _lost: None,
            tracker=self.tracker,
            outcomes=self.outcomes,
        )
        result = run.run(self._portions(stop))
        self._warn_of_old(result)
        return report_dry_run(
            self.inv, self.topic, result, self.partitions, self.producer.cluster_id, self.asked.expect
        )

    def _find_topic(self) -> int:
        """See ``SendingRun``; what the brokers would create is not created, but has the partitions of new topics."""
        try:
            count = super()._find_topic()
        except NotFoundError:
            made = self._partitions_of_new_topics() if self.asked.allow_auto_topic_creation else None
            if made is None:
                raise
            count = made
            self.inv.talk.note(f"topic {self.topic} does not exist: the brokers would create it")
        else:
            check_permitted(self.inv, {"WRITE": "producing to {}"}, [self.topic])
            wanted = self.asked.partition
            away = [tp for tp in self.producer.leaderless(self.topic) if wanted in (None, tp.partition)]
            if away:
                self.inv.talk.warn(
                    f"{partition_names(away)} without a leader now: records for it would wait, and fail in the end"
                )
        return count

    def _partitions_of_new_topics(self) -> int | None:
        """None where the brokers create no topics themselves; 1, with a warning, where they do not say."""
        with Admin(self.inv.inner_options(ClientOptions), self.inv.hooks, timeout=self.inv.timeout) as admin:
            broker = ConfigResource(ConfigKind.BROKER, str(min(admin.connect().nodes)))
            found = admin.describe_configs([broker], keys=[_CREATES, _PARTITIONS])[broker]
        if isinstance(found, KcliError):
            self.inv.talk.warn(f"whether the brokers create topics themselves is not known: {found}")
            return 1
        values = {entry.name: entry.value for entry in found}
        return int(values.get(_PARTITIONS) or 1) if values.get(_CREATES) == "true" else None
