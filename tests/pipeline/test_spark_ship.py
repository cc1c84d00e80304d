"""The archive for executors, and what the probe says about what they have."""

import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

import kcli
from kcli.core.kernels.active import IMPLEMENTATION
from kcli.pipeline.spark import ship
from kcli.pipeline.spark.probe import differences
from kcli.pipeline.spark.probe_task import probe_task
from kcli.pipeline.spark.ship import PackError, archives, cached_pack, pack_name, write_pack
from tests.cli.errors.typing_remedies import type_remedy
from tests.run import kcli as command


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Without the libraries, which take seconds to compress."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(ship, "_ARROW", "msgspec")
    monkeypatch.setattr(ship, "_FOR_TASKS", ())
    return tmp_path / "cache"


def test_kcli_runs_from_the_archive_alone(tmp_path: Path) -> None:
    path = tmp_path / "deps.tar.gz"
    assert write_pack(str(path)) == path.stat().st_size
    with tarfile.open(path) as archive:
        assert not [name for name in archive.getnames() if name.startswith(("/", ".."))]
        archive.extractall(tmp_path / "deps", filter="data")
    program = (
        f"import sys; sys.path = [{str(tmp_path / 'deps')!r}, *(p for p in sys.path if 'site-packages' not in p)]\n"
        "import kcli, msgspec, crc32c, kcli.pipeline.job\n"
        "from kcli.core.kernels.active import IMPLEMENTATION\n"
        "print(kcli.__file__, IMPLEMENTATION)"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [str(tmp_path / "deps/kcli/__init__.py"), IMPLEMENTATION]


def test_the_archive_is_made_once(own_cache: Path) -> None:
    notes: list[str] = []
    path = cached_pack(notes.append)
    assert Path(path).parent == own_cache / "kcli/spark"
    assert Path(path).name == pack_name()
    assert f"-cp{sys.version_info[0]}{sys.version_info[1]}-" in path
    before = Path(path).stat().st_ino
    assert cached_pack(notes.append) == path
    assert Path(path).stat().st_ino == before
    assert len(notes) == 1


def test_another_version_of_a_library_is_another_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    before = pack_name()
    monkeypatch.setattr(ship, "_distributions", list)
    assert pack_name() != before


def test_old_archives_are_removed(own_cache: Path) -> None:
    folder = own_cache / "kcli/spark"
    folder.mkdir(parents=True)
    for number in range(5):
        (folder / f"kcli-0.0.{number}-cp311-x-1.tar.gz").touch()
    newest = cached_pack()
    left = sorted(path.name for path in folder.glob("*.tar.gz"))
    assert len(left) == 3
    assert Path(newest).name in left


def test_an_archive_that_cannot_be_written_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(PackError, match="cannot write") as found:
        write_pack(str(tmp_path / "none/deps.tar.gz"))
    type_remedy(
        "name a writable file with `kcli pipeline pack --file FILE`", found.value.do, FILE="deps.tar.gz"
    )
    (tmp_path / "deps.tar.gz").mkdir()
    with pytest.raises(PackError, match="cannot write"):
        write_pack(str(tmp_path / "deps.tar.gz"))
    assert [path.name for path in tmp_path.iterdir()] == ["deps.tar.gz"]


def test_a_dry_run_of_pack_prints_the_path_and_writes_nothing(own_cache: Path, tmp_path: Path) -> None:
    for more, path in (
        ((), own_cache / "kcli/spark" / pack_name()),
        (("--file", f"{tmp_path}/x"), tmp_path / "x"),
    ):
        done = command("pipeline", "pack", "--dry-run", *more)
        assert (done.code, done.out) == (0, f"{path}\n"), done.err
        assert not path.exists()


def test_the_users_archive_takes_the_place_of_kclis() -> None:
    assert archives("hdfs://x/mine.tar.gz#deps", str) == "hdfs://x/mine.tar.gz#deps"
    assert archives("data.zip#data", str) == f"data.zip#data,{cached_pack()}#deps"
    assert archives("", str) == f"{cached_pack()}#deps"


def seen(**changed: Any) -> dict[str, Any]:
    """What a task would report here, with changes."""
    (found,) = probe_task(None)
    return {**found, "host": "node7", **changed}


def test_the_same_environment_has_no_differences() -> None:
    assert differences([seen(), seen()]) == []
    assert seen()["kcli"] == kcli.__version__


@pytest.mark.parametrize(
    ("changed", "what", "do"),
    [
        ({"python": "3.99"}, "Python 3.99", "PYSPARK_PYTHON"),
        ({"errors": {"kcli": "No module named 'kcli'"}}, "kcli is missing", "kcli pipeline pack"),
        ({"kcli": "0.0.1"}, "kcli 0.0.1", "remove it"),
        ({"errors": {"kernels": "ImportError: x"}}, "kcli does not load", "kcli pipeline pack"),
        ({"errors": {"pyarrow": "ImportError: GLIBC"}}, "pyarrow does not load", "kcli pipeline pack"),
    ],
)
def test_a_difference_is_named_with_its_hosts(changed: dict[str, Any], what: str, do: str) -> None:
    (found,) = differences([seen(), seen(**changed), seen(**{**changed, "host": "node8"})])
    assert found.what == what
    assert found.hosts == ("node7", "node8")
    assert do in found.do
    if "pack" in do:
        type_remedy("make the archive on a machine like the executors with `kcli pipeline pack`", found.do)


def test_an_extension_that_does_not_load_is_a_difference_only_where_it_loads_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = seen(errors={"native": "ImportError: wrong ELF class"}, platform="linux_aarch64")
    monkeypatch.setattr("kcli.pipeline.spark.probe.IMPLEMENTATION", "pure")
    assert differences([one]) == []
    monkeypatch.setattr("kcli.pipeline.spark.probe.IMPLEMENTATION", "native")
    (found,) = differences([one])
    assert "linux_aarch64" in found.why
