"""Servers of object stores for tests, and a proxy in front of one that breaks things. Not a test."""

import http.client
import http.server
import logging
import os
import shutil
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

BUCKET = "bucket"
SECRET = "a-secret-that-nobody-prints"
QUICK_S3_ENVIRONMENT = {"AWS_RESPONSE_CHECKSUM_VALIDATION": "when_required"}
"""For ``quick_s3_server``: the answer of gofakes3 for a part of an object has the checksum of the whole object."""
_HOST = "127.0.0.1"


class S3(NamedTuple):
    """A server; ``client`` goes to it, and not through a proxy."""

    port: int
    client: Any

    def files(self, prefix: str) -> dict[str, bytes]:
        """All objects below a prefix, as ``tests.pipeline.exporting.files`` has those of a folder."""
        return {
            key[len(prefix) + 1 :]: self.client.get_object(Bucket=BUCKET, Key=key)["Body"].read()
            for key in self.names(prefix)
        }

    def names(self, prefix: str) -> list[str]:
        """The keys of all objects below a prefix."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=f"{prefix}/")
        return [one["Key"] for page in pages for one in page.get("Contents", ())]

    def remove(self, prefix: str) -> None:
        """All objects below a prefix."""
        for key in self.names(prefix):
            self.client.delete_object(Bucket=BUCKET, Key=key)

    def uploads(self) -> list[str]:
        """The keys of uploads that are neither completed nor aborted."""
        try:
            found = self.client.list_multipart_uploads(Bucket=BUCKET)
        except self.client.exceptions.NoSuchUpload:  # gofakes3 has it for a bucket without any
            return []
        return [one["Key"] for one in found.get("Uploads", ())]


def environment(port: int) -> dict[str, str]:
    """What a process needs to find a server of S3."""
    return {
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_ENDPOINT_URL": f"http://{_HOST}:{port}",
        "AWS_EC2_METADATA_DISABLED": "true",
    }


@contextmanager
def s3_server() -> Iterator[S3]:
    """A server in threads of this process, with an empty bucket; parts of uploads may be small."""
    pytest.importorskip("moto", reason="moto is not installed")
    from moto.s3 import models
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(models, "S3_UPLOAD_PART_MIN_SIZE", 1, raising=True)
        server = ThreadedMotoServer(ip_address=_HOST, port=0, verbose=False)
        server.start()
        _, port = server.get_host_and_port()
        try:
            with _bucket(port) as found:
                yield found
        finally:
            server.stop()


@contextmanager
def quick_s3_server() -> Iterator[S3]:
    """gofakes3, a process that costs little, where it is installed; else that of ``s3_server``."""
    program = shutil.which("gofakes3")
    if program is None:
        with s3_server() as found:
            yield found
        return
    with (
        _process(lambda port: [program, "-backend", "memory", "-host", f"{_HOST}:{port}"]) as port,
        _bucket(port) as found,
    ):
        yield found


@contextmanager
def s3_process() -> Iterator[S3]:
    """The same in a process of its own: deltalake holds the GIL while it waits for an answer."""
    pytest.importorskip("moto", reason="moto is not installed")
    with (
        _process(lambda port: [sys.executable, "-m", "moto.server", "-H", _HOST, "-p", str(port)]) as port,
        _bucket(port) as found,
    ):
        yield found


@contextmanager
def _bucket(port: int) -> Iterator[S3]:
    import botocore.session

    client = botocore.session.get_session().create_client(
        "s3",
        region_name="us-east-1",
        endpoint_url=f"http://{_HOST}:{port}",
        aws_access_key_id="key",
        aws_secret_access_key=SECRET,
    )
    client.create_bucket(Bucket=BUCKET)
    try:
        yield S3(port, client)
    finally:
        client.close()


@contextmanager
def gcs_server() -> Iterator[dict[str, str]]:
    """The environment for an emulator of Google Cloud Storage, a process: pyarrow holds the GIL while it waits for it."""
    pytest.importorskip("gcp_storage_emulator", reason="gcp-storage-emulator is not installed")
    with _process(
        lambda port: [
            sys.executable, "-m", "gcp_storage_emulator", "start", "--host", _HOST, "--port", str(port), "--in-memory",
            "--default-bucket", BUCKET,
        ]
    ) as port:  # fmt: skip
        yield {"STORAGE_EMULATOR_HOST": f"http://{_HOST}:{port}"}


@contextmanager
def azure_server(folder: Path) -> Iterator[dict[str, str]]:
    """The environment for azurite; skips where it is not installed (``npm install -g azurite``)."""
    program = shutil.which(
        "azurite-blob", path=os.pathsep.join([os.environ.get("AZURITE", ""), os.environ["PATH"]])
    )
    if program is None:
        pytest.skip("azurite is not installed")
    key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="  # as documented
    with _process(
        lambda port: [
            str(program), "--blobPort", str(port), "--location", str(folder), "--silent", "--skipApiVersionCheck",
            "--disableTelemetry",
        ]
    ) as port:  # fmt: skip
        yield {
            "AZURE_STORAGE_CONNECTION_STRING": f"AccountName=devstoreaccount1;AccountKey={key};"
            f"BlobEndpoint=http://{_HOST}:{port}/devstoreaccount1"
        }


@contextmanager
def _process(command: Callable[[int], list[str]]) -> Iterator[int]:
    """A server on a free port, which it listens to."""
    with socketserver.TCPServer((_HOST, 0), socketserver.BaseRequestHandler) as free:
        port = free.server_address[1]
    process = subprocess.Popen(command(port), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 30
        while True:
            try:
                http.client.HTTPConnection(_HOST, port, timeout=1).connect()
                break
            except OSError:
                assert process.poll() is None, "the server ended"
                assert time.monotonic() < deadline, "the server does not start"
                time.sleep(0.05)
        yield port
    finally:
        process.kill()
        process.wait()


# --- a proxy --------------------------------------------------------------------------------------------


class Asked(NamedTuple):
    """A request: its number among all, and its operation, such as ``PUT`` or ``POST uploads``."""

    number: int
    operation: str
    path: str


Fault = str
"""What becomes of a request: an HTTP status, or a code of S3 that begins with a capital; ``cut``: half of it arrives;
``lost``: it arrives, and its answer does not; ``half``: half of the answer arrives; ``slow``: the answer waits for a
second; ``empty``: the answer to a listing has nothing; empty for none.
"""

_EMPTY = b'<?xml version="1.0"?><ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>'


@contextmanager
def faulty(port: int, fault: Callable[[Asked], Fault]) -> Iterator[int]:
    """The port of a proxy in front of a server; ``fault`` is called for each request, in the thread that serves it."""
    numbers, lock = iter(range(1 << 30)), threading.Lock()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            path, _, query = self.path.partition("?")
            words = [word for word in ("uploads", "uploadId", "list-type") if word in query]
            with lock:
                asked = Asked(next(numbers), " ".join([self.command, *words]), path)
            found = fault(asked)
            if found.isdigit():
                return self._answer(int(found), {}, b"<Error><Code>InternalError</Code></Error>")
            if found[:1].isupper():
                return self._answer(404, {}, f"<Error><Code>{found}</Code></Error>".encode())
            if found == "empty":
                return self._answer(200, {"Content-Type": "application/xml"}, _EMPTY)
            if found == "cut":
                body = body[: len(body) // 2]
            status, headers, answer = self._forward(body, whole=found != "cut")
            if found == "slow":
                time.sleep(1.0)
            if found in ("cut", "lost"):
                self.close_connection = True
                return None
            return self._answer(status, headers, answer, half=found == "half")

        def _forward(self, body: bytes, *, whole: bool) -> tuple[int, Mapping[str, str], bytes]:
            connection = http.client.HTTPConnection(_HOST, port, timeout=30)
            try:
                connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
                for name, text in self.headers.items():
                    if name.lower() != "expect":
                        connection.putheader(name, text)
                connection.endheaders(body)
                if not whole:
                    return 0, {}, b""
                answer = connection.getresponse()
                return answer.status, dict(answer.headers), answer.read()
            finally:
                connection.close()

        def _answer(
            self, status: int, headers: Mapping[str, str], body: bytes, *, half: bool = False
        ) -> None:
            self.send_response_only(status)
            for name, text in headers.items():
                if name.lower() not in ("connection", "content-length", "transfer-encoding"):
                    self.send_header(name, text)
            length = headers.get("Content-Length") if self.command == "HEAD" else None
            self.send_header("Content-Length", length or str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body[: len(body) // 2] if half else body)
            self.close_connection = self.close_connection or half

        do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _serve  # noqa: N815

        def handle(self) -> None:
            try:
                super().handle()
            except OSError:  # its peer was killed
                self.close_connection = True

    server = http.server.ThreadingHTTPServer((_HOST, 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
