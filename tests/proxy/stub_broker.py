"""A broker that can be switched off and on at its port. It knows one question, Metadata, and answers with itself."""

import socket
import threading

from kcli.core.protocol.messages.metadata import MetadataRequest, MetadataResponse, MetadataResponseBroker
from tests.proxy.messages import REQUEST_HEAD, write_answer


class StubBroker:
    """Serves each connection in a thread of its own until the client closes it."""

    def __init__(self, node: int = 1) -> None:
        self._node = node
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._serve()

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    def stop(self) -> None:
        """Connecting is refused; connections end by themselves."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(120)

    def start(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self._serve()

    def _serve(self) -> None:
        self._thread = threading.Thread(target=self._accept, args=(self._listener,), daemon=True)
        self._thread.start()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(client,), daemon=True).start()

    def _answer(self, client: socket.socket) -> None:
        with client, client.makefile("rb") as stream:
            while len(head := stream.read(REQUEST_HEAD.size)) == REQUEST_HEAD.size:
                size, api, version, correlation_id = REQUEST_HEAD.unpack(head)
                stream.read(4 + size - REQUEST_HEAD.size)
                if api != MetadataRequest.api_key:
                    return
                me = MetadataResponseBroker(node_id=self._node, host="127.0.0.1", port=self.port)
                answer = MetadataResponse(brokers=[me], topics=[])
                client.sendall(write_answer(api, version, correlation_id, answer))
