"""A ZooKeeper of nodes in memory, with what ``flows/transfer/zookeeper`` asks of a session. Not a test."""

from collections.abc import Callable, Iterable

from kcli.core.errors import KcliError
from kcli.flows.rewind.plan import NotPossibleError
from kcli.flows.transfer.zookeeper.session import Hosts, Node, Write


class Nodes:
    """``broken`` paths answer with an error; ``before_write`` and ``after_write`` are somebody else's deeds."""

    def __init__(self, **_options: object) -> None:
        self.hosts = Hosts((("zk1", 2181),))
        self.there: dict[str, Node] = {}
        self.broken: dict[str, KcliError] = {}
        self.before_write: Callable[[], object] = lambda: None
        self.after_write: Callable[[], object] = lambda: None
        self.write_error: KcliError | None = None
        self.writes: list[Write] = []
        self.is_open = False

    def open(self) -> None:
        self.is_open = True

    def close(self) -> None:
        self.is_open = False

    def put(self, path: str, data: object = "") -> None:
        """Sets or makes a node, as any other client does."""
        old = self.there.get(path)
        self.there[path] = Node(str(data).encode(), 0 if old is None else old.version + 1)

    def text(self, path: str) -> str:
        return self.there[path].data.decode()

    def nodes(self, paths: Iterable[str]) -> dict[str, Node | KcliError | None]:
        return {path: self.broken.get(path) or self._node(path) for path in paths}

    def children(self, paths: Iterable[str]) -> dict[str, list[str] | KcliError | None]:
        return {path: self.broken.get(path) or self._names(path) for path in paths}

    def write(self, writes: Iterable[Write]) -> dict[str, KcliError | None]:
        self.before_write()
        outcomes = {one.path: self._written(one) for one in writes}
        self.after_write()
        return outcomes

    def _written(self, one: Write) -> KcliError | None:
        self.writes.append(one)
        now = self.there.get(one.path)
        if (None if now is None else now.version) != one.version:
            return NotPossibleError(f"{one.path} was not set", why="somebody else has set it")
        self.put(one.path, one.data.decode())
        return self.write_error

    def _node(self, path: str) -> Node | None:
        return self.there.get(path) or (None if self._names(path) is None else Node(b"", 0))

    def _names(self, path: str) -> list[str] | None:
        below = [one[len(path) + 1 :].split("/")[0] for one in self.there if one.startswith(f"{path}/")]
        return sorted(set(below)) if below or path in self.there else None
