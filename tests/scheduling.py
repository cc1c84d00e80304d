"""Which process of a parallel run (`--dist loadfile`) gets which file. Not a test; the hook is in ``conftest.py``.

All files that use the cluster of three brokers go to one process, before everything else: a run starts one such
cluster, and no test measures anything while another process breaks brokers that it uses. All files that use the secure
broker go to one process too, and all files that use Spark, so that a run starts one of these. Files that take long come
next, so that no process waits for another in the end.
"""

from pathlib import Path

from xdist.scheduler import LoadFileScheduling

SHARED = ("kafka3", "secure_kafka", "spark")
"""Fixtures; each is the name of the unit of work that all its files are."""
LONG = (
    "test_reset_app.py",
    "test_groups.py",
    "test_engine_table.py",
    "test_stories.py",
    "test_share_groups_changed.py",
    "test_sandbox.py",
    "test_transactions.py",
    "test_mirror.py",
    "test_sandbox_download.py",
    "test_authentication_command.py",
    "test_group_zookeeper.py",
    "test_exporter_command.py",
    "test_fetching.py",
    "test_offline_state.py",
    "test_demo.py",
)
"""Names of files, the longest first."""


def rank(file: Path, on_cluster: bool) -> int:
    """In which order files begin."""
    if on_cluster:
        return -1
    return LONG.index(file.name) if file.name in LONG else len(LONG)


class ClusterFirst(LoadFileScheduling):
    """A unit of work is a file, or all the files of a shared fixture; units are in the order of collection."""

    def _split_scope(self, nodeid: str) -> str:
        file = str(super()._split_scope(nodeid))
        return shared_fixture(self.config.rootpath / file) or file


def shared_fixture(file: Path) -> str:
    """The first of the shared fixtures that a test of the file asks for; empty if none does."""
    if file not in _found:
        text = file.read_text(encoding="utf-8")
        _found[file] = next((name for name in SHARED if f" {name}:" in text or f"({name}:" in text), "")
    return _found[file]


_found: dict[Path, str] = {}
