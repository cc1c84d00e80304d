"""A table of Apache Iceberg, by ``pyiceberg``: DIR is the warehouse, the table of a topic ``kafka.TOPIC``.

The position is in the summary of the snapshot that adds the rows, and once more in the properties of the table, which the
same commit sets. The snapshot counts: a table that is rolled back has the position of that time. Other snapshots after it
(compaction) lead back to it by their parents; only if these have expired, the properties count.

A commit is valid only for the snapshot that it began from. The library would repeat a refused one on top of the new
snapshot, which is right for rows without a position: here that is switched off, and the position is looked at again.
"""

import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import (
    CommitFailedException,
    CommitStateUnknownException,
    ForbiddenError,
    NoSuchNamespaceError,
    NoSuchTableError,
    OAuthError,
    TableAlreadyExistsError,
    UnauthorizedError,
)
from pyiceberg.table import Table as Loaded
from pyiceberg.table import TableProperties
from pyiceberg.table.snapshots import Snapshot

from kcli.core.errors import AuthError, ConfigError, ConnectError, KcliError
from kcli.pipeline.manifest import ExportPlan
from kcli.pipeline.parquet_files import TABLE_SCHEMA
from kcli.pipeline.store.errors import StoreError, text_of
from kcli.pipeline.store.s3 import access
from kcli.pipeline.store.urls import canonical
from kcli.pipeline.tables.table import (
    ADDED,
    POSITION,
    Identity,
    OtherTableError,
    TableFile,
    TableState,
    added,
    check_position,
    identity_in,
    overtaken,
    refuse_characters,
)

NAMESPACE = "kafka"
CATALOG = "kcli"
"""The name of a catalog that was given by a URI."""
DATABASE = "catalog.db"
_METRICS = {
    f"{TableProperties.METRICS_MODE_COLUMN_CONF_PREFIX}.{column}": "none"
    for column in ("value", "headers.element.key", "headers.element.value")
}
"""Columns without limits, which the files do not have either."""
_REST = ("http", "https")
_SQL = ("sqlite", "postgresql", "postgresql+psycopg", "postgresql+psycopg2", "mysql", "mysql+pymysql")


def table_name(topic: str) -> str:
    """The name of a topic's table: SQL needs no quotes for it."""
    return re.sub(r"[^A-Za-z0-9_]", "_", topic)


class IcebergLake:
    """See ``Lake``. ``catalog``: a URI, or the name of one in pyiceberg's own configuration; None: a file of SQLite in
    the warehouse. It is opened when a table is.
    """

    form = "iceberg"

    def __init__(self, folder: str, catalog: str | None) -> None:
        refuse_characters(self.form, folder, "%#?")
        self.folder = folder
        self._given = catalog
        self._opened: Catalog | None = None
        self._topics: dict[str, str] = {}
        if catalog is None and "://" in folder:
            raise ConfigError(
                f"--format iceberg needs a catalog for {folder}",
                why="the catalog in the warehouse is a file of SQLite, which an object store cannot have",
                do="--catalog https://HOST, sqlite:////PATH or postgresql://HOST/DATABASE names one",
            )
        self._name, self._settings = (CATALOG, {}) if catalog is None else _named(catalog)

    def table(self, topic: str, _partitions: Sequence[int]) -> "OneIcebergTable":
        """See ``Lake``; ConfigError if another topic has a table of the same name."""
        name = table_name(topic)
        other = self._topics.setdefault(name, topic)
        if other != topic:
            raise ConfigError(
                f"topics {other} and {topic} would have the same table, {NAMESPACE}.{name}",
                why="in the name of a table, _ replaces all but letters, digits and _",
                do="export one of them to another folder, with a catalog of its own",
            )
        return OneIcebergTable(self, topic, name)

    def catalog(self, *, make: bool = False) -> Catalog | None:
        """The catalog; None if it is a file that does not exist yet. ``make``: makes that file."""
        if self._opened is None:
            settings = dict(self._settings)
            if self._given is None:
                path = os.path.join(self.folder, DATABASE)
                if not make and not os.path.exists(path):
                    return None
                settings |= {"type": "sql", "uri": f"sqlite:///{path}"}
            settings |= {"warehouse": location_of(self.folder), **_access(self.folder)}
            with errors(f"catalog {self._given or self.folder}"):
                try:
                    self._opened = load_catalog(self._name, **settings)
                except ValueError as error:
                    raise ConfigError(
                        f"catalog {self._given or self.folder} cannot be opened",
                        why=text_of(error),
                        do="give its URI, or describe it in .pyiceberg.yaml",
                    ) from error
        return self._opened


class OneIcebergTable:
    """See ``Table``."""

    def __init__(self, lake: IcebergLake, topic: str, name: str) -> None:
        self.topic = topic
        self.name = f"{NAMESPACE}.{name} in {lake.folder}"
        self.url = f"{lake.folder}/{NAMESPACE}/{name}"
        self._lake = lake
        self._identifier = (NAMESPACE, name)

    def state(self) -> TableState | None:
        """See ``Table``."""
        table = self._loaded()
        return None if table is None else self._state(table)

    def create(self, identity: Identity) -> None:
        """See ``Table``."""
        catalog = self._lake.catalog(make=True)
        assert catalog is not None
        with errors(self.name):
            catalog.create_namespace_if_not_exists(NAMESPACE)
            try:
                catalog.create_table(
                    self._identifier,
                    TABLE_SCHEMA,
                    location=location_of(self.url),
                    properties={**identity.properties(), **_METRICS},
                )
            except TableAlreadyExistsError:
                return

    def commit(self, plan: ExportPlan, files: Sequence[TableFile]) -> None:
        """See ``Table``."""
        table = self._loaded()
        state = check_position(self.name, None if table is None else self._state(table), plan)
        assert table is not None
        table.metadata.properties[TableProperties.COMMIT_NUM_RETRIES] = "0"  # of this copy only: see above
        position = json.dumps({"plan": plan.id, "ends": state.after(plan)})
        root = table.location()
        with errors(self.name), table.transaction() as transaction:
            transaction.set_properties({POSITION: position})
            transaction.add_files(
                [f"{root}/{file.path}" for file in files],
                {POSITION: position, ADDED: json.dumps(added(plan, files))},
                check_duplicate_files=False,  # their names are of this plan
            )

    def _loaded(self) -> Loaded | None:
        catalog = self._lake.catalog()
        if catalog is None:
            return None
        with errors(self.name):
            try:
                table = catalog.load_table(self._identifier)
            except (NoSuchTableError, NoSuchNamespaceError):
                return None
        self.url = canonical(table.location())
        return table

    def _state(self, table: Loaded) -> TableState:
        identity = identity_in(table.properties, self.name)
        if identity.topic != self.topic:
            raise OtherTableError(
                f"{self.name} is of topic {identity.topic}",
                why="in the name of a table, _ replaces all but letters, digits and _",
                do="name another folder, with a catalog of its own",
            )
        head = table.current_snapshot()
        version = "" if head is None else str(head.snapshot_id)
        text = _position_of(table)
        if text is None:
            return TableState(identity, {}, 0, version)
        try:
            found = json.loads(text)
            ends = {int(number): int(end) for number, end in found["ends"].items()}
            return TableState(identity, ends, int(found["plan"]), version)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise OtherTableError(
                f"the position of {self.name} is not valid", why=str(error), do="name another folder"
            ) from None


def _position_of(table: Loaded) -> str | None:
    """See the top of the module. A snapshot whose parent has expired may look like the first one (pyiceberg), or name a
    parent that is not there (Spark). The copy in the properties does not count if its snapshot is still there: then the
    table was rolled back to before it.
    """
    snapshot = table.current_snapshot()
    while snapshot is not None:
        if (found := _position_in(snapshot)) is not None:
            return found
        parent = snapshot.parent_snapshot_id
        snapshot = None if parent is None else table.snapshot_by_id(parent)
    copy = table.properties.get(POSITION)
    return None if copy in map(_position_in, table.snapshots()) else copy


def _position_in(snapshot: Snapshot) -> str | None:
    found: str | None = snapshot.summary.get(POSITION) if snapshot.summary is not None else None
    return found


def location_of(folder: str) -> str:
    """A path as the URL that metadata of tables have."""
    return folder if "://" in folder else f"file://{folder}"


def _named(catalog: str) -> tuple[str, dict[str, str]]:
    """The name of a catalog, and the settings that a URI means."""
    scheme, is_uri, rest = catalog.partition("://")
    if not is_uri:
        return catalog, {}
    if re.search(r":[^/@]*@", rest.partition("/")[0]):
        raise ConfigError(
            "--catalog has a password",
            why="a command line can be seen by others",
            do=f"give a name, such as {CATALOG}, and set PYICEBERG_CATALOG__{CATALOG.upper()}__URI, or write it to "
            ".pyiceberg.yaml",
        )
    if scheme in _REST:
        return CATALOG, {"type": "rest", "uri": catalog}
    if scheme in _SQL:
        return CATALOG, {"type": "sql", "uri": catalog}
    raise ConfigError(
        f"--catalog {catalog}: there is no catalog {scheme}://",
        why=f"known are {', '.join(f'{each}://' for each in (*_REST, *_SQL))}",
        do="name one of these, or a catalog of .pyiceberg.yaml",
    )


def _access(folder: str) -> dict[str, str]:
    """How the library reaches the store."""
    if "://" not in folder:
        return {}
    found = access(folder)
    settings = {
        "s3.access-key-id": found.key,
        "s3.secret-access-key": found.secret,
        "s3.session-token": found.token,
        "s3.endpoint": found.endpoint,
        "s3.region": found.region,
    }
    return {name: text for name, text in settings.items() if text}


@contextmanager
def errors(name: str) -> Iterator[None]:
    """Errors of the library, and of what it stands on, as kcli's."""
    try:
        yield
    except KcliError:
        raise
    except CommitFailedException as error:
        raise overtaken(name, text_of(error)) from error
    except (ForbiddenError, UnauthorizedError, OAuthError) as error:
        raise AuthError(
            f"{name}: access denied", why=text_of(error), do="check the credentials of the catalog"
        ) from error
    except Exception as error:
        raise _typed(error, name) from error


def _typed(error: Exception, name: str) -> KcliError:
    kinds = {f"{each.__module__.partition('.')[0]}.{each.__name__}" for each in type(error).__mro__}
    why = f"{type(error).__name__}: {text_of(error)}"
    if kinds & {"requests.ConnectionError", "requests.Timeout"} or isinstance(
        error, CommitStateUnknownException
    ):
        return ConnectError(f"{name}: the catalog does not answer", why=why, do="run the command again")
    if "sqlalchemy.NoSuchModuleError" in kinds or isinstance(error, ImportError):
        return ConfigError(
            f"{name} needs a library that is not installed", why=why, do="install the driver of the database"
        )
    return StoreError(f"{name}: the table failed", why=why)
