"""``kcli features upgrade`` and ``downgrade``: other finalized levels of features, all of them or none."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from kcli.account.change import Change, Found, Item, Question
from kcli.account.outcomes import Outcome
from kcli.core.admin.admin import Admin
from kcli.core.admin.feature_levels import KRAFT_VERSION, levels_of_release
from kcli.core.admin.feature_updates import LevelChange
from kcli.core.admin.features import BrokerFeatures
from kcli.core.classes import NamedTuple
from kcli.core.errors import KcliError, NotFoundError, UnsupportedError
from kcli.core.exit_codes import ExitCode
from kcli.core.near_names import near_names
from kcli.flows.cluster_state import finalized_levels, newest_finalized
from kcli.flows.features.consequences import can_return, consequences
from kcli.flows.features.rows import FEATURE, level_name, level_text
from kcli.flows.journal import Draft, FeatureEntry, Journal
from kcli.flows.permitted import denied_on_cluster
from kcli.flows.read_back import wait_until_empty
from kcli.output.progress import counted
from kcli.output.sanitise import visible_line
from kcli.output.tables import Column

SEE = "`kcli features list` shows the levels"


class LevelRefusedError(KcliError):
    """The cluster is in a state that forbids the level."""

    exit_code = ExitCode.REFUSED


class Levels(NamedTuple):
    """The finalized level of a feature before the change and after it; 0: off."""

    before: int
    after: int


FeatureItem = Item[str, Levels]


class FeatureChange(Change[str, Levels]):
    """Other levels: those that are named, and with ``release`` those that belong to it."""

    item_meaning = "A feature."
    columns = (
        FEATURE,
        Column("old_level", "id", values="integer", meaning="Finalized level before; 0: none."),
        Column(
            "old_name", wide=True, values="string?", meaning="Name of that level; null where it has none."
        ),
        Column("level", "id", values="integer", meaning="Finalized level after; 0: none."),
        Column("level_name", values="string?", meaning="Name of that level; null where it has none."),
    )
    verb: ClassVar[str]
    done: ClassVar[str]
    other: ClassVar[str]

    def __init__(
        self,
        levels: Mapping[str, int],
        *,
        release: str | None = None,
        unsafe: bool = False,
        undone: Journal | None = None,
    ) -> None:
        self.levels, self.release, self.unsafe, self.undone = dict(levels), release, unsafe, undone
        self._not_checked: KcliError | None = None

    @property
    def change(self) -> LevelChange:
        """What the request allows."""
        raise NotImplementedError

    def is_forward(self, before: int, after: int) -> bool:
        """Whether a level differs in the direction of this change."""
        raise NotImplementedError

    def begin(self, admin: Admin) -> None:
        """With the first contact: what the plan is made from."""
        admin.foresee(brokers=True, permissions=True)

    def decide(self, admin: Admin) -> list[FeatureItem]:
        """An item for each feature. The controller checks those that are planned, without changing anything."""
        if self.undone is not None:
            self.undone.check_cluster(admin.cluster_id())
        described = admin.describe_features()
        brokers = {number: one for number, one in described.items() if not isinstance(one, KcliError)}
        if not brokers:
            raise next(one for one in described.values() if isinstance(one, KcliError))
        finalized = newest_finalized(brokers.values())
        if self.release is not None:
            self.levels = self._levels_of_release(brokers, finalized)
        items = [self._item(name, level, brokers, finalized) for name, level in self.levels.items()]
        todo = {item.key: item.facts.after for item in items if item.outcome is Outcome.PLANNED}
        if not todo or any(item.outcome is Outcome.REFUSED for item in items):
            return items
        refused = self._checked(admin, todo)
        return [
            item
            if (error := refused.get(item.key)) is None
            else item._replace(outcome=Outcome.REFUSED, error=error)
            for item in items
        ]

    def _levels_of_release(
        self, brokers: Mapping[int, BrokerFeatures], finalized: Mapping[str, int]
    ) -> dict[str, int]:
        """Of features that brokers support. An upgrade switches nothing off, and a downgrade nothing on.

        A static quorum stays one: a dynamic one is run in another way, and there is no way back (KAFKA-21426).
        """
        assert self.release is not None
        known = {name for one in brokers.values() for name in one.supported}
        if finalized.get(KRAFT_VERSION, 0) == 0:
            known.discard(KRAFT_VERSION)
        return {
            name: level
            for name, level in levels_of_release(self.release).items()
            if name in known and self.belongs(level, finalized.get(name, 0))
        }

    def belongs(self, level: int, now: int) -> bool:
        """Whether the level of a release is one to be asked for."""
        raise NotImplementedError

    def _item(
        self,
        name: str,
        level: int,
        brokers: Mapping[int, BrokerFeatures],
        finalized: Mapping[str, int],
    ) -> FeatureItem:
        now = finalized.get(name, 0)
        item = Item(name, Levels(now, level))
        known = {one for found in brokers.values() for one in found.supported}
        if name not in known:
            return item._replace(outcome=Outcome.REFUSED, error=_unknown(name, known))
        if self.undone is not None and (error := self._changed_since(name, now)) is not None:
            return item._replace(outcome=Outcome.REFUSED, error=error)
        if level == now:
            return item._replace(outcome=Outcome.UNCHANGED, note="it has this level")
        error = self._wrong_way(name, now, level) or _unsupported(name, level, brokers)
        return item if error is None else item._replace(outcome=Outcome.REFUSED, error=error)

    def _changed_since(self, name: str, now: int) -> KcliError | None:
        assert self.undone is not None
        for entry in self.undone.entries:
            if (
                isinstance(entry, FeatureEntry)
                and entry.feature == name
                and now not in (entry.after, entry.before)
            ):
                return LevelRefusedError(
                    f"feature {name} has been changed since",
                    why=f"its level is {level_text(name, now)}, and the change that is to be undone left "
                    f"{level_text(name, entry.after)}; nothing was done to it",
                    do=SEE,
                )
        return None

    def _wrong_way(self, name: str, now: int, level: int) -> KcliError | None:
        if self.is_forward(now, level):
            return None
        return LevelRefusedError(
            f"cannot {self.verb.lower()} feature {name} to {level_text(name, level)}",
            why=f"its level is {level_text(name, now)}",
            do=f"`kcli features {self.other} --feature {name}={level}` is the other direction",
        )

    def _checked(self, admin: Admin, todo: Mapping[str, int]) -> Mapping[str, KcliError | None]:
        """What the controller says of it; what it cannot check is checked by the change itself."""
        denied = denied_on_cluster(admin, "ALTER", f"changing the levels of {', '.join(todo)}")
        if denied is not None:
            return dict.fromkeys(todo, denied)
        try:
            return admin.update_features(todo, self.change, validate_only=True)
        except UnsupportedError as error:
            self._not_checked = error
            return {}

    def together(self, plan: Sequence[FeatureItem]) -> list[FeatureItem]:
        """All or nothing, as controllers do since Kafka 4.0."""
        refused = [item.key for item in plan if item.outcome is Outcome.REFUSED]
        if not refused:
            return list(plan)
        error = LevelRefusedError(
            "the other features stay as they are",
            why=f"levels are changed together, and {', '.join(refused)} cannot be",
            do="leave that out",
        )
        return [
            item._replace(outcome=Outcome.REFUSED, error=error) if item.outcome is Outcome.PLANNED else item
            for item in plan
        ]

    def text(self, plan: Sequence[FeatureItem]) -> str:
        """Each level, and what it forbids afterwards."""
        todo = [item for item in plan if item.outcome is Outcome.PLANNED]
        if not todo:
            return ""
        lines = [f"{self.verb} {counted(len(todo), 'feature')}{', unsafe' if self.unsafe else ''}:"]
        for item in todo:
            before, after = item.facts
            lines.append(f"  {item.key}: {level_text(item.key, before)} → {level_text(item.key, after)}")
            lines += [f"    {sentence}" for sentence in consequences(item.key, before, after)]
        return "\n".join(visible_line(line) for line in lines)

    def questions(self, plan: Sequence[FeatureItem]) -> list[Question]:
        """What cannot be taken back has to be typed: the name of the feature."""
        todo = [item for item in plan if item.outcome is Outcome.PLANNED]
        final = [item.key for item in todo if self.unsafe or not can_return(item.key, *item.facts)]
        sentence = f"{self.verb} {', '.join(item.key for item in todo)}?"
        name = final[0] if final else None
        return [Question(self.text(plan), sentence, name=name, subject=todo[0].key)]

    def warnings(self, plan: Sequence[FeatureItem]) -> Iterator[str]:
        """What was not checked."""
        if self._not_checked is not None and any(item.outcome is Outcome.PLANNED for item in plan):
            yield f"not checked by the controller: {self._not_checked.why}"

    def journal(self, admin: Admin, todo: Sequence[FeatureItem]) -> Draft:  # noqa: ARG002
        """The levels before; an upgrade without a way back cannot be undone."""
        entries = [FeatureEntry(item.key, *item.facts) for item in todo]
        can_undo = all(can_return(item.key, *item.facts) for item in todo)
        return Draft(self.printed_by, entries, can_undo=can_undo)

    def apply(self, admin: Admin, todo: Sequence[FeatureItem]) -> Mapping[str, KcliError | None]:
        """One request for all."""
        return admin.update_features({item.key: item.facts.after for item in todo}, self.change)

    def read_back(self, admin: Admin, items: Sequence[FeatureItem]) -> dict[str, Found[Levels] | KcliError]:
        """The levels now."""
        now: dict[str, int] = {}

        def wrong() -> Collection[str]:
            now.clear()
            now.update(finalized_levels(admin))
            return [item.key for item in items if now.get(item.key, 0) != item.facts.after]

        left = wait_until_empty(admin, wrong, f"{counted(len(items), 'feature')} {self.done}", see=SEE)
        return {item.key: self._found(item, now.get(item.key, 0), wrong=item.key in left) for item in items}

    def _found(self, item: FeatureItem, now: int, *, wrong: bool) -> Found[Levels]:
        facts = item.facts._replace(after=now)
        if not wrong:
            return Found(facts)
        error = LevelRefusedError(
            f"feature {item.key} was {self.done}, and its level is {level_text(item.key, now)}",
            why="another client has changed it since, or the brokers have not received the change yet",
            do=SEE,
        )
        return Found(facts, error)

    def row(self, item: FeatureItem) -> dict[str, Any]:
        """The values of the columns."""
        before, after = item.facts
        if item.outcome in (Outcome.REFUSED, Outcome.FAILED):
            after = before
        return {
            "feature": item.key,
            "old_level": before,
            "old_name": level_name(item.key, before),
            "level": after,
            "level_name": level_name(item.key, after),
        }

    def summary(self, items: Sequence[FeatureItem]) -> Iterator[str]:
        """The levels that were read back."""
        for item in items:
            yield f"{self.done} feature {item.key}, read back: {level_text(item.key, item.facts.after)}"


class FeatureUpgrade(FeatureChange):
    """Higher levels."""

    kind = "FeatureUpgrade"
    printed_by = "features upgrade"
    verb = "Upgrade"
    done = "upgraded"
    other = "downgrade"

    @property
    def change(self) -> LevelChange:
        """Upgrades only."""
        return LevelChange.UPGRADE

    def is_forward(self, before: int, after: int) -> bool:
        """Whether it is higher."""
        return after > before

    def belongs(self, level: int, now: int) -> bool:  # noqa: ARG002
        """Nothing is switched off."""
        return level > 0


class FeatureDowngrade(FeatureChange):
    """Lower levels; 0 switches a feature off."""

    kind = "FeatureDowngrade"
    printed_by = "features downgrade"
    verb = "Downgrade"
    done = "downgraded"
    other = "upgrade"

    @property
    def change(self) -> LevelChange:
        """With or without loss of metadata."""
        return LevelChange.UNSAFE_DOWNGRADE if self.unsafe else LevelChange.SAFE_DOWNGRADE

    def is_forward(self, before: int, after: int) -> bool:
        """Whether it is lower."""
        return after < before

    def belongs(self, level: int, now: int) -> bool:
        """Nothing is switched on."""
        return level <= now

    def warnings(self, plan: Sequence[FeatureItem]) -> Iterator[str]:
        """Of what may be lost."""
        yield from super().warnings(plan)
        if self.unsafe and any(item.outcome is Outcome.PLANNED for item in plan):
            yield "--unsafe allows the controller to delete metadata that older levels do not know"


def undoing(journal: Journal) -> FeatureChange:
    """The change that takes back the one of a journal: the levels before."""
    entries = [entry for entry in journal.entries if isinstance(entry, FeatureEntry)]
    levels = {entry.feature: entry.before for entry in entries}
    if any(entry.before > entry.after for entry in entries):
        return FeatureUpgrade(levels, undone=journal)
    return FeatureDowngrade(levels, undone=journal)


def _unknown(name: str, known: Collection[str]) -> NotFoundError:
    near = near_names(name, sorted(known))
    return NotFoundError(
        f"there is no feature {name}",
        why="no broker supports it",
        do=f"did you mean {near[0]}?" if near else "`kcli features list` shows those that there are",
    )


def _unsupported(name: str, level: int, brokers: Mapping[int, BrokerFeatures]) -> KcliError | None:
    """The error where some broker does not support the level. Level 0 is that of a feature that is off."""
    lacking = [
        number
        for number, one in sorted(brokers.items())
        if level > one.supported.get(name, (0, 0))[1] or 0 < level < one.supported.get(name, (0, 0))[0]
    ]
    if not lacking:
        return None
    low, high = brokers[lacking[0]].supported.get(name, (0, 0))
    what = "broker" if len(lacking) == 1 else "brokers"
    return LevelRefusedError(
        f"feature {name} cannot have level {level_text(name, level)}",
        why=f"{what} {', '.join(map(str, lacking))} {'supports' if len(lacking) == 1 else 'support'} "
        f"{_plain(name, low)} to {_plain(name, high)}",
        do="choose one of these, or upgrade the brokers first",
    )


def _plain(name: str, level: int) -> str:
    """The level where 0 is one of several."""
    return level_text(name, level) if level else "0"
