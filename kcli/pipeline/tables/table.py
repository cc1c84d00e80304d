"""What an export needs of a table, and what a table promises.

Its rows are in files that the export has written, and its position (for each partition, the offset after the last one
that has its rows) is part of the commit that adds them: a commit has both, or there is none. The position is read back
from the table before each commit, and a commit that began from another position is refused by the format itself: so
whatever is killed, and whoever writes at the same time, each record is there once.

What belongs to a table for good (cluster, topic, its id, the words of the request) is in its properties; which plan was
committed last is in the commit: a run that was killed after it finds that out, and does not write the plan again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from kcli.core.classes import NamedTuple, dataclass
from kcli.core.errors import ConfigError, KcliError
from kcli.core.exit_codes import ExitCode
from kcli.pipeline.manifest import (
    MANIFEST,
    PLAN,
    ExportedPartition,
    ExportedTopic,
    ExportPlan,
    Manifest,
    Request,
    TypedSchema,
    new_manifest,
)
from kcli.pipeline.store.urls import open_store

if TYPE_CHECKING:
    from kcli.pipeline.parquet_files import Spread

DATA = "data"
"""The folder of the files, below that of the table."""
PROPERTIES = ("kcli.cluster", "kcli.topic", "kcli.topic_id", "kcli.request")
"""Of a table, in the order of ``Identity``."""
_KINDS = {"_delta_log": "a table of Delta Lake", **dict.fromkeys((MANIFEST, PLAN), "an export of files")}
TYPED = "kcli.typed"
"""The property of a table that has its typed columns, and of which schemas they are."""
POSITION, ADDED = "kcli.position", "kcli.added"
"""Of a commit: where the table is afterwards, and what it has added."""


class OvertakenError(KcliError):
    """The table is not what the run began with."""

    exit_code = ExitCode.REFUSED


class OtherTableError(KcliError):
    """The table is of something else."""

    exit_code = ExitCode.REFUSED


class TableFile(NamedTuple):
    """A file with the records of a range. ``path``: below the folder of the table; ``spreads``: by column."""

    path: str
    partition: int
    start: int
    end: int
    records: int
    bytes: int
    spreads: Mapping[str, Spread]


class Identity(NamedTuple):
    """What a table is of."""

    cluster: str
    topic: str
    topic_id: str
    request: Request

    def properties(self) -> dict[str, str]:
        """As properties of the table."""
        texts = (self.cluster, self.topic, self.topic_id, msgspec.json.encode(self.request).decode())
        return dict(zip(PROPERTIES, texts, strict=True))


def identity_in(properties: Mapping[str, Any], name: str) -> Identity:
    """The identity in the properties of a table; OtherTableError for a table that no export has made."""
    try:
        cluster, topic, topic_id, request = (str(properties[key]) for key in PROPERTIES)
        return Identity(cluster, topic, topic_id, msgspec.json.decode(request.encode(), type=Request))
    except (KeyError, msgspec.MsgspecError):
        raise OtherTableError(
            f"{name} is another table",
            why=f"its properties do not have {PROPERTIES[1]}: no export has made it",
            do="name another folder",
        ) from None


def typed_text(typed: TypedSchema) -> str:
    """As the property of a table."""
    return msgspec.json.encode(typed).decode()


def typed_in(properties: Mapping[str, Any], name: str) -> TypedSchema | None:
    """The typed columns in the properties of a table; OtherTableError for what is none."""
    if (text := properties.get(TYPED)) is None:
        return None
    try:
        return msgspec.json.decode(str(text).encode(), type=TypedSchema)
    except msgspec.MsgspecError as error:
        raise OtherTableError(
            f"{TYPED} of {name} is not valid", why=str(error), do="name another folder"
        ) from None


@dataclass(frozen=True, slots=True)
class TableState:
    """A table as it is now. ``ends``: its position; empty before the first commit. ``plan``: the id of the plan that was
    committed last, 0 before. ``version``: of the format, such as the id of a snapshot; empty if it has none yet.
    ``typed``: as of the last run that has added any.
    """

    identity: Identity
    ends: Mapping[int, int]
    plan: int
    version: str
    typed: TypedSchema | None = None

    def manifest(self, form: str) -> Manifest:
        """The table as an export without files, for what plans an export."""
        own = [ExportedPartition(number, end, end, 0, []) for number, end in sorted(self.ends.items())]
        topic = ExportedTopic(self.identity.topic, self.identity.topic_id, {}, own, self.typed)
        return new_manifest(self.identity.cluster, form, "", self.identity.request, [topic])

    def is_before(self, plan: ExportPlan) -> bool:
        """Whether the plan goes on from here."""
        return plan.after == self.plan and all(
            self.ends.get(tp.partition, one.start) == one.start for tp, one in plan.partitions()
        )

    def after(self, plan: ExportPlan) -> dict[int, int]:
        """The position after the plan."""
        return {**self.ends, **{tp.partition: one.end for tp, one in plan.partitions()}}


class Table(Protocol):
    """See above. ``name``: for messages; ``url``: where its files are, for ``open_store``; known for good after
    ``state``.
    """

    topic: str
    name: str
    url: str

    def state(self) -> TableState | None:
        """The table as it is now; None if it does not exist."""

    def create(self, identity: Identity, typed: TypedSchema | None) -> None:
        """Makes an empty table, unless there is one."""

    def commit(self, plan: ExportPlan, files: Sequence[TableFile]) -> None:
        """Adds the files, and the position after them, in one commit; OvertakenError if the table is not where the plan
        begins. Typed columns that the table lacks are added in this commit, or in one before it: a run that is killed
        between both leaves columns without values, and what it has planned goes on. ConfigError for a column that the
        table has with another type.
        """


class Lake(Protocol):
    """Where the tables of some topics are."""

    form: str
    folder: str

    def table(self, topic: str, partitions: Sequence[int]) -> Table:
        """The table of a topic that has these partitions; nothing is read yet."""


def path_of(plan: ExportPlan, partition: int, start: int, end: int) -> str:
    """The file of a range. Of two plans, no file has the same name."""
    return f"{DATA}/{partition:05}-{start:020}-{end:020}-{plan.id:016x}.parquet"


def added(plan: ExportPlan, files: Sequence[TableFile]) -> list[dict[str, Any]]:
    """What a commit adds, by partition."""
    return [
        {
            "partition": tp.partition,
            "start": one.start,
            "end": one.end,
            "records": sum(file.records for file in files if file.partition == tp.partition),
            **({"gaps": [[gap.start, gap.end] for gap in one.gaps]} if one.gaps else {}),
        }
        for tp, one in plan.partitions()
    ]


def overtaken(name: str, why: str) -> OvertakenError:
    """The error for a second run."""
    return OvertakenError(
        f"{name} was changed by another run",
        why=why,
        do="run the command again: it goes on from where the table is now",
    )


def check_position(name: str, state: TableState | None, plan: ExportPlan) -> TableState:
    """OvertakenError unless the plan goes on from the state."""
    if state is None:
        raise overtaken(name, "it was removed meanwhile")
    if state.identity.topic_id != plan.topics[0].topic_id or not state.is_before(plan):
        raise overtaken(name, "its position is not the one that this run has read")
    return state


def refuse_other(folder: str) -> None:
    """OtherTableError for a folder of tables that is itself a table of Delta, or an export of files: readers of these
    take, and VACUUM removes, what is below them.
    """
    for name in open_store(folder).names():
        if what := _KINDS.get(name):
            raise OtherTableError(
                f"{folder} is {what}",
                why=f"it has {name}, and tables of their own would be in folders below it",
                do="name another folder",
            )


def refuse_characters(form: str, folder: str, characters: str) -> None:
    """ConfigError for a folder whose name the format's library does not understand."""
    found = [character for character in folder if character in characters]
    if found:
        raise ConfigError(
            f"{folder} cannot be used with --format {form}",
            why=f"its name has {found[0]!r}, which the library of the format takes for something else",
            do="name another folder",
        )
