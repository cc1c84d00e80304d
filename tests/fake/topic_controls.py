"""The knobs that change topics, leaders and logs, and look into them, as methods of FakeCluster."""

from collections.abc import Iterable, Mapping

from tests.batches import batch_of
from tests.fake.inspection import LogView, view
from tests.fake.log_dirs import finish_move
from tests.fake.producer_states import ProducerState
from tests.fake.replica_admin import finish
from tests.fake.state import State
from tests.fake.thread import LoopThread
from tests.fake.topics import Partition


class TopicControls:
    """Needs ``_state`` and ``_thread``."""

    _state: State
    _thread: LoopThread

    # --- topics ------------------------------------------------------------------------------------

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        *,
        replication: int = -1,
        configs: Mapping[str, str] | None = None,
        replicas: Mapping[int, list[int]] | None = None,
    ) -> str:
        """Its name. Partition i is led by node i % nodes + 1 unless ``replicas`` says otherwise (leader first)."""
        made = self._thread.call(self._state.topics.create, name, partitions, replication, configs, replicas)
        self._thread.call(self._state.changed)
        return made.name

    def delete_topic(self, name: str, *, keeps_commits: bool = False) -> None:
        """``keeps_commits``: as long as the coordinators of groups have not heard of it."""
        self._thread.call(lambda: self._state.delete_topic(name, keeps_commits=keeps_commits))

    def recreate_topic(self, name: str, partitions: int | None = None) -> None:
        """Deleted and created in one step: empty, with a new id, leader epochs at 0 again."""

        def recreate() -> None:
            topics = self._state.topics
            old = topics.by_name[name]
            self._state.delete_topic(name)
            topics.create(
                name, partitions or len(old.partitions), len(old.partitions[0].replicas), old.configs
            )
            self._state.changed()

        self._thread.call(recreate)

    def add_partitions(self, name: str, count: int) -> None:
        """The topic has ``count`` partitions from now on."""
        self._thread.call(self._state.topics.grow, name, count)

    def configure(self, name: str, **configs: str) -> None:
        """Changes topic configs; dots are written as underscores: ``max_message_bytes="1000"``."""
        dotted = {key.replace("_", "."): value for key, value in configs.items()}
        self._thread.call(lambda: self._state.topics.by_name[name].configs.update(dotted))

    def topic_id(self, name: str) -> bytes:
        return self._thread.call(lambda: self._state.topics.by_name[name].topic_id)

    # --- partitions --------------------------------------------------------------------------------

    def leader(self, topic: str, partition: int = 0) -> int:
        return self._thread.call(lambda: self._place(topic, partition).leader)

    def move_leader(self, topic: str, partition: int, node: int) -> None:
        """A new leader (−1: none) under a new leader epoch; the content stays."""

        def move() -> None:
            self._place(topic, partition).lead(node)
            self._state.changed()

        self._thread.call(move)

    def set_isr(self, topic: str, partition: int, nodes: Iterable[int]) -> None:
        """Fewer than min.insync.replicas make acks=all fail with NOT_ENOUGH_REPLICAS."""
        self._thread.call(setattr, self._thread.call(self._place, topic, partition), "isr", list(nodes))

    def set_elr(
        self, topic: str, partition: int, nodes: Iterable[int], last_known: Iterable[int] = ()
    ) -> None:
        """Eligible leader replicas, and those that were before (KIP-966)."""

        def change() -> None:
            place = self._place(topic, partition)
            place.elr, place.last_known_elr = list(nodes), list(last_known)

        self._thread.call(change)

    def tier(self, topic: str, partition: int, tiered_end: int, *, local_start: int = 0) -> None:
        """Up to offset ``tiered_end`` the log is in remote storage; what is before ``local_start`` is only there."""

        def change() -> None:
            log = self._place(topic, partition).log
            log.tiered_end, log.local_start = tiered_end, local_start

        self._thread.call(change)

    def reassignment(self, topic: str, partition: int) -> tuple[list[int], list[int], list[int]]:
        """The replicas, and of these the ones being added and removed (``hold_reassignments`` of the settings)."""
        place = self._thread.call(self._place, topic, partition)
        return list(place.replicas), list(place.adding), list(place.removing)

    def copy_replica(self, topic: str, partition: int, node: int, size: int) -> None:
        """How many bytes a replica that is being added has."""
        self._thread.call(self._thread.call(self._place, topic, partition).copied.__setitem__, node, size)

    def finish_reassignment(self, topic: str, partition: int) -> None:
        """The replicas that were being added are in sync, those that were being removed are gone."""

        def end() -> None:
            finish(self._place(topic, partition))
            self._state.changed()

        self._thread.call(end)

    def finish_log_dir_move(self, topic: str, partition: int, node: int) -> None:
        """The replica of the node is in its new directory."""

        def end() -> None:
            finish_move(self._place(topic, partition), node)

        self._thread.call(end)

    def log_dir(self, topic: str, partition: int, node: int) -> str:
        """Where the replica of the node is."""
        return self._thread.call(self._place, topic, partition).directories.get(node, f"/fake/{node}")

    def truncate(self, topic: str, partition: int, offset: int, *, leader: int | None = None) -> None:
        """Loses what is at ``offset`` and behind it, and elects ``leader`` (the same one) under a new epoch."""

        def truncate() -> None:
            place = self._place(topic, partition)
            place.log.truncate(offset)
            place.lead(place.leader if leader is None else leader)
            self._state.changed()

        self._thread.call(truncate)

    def delete_records(self, topic: str, partition: int, before: int) -> None:
        """Retention or DeleteRecords: the log starts at ``before``."""
        self._thread.call(lambda: self._place(topic, partition).log.delete_before(before))

    def compact(self, topic: str, partition: int = 0, *, tombstones: bool = True) -> None:
        """What the log cleaner leaves: the last record of each key, and ``tombstones`` within delete.retention.ms. The
        last batch stays: the active segment is not cleaned.
        """

        def compact() -> None:
            log = self._place(topic, partition).log
            last = {record.key: record.offset for batch in log.batches for record in batch.records()}
            kept = [
                [
                    record
                    for record in batch.records()
                    if last[record.key] == record.offset and (tombstones or record.value is not None)
                ]
                for batch in log.batches[:-1]
            ]
            log.replace([*(batch_of(records) for records in kept if records), *log.batches[-1:]])

        self._thread.call(compact)

    def append(self, topic: str, partition: int, raw: bytes, *, append_time: int | None = None) -> int:
        """Stores a batch as if a producer had sent it, unchecked; its base offset."""

        def append() -> int:
            place = self._place(topic, partition)
            stored = place.log.append(raw, place.leader_epoch, append_time)
            self._state.changed()
            return stored.base_offset

        return self._thread.call(append)

    def misplace_batch(self, topic: str, partition: int, fault: str, *, nth: int = 1) -> None:
        """The ``nth`` batch from now on is confirmed as stored, and then is not (``lose``), is there twice (``repeat``),
        or comes after the next one (``swap``).
        """
        self._thread.call(lambda: self._place(topic, partition).log.mishaps.plan(fault, nth))

    def cap_high_watermark(self, topic: str, partition: int, offset: int | None) -> None:
        """Readers see nothing from ``offset`` on, as while followers lag; None ends it."""

        def cap() -> None:
            self._place(topic, partition).log.high_watermark_cap = offset
            self._state.changed()

        self._thread.call(cap)

    def log(self, topic: str, partition: int = 0) -> LogView:
        """The partition's log as it is now."""

        def look() -> LogView:
            place = self._place(topic, partition)
            return view(place.log, place.leader, place.leader_epoch)

        return self._thread.call(look)

    def set_sequence(self, topic: str, partition: int, producer_id: int, epoch: int, last: int) -> None:
        """What the partition takes for this producer's last sequence number; the next one must follow it."""

        def seed() -> None:
            states = self._place(topic, partition).log.producers
            states.by_id[producer_id] = ProducerState(epoch, last_sequence=last)

        self._thread.call(seed)

    def forget_producer(self, topic: str, partition: int, producer_id: int) -> None:
        """As after producer.id.expiration.ms: it may begin with any sequence number."""
        self._thread.call(lambda: self._place(topic, partition).log.producers.by_id.pop(producer_id, None))

    def _place(self, topic: str, partition: int) -> Partition:
        return self._state.topics.by_name[topic].partitions[partition]
