"""What every store promises: on a folder, on a server of S3, and on file systems of pyarrow that move in their ways."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
import pytest

from kcli.core.errors import ConfigError, NotFoundError
from kcli.pipeline.store import s3
from kcli.pipeline.store.arrow_fs import ArrowStore
from kcli.pipeline.store.errors import StoreAwayError, StoreDeniedError, StoreError
from kcli.pipeline.store.folder import FolderStore
from kcli.pipeline.store.remote_file import RemoteFile
from kcli.pipeline.store.s3 import S3Store
from kcli.pipeline.store.s3_errors import s3_error
from kcli.pipeline.store.store import ABSENT, ChangedError, Store
from tests.pipeline.object_stores import BUCKET, S3, Asked, environment, faulty, s3_server

FILE = "topic=t/partition=0/0-5.parquet"


@pytest.fixture(scope="module")
def server() -> Iterator[S3]:
    with s3_server() as found:
        yield found


class Moving:
    """A file system of pyarrow that makes folders as an object store does, and has a ``move`` of its own."""

    def __init__(self, move: str) -> None:
        self._local = pafs.LocalFileSystem()
        self._move = move
        self.type_name = "hdfs" if move == "keeps" else "azure"

    def open_output_stream(self, path: str) -> Any:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return self._local.open_output_stream(path)

    def move(self, source: str, target: str) -> None:
        if self._move == "none":
            raise pa.ArrowNotImplementedError("Move() is not implemented")
        if self._move == "keeps" and os.path.exists(target):
            raise OSError("HDFS rename failed")
        self._local.move(source, target)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._local, name)


def kept_by_arrow(folder: Path, move: str) -> ArrowStore:
    (folder / "bucket").mkdir()
    return ArrowStore(
        "gs://bucket/x", Moving(move), f"{folder}/bucket/x", bucket=str(folder / "bucket"), chain="the chain"
    )


@pytest.fixture(
    params=["folder", "s3", "s3 in parts", "arrow", "arrow that copies", "arrow that keeps names"]
)
def store(
    request: pytest.FixtureRequest, tmp_path: Path, server: S3, monkeypatch: pytest.MonkeyPatch
) -> Store:
    if request.param == "folder":
        return FolderStore(str(tmp_path / "x"))
    if request.param.startswith("s3"):
        for name, text in environment(server.port).items():
            monkeypatch.setenv(name, text)
        if request.param == "s3 in parts":
            monkeypatch.setattr(s3, "_PART", 16)
        return S3Store(f"s3://{BUCKET}/{tmp_path.name}", BUCKET, f"{tmp_path.name}/")
    moves = {"arrow": "replaces", "arrow that copies": "none", "arrow that keeps names": "keeps"}
    return kept_by_arrow(tmp_path, moves[request.param])


def contents(store: Store, path: str) -> bytes:
    with store.open(path) as file:
        return file.read()


def test_a_file_has_its_name_when_it_is_complete(store: Store) -> None:
    with store.new(FILE) as file:
        for part in (b"first ", b"", b"second " * 5):
            file.write(part)
        assert (file.tell(), store.size(FILE)) == (41, None)
        assert file.digest().bytes == 41
        assert file.commit()
        assert store.size(FILE) == 41
    assert contents(store, FILE) == b"first " + b"second " * 5
    assert list(store.names()) == ["topic=t"]
    assert store.name(FILE) == f"{store.url}/{FILE}"


@pytest.mark.parametrize("data", [b"", b"much data " * 30])
def test_a_file_that_was_given_up_leaves_nothing(store: Store, data: bytes, server: S3) -> None:
    def write() -> None:
        with store.new(FILE) as file:
            file.write(data)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write()
    assert store.size(FILE) is None
    assert server.uploads() == []
    store.remove_leftovers()
    with pytest.raises(FileNotFoundError):
        store.open(FILE)


def test_the_first_to_be_complete_has_the_name(store: Store, server: S3) -> None:
    with store.new(FILE) as one, store.new(FILE) as other:
        one.write(b"one, which is longer")
        other.write(b"other, which is longer")
        assert other.commit()
        assert not one.commit()
    assert contents(store, FILE) == b"other, which is longer"
    assert server.uploads() == []


def test_what_a_killed_run_has_left_is_removed(store: Store, server: S3) -> None:
    with store.new("topic=t/partition=0/5-9.parquet") as whole:
        whole.write(b"whole")
        whole.commit()
    lost = store.new(FILE)
    lost.write(b"much data " * 30)
    lost.discard = lambda: None  # type: ignore[method-assign]  # it is killed
    if isinstance(store, S3Store):
        elsewhere = S3Store(f"{store.url}-2", BUCKET, f"{store.prefix[:-1]}-2/")
        assert len(server.uploads()) == (s3._PART == 16)
        elsewhere.remove_leftovers()
        assert len(server.uploads()) == (s3._PART == 16)
    store.remove_leftovers()
    assert server.uploads() == []
    assert store.size(FILE) is None
    assert contents(store, "topic=t/partition=0/5-9.parquet") == b"whole"
    with store.new(FILE) as again:
        again.write(b"again")
        assert again.commit()
    assert contents(store, FILE) == b"again"


def test_a_document_is_replaced_only_as_it_was_read(store: Store) -> None:
    with store.writing():
        assert store.read("m.json") is None
        first = store.put("m.json", b"1", ABSENT)
        found = store.read("m.json")
        assert found is not None
        assert found == (b"1", first)
        with pytest.raises(ChangedError):
            store.put("m.json", b"2", ABSENT)
        second = store.put("m.json", b"2", first)
        with pytest.raises(ChangedError) as caught:
            store.put("m.json", b"3", first)
        assert store.name("m.json") in str(caught.value)
        # The answer to a put was lost, and it is repeated.
        assert store.put("m.json", b"2", first) == second
        assert store.put("m.json", b"2", second) == second
        assert store.read("m.json") == (b"2", second)
        assert list(store.names()) == ["m.json"]
        store.delete("m.json")
        store.delete("m.json")
        assert store.read("m.json") is None
        with pytest.raises(ChangedError):
            store.put("m.json", b"3", second)


def test_of_two_that_put_at_once_one_is_refused(
    tmp_path: Path, server: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in environment(server.port).items():
        monkeypatch.setenv(name, text)
    store = S3Store(f"s3://{BUCKET}/{tmp_path.name}", BUCKET, f"{tmp_path.name}/")
    version = store.put("m.json", b"begun", ABSENT)
    barrier, refused = threading.Barrier(4), list[str]()

    def put(word: bytes) -> None:
        barrier.wait(120)
        try:
            store.put("m.json", word, version)
        except ChangedError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=put, args=(b"run %d" % number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 3


def test_a_file_is_read_in_any_order(store: Store) -> None:
    data = bytes(range(256))
    with store.new(FILE) as file:
        file.write(data)
        file.commit()
    with store.open(FILE) as found:
        assert found.seek(-10, os.SEEK_END) == len(data) - 10
        assert found.read(100) == data[-10:]
        assert found.read(1) == b""
        assert found.seek(100) == 100
        assert found.read(20) == data[100:120]
        assert found.seek(5, os.SEEK_CUR) == 125
        assert found.tell() == 125
        assert found.read() == data[125:]


def test_reading_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[tuple[int, int]]()
    data = bytes(range(100))

    def fetch(start: int, stop: int) -> bytes:
        asked.append((start, stop))
        return data[start:stop]

    monkeypatch.setattr("kcli.pipeline.store.remote_file._AHEAD", 10)
    file = RemoteFile(100, fetch)
    assert b"".join(iter(lambda: file.read(4), b"")) == data
    assert asked == [(at, at + 10) for at in range(0, 100, 10)]
    file.seek(50)
    assert file.read(30) == data[50:80]
    assert asked[-1] == (50, 80)
    assert file.readinto(bytearray()) == 0


def test_a_document_of_hdfs_that_is_being_replaced_is_the_previous_one(tmp_path: Path) -> None:
    store = kept_by_arrow(tmp_path, "keeps")
    version = store.put("m.json", b"1", ABSENT)
    os.rename(store.full("m.json"), store.full("m.json.previous"))  # and it was killed
    assert store.read("m.json") == (b"1", version)
    assert store.put("m.json", b"2", version)
    found = store.read("m.json")
    assert found is not None
    assert found.data == b"2"


# --- S3, with faults ------------------------------------------------------------------------------------


class Faults:
    """The first request of an operation has the fault, or ``times`` of them."""

    def __init__(self, operation: str, fault: str, times: int = 1) -> None:
        self.left = {operation: times}
        self.fault = fault

    def __call__(self, asked: Asked) -> str:
        if self.left.get(asked.operation, 0):
            self.left[asked.operation] -= 1
            return self.fault
        return ""


def s3_behind(port: int, name: str, monkeypatch: pytest.MonkeyPatch) -> S3Store:
    for key, text in environment(port).items():
        monkeypatch.setenv(key, text)
    monkeypatch.setattr(s3, "_PART", 100)
    monkeypatch.setattr("time.sleep", lambda _seconds: None)
    return S3Store(f"s3://{BUCKET}/{name}", BUCKET, f"{name}/")


_QUICK = {
    ("PUT", "lost"),
    ("PUT uploadId", "cut"),
    ("POST uploads", "lost"),
    ("POST uploadId", "lost"),
    ("GET", "500"),
}


@pytest.mark.parametrize(
    ("operation", "fault"),
    [
        pytest.param(operation, fault, marks=() if (operation, fault) in _QUICK else pytest.mark.long)
        for operation in ("PUT", "POST uploads", "PUT uploadId", "POST uploadId", "GET", "HEAD")
        for fault in ("500", "503", "cut", "lost")
    ],
)
def test_a_fault_of_one_request_changes_nothing(
    server: S3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operation: str, fault: str
) -> None:
    faults = Faults(operation, fault)
    with faulty(server.port, faults) as port:
        store = s3_behind(port, tmp_path.name, monkeypatch)
        version = store.put("m.json", b"1" * 50, ABSENT)
        store.put("m.json", b"2" * 50, version)
        for path, data in ((FILE, b"x" * 450), ("small", b"y" * 60)):
            with store.new(path) as file:
                file.write(data)
                file.commit()  # False where the answer to its own was lost: it is there
            assert contents(store, path) == data
        found = store.read("m.json")
        assert found is not None
        assert found.data == b"2" * 50
        assert not any(faults.left.values())
        assert len(server.uploads()) <= (operation == "POST uploads")  # whose id nobody knows
        store.remove_leftovers()
    assert server.uploads() == []


@pytest.mark.parametrize("operation", ["PUT", "POST uploads", "PUT uploadId", "POST uploadId"])
def test_a_store_that_stays_away_is_an_error_that_may_pass_and_leaves_nothing(
    server: S3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    with faulty(server.port, Faults(operation, "503", 1000)) as port:
        store = s3_behind(port, tmp_path.name, monkeypatch)

        def write() -> None:
            with store.new(FILE) as file:
                file.write(b"x" * (50 if operation == "PUT" else 450))
                file.commit()

        with pytest.raises(StoreAwayError) as caught:
            write()
    assert caught.value.do
    assert server.files(tmp_path.name) == {}
    assert server.uploads() == []


def test_an_answer_that_ends_early_is_asked_for_again(
    server: S3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.client.put_object(Bucket=BUCKET, Key=f"{tmp_path.name}/a", Body=b"x" * 1000)
    faults = Faults("GET", "half", 2)
    with faulty(server.port, faults) as port:
        store = s3_behind(port, tmp_path.name, monkeypatch)
        assert contents(store, "a") == b"x" * 1000
    assert faults.left == {"GET": 0}


def test_a_file_that_is_replaced_while_it_is_read_is_an_error(
    server: S3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = s3_behind(server.port, tmp_path.name, monkeypatch)
    server.client.put_object(Bucket=BUCKET, Key=f"{tmp_path.name}/a", Body=b"x" * 1000)
    monkeypatch.setattr("kcli.pipeline.store.remote_file._AHEAD", 10)
    with store.open("a") as file:
        assert file.read(10) == b"x" * 10
        server.client.put_object(Bucket=BUCKET, Key=f"{tmp_path.name}/a", Body=b"y" * 1000)
        with pytest.raises(ChangedError):
            file.read(10)


@pytest.mark.parametrize("operation", ["PUT", "POST uploadId"])
def test_a_store_that_knows_no_conditions_is_asked_before(
    server: S3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    store = s3_behind(server.port, tmp_path.name, monkeypatch)
    raw = S3Store._raw

    def without(self: S3Store, operation: str, path: str, **arguments: Any) -> Any:
        if {"IfNoneMatch", "IfMatch"} & arguments.keys() and operation != "get_object":
            raise Refused("NotImplemented", 501)
        return raw(self, operation, path, **arguments)

    monkeypatch.setattr(S3Store, "_raw", without)
    version = store.put("m.json", b"1", ABSENT)
    with pytest.raises(ChangedError):
        store.put("m.json", b"2", ABSENT)
    store.put("m.json", b"2", version)
    with pytest.raises(ChangedError):
        store.put("m.json", b"3", version)
    size = 50 if operation == "PUT" else 450
    for expected in (True, False):
        with store.new(FILE) as file:
            file.write(b"x" * size)
            assert file.commit() == expected


class Refused(Exception):  # noqa: N818
    """As botocore's ClientError."""

    def __init__(self, code: str, status: int, **more: str) -> None:
        super().__init__(code)
        self.response = {
            "Error": {"Code": code, "Message": "no", **more},
            "ResponseMetadata": {"HTTPStatusCode": status, "HTTPHeaders": {}},
        }


class NoCredentialsError(Exception):
    """As botocore's."""


class HTTPClientError(Exception):
    """As botocore's."""


class ProfileNotFound(Exception):  # noqa: N818
    """As botocore's."""


@pytest.mark.parametrize(
    ("error", "kind", "says"),
    [
        (Refused("NoSuchBucket", 404), NotFoundError, "bucket b does not exist"),
        (Refused("AccessDenied", 403), StoreDeniedError, "s3:PutObject"),
        (Refused("403", 403), StoreDeniedError, "s3:ListBucket"),
        (Refused("RequestTimeTooSkewed", 403), StoreDeniedError, "clock"),
        (Refused("PermanentRedirect", 301, Region="eu-west-1"), ConfigError, "set AWS_REGION=eu-west-1"),
        (Refused("AuthorizationHeaderMalformed", 400), ConfigError, "another region"),
        (Refused("SlowDown", 503), StoreAwayError, "does not answer"),
        (Refused("InternalError", 500), StoreAwayError, "does not answer"),
        (Refused("EntityTooLarge", 400), StoreError, "EntityTooLarge: no"),
        (NoCredentialsError("none"), StoreDeniedError, "set AWS_PROFILE"),
        (HTTPClientError("http://user:hidden@host/x?sig=hidden is away"), StoreAwayError, "AWS_ENDPOINT_URL"),
        (ProfileNotFound("p"), ConfigError, "AWS_*"),
        (ZeroDivisionError("x"), StoreError, "ZeroDivisionError: x"),
    ],
)
def test_errors_say_what_to_do(error: Exception, kind: type[Exception], says: str) -> None:
    found = s3_error(error, "s3://b/x", "b", "s3://b/x/f")
    assert type(found) is kind
    text = f"{found.what} {found.why} {found.do}"
    assert says in text
    assert "hidden" not in text
