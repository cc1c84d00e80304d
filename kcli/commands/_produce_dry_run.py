"""``kcli produce --dry-run``: every check without sending: files, brokers, topic, schemas, and all of the input."""

from collections.abc import Callable

from kcli.commands._produce_input import encoded_key
from kcli.commands._produce_report import report_dry_run
from kcli.commands._produce_run import Run
from kcli.flows.failed_file import check_writable
from kcli.flows.produce import ProduceRun
from kcli.flows.produce_dry_run import DryProducer
from kcli.flows.stop import Stop


class DryRun(Run):
    """A run whose records reach a ``DryProducer`` only."""

    def run(self, prepare: Callable[[], object]) -> int:
        """See ``Run``."""
        for name in (self.flags["failed"], self.flags["checkpoint"]):
            if name is not None:
                check_writable(name)
        self._open_checkpoint()
        self._open_producer()
        prepare()
        self.form = encoded_key(self.form)
        self._note_terminal()
        count = self.producer.partitions_of(self.topic)
        dry, stop = DryProducer(count, self.outcomes.delivered), Stop()
        run = ProduceRun(
            dry,
            self._sending(),
            stop=stop,
            progress=lambda _read, _confirmed, _lost: None,
            tracker=self.tracker,
            outcomes=self.outcomes,
        )
        result = run.run(self._feed(stop).portions())
        return report_dry_run(self.inv, self.topic, result, count, self.producer.cluster_id)
