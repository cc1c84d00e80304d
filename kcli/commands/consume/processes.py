"""``consume --processes``: what the processes do, and what they count. Only where there are several."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from kcli.commands.shared.context import Invocation
from kcli.core.consumer.consumer import Consumer
from kcli.core.types import TopicPartition
from kcli.flows.consume.ahead import Ahead, BatchWork
from kcli.flows.consume.tallies import Tallies
from kcli.flows.filters.selection import Selection
from kcli.flows.processes import Processes
from kcli.output.records import Formatter

if TYPE_CHECKING:
    from kcli.commands.consume.decoding import Decoding
    from kcli.commands.consume.fields import ChosenFields
    from kcli.flows.filters.where import Where


class SharedWork:
    """To be made before there is a consumer: the processes are forks of this one."""

    def __init__(
        self,
        inv: Invocation,
        count: int,
        selection: Selection,
        formatter: Formatter,
        where: "Where | None",
        decoding: "Decoding | None",
        fields: "ChosenFields | None",
    ) -> None:
        counted: list[object] = [formatter]
        if where is not None:
            counted.append(where)
        if decoding is not None:
            counted += decoding.decoders.undecoded.values()
        if fields is not None:
            counted += fields.readers
        self._tallies = Tallies(counted)
        self._formatter = formatter
        work = BatchWork(selection, formatter, self._tallies)
        self._processes = Processes(count, work, lost=inv.talk.warn)

    def running(self) -> AbstractContextManager[object]:
        """The processes end with the block."""
        return self._processes

    def ahead(self, consumer: Consumer, limit: int | None) -> Ahead:
        """For a reading of at most ``limit`` records."""

        def broker(tp: TopicPartition) -> int:
            node = consumer.cluster.view.leader(tp)
            return -1 if node is None else int(node.id)

        asked: Callable[[TopicPartition], int] | None = broker if self._formatter.needs_broker else None
        return Ahead(self._processes, self._tallies, broker=asked, singly=limit is not None)
