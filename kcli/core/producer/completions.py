"""Counts and reports completed records, and runs the application's callbacks. Mostly in the sender's thread."""

from collections.abc import Callable, Sequence

from kcli.core.errors import KcliError
from kcli.core.hooks import Hooks
from kcli.core.producer.batch import ProducerBatch
from kcli.core.producer.origins import OriginRows
from kcli.core.producer.report import Report, Totals
from kcli.core.producer.sender_thread import SenderThread
from kcli.core.records.batch import HEADER_SIZE
from kcli.core.types import TopicPartition


class Completions:
    """``on_delivery`` is the application's; ``totals`` are guarded by the lock of ``thread``."""

    def __init__(
        self, thread: SenderThread, hooks: Hooks, on_delivery: Callable[[Report], None] | None
    ) -> None:
        self.totals = Totals()
        self._thread = thread
        self._hooks = hooks
        self._on_delivery = on_delivery

    def complete_batch(self, batch: ProducerBatch) -> None:
        """A batch was confirmed or has failed."""
        delivery, size = batch.delivery, batch.size - HEADER_SIZE
        report = Report(
            batch.tp,
            batch.builder.count,
            size,
            delivery.base_offset,
            delivery.error,
            batch.origins,
            delivery.log_append_time,
            batch.sent_at,
        )
        self._count_and_report(report)
        # Last, and a lock of its own: a flush that returns must find the batch counted and reported, and the
        # application's callback runs before this without the lock, since it may call the producer.
        with self._thread.lock:
            delivery.reported = True
            if self._thread.waiters.waiting:
                self._thread.waiters.wake()
        if delivery.watchers:
            with self._thread.lock:
                watchers, delivery.watchers = delivery.watchers, []
            for watcher in watchers:
                self.run_callback(watcher)

    def fail_unsent(
        self, topic: str, count: int, size: int, error: KcliError, origins: Sequence[OriginRows]
    ) -> None:
        """Records have failed that were put into no batch."""
        self._count_and_report(Report(TopicPartition(topic, -1), count, size, -1, error, origins))

    def run_callback(self, callback: Callable[[], None]) -> None:
        """Runs an application's callback; its errors must not end the sender."""
        try:
            callback()
        except BaseException as error:  # noqa: BLE001 - any error of the application is logged
            self._log(error)

    def _log(self, error: BaseException) -> None:
        self._hooks.log("warning", "proto", f"a callback raised {error!r}")

    def _count_and_report(self, report: Report) -> None:
        with self._thread.lock:
            self.totals.add_report(report)
        if self._on_delivery is None:
            return
        try:  # as in ``run_callback``
            self._on_delivery(report)
        except BaseException as error:  # noqa: BLE001 - any error of the application is logged
            self._log(error)
