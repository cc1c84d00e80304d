"""Which process of a parallel run (`--dist loadfile`) gets which file. Not a test; the hook is in ``conftest.py``.

All files that use the cluster of three brokers go to one process, before everything else: a run starts one such
cluster, and no test measures anything while another process breaks brokers that it uses.
"""

from pathlib import Path

from xdist.scheduler import LoadFileScheduling

CLUSTER = "kafka3"
"""The fixture, and the name of the unit of work that all its files are."""


class ClusterFirst(LoadFileScheduling):
    """A unit of work is a file, or all the files of the cluster; units in the order in which tests were collected."""

    def _split_scope(self, nodeid: str) -> str:
        file = str(super()._split_scope(nodeid))
        return CLUSTER if uses_cluster(self.config.rootpath / file) else file


def uses_cluster(file: Path) -> bool:
    """Whether any test of a file asks for the cluster."""
    return _found.setdefault(file, f"{CLUSTER}:" in file.read_text(encoding="utf-8"))


_found: dict[Path, bool] = {}
