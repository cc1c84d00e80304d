"""A table of Delta Lake, by ``deltalake``: DIR is the table; of several topics, DIR/TOPIC.

The position is in ``txn`` actions of the commit, one for each partition, with the end as its version; one more has the id
of the plan. Delta refuses a commit if another one has had a ``txn`` of the same application since the table was read: so
two runs that begin from one position cannot both commit, and a commit of another kind (OPTIMIZE, rows of somebody else)
does not matter. All partitions are in each commit, so that two runs over different ones exclude each other as well.
"""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Schema, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.transaction import AddAction

from kcli.core.clock import wall_ms
from kcli.core.errors import KcliError
from kcli.pipeline.manifest import ExportPlan, TypedSchema
from kcli.pipeline.store.errors import StoreError, away, text_of
from kcli.pipeline.store.s3 import access
from kcli.pipeline.tables.columns import grown_table, table_schema
from kcli.pipeline.tables.table import (
    ADDED,
    POSITION,
    TYPED,
    Identity,
    OtherTableError,
    TableFile,
    TableState,
    added,
    check_position,
    identity_in,
    overtaken,
    refuse_characters,
    refuse_other,
    typed_in,
    typed_text,
)

_AWAY = re.compile(r"timed? ?out|connect|dns|error sending request|50[0234]", re.IGNORECASE)
_LOOK_BACK = 50
"""Commits of others after ours in which a restored version is looked for."""


class DeltaLake:
    """See ``Lake``."""

    form = "delta"

    def __init__(self, folder: str, *, several: bool) -> None:
        refuse_characters(self.form, folder, "%")
        if several:
            refuse_other(folder)
        self.folder = folder
        self._several = several

    def table(self, topic: str, partitions: Sequence[int]) -> "OneDeltaTable":
        """See ``Lake``."""
        url = f"{self.folder}/{topic}" if self._several else self.folder
        return OneDeltaTable(topic, url, partitions)


class OneDeltaTable:
    """See ``Table``."""

    def __init__(self, topic: str, url: str, partitions: Sequence[int]) -> None:
        self.topic = topic
        self._partitions = partitions
        self.name = self.url = url

    def state(self) -> TableState | None:
        """See ``Table``; OtherTableError for one that was restored to an earlier version: its position is a later one."""
        table = self._loaded()
        if table is None:
            return None
        found = self._state(table)
        if found.ends:
            self._check_restored(table)
        return found

    def create(self, identity: Identity, typed: TypedSchema | None) -> None:
        """See ``Table``."""
        schema, properties = table_schema(typed, "delta"), identity.properties()
        if typed is not None:
            properties[TYPED] = typed_text(typed)
        with _errors(self.name):
            DeltaTable.create(
                self.url,
                schema,
                mode="ignore",
                storage_options=_options(self.url),
                configuration=properties,
                raise_if_key_not_exists=False,
            )

    def commit(self, plan: ExportPlan, files: Sequence[TableFile]) -> None:
        """See ``Table``."""
        table = self._loaded()
        state = check_position(self.name, None if table is None else self._state(table), plan)
        assert table is not None
        table = self._grown(table, state, plan.topics[0].typed)
        ends, topic_id = state.after(plan), state.identity.topic_id
        transactions = [
            Transaction(_application(topic_id, number), end, None) for number, end in sorted(ends.items())
        ]
        transactions.append(Transaction(_application(topic_id, "plan"), plan.id, None))
        now = wall_ms()
        actions: list[Any] = [
            AddAction(quote(file.path), file.bytes, {}, now, True, _statistics(file)) for file in files
        ]
        about = {POSITION: {"plan": plan.id, "ends": ends}, ADDED: added(plan, files)}
        with _errors(self.name):
            table.create_write_transaction(
                actions,
                "append",
                table.schema(),
                commit_properties=CommitProperties(about, app_transactions=transactions),
            )

    def _grown(self, table: DeltaTable, state: TableState, typed: TypedSchema | None) -> DeltaTable:
        """The table with all typed columns. Two commits: after the first, the columns are there, and are not added again;
        only what is said of their schemas is that of before, and the next run compares with that.
        """
        if typed is None:
            return table
        with _errors(self.name):
            there = pa.schema(table.schema().to_arrow())
            wanted = grown_table(there, table_schema(typed, "delta"), self.name)
            new = [
                field for field in wanted if field.name not in there.names or field != there.field(field.name)
            ]
            if new:
                table.alter.add_columns(list(Schema.from_arrow(pa.schema(new)).fields))
            if typed != state.typed:
                table.alter.set_table_properties({TYPED: typed_text(typed)}, raise_if_not_exists=False)
        return table

    def _loaded(self) -> DeltaTable | None:
        with _errors(self.name):
            try:
                return DeltaTable(self.url, storage_options=_options(self.url))
            except TableNotFoundError:
                return None

    def _state(self, table: DeltaTable) -> TableState:
        properties = table.metadata().configuration
        identity = identity_in(properties, self.name)
        with _errors(self.name):
            ends = {
                number: end
                for number in self._partitions
                if (end := table.transaction_version(_application(identity.topic_id, number))) is not None
            }
            plan = table.transaction_version(_application(identity.topic_id, "plan"))
        return TableState(identity, ends, plan or 0, str(table.version()), typed_in(properties, self.name))

    def _check_restored(self, table: DeltaTable) -> None:
        with _errors(self.name):
            for one in table.history(_LOOK_BACK):
                if POSITION in one:
                    return
                if one.get("operation") == "RESTORE":
                    raise OtherTableError(
                        f"{self.name} was restored to an earlier version",
                        why="Delta keeps the position of the later one: the rows between would be missing",
                        do="export to another folder",
                    )


def _application(topic_id: str, part: int | str) -> str:
    """The application id of a partition's position, or of the plan's."""
    return f"kcli:{topic_id}:{part}"


def _statistics(file: TableFile) -> str:
    """As Delta's protocol has them: readers skip files by them."""
    return json.dumps(
        {
            "numRecords": file.records,
            "minValues": {
                name: spread.least for name, spread in file.spreads.items() if spread.least is not None
            },
            "maxValues": {
                name: spread.greatest for name, spread in file.spreads.items() if spread.greatest is not None
            },
            "nullCount": {name: spread.nulls for name, spread in file.spreads.items()},
        }
    )


def _options(url: str) -> dict[str, str] | None:
    """How the library reaches the store; found anew for each use, since credentials end."""
    if "://" not in url:
        return None
    found = access(url)
    options = {
        "AWS_ACCESS_KEY_ID": found.key,
        "AWS_SECRET_ACCESS_KEY": found.secret,
        "AWS_REGION": found.region,
        "AWS_CONDITIONAL_PUT": "etag",
    }
    if found.token:
        options["AWS_SESSION_TOKEN"] = found.token
    if found.endpoint:
        options["AWS_ENDPOINT_URL"] = found.endpoint
        options["AWS_ALLOW_HTTP"] = str(found.endpoint.startswith("http://")).lower()
    return options


def _text(error: Exception) -> str:
    """Without the colours and the frames of its stack that the library prints."""
    return " ".join(
        re.sub(r"\x1b\[[0-9;]*m|↳|\s0: <unknown>.*", " ", text_of(error), flags=re.DOTALL).split()
    )


@contextmanager
def _errors(name: str) -> Iterator[None]:
    """Errors of the library as kcli's."""
    try:
        yield
    except CommitFailedError as error:
        raise overtaken(name, _text(error)) from error
    except KcliError:
        raise
    except (DeltaError, OSError, ValueError) as error:
        text = _text(error)
        if "://" in name and _AWAY.search(text):
            raise away(name, text, "AWS_ENDPOINT_URL, if it is set") from error
        raise StoreError(f"{name}: writing or reading the table failed", why=text) from error
