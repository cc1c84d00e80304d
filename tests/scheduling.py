"""Which process of a parallel run (`--dist loadfile`) gets which file. Not a test; the hook is in ``conftest.py``.

All files that use the cluster of three brokers go to one process, before everything else: a run starts one such
cluster, and no test measures anything while another process breaks brokers that it uses. All files that use the secure
broker go to one process too, so that a run starts one of these.
"""

from pathlib import Path

from xdist.scheduler import LoadFileScheduling

SHARED = ("kafka3", "secure_kafka")
"""Fixtures; each is the name of the unit of work that all its files are."""


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
