"""``--expect`` of consume and produce: how many records there have to be. Pure."""

from kcli.core.classes import NamedTuple
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode


class ExpectationError(KcliError):
    """Another number of records was read, or confirmed, than was expected."""

    exit_code = ExitCode.CHECK


class Expectation(NamedTuple):
    """From ``low`` to ``high`` records; ``high`` None: any more."""

    low: int
    high: int | None

    def __str__(self) -> str:
        if self.high is None:
            return f"at least {self.low:,}"
        return f"{self.low:,}" if self.low == self.high else f"{self.low:,} to {self.high:,}"

    @property
    def decided_at(self) -> int:
        """The number of records from which on more of them change nothing: enough of them, or too many."""
        return max(1, self.low) if self.high is None else self.high + 1

    def check(self, count: int, done: str = "read") -> None:
        """ExpectationError if ``count`` records are not as expected; ``done`` says what was counted."""
        if count < self.low or (self.high is not None and count > self.high):
            plural = "" if (self.high or self.low) == 1 else "s"
            raise ExpectationError(
                f"expected {self} record{plural}, {done} {count:,}",
                why="--expect says how many there have to be",
            )


def parse_expectation(text: str) -> Expectation:
    """``N``, ``N..M`` or ``N..``; ValueError with a sentence."""
    low, dots, high = text.strip().partition("..")
    numbers = [part.replace("_", "") for part in (low, high) if part]
    if not low or not all(part.isdecimal() and part.isascii() for part in numbers):
        raise ValueError(
            f"{text!r} is not a number of records: 1, 10..20 (from ten to twenty), 5.. (at least five)"
        )
    first = int(numbers[0])
    last = first if not dots else int(numbers[1]) if high else None
    if last is not None and last < first:
        raise ValueError(f"{text!r} ends before it begins")
    return Expectation(first, last)
