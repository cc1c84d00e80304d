"""What is in a path: log directories, partitions and single segments; what is none of them is named."""

import errno
import os
import subprocess
import sys
from base64 import urlsafe_b64encode
from pathlib import Path

import pytest

from kcli.core.logdir import folders
from kcli.core.logdir.checkpoints import MetaProperties
from kcli.core.logdir.folders import Named, find, is_live, name_of_folder, tiered_name
from kcli.core.types import TopicPartition
from tests.segments import batch, name, offsets, write

ID = bytes(range(16))
ID_TEXT = urlsafe_b64encode(ID).decode().rstrip("=")


def log_dir(root: Path, node: int = 7) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    (root / "meta.properties").write_text(
        f"#\n#Sun Nov 29 19:00:00 UTC 2026\ncluster.id=c\nversion=1\nnode.id={node}\ndirectory.id=d\n"
    )
    (root / "replication-offset-checkpoint").write_bytes(offsets([("orders", 3, 9), ("a.b", 0, 1)]))
    (root / "recovery-point-offset-checkpoint").write_bytes(offsets([("orders", 3, 5)]))
    (root / "log-start-offset-checkpoint").write_bytes(offsets([("orders", 3, 2)]))
    write(root / "orders-3", [batch(0)])
    (root / "orders-3" / "partition.metadata").write_text(f"version: 0\ntopic_id: {ID_TEXT}\n")
    write(root / "a.b-0", [batch(0)])
    return root


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("orders-3", Named(TopicPartition("orders", 3), "current")),
        ("my-topic-10", Named(TopicPartition("my-topic", 10), "current")),
        ("a-1-2", Named(TopicPartition("a-1", 2), "current")),
        ("__cluster_metadata-0", Named(TopicPartition("__cluster_metadata", 0), "current")),
        ("orders-3." + "0a" * 16 + "-delete", Named(TopicPartition("orders", 3), "delete")),
        ("orders-3." + "0a" * 16 + "-future", Named(TopicPartition("orders", 3), "future")),
        ("orders-3." + "0a" * 16 + "-stray", Named(TopicPartition("orders", 3), "stray")),
        ("orders", None),
        ("orders-", None),
        ("-3", None),
        ("orders-99999999999", None),
        ("orders-4294967296", None),
        ("or ders-3", None),
        ("..-3", None),
        ("\udcff-3", None),
        ("t" * 250 + "-0", None),
        ("orders-٣", None),
    ],
)
def test_names_of_folders(text: str, expected: Named | None) -> None:
    assert name_of_folder(text) == expected


def test_a_log_directory(tmp_path: Path) -> None:
    root = log_dir(tmp_path / "kafka")
    found = find([root])
    (one,) = found.log_dirs
    assert one.meta == MetaProperties(1, 7, "c", "d")
    assert (one.path, one.node_id, one.live, one.clean) == (str(root), 7, False, False)
    assert [(p.tp, p.topic_id, p.log_dir) for p in found.partitions] == [
        (TopicPartition("a.b", 0), bytes(16), one), (TopicPartition("orders", 3), ID, one),
    ]  # fmt: skip
    orders = found.partitions[1]
    assert (orders.high_watermark, orders.recovery_point, orders.log_start, orders.node_id) == (9, 5, 2, 7)
    assert found.missing == ()


def test_what_is_given_alone_or_twice(tmp_path: Path) -> None:
    root = log_dir(tmp_path / "one")
    alone = find([root / "orders-3"])
    assert [(p.tp, p.high_watermark, p.named) for p in alone.partitions] == [
        (TopicPartition("orders", 3), 9, True)
    ]
    file = find([root / "orders-3" / name(0)])
    assert [(p.tp, p.files) for p in file.partitions] == [(TopicPartition("orders", 3), (name(0),))]
    log_dir(tmp_path / "two", 8)
    both = find([tmp_path, root, root / "a.b-0"])
    assert [(p.tp.topic, p.node_id) for p in both.partitions] == [
        ("a.b", 7),
        ("a.b", 8),
        ("orders", 7),
        ("orders", 8),
    ]
    write(tmp_path / "loose files", [batch(5)])
    loose = find([tmp_path / "loose files" / name(5)])
    assert [(p.tp, p.named) for p in loose.partitions] == [(TopicPartition("loose_files", 0), False)]
    refused = find([tmp_path / "loose files"])
    assert [miss.why for miss in refused.missing] == [
        "it has segments, but its name is not that of a partition's folder: give the .log files"
    ]


def test_relative_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = log_dir(tmp_path / "kafka")
    monkeypatch.chdir(root / "orders-3")
    for path in (".", name(0), "../orders-3", f"./{name(0)}"):
        (one,) = find([path]).partitions
        assert (one.tp, one.high_watermark) == (TopicPartition("orders", 3), 9)


def test_what_is_no_log_is_named(tmp_path: Path) -> None:
    root = log_dir(tmp_path / "kafka")
    (root / "lost+found").mkdir()
    (root / "not a partition").mkdir()
    (root / os.fsdecode(b"\xff\n-1")).mkdir()
    (root / "notes.txt").write_text("")
    (root / "cleaner-offset-checkpoint").write_text("0\n0\n")
    (root / "orders-4").mkdir()  # of a broker that was killed before it wrote
    (root / "recovery-point-offset-checkpoint").write_text("0\n7\n")
    found = find([root, tmp_path / "nowhere", root / "notes.txt"])
    assert [p.tp.partition for p in found.partitions if p.tp.topic == "orders"] == [3, 4]
    whys = {os.path.relpath(miss.path, tmp_path): miss.why for miss in found.missing}
    assert whys == {
        "kafka/not a partition": "its name is not that of a partition's folder",
        "kafka/\\xff\n-1": "its name is not that of a partition's folder",
        "kafka/recovery-point-offset-checkpoint": "0 entries, its count is 7",
        "nowhere": "there is no such file or folder",
        "kafka/notes.txt": "it is no segment: its name is not an offset of twenty digits and .log",
    }
    empty = find([tmp_path / "kafka" / "not a partition"])
    assert [miss.why for miss in empty.missing] == [
        "no log directory, no folder of a partition and no segment"
    ]


def test_a_folder_of_others_beside_log_directories(tmp_path: Path) -> None:
    log_dir(tmp_path / "one")
    (tmp_path / "etc" / "dbus-1").mkdir(parents=True)
    found = find([tmp_path])
    assert len(found.partitions) == 2
    assert [(miss.path, miss.why) for miss in found.missing] == [
        (str(tmp_path / "etc"), "no log directory and no folder of a partition")
    ]


def test_folders_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = log_dir(tmp_path / "kafka")
    listdir = os.listdir

    def refuse(path: str) -> list[str]:
        if path.endswith("orders-3"):
            raise PermissionError(errno.EACCES, "Permission denied")
        return listdir(path)

    monkeypatch.setattr(folders.os, "listdir", refuse)
    found = find([root])
    assert [p.tp.topic for p in found.partitions] == ["a.b"]
    assert [(miss.path, miss.why) for miss in found.missing] == [
        (str(root / "orders-3"), "Permission denied")
    ]


def test_tiered_storage(tmp_path: Path) -> None:
    file = name(0).replace(".log", f"-{ID_TEXT}.log")
    for folder in (
        tmp_path / "tier" / f"orders-3-{ID_TEXT}",
        tmp_path / "other" / f"my-topic-{ID_TEXT}" / "12",
    ):
        write(folder, [batch(0)])
        (folder / name(0)).rename(folder / file)
    assert tiered_name(str(tmp_path / "tier" / f"orders-3-{ID_TEXT}")) == Named(
        TopicPartition("orders", 3), "current", ID
    )
    found = find([tmp_path / "tier", tmp_path / "other"])
    assert [(p.tp, p.topic_id) for p in found.partitions] == [
        (TopicPartition("my-topic", 12), ID), (TopicPartition("orders", 3), ID),
    ]  # fmt: skip
    assert found.missing == ()


def test_a_broker_that_runs_holds_the_lock(tmp_path: Path) -> None:
    """As Java takes it; the question takes no lock away, and none itself."""
    root = log_dir(tmp_path / "kafka")
    assert is_live(str(root)) is False
    (root / ".lock").touch()
    assert is_live(str(root)) is False
    holder = (
        "import fcntl, sys\nfile = open(sys.argv[1], 'r+')\nfcntl.lockf(file, fcntl.LOCK_EX)\nprint(flush=True)\n"
        "sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", holder, str(root / ".lock")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert [is_live(str(root)) for _ in range(3)] == [True, True, True]
        assert [one.live for one in find([root]).log_dirs] == [True]
        process.communicate()
    assert is_live(str(root)) is False


def test_small_files_that_are_no_files(tmp_path: Path) -> None:
    root = log_dir(tmp_path / "kafka")
    (root / "meta.properties").unlink()
    os.mkfifo(root / "meta.properties")
    (root / "log-start-offset-checkpoint").unlink()
    (root / "log-start-offset-checkpoint").mkdir()
    found = find([root])
    assert len(found.partitions) == 2
    assert {os.path.basename(miss.path): miss.why for miss in found.missing} == {
        "meta.properties": "it is no regular file", "log-start-offset-checkpoint": "it is no regular file",
    }  # fmt: skip
