"""Which lake ``--format delta`` and ``iceberg`` mean, and for which stores there is one."""

from kcli.core.errors import ConfigError
from kcli.core.extras import library
from kcli.pipeline.tables.table import Lake

_STORES = ("s3",)


def open_lake(form: str, folder: str, catalog: str | None, *, several: bool) -> Lake:
    """The lake in a folder or below a URL (see ``canonical``); ConfigError for a store that has none, or without the
    library. ``several``: whether more than one topic may be exported; ``catalog``: of Iceberg, as it was typed.
    """
    scheme, is_url, _ = folder.partition("://")
    if is_url and scheme not in _STORES:
        raise ConfigError(
            f"--format {form} cannot write to {folder}",
            why=f"tables are written to paths and {', '.join(f'{each}://' for each in _STORES)}",
            do="--format parquet writes to every store",
        )
    if form == "delta":
        library("deltalake", extra="lake", wanted_by="--format delta")
        from kcli.pipeline.tables.delta import DeltaLake  # an extra

        return DeltaLake(folder, several=several)
    library("pyiceberg.catalog", extra="lake", wanted_by="--format iceberg")
    from kcli.pipeline.tables.iceberg import IcebergLake  # an extra

    return IcebergLake(folder, catalog)
