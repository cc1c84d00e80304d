"""What becomes of the items of a rewind that ends with an error in the midst."""

from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest

from kcli.core.admin.admin import Admin
from kcli.core.errors import ConnectError, KcliError
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.rewind import change
from kcli.flows.rewind.change import OffsetsChange
from kcli.flows.rewind.plan import GroupPlan, NotPossibleError, RewindItem, RewindPlan
from kcli.flows.rewind.text import Where

T0 = TopicPartition("t", 0)


def group(name: str, **more: Any) -> GroupPlan:
    item = RewindItem(T0, OffsetAndMetadata(9), OffsetAndMetadata(1))
    return GroupPlan(name, f"id-{name}", "x", "Empty", (item,), **more)


def rewound(
    monkeypatch: pytest.MonkeyPatch, error: KcliError, begun: Sequence[str]
) -> tuple[list[tuple[str, str, KcliError | None]], list[str]]:
    """Groups ``a`` and ``b``, and ``c``, which is refused; how they end, and the warnings."""
    refusal = NotPossibleError("c is in use")
    plan = RewindPlan("Qx3", (group("a"), group("b"), group("c", refusal=refusal)), asked=("a", "b", "c"))

    def fail(
        _admin: Admin, plan: RewindPlan, _journals: Any, *, written: Callable[[Any], Any], **_: Any
    ) -> None:
        for one in plan.groups:
            if one.group in begun:
                written(one)
        raise error

    monkeypatch.setattr(change, "execute", fail)
    made = OffsetsChange(lambda _admin: plan, cast(Where, None), again=False, dry=False)
    ended = made.act(cast(Admin, None), made.decide(cast(Admin, None)))
    return [(item.key.group, str(item.outcome), item.error) for item in ended], list(made.noticed(ended))


def test_before_the_first_journal_nothing_was_attempted(monkeypatch: pytest.MonkeyPatch) -> None:
    locked = NotPossibleError("another kcli process is rewinding group b")
    ended, warnings = rewound(monkeypatch, locked, [])
    assert [end[:2] for end in ended] == [("a", "refused"), ("b", "refused"), ("c", "refused")]
    assert [end[2] is locked for end in ended] == [True, True, False]
    assert warnings == []


def test_a_group_that_was_begun_is_unknown_and_its_undo_named(monkeypatch: pytest.MonkeyPatch) -> None:
    ended, warnings = rewound(monkeypatch, ConnectError("no broker"), ["a"])
    assert [end[:2] for end in ended] == [("a", "unknown"), ("b", "refused"), ("c", "refused")]
    assert warnings == ["offsets may have been set; undo with: kcli groups rewind a --undo=id-a"]
