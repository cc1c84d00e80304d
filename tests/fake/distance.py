"""A distance before a cluster, with a clock of its own: its unit is the time of an answer, and nothing else takes any.

What clients send is passed on at once. What brokers send is held; once the process that is watched sleeps in all of its
threads and nothing is on its way, the clock moves by one and everything that is held is passed on. So the clock counts
the round trips that follow each other, however slow the machine is; TLS is counted like everything else.
"""

import contextlib
import selectors
import socket
import threading
import time
from pathlib import Path

from tests.fake.cluster import FakeCluster

_PIECE = 1 << 18
_LOOK = 0.002  # seconds
_QUIET = 4
"""So many looks in a row have to find everything asleep."""


class Distance:
    """Use as a context manager, around the runs of clients that ``watch`` is told of. ``clock``: round trips so far."""

    def __init__(self, cluster: FakeCluster) -> None:
        self.clock = 0
        self._pid = 0
        self._selector = selectors.DefaultSelector()
        self._peers: dict[socket.socket, socket.socket] = {}
        self._of_brokers: set[socket.socket] = set()
        self._held: list[tuple[socket.socket, bytes]] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        for node in cluster.node_ids:
            listener = socket.create_server(("127.0.0.1", 0), backlog=128)
            self._selector.register(
                listener, selectors.EVENT_READ, int(cluster.address(node).rpartition(":")[2])
            )
            cluster.announce(node, listener.getsockname()[1])

    def __enter__(self) -> "Distance":
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._ended.set()
        self._thread.join()
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]
        self._selector.close()

    def watch(self, pid: int) -> None:
        """The process whose sleep lets the time pass; the clock begins anew."""
        self.clock, self._pid = 0, pid

    # --- its thread --------------------------------------------------------------------------------

    def _run(self) -> None:
        quiet = 0
        while not self._ended.is_set():
            ready = self._selector.select(_LOOK)
            for key, _ in ready:
                if key.data is None:
                    self._read(key.fileobj)  # type: ignore[arg-type]
                else:
                    self._accept(key.fileobj, key.data)  # type: ignore[arg-type]
            if ready:
                quiet = 0
                continue
            time.sleep(_LOOK)
            quiet = quiet + 1 if self._held and _sleeps(self._pid) else 0
            if quiet == _QUIET:
                self.clock += 1
                held, self._held = self._held, []
                for sock, piece in held:
                    self._pass_on(sock, piece)

    def _accept(self, listener: socket.socket, port: int) -> None:
        client, _ = listener.accept()
        broker = socket.create_connection(("127.0.0.1", port))
        for sock in (client, broker):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._selector.register(sock, selectors.EVENT_READ)
        self._peers[client], self._peers[broker] = broker, client
        self._of_brokers.add(broker)

    def _read(self, sock: socket.socket) -> None:
        try:
            piece = sock.recv(_PIECE)
        except OSError:
            piece = b""
        if not piece:
            self._selector.unregister(sock)
        if sock in self._of_brokers:
            self._held.append((self._peers[sock], piece))
        else:
            self._pass_on(self._peers[sock], piece)

    def _pass_on(self, sock: socket.socket, piece: bytes) -> None:
        with contextlib.suppress(OSError):
            if piece:
                sock.sendall(piece)
            else:
                sock.shutdown(socket.SHUT_WR)


def _sleeps(pid: int) -> bool:
    """Whether no thread of the process computes, or it has ended."""
    try:
        return all(
            (task / "stat").read_text().rpartition(")")[2].split()[0] in "SZX"
            for task in Path(f"/proc/{pid}/task").iterdir()
        )
    except OSError:
        return True
