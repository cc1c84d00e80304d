"""The archive for executors with all its libraries: how large it is, and that what tasks import is in it."""

import os
import pkgutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from kcli.pipeline import kernels
from kcli.pipeline.spark import ship

MOST = 56_000_000
"""Bytes of the archive; most of them are pyarrow's libraries."""


def test_nothing_is_in_the_archive_that_tasks_do_not_import() -> None:
    names = [name for name, _ in ship._files()]
    tops = {name.partition("/")[0] for name in names}
    assert {"kcli", "pyarrow", "msgspec"} <= tops
    assert not tops & {
        "textual",
        "rich",
        "pygments",
        "markdown_it",
        "pandas",
        "numpy",
        "pyspark",
        "deltalake",
        "pyiceberg",
    }
    assert not [name for name in names if name.startswith(("kcli/commands/", "kcli/tui/", "kcli/docgen/"))]
    assert not [name for name in names if "/include/" in name or "_flight" in name or "/tests/" in name]
    assert len([name for name in names if name.startswith("pyarrow/libarrow_python.so")]) == 1


@pytest.mark.long
def test_all_kernels_run_from_the_archive(tmp_path: Path) -> None:
    """Without the folder of libraries of this Python: what is missing in the archive is an error."""
    path = tmp_path / "deps.tar.gz"
    assert ship.write_pack(str(path)) < MOST
    with tarfile.open(path) as archive:
        archive.extractall(tmp_path / "deps", filter="data")
    modules = [f"kcli.pipeline.kernels.{each.name}" for each in pkgutil.iter_modules(kernels.__path__)]
    assert len(modules) > 8
    program = "\n".join(
        (
            "import importlib, sys",
            f"sys.path = [{str(tmp_path / 'deps')!r}, *(p for p in sys.path if 'site-packages' not in p)]",
            f"for name in {modules!r} + ['kcli.pipeline.job', 'kcli.serde.opening', 'kcli.serde.registry.client']:",
            "    importlib.import_module(name)",
            "import pyarrow as pa, pyarrow.parquet as pq, pyarrow.compute, pyarrow.dataset, pyarrow.fs",
            "import fastavro, google.protobuf, jsonschema",
            f"pq.write_table(pa.table({{'a': [1, 2]}}), {str(tmp_path / 'a.parquet')!r}, compression='zstd')",
            f"table = pyarrow.dataset.dataset({str(tmp_path / 'a.parquet')!r}).to_table()",
            "print(table.num_rows, pa.compute.sum(table['a']), pa.fs.S3FileSystem.__name__, pa.__file__)",
        )
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", program],
        cwd=tmp_path,
        env={key: text for key, text in os.environ.items() if key != "PYTHONPATH"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["2", "3", "S3FileSystem", str(tmp_path / "deps/pyarrow/__init__.py")], (
        done.stderr
    )
