"""The acknowledgements of one partition that wait to be sent to one broker. Pure.

They are sent in groups, one at a time. A group that is refused is sent again in halves: the broker refuses all of it for
the sake of one range (see ``acquired.py``), and each range that it still holds for this member is to count.
"""

from collections import deque
from collections.abc import Iterable

from kcli.core.share.acquired import FINAL, Decision, DecisionEvent, Run, joined


class Pending:
    """``send``, then ``confirm``, ``refuse``, ``retry`` or ``no_answer`` for what was sent; returned is what is final."""

    def __init__(self) -> None:
        self._groups: deque[list[Decision]] = deque()
        self._open: list[Decision] | None = None
        """The last group, while more may be added to it."""
        self._sent: list[Decision] = []

    def __bool__(self) -> bool:
        """Whether anything is waiting or on its way."""
        return bool(self._groups or self._sent)

    @property
    def is_waiting(self) -> bool:
        """Whether there is something to send."""
        return bool(self._groups)

    @property
    def waits_for_renewal(self) -> bool:
        """Whether the next group extends locks."""
        return bool(self._groups) and self._groups[0][0].is_renewal

    @property
    def lock_until(self) -> float:
        """When the last of its ranges is delivered again at the earliest."""
        waiting = [decision for group in (*self._groups, self._sent) for decision in group]
        return max((decision.acquired.lock_until for decision in waiting), default=0.0)

    def add(self, decision: Decision) -> None:
        """Queues what was decided of a range; sent together with others."""
        if self._open is None:
            self._open = []
            self._groups.append(self._open)
        self._open.append(decision)

    def add_renewals(self, decisions: Iterable[Decision]) -> None:
        """Queues extensions of locks, ahead of everything: not together with what is decided of the same offsets."""
        group = list(decisions)
        if group:
            self._groups.appendleft(group)

    def send(self) -> list[Run]:
        """The runs of the next group, in the order of their offsets: they are on their way."""
        self._sent = self._groups.popleft()
        if self._sent is self._open:
            self._open = None
        for decision in self._sent:
            decision.cell.apply(DecisionEvent.SEND)
        return joined(sorted(run for decision in self._sent for run in decision.runs))

    def confirm(self) -> list[Decision]:
        """The broker has done it."""
        return self._settle(DecisionEvent.CONFIRM)

    def refuse(self) -> list[Decision]:
        """The broker does not hold one of the ranges for this member."""
        sent = self._sent
        if len(sent) == 1:
            return self._settle(DecisionEvent.REFUSE)
        self._settle(DecisionEvent.RETRY, again=False)
        middle = len(sent) // 2
        self._groups.extendleft([sent[middle:], sent[:middle]])
        return []

    def retry(self) -> None:
        """The broker could not do it at present, and has not."""
        self._settle(DecisionEvent.RETRY)

    def no_answer(self) -> None:
        """The broker may have done it or not."""
        self._settle(DecisionEvent.NO_ANSWER)

    def give_up(self) -> list[Decision]:
        """The broker will not be asked any more: another one leads the partition, or it cannot be reached in time."""
        if self._sent:
            self.no_answer()
        ended = [decision for group in self._groups for decision in group]
        self._groups.clear()
        self._open = None
        for decision in ended:
            decision.cell.apply(DecisionEvent.REFUSE)
        return ended

    def drop(self, first: int, last: int) -> list[Decision]:
        """These offsets are not held any more; returns the decisions that had any of them, as they end."""
        ended: list[Decision] = []
        for group in self._groups:
            for decision in list(group):
                lost, kept = decision.split(first, last)
                if lost is not None:
                    group.remove(decision)
                    lost.cell.apply(DecisionEvent.REFUSE)
                    ended.append(lost)
                    if kept is not None:
                        group.append(kept)
        self._groups = deque(group for group in self._groups if group)
        if self._open is not None and not self._open:
            self._open = None
        return ended

    def _settle(self, event: DecisionEvent, *, again: bool = True) -> list[Decision]:
        sent, self._sent = self._sent, []
        for decision in sent:
            decision.cell.apply(event)
        ended = [decision for decision in sent if decision.state in FINAL]
        if again and sent and not ended:
            self._groups.appendleft(sent)
        return ended
