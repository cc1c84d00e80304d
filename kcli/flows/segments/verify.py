"""``segments verify``: every partition that was found, its segments by several threads.

A thread (``kcli-segments``) reads one segment and its indexes, and owns nothing else; the caller's thread judges.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

from kcli.account.survey import Missing
from kcli.core.classes import dataclass, field
from kcli.core.errors import DamagedFileError, FileGoneError, KcliError, UnreadableFileError
from kcli.core.logdir import checkpoints
from kcli.core.logdir.aborted_index import SUFFIX as TRANSACTION_SUFFIX
from kcli.core.logdir.aborted_index import Aborted, read_aborted_index
from kcli.core.logdir.folders import CURRENT, Found, PartitionFolder, Used, read_file, read_used
from kcli.core.logdir.leader_epochs import NAME as EPOCHS
from kcli.core.logdir.leader_epochs import EpochStart, parse_leader_epochs
from kcli.core.logdir.offset_index import SUFFIX as INDEX_SUFFIX
from kcli.core.logdir.offset_index import OffsetIndex
from kcli.core.logdir.partition_log import PartitionLog
from kcli.core.logdir.producer_snapshot import SUFFIX as SNAPSHOT_SUFFIX
from kcli.core.logdir.producer_snapshot import parse_producer_snapshot
from kcli.core.logdir.segment_files import SegmentFile, choose_files
from kcli.core.logdir.time_index import SUFFIX as TIME_SUFFIX
from kcli.core.logdir.time_index import TimeIndex
from kcli.core.offline.image import TOPIC as METADATA_LOG
from kcli.core.offline.image import MetadataImage
from kcli.core.records.segment import unreadable
from kcli.flows.segments import rules
from kcli.flows.segments.dumped_files import LOG
from kcli.flows.segments.finding import DAMAGE, NOTE, Finding
from kcli.flows.segments.policies import Policy, policy_of, was_cleaned
from kcli.flows.segments.snapshots import BOOTSTRAP, CHECKPOINT, before_the_log, snapshot_findings
from kcli.flows.segments.walk import Facts, Marker, Segment, Walk
from kcli.output.progress import counted

_SMALL = (
    checkpoints.PARTITION, checkpoints.META, checkpoints.RECOVERY_POINTS, checkpoints.LOG_STARTS,
    checkpoints.HIGH_WATERMARKS,
)  # fmt: skip
AHEAD = 64
"""Segments that may wait for a thread."""
_REBUILT = "without it, a broker looks for offsets and times from the beginning of the segment"


@dataclass(slots=True)
class Verdict:
    """What was found out about one partition. ``missing`` could not be read."""

    folder: PartitionFolder
    policy: Policy
    facts: list[Facts] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)

    def count(self, severity: str) -> int:
        """How many places have a finding of this severity."""
        return sum(1 + one.also for one in self.findings if one.severity == severity)


@dataclass(slots=True)
class Read:
    """What a thread has read of one segment."""

    file: SegmentFile
    facts: Facts | None = None
    findings: list[Finding] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)


class Verification:
    """Verifies what was found: ``verdicts`` of partitions; ``folder_findings`` is about folders and log directories.

    ``missing`` are files of log directories that cannot be read.
    """

    def __init__(self, found: Found, image: MetadataImage | None, *, threads: int = 0) -> None:
        self.found = found
        self.image = image
        self._threads = threads or min(8, os.cpu_count() or 1)
        self._stop = threading.Event()
        self.missing: list[Missing] = []
        self.folder_findings = self._of_folders()

    def stop(self) -> None:
        """Ends the reading: what was not read is not judged."""
        self._stop.set()

    def verdicts(self, on_bytes: Callable[[int], object] = lambda _size: None) -> Iterator[Verdict]:
        """The partitions in order; their segments are read ahead."""
        waiting: deque[tuple[Verdict, list[Future[Read]], dict[str, Future[list[Finding]]]]] = deque()
        with ThreadPoolExecutor(self._threads, thread_name_prefix="kcli-segments") as pool:
            try:
                for folder in self.found.partitions:
                    waiting.append(self._begun(folder, pool))
                    while waiting and sum(len(jobs) for _, jobs, _ in waiting) >= AHEAD:
                        yield self._judged(*waiting.popleft(), on_bytes)
                while waiting:
                    yield self._judged(*waiting.popleft(), on_bytes)
            finally:
                self.stop()
                pool.shutdown(cancel_futures=True)

    def _begun(
        self, folder: PartitionFolder, pool: ThreadPoolExecutor
    ) -> tuple[Verdict, list[Future[Read]], dict[str, Future[list[Finding]]]]:
        policy = policy_of(folder.tp.topic, self.image, cleaned=was_cleaned(folder))
        verdict = Verdict(folder, policy)
        try:
            files = choose_files(folder.path, folder.files).files
        except UnreadableFileError as error:
            verdict.missing.append(Missing(str(folder.tp), folder.path, error))
            return verdict, [], {}
        jobs = [
            pool.submit(partial(read_segment, folder, file, policy, file is files[-1], self._stop.is_set))
            for file in files
        ]
        snapshots = {
            name: pool.submit(snapshot_findings, os.path.join(folder.path, name), self._stop.is_set)
            for name in snapshots_of(folder)
        }
        return verdict, jobs, snapshots

    def _judged(
        self,
        verdict: Verdict,
        jobs: list[Future[Read]],
        snapshots: dict[str, Future[list[Finding]]],
        on_bytes: Callable[[int], object],
    ) -> Verdict:
        reads = []
        for job in jobs:
            read = job.result()
            reads.append(read)
            on_bytes(read.file.size)
        judge(verdict, reads)
        _judge_snapshots(verdict, snapshots)
        return verdict

    def _of_folders(self) -> list[Finding]:
        topics = self.image.topics if self.image else {}
        known = {name: topic.topic_id for name, topic in topics.items()}
        numbers = {name: topic.partitions for name, topic in topics.items()}
        places = []
        for folder in self.found.partitions:
            if folder.state == CURRENT and folder.named:
                meta = folder.log_dir.meta if folder.log_dir else None
                owner = (meta.cluster_id, meta.node_id) if meta and meta.node_id >= 0 else None
                places.append(rules.Place(folder.path, folder.tp, folder.topic_id, owner))
        findings = rules.folders(places, known, numbers)
        for log_dir in self.found.log_dirs:
            bootstrap = os.path.join(log_dir.path, BOOTSTRAP)
            try:
                findings += snapshot_findings(bootstrap, self._stop.is_set)
            except FileNotFoundError:
                pass  # those of Kafka 4 have none
            except OSError as error:
                self.missing.append(Missing(bootstrap, "", unreadable(bootstrap, error)))
            if log_dir.live:
                why = "a broker has this log directory open"
                meaning = "what it writes or deletes meanwhile is not judged"
                findings.append(Finding(NOTE, "live", log_dir.path, None, None, why, meaning))
        return findings


def snapshots_of(folder: PartitionFolder) -> list[str]:
    """The names of the snapshots of a folder of the metadata log."""
    if folder.files or folder.tp.topic != METADATA_LOG:
        return []
    return sorted(filter(CHECKPOINT.fullmatch, os.listdir(folder.path)))


def _judge_snapshots(verdict: Verdict, snapshots: dict[str, Future[list[Finding]]]) -> None:
    whole, path = [], verdict.folder.path
    for name, job in snapshots.items():
        where = os.path.join(path, name)
        try:
            findings = job.result()
        except (FileNotFoundError, FileGoneError):
            continue  # a broker that runs has deleted it meanwhile
        except KcliError as error:
            verdict.missing.append(Missing(str(verdict.folder.tp), where, error))
            continue
        except OSError as error:
            verdict.missing.append(Missing(str(verdict.folder.tp), where, unreadable(where, error)))
            continue
        verdict.findings += findings
        if not findings:
            whole.append(name)
    unread = any(part.where.startswith(path) for part in verdict.missing)
    if verdict.facts and verdict.folder.tp.topic == METADATA_LOG and not verdict.folder.files and not unread:
        verdict.findings += before_the_log(path, verdict.facts[0].base_offset, whole)


def read_segment(
    folder: PartitionFolder, file: SegmentFile, policy: Policy, last: bool, stopped: Callable[[], bool]
) -> Read:
    """Reads one segment and its indexes; runs in any thread. The indexes first: a broker writes them last."""
    read = Read(file)
    path = os.path.join(folder.path, file.name)
    index_path = os.path.join(folder.path, file.beside(INDEX_SUFFIX))
    time_path = os.path.join(folder.path, file.beside(TIME_SUFFIX))
    segment = Segment(
        path,
        file.base_offset,
        last,
        policy.compacted is False,
        interval=policy.interval,
        index_path=index_path,
        time_path=time_path,
    )
    whole_folder = not folder.files
    index, times = _content(read, folder, index_path), _content(read, folder, time_path)
    if index is not None:
        segment.entries = index.data[: 8 * len(OffsetIndex(index.data, file.base_offset, index_path))]
        read.findings += _whole(index_path, index.size, 8)
    if times is not None:
        segment.times = times.data[: 12 * len(TimeIndex(times.data, file.base_offset, time_path))]
        read.findings += _whole(time_path, times.size, 12)
    if whole_folder and file.size:
        for name, content in ((index_path, index), (time_path, times)):
            if content is None and not any(one.where == name for one in read.missing):
                rule = "offset index" if name == index_path else "time index"
                read.findings.append(
                    Finding(DAMAGE, rule, name, None, None, "there is no such file", _REBUILT)
                )
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        read.missing.append(Missing(str(folder.tp), path, unreadable(path, error)))
        return read
    try:
        read.facts = Walk(segment, descriptor, stopped).run()
    except OSError as error:
        read.missing.append(Missing(str(folder.tp), path, unreadable(path, error)))
    finally:
        os.close(descriptor)
    return read


def _content(read: Read, folder: PartitionFolder, path: str) -> Used | None:
    try:
        return read_used(path)
    except UnreadableFileError as error:
        read.missing.append(Missing(str(folder.tp), path, error))
        return None


def _whole(path: str, size: int, entry: int) -> list[Finding]:
    extra = size % entry
    if not extra:
        return []
    why = f"{size} bytes are no whole entries of {entry} bytes each"
    return [Finding(DAMAGE, "size", path, size - extra, None, why, _REBUILT)]


def small_file_finding(path: str, why: str) -> Finding | None:
    """Of a small file of a log directory that was read and makes no sense; None for what could not be read."""
    file, _, place = path.partition(" at byte ")
    name = os.path.basename(file)
    if name not in _SMALL or not os.access(file, os.R_OK):
        return None
    rule = name if name == checkpoints.PARTITION else "checkpoint"
    meaning = "a broker does not start with it, or takes the folder for none of its own"
    return Finding(DAMAGE, rule, file, int(place) if place.isdigit() else 0, None, why, meaning)


def judge(verdict: Verdict, reads: Sequence[Read]) -> None:
    """Adds what the segments together, and the small files of the folder, say."""
    folder, policy = verdict.folder, verdict.policy
    contiguous = policy.compacted is False
    for read in reads:
        verdict.findings += read.findings
        verdict.missing += read.missing
        if read.facts is not None:
            verdict.facts.append(read.facts)
            verdict.findings += read.facts.findings
    facts = verdict.facts
    whole = len(facts) == len(reads)  # what could not be read is missing, and no gap
    if whole:
        between = rules.between_segments(facts, contiguous=contiguous)
        verdict.findings += between
        contiguous = contiguous and not between  # epochs of what is not there are nobody's
    verdict.findings += _of_transactions(verdict, [read.file for read in reads], contiguous=contiguous)
    if not folder.files and folder.state == CURRENT:
        known, stored = _stored_epochs(verdict)
        end = max((one.next_offset for one in facts), default=-1)
        base = facts[0].base_offset if facts else -1
        if whole and facts:
            path = os.path.join(folder.path, EPOCHS)
            if known:
                verdict.findings += rules.leader_epochs(
                    path, stored, facts, contiguous=contiguous, log_start=folder.log_start
                )
            verdict.findings += rules.beyond_the_end(
                folder.path,
                end,
                base,
                high_watermark=folder.high_watermark,
                recovery_point=folder.recovery_point,
            )
            verdict.findings += rules.before_the_start(
                folder.path, base, log_start=folder.log_start, epochs=stored or ()
            )
        verdict.findings += _of_snapshots(verdict, end)
    holes = sum(one.missing_offsets for one in facts)
    if policy.compacted is None and (holes or rules.between_segments(facts, contiguous=True)):
        why = (
            f"{counted(holes, 'offset')} have no record; whether the topic is compacted is not known: "
            "there is no metadata log in these paths"
        )
        meaning = "they were compacted away, or are lost"
        verdict.findings.append(Finding(NOTE, "policy", folder.path, None, None, why, meaning))


def _stored_epochs(verdict: Verdict) -> tuple[bool, tuple[EpochStart, ...] | None]:
    """Whether the checkpoint could be read or is not there, and its epochs; None without the file."""
    path = os.path.join(verdict.folder.path, EPOCHS)
    try:
        data = read_file(path)
        return True, None if data is None else parse_leader_epochs(data, path)
    except DamagedFileError as error:
        meaning = "a broker does not start with it"
        verdict.findings.append(
            Finding(DAMAGE, "leader epochs", path, error.position, None, error.why, meaning)
        )
    except UnreadableFileError as error:
        verdict.missing.append(Missing(str(verdict.folder.tp), path, error))
    return False, None


def _of_snapshots(verdict: Verdict, end: int) -> list[Finding]:
    findings = []
    folder = verdict.folder
    try:
        names = sorted(name for name in os.listdir(folder.path) if name.endswith(SNAPSHOT_SUFFIX))
    except OSError:
        return []  # the folder is missing already
    for name in names:
        number = name.removesuffix(SNAPSHOT_SUFFIX)
        path = os.path.join(folder.path, name)
        problem = None
        try:
            data = read_file(path)
            if data is None or not number.isdigit():
                continue
            parse_producer_snapshot(data, path)
        except DamagedFileError as error:
            problem = error
        except UnreadableFileError as error:
            verdict.missing.append(Missing(str(folder.tp), path, error))
            continue
        findings += rules.producer_snapshot(path, int(number), end, problem)
    return findings


def _of_transactions(verdict: Verdict, files: Sequence[SegmentFile], *, contiguous: bool) -> list[Finding]:
    folder = verdict.folder
    findings = []
    by_path = {facts.path: facts for facts in verdict.facts}
    for number, file in enumerate(files):
        facts = by_path.get(os.path.join(folder.path, file.name))
        if facts is None:
            continue
        path = os.path.join(folder.path, file.beside(TRANSACTION_SUFFIX))
        try:
            data = read_file(path)
        except UnreadableFileError as error:
            verdict.missing.append(Missing(str(folder.tp), path, error))
            continue
        if data is None and folder.files:
            continue
        entries, problem = read_aborted_index(data or b"", path)
        if problem is not None:
            meaning = "a broker that starts here builds it anew"
            findings.append(
                Finding(DAMAGE, "transaction index", path, problem.position, None, problem.why, meaning)
            )
        markers = set(facts.aborts)
        named = {Marker(one.last_offset, one.producer_id) for one in entries}
        had_records: list[Marker] = []
        if markers - named and problem is None:
            had_records = _with_records(verdict, number, markers)
        elsewhere = _begun_elsewhere(verdict, number, entries) if contiguous and problem is None else []
        findings += rules.transaction_index(
            path, entries, markers, had_records, contiguous=contiguous, elsewhere=elsewhere
        )
    return findings


def _begun_elsewhere(verdict: Verdict, number: int, entries: Sequence[Aborted]) -> list[Aborted]:
    """The entries at whose first offset no transaction of the producer begins."""
    if not entries or any(one.severity == DAMAGE and one.file.endswith(LOG) for one in verdict.findings):
        return []  # what damages the log has a finding of its own
    with PartitionLog(verdict.folder) as log:
        return [one for one in entries if not log.begins(number, one)]


def _with_records(verdict: Verdict, number: int, markers: set[Marker]) -> list[Marker]:
    """The abort markers of a segment whose transactions have records, by another reading of the log."""
    try:
        with PartitionLog(verdict.folder) as log:
            ended = log.ended(number).aborted
    except KcliError:
        return []  # what damages it has a finding of its own
    return [one for one in (Marker(each.last_offset, each.producer_id) for each in ended) if one in markers]
