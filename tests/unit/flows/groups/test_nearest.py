"""Which group somebody meant."""

from typing import cast

from kcli.core.admin.admin import Admin
from kcli.core.admin.groups import GroupListing, ListedGroup
from kcli.core.errors import BrokerError, KcliError, NotFoundError
from kcli.core.names import THERE_ARE
from kcli.flows.groups.nearest import name_nearest, nearest_text, without_commits


class StandIn:
    def __init__(self, *, refuses: bool = False) -> None:
        self.asked, self.refuses = 0, refuses

    def list_groups(self) -> GroupListing:
        self.asked += 1
        if self.refuses:
            raise BrokerError(31, "listing groups")
        return GroupListing(
            (
                ListedGroup("billing", "consumer", "Empty", "classic", 1),
                ListedGroup("queue", "share", "Stable", "share", 1),
                ListedGroup("app", "streams", "Stable", "streams", 1),
            ),
            {},
        )


def remedies(admin: StandIn, *names: str) -> list[str]:
    told: dict[str, KcliError] = {name: NotFoundError(f"group {name} does not exist") for name in names}
    name_nearest(cast("Admin", admin), told | {"other": BrokerError(30, "group other", do="this")})
    return [error.do for error in told.values()]


def test_one_request_for_all_that_are_missing() -> None:
    admin = StandIn()
    assert remedies(admin, "biling", "zzz") == ["did you mean billing?", THERE_ARE]
    assert admin.asked == 1
    assert remedies(admin) == []
    assert admin.asked == 1


def test_a_list_that_cannot_be_read_is_no_second_error() -> None:
    assert remedies(StandIn(refuses=True), "biling") == [THERE_ARE]


def test_a_group_is_never_proposed_for_itself() -> None:
    assert nearest_text("billing", ["billing"]) == THERE_ARE


def test_why_a_group_has_committed_nothing() -> None:
    admin = cast("Admin", StandIn())
    absent, bare, share = (without_commits(admin, name) for name in ("biling", "billing", "queue"))
    assert (absent.what, absent.do) == ("group biling does not exist", "did you mean billing?")
    assert (bare.what, bare.do) == (
        "group billing has no committed offsets", "`kcli groups describe billing` shows its members",
    )  # fmt: skip
    assert (share.what, share.do) == (
        "share group queue has no start offsets", "`kcli groups describe queue` shows its members",
    )  # fmt: skip
