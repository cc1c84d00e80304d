"""What a mirror that follows its source does from time to time: it looks for new topics, for changes of their
configurations, and for topics of the target that are gone, and syncs groups.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress

from kcli.account.outcomes import Outcome
from kcli.core.errors import KcliError, TimedOutError
from kcli.core.names import group_shown
from kcli.core.producer.producer import Producer
from kcli.flows.mirror.copy.errors import may_pass
from kcli.flows.mirror.copy.partition_copy import PartitionCopy
from kcli.flows.mirror.follow.configs import FollowedConfigs
from kcli.flows.mirror.follow.deleted import Deleted
from kcli.flows.mirror.follow.discovery import Discovery
from kcli.flows.mirror.follow.lost_targets import LostTargets
from kcli.flows.mirror.groups.offsets import GroupsAccount
from kcli.flows.mirror.job.store import Progress
from kcli.flows.mirror.settings import Observer
from kcli.output.progress import counted

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
                with suppress(TimedOutError):  # they are waited for with their records
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


def targets_task(
    observer: Observer, targets: LostTargets, end: Callable[[PartitionCopy, KcliError], None]
) -> Callable[[], None]:
    """Ends the partitions whose topic of the target is gone."""

    def look() -> None:
        try:
            lost = targets.look()
        except KcliError as error:
            observer.detail(f"looking for the topics of the target failed: {error}")
            return
        for copy, why in lost:
            end(copy, why)

    return look


def configs_task(observer: Observer, configs: FollowedConfigs) -> Callable[[], None]:
    """Changes the target's configurations as those of the source were; a line for each topic."""

    def look() -> None:
        try:
            found = configs.look()
        except KcliError as error:
            observer.detail(f"looking for changed configurations failed: {error}")
            return
        for line in found.made:
            observer.note(line)
        for line in found.left:
            observer.warn(line)
        for delay in found.delayed:
            observer.detail(f"a configuration is changed later: {delay}")
        for refusal in found.refused:
            observer.failed(refusal, partly=True)

    return look


def sync_task(observer: Observer, sync: Callable[[], GroupsAccount]) -> Callable[[], None]:
    """Commits the groups' offsets on the target as far as it is copied; the report at the end has the details.

    What is refused or fails is said when that is new: what is not copied yet is a matter of the next time.
    """
    said: set[str] = set()

    def look() -> None:
        nonlocal said
        account = sync()
        observer.detail(account.text)
        bad = {one.group: one for one in account.offsets if one.status in (Outcome.REFUSED, Outcome.FAILED)}
        if new := [one for group, one in bad.items() if group not in said]:
            also = f" (and {counted(len(new) - 1, 'more group')})" if len(new) > 1 else ""
            observer.note(f"group {group_shown(new[0].group)}{also} is not synced: {new[0].verdict.why}")
        for part in account.missing:
            if part.what not in said:
                observer.note(f"groups may be left out: {part.error}")
        said = {*bad, *(part.what for part in account.missing)}

    return look
