"""The table of open transactions."""

from kcli.core.classes import NamedTuple
from kcli.flows.transactions.held import age, known
from kcli.flows.transactions.listed import UNKNOWN_STATE, OpenTransaction
from kcli.output.progress import duration_text
from kcli.output.tables import Field, time_text
from kcli.tui import figures
from kcli.tui.cells import Cell
from kcli.tui.columns import Column, fields_of
from kcli.tui.look import SIGNS


class TransactionRow(NamedTuple):
    """An open transaction, seen at ``at_ms``."""

    open: OpenTransaction
    at_ms: int

    @property
    def age(self) -> float | None:
        """In seconds."""
        return age(self.open.since_ms, self.at_ms)

    @property
    def overdue(self) -> bool:
        """Whether it is older than its timeout: its coordinator should have aborted it."""
        limit = self.open.timeout_ms
        return limit >= 0 and self.age is not None and 1000 * self.age > limit

    @property
    def meaning(self) -> str:
        """See ``look.SIGNS``."""
        if self.open.hangs:
            return "bad"
        return "unread" if self.open.state == UNKNOWN_STATE else "warn" if self.overdue else "ok"


def _age(row: TransactionRow) -> Cell:
    return Cell(figures.UNKNOWN if row.age is None else duration_text(row.age), "warn" if row.overdue else "")


def _id(row: TransactionRow) -> str:
    return row.open.transactional_id or figures.UNKNOWN


def _topics(row: TransactionRow) -> str:
    counts: dict[str, int] = {}
    for tp in row.open.partitions:
        counts[tp.topic] = counts.get(tp.topic, 0) + 1
    alone = len(row.open.partitions) == 1
    return str(row.open.partitions[0]) if alone else ", ".join(f"{name} ({n})" for name, n in counts.items())


COLUMNS: tuple[Column[TransactionRow], ...] = (
    Column(
        "STATE", 15, lambda one: Cell(f"{SIGNS[one.meaning]} {one.open.state}", one.meaning),
        lambda one: one.open.state, least=9,
        about="the coordinator's state; Hanging: no coordinator ends it; amber: it is older than its timeout",
        data=(
            Field(
                "state", of=lambda one: one.open.state, values="string",
                meaning="State of the transaction, as Kafka names it; Hanging: no coordinator ends it; Unknown.",
            ),
        ),
    ),
    Column(
        "TRANSACTIONAL ID", 18, lambda one: Cell(_id(one)), lambda one: one.open.transactional_id, grows=True,
        least=8,
        about="the transactional id; – where no coordinator knows the producer",
        data=(
            Field(
                "transactional_id", of=lambda one: one.open.transactional_id,
                meaning="The transactional id; null where no coordinator knows the producer.",
            ),
        ),
    ),
    Column(
        "AGE", 9, _age, lambda one: one.age, right=True, falling=True, least=6,
        data=(
            Field("since", of=lambda one: None if one.open.since_ms < 0 else time_text(one.open.since_ms), values="time?",
                  meaning="When it began; null where that is unknown."),
            Field(
                "age_seconds", "duration", of=lambda one: one.age, values="number?",
                meaning="Seconds since then; null where that is unknown.",
            ),
        ),
        about="time since it began",
    ),
    Column(
        "TIMEOUT", 8,
        lambda one: Cell(
            figures.UNKNOWN if one.open.timeout_ms < 0 else duration_text(one.open.timeout_ms / 1000)
        ),
        lambda one: known(one.open.timeout_ms), right=True, falling=True, drop=4,
        about="after which its coordinator aborts it",
        data=(
            Field(
                "timeout_seconds", "duration",
                of=lambda one: None if one.open.timeout_ms < 0 else one.open.timeout_ms / 1000, values="number?",
                meaning="Seconds after which its coordinator aborts it; null where none does.",
            ),
        ),
    ),
    Column(
        "PRODUCER", 9, lambda one: Cell(str(one.open.producer_id)), lambda one: one.open.producer_id,
        right=True, drop=3,
        data=(
            Field(
                "producer_id", "id", of=lambda one: one.open.producer_id, values="integer",
                meaning="The id of its producer.",
            ),
        ),
    ),
    Column(
        "EPOCH", 5, lambda one: Cell(str(one.open.producer_epoch)), lambda one: one.open.producer_epoch,
        right=True, drop=7,
        data=(
            Field(
                "producer_epoch", "id", of=lambda one: one.open.producer_epoch, values="integer",
                meaning="The epoch of its producer.",
            ),
        ),
    ),
    Column(
        "COORDINATOR", 11,
        lambda one: Cell(figures.UNKNOWN if one.open.coordinator < 0 else str(one.open.coordinator)),
        lambda one: known(one.open.coordinator), right=True, drop=6,
        about="the broker that coordinates it",
        data=(
            Field(
                "coordinator", "id", of=lambda one: known(one.open.coordinator), values="integer?",
                meaning="The broker that coordinates it; null where that is unknown.",
            ),
        ),
    ),
    Column(
        "PARTS", 5, lambda one: Cell(f"{len(one.open.partitions):,}"), lambda one: len(one.open.partitions),
        right=True, falling=True, drop=2,
        about="how many partitions it has written to",
        data=(
            Field(
                "partitions", of=lambda one: [str(tp) for tp in one.open.partitions], values="strings",
                meaning="The partitions that it has written to, as topic-number.",
            ),
        ),
    ),
    Column(
        "TOPICS", 24, lambda one: Cell(_topics(one)), _topics, grows=True, least=8,
        about="the topics that it has written to, with the number of partitions",
        data=(
            Field(
                "topics", of=lambda one: sorted({tp.topic for tp in one.open.partitions}), values="strings",
                meaning="Their topics.",
            ),
        ),
    ),
)  # fmt: skip
FIELDS = fields_of(COLUMNS)
