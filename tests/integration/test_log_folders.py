"""Log directories of brokers that were killed: what is read from them is what a consumer got and the broker said."""

import os
import shutil
from pathlib import Path

import pytest

from kcli.core.logdir.folders import find
from kcli.core.logdir.partition_log import PartitionLog
from kcli.sandbox.config import DEFAULT_VERSION
from tests.integration import full_disk, log_folders
from tests.run import kcli_process

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.timeout(900)]

VERSIONS = [
    pytest.param(version, marks=() if version == DEFAULT_VERSION else pytest.mark.brokers)
    for version in ("2.8.2", "3.9.2", "4.3.1", "4.4.0")
]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_folder_gives_what_the_broker_gave(version: str, tmp_path: Path) -> None:
    kept = Path(os.environ.get("KCLI_TEST_FOLDERS", tmp_path)) / f"{version}-killed"
    shutil.rmtree(kept, ignore_errors=True)
    made = log_folders.make(version, tmp_path / "data", kept)
    assert log_folders.compare([str(kept)], made.given) == []
    (folder,) = [one for one in find([kept]).partitions if one.tp.topic == "load"]
    with PartitionLog(folder) as log:
        assert len(log.files) > 2
        found = log_folders.records(log, committed=False)
    assert len(made.load) > 10_000
    assert {offset: found.get(offset) for offset in made.load} == made.load


@pytest.mark.parametrize("version", VERSIONS)
def test_a_full_disk_has_what_a_consumer_got(version: str, tmp_path: Path) -> None:
    load = full_disk.fill(version, tmp_path)
    kept = tmp_path / "kept"
    (folder,) = [one for one in find([kept]).partitions if one.tp.topic == "load"]
    with PartitionLog(folder) as log:
        assert len(log.files) > 5
        found = log_folders.records(log, committed=False)
    assert len(load) > 10_000
    assert {offset: found.get(offset) for offset in load} == load
    read = kcli_process("consume", "load", "--from-dir", str(kept), "-e", "-f", r"%o\n")
    assert read.code == 0, read.err
    assert [int(line) for line in read.out.split()] == sorted(found)
    verified = kcli_process("segments", "verify", str(kept), "-o", "json")
    assert verified.code == 0, verified.err
