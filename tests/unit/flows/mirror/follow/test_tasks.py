"""What a mirror that follows its source says of groups between two polls."""

from kcli.account.outcomes import Outcome
from kcli.account.survey import Missing
from kcli.core.errors import KcliError
from kcli.core.types import TopicPartition
from kcli.flows.mirror.follow.tasks import sync_task
from kcli.flows.mirror.groups.offsets import GroupsAccount, SyncedOffset, Verdict

T0 = TopicPartition("t", 0)
AWAY = Missing("groups of broker 2", "broker 2", KcliError("broker 2 is away"))


class Listener:
    def __init__(self) -> None:
        self.notes: list[str] = []
        self.details: list[str] = []
        self.note, self.detail = self.notes.append, self.details.append


def account(missing: tuple[Missing, ...] = (), **groups: Outcome) -> GroupsAccount:
    return GroupsAccount(
        [SyncedOffset(group, T0, T0, 1, Verdict(status, 1, "so it is")) for group, status in groups.items()],
        missing,
    )


def test_only_what_is_new_is_said() -> None:
    accounts = [
        account(a=Outcome.DONE, b=Outcome.MISSING, c=Outcome.UNCHANGED, d=Outcome.UNKNOWN),
        account(a=Outcome.REFUSED, b=Outcome.FAILED),
        account(a=Outcome.REFUSED, b=Outcome.DONE),
        account(a=Outcome.REFUSED, b=Outcome.FAILED),
        account((AWAY,)),
        account((AWAY,), a=Outcome.REFUSED),
        account(a=Outcome.REFUSED),
        account((AWAY,)),
    ]
    heard, left = Listener(), iter(accounts)
    look = sync_task(heard, lambda: next(left))  # type: ignore[arg-type]
    notes = []
    for _ in accounts:
        look()
        notes.append(heard.notes.copy())
        heard.notes.clear()
    away = "groups may be left out: broker 2 is away"
    assert notes == [
        [],
        ["group a (and 1 more group) is not synced: so it is"],
        [],
        ["group b is not synced: so it is"],
        [away],
        ["group a is not synced: so it is"],
        [],
        [away],
    ]
    assert heard.details == [one.text for one in accounts]
