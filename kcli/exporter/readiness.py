"""Reports to systemd that the service is ready, or stops (sd_notify(3)); nothing without its socket."""

import os
import socket

READY, STOPPING = "READY=1", "STOPPING=1"


def notify(text: str) -> None:
    """A datagram to ``$NOTIFY_SOCKET``; errors are ignored, as sd_notify's callers do."""
    path = os.environ.get("NOTIFY_SOCKET", "")
    if not path.startswith(("/", "@")):
        return
    address = "\0" + path[1:] if path[0] == "@" else path
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
            sender.connect(address)
            sender.sendall(text.encode())
    except OSError:
        return
