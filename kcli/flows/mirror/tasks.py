"""What a mirror that follows its source does from time to time: it looks for new topics, and syncs groups."""

from collections.abc import Callable, Iterable, Sequence

from kcli.core.admin.admin import Admin
from kcli.core.errors import KcliError
from kcli.core.producer.producer import Producer
from kcli.flows.mirror.deleted import Deleted
from kcli.flows.mirror.discovery import Discovery
from kcli.flows.mirror.errors import may_pass
from kcli.flows.mirror.partition_copy import PartitionCopy
from kcli.flows.mirror.settings import Observer
from kcli.flows.mirror.store import Progress
from kcli.flows.mirror.sync_groups import SET, Mapped, Translated, sync_groups

_METADATA_PATIENCE = 30.0  # seconds until the producer knows partitions that were added


def discovery_task(
    observer: Observer,
    discovery: Discovery,
    producer: Producer,
    progress: Progress,
    add: Callable[[Sequence[PartitionCopy]], None],
    *,
    by_key: bool,
) -> Callable[[], None]:
    """Copies what appeared since the last call; what cannot be copied is reported once."""
    warned = ""

    def missed(error: KcliError) -> None:
        """An error that may pass is a detail; another one is a warning, once in a row."""
        nonlocal warned
        text = f"looking for new topics failed: {error}"
        if may_pass(error):
            observer.detail(text)
        elif text != warned:
            observer.warn(text)
            warned = text

    def look() -> None:
        try:
            found = discovery.look()
        except KcliError as error:
            missed(error)
            return
        for one in found.deleted:
            observer.warn(_deleted_text(one))
        for doubt in found.doubts:
            observer.warn(f"topics of the source are missing and not taken for deleted: {doubt}")
        for delay in found.delayed:
            missed(delay)
        for refusal in found.refused:
            observer.failed(refusal, partly=True)
        for route in found.routes:
            own = [copy.target.partition for copy in found.copies if copy.source.topic == route.source]
            if not by_key:
                producer.wait_for_partitions(route.target, max(own) + 1, _METADATA_PATIENCE)
            observer.note(f"{route.source} → {route.target}: new partitions are copied from now on")
        progress.add_topics(found.routes)
        add(found.copies)

    return look


def _deleted_text(one: Deleted) -> str:
    what = f"topic {one.source} of the source was deleted"
    if one.undo:
        return f"{what}, and so was its copy {one.target} of the target; undo with: kcli undo {one.undo}"
    why = "" if one.error is None else f": {one.error}"
    return f"{what}; its copy {one.target} of the target is kept{why}"


def sync_task(
    observer: Observer, source: Admin, target: Admin, groups: Sequence[str], copies: Iterable[PartitionCopy]
) -> Callable[[], None]:
    """Commits the groups' offsets on the target as far as it is copied; the report at the end has the details."""

    def sync() -> None:
        try:
            rows, _ = sync_copies(source, target, groups, copies)
        except KcliError as error:
            observer.detail(f"syncing groups failed: {error}")
            return
        done = sum(row.status == SET for row in rows)
        observer.detail(f"{done} of {len(rows)} committed offsets set on the target")

    return sync


def sync_copies(
    source: Admin, target: Admin, groups: Sequence[str], copies: Iterable[PartitionCopy]
) -> tuple[list[Translated], dict[str, KcliError]]:
    """``sync_groups`` with the offset maps of these copies."""
    maps = {copy.source: Mapped(copy.target, copy.offsets, copy.topic_ids.target) for copy in copies}
    return sync_groups(source, target, groups, maps)
