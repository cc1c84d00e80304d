"""S3, and stores with its protocol (MinIO, Ceph, R2, …), by botocore: pyarrow's file system can neither abort an upload,
which its destructor completes as it is, nor write under a condition.

Files are multipart uploads, which have no name until they are completed; a small one is one request. Each is given its
name by If-None-Match, and documents are replaced by If-Match, on their ETag. Credentials, profile, region and endpoint
are of AWS's usual chain (``AWS_*``, ``~/.aws``, roles of the machine), found anew in each process.
"""

import os
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import lru_cache
from typing import Any, BinaryIO, cast
from urllib.parse import urlsplit

from kcli.core.classes import NamedTuple
from kcli.core.errors import KcliError
from kcli.core.extras import library
from kcli.pipeline.store.errors import StoreAwayError, StoreError
from kcli.pipeline.store.new_file import NewFile
from kcli.pipeline.store.remote_file import RemoteFile
from kcli.pipeline.store.s3_errors import code_of, no_credentials, s3_error
from kcli.pipeline.store.store import ABSENT, Document, changed

_ATTEMPTS = 5
"""Of a request, with growing pauses between them."""
_CONNECT_SECONDS, _READ_SECONDS = 10, 30
_PART = 8 << 20
"""Of the first 1,000 parts; each further thousand is twice as large: 10,000 parts are the most that there can be."""
_PARTS_PER_SIZE = 1_000
_BEGUN_AT_ONCE = 2
"""Parts that are being sent while the next one fills."""
_REFUSED = {"PreconditionFailed", "412"}
_BUSY = {"ConditionalRequestConflict", "409"}
_MISSING = {"NoSuchKey", "404"}
_UNKNOWN = {"NotImplemented", "501"}
"""Conditions that a store does not know."""
_BUSY_TURNS = 10


class S3Store:
    """See ``Store``. ``prefix``: of all keys, empty or with ``/`` at its end."""

    locks = False

    def __init__(self, url: str, bucket: str, prefix: str) -> None:
        self.url = url
        self.bucket = bucket
        self.prefix = prefix

    def name(self, path: str) -> str:
        """See ``Store``."""
        return f"{self.url}/{path}"

    def size(self, path: str) -> int | None:
        """See ``Store``."""
        found = self.call("head_object", path, unless=_MISSING)
        return None if found is None else int(found["ContentLength"])

    def open(self, path: str) -> BinaryIO:
        """See ``Store``. A file that is replaced meanwhile is an error."""
        found = self.call("head_object", path, unless=_MISSING)
        if found is None:
            raise FileNotFoundError(2, "No such object", self.name(path))
        tag = found["ETag"]
        file = RemoteFile(
            found["ContentLength"],
            lambda start, stop: self._get(path, IfMatch=tag, Range=f"bytes={start}-{stop - 1}")[0],
        )
        return cast(BinaryIO, file)

    def new(self, path: str) -> NewFile:
        """See ``Store``."""
        return _NewS3File(self, path)

    def read(self, path: str) -> Document | None:
        """See ``Store``."""
        try:
            return Document(*self._get(path))
        except FileNotFoundError:
            return None

    def put(self, path: str, data: bytes, version: str) -> str:
        """See ``Store``."""
        condition = {"IfNoneMatch": "*"} if version == ABSENT else {"IfMatch": version}
        tag = self.given_name("put_object", path, condition, Body=data)
        if tag is None:  # also if the answer to an earlier attempt of this request was lost
            found = self.read(path)
            if found is None or found.data != data:
                raise changed(self.name(path))
            return found.version
        return tag

    def delete(self, path: str) -> None:
        """See ``Store``."""
        self.call("delete_object", path, unless=_MISSING)

    def names(self) -> Iterable[str]:
        """See ``Store``: the first thousand."""
        found = self.call("list_objects_v2", None, Prefix=self.prefix, Delimiter="/") or {}
        keys = [one["Key"] for one in found.get("Contents", ())]
        keys += [one["Prefix"].rstrip("/") for one in found.get("CommonPrefixes", ())]
        return [key[len(self.prefix) :] for key in keys if key != self.prefix]

    def remove_leftovers(self) -> None:
        """See ``Store``. Uploads that are not completed cost money, and nobody sees them."""
        for one in list(self._uploads()):
            path = one["Key"][len(self.prefix) :]
            self.call("abort_multipart_upload", path, unless={"NoSuchUpload"}, UploadId=one["UploadId"])

    def writing(self) -> AbstractContextManager[None]:
        """See ``Store``: conditions refuse the second run."""
        return nullcontext()

    # requests

    def call(
        self, operation: str, path: str | None, *, unless: Iterable[str] = (), **arguments: Any
    ) -> Any | None:
        """The answer to a request, about the file ``path`` if there is one; None for errors with a code of ``unless``."""
        if path is not None:
            arguments["Key"] = self.prefix + path
        try:
            return getattr(_client(_environment()), operation)(Bucket=self.bucket, **arguments)
        except KcliError:  # a library is missing
            raise
        except Exception as error:
            if code_of(error) in unless:
                return None
            raise self._error(error, path) from error

    def given_name(
        self, operation: str, path: str, condition: dict[str, str], **arguments: Any
    ) -> str | None:
        """Makes an object under a condition; its ETag, or None where the condition does not hold."""
        for _ in range(_BUSY_TURNS):
            try:
                return str(self._raw(operation, path, **condition, **arguments)["ETag"])
            except KcliError:
                raise
            except Exception as error:
                code = code_of(error)
                if code in _REFUSED or (code in _MISSING and "IfMatch" in condition):
                    return None
                if code in _UNKNOWN and condition:
                    if not self._holds(path, condition):
                        return None
                    condition = {}
                elif code not in _BUSY:
                    raise self._error(error, path) from error
            time.sleep(0.2)  # another request for the same name is under way
        raise StoreError(
            f"{self.name(path)}: another request for this name does not end", do="run the command again"
        )

    def _holds(self, path: str, condition: dict[str, str]) -> bool:
        """Whether the condition holds now, for a store that does not know conditions."""
        found = self.call("head_object", path, unless=_MISSING)
        if "IfMatch" in condition:
            return found is not None and found["ETag"] == condition["IfMatch"]
        return found is None

    def _raw(self, operation: str, path: str, **arguments: Any) -> Any:
        return getattr(_client(_environment()), operation)(
            Bucket=self.bucket, Key=self.prefix + path, **arguments
        )

    def _get(self, path: str, **arguments: Any) -> tuple[bytes, str]:
        """The bytes and the ETag: botocore repeats a request, but not one whose answer ends early."""
        for attempt in range(_ATTEMPTS):
            try:
                found = self._raw("get_object", path, **arguments)
                return found["Body"].read(), str(found["ETag"])
            except KcliError:
                raise
            except Exception as error:
                code = code_of(error)
                if code in _MISSING:
                    raise FileNotFoundError(2, "No such object", self.name(path)) from None
                if code in _REFUSED:
                    raise changed(self.name(path)) from None
                failure = self._error(error, path)
                if not isinstance(failure, StoreAwayError) or attempt + 1 == _ATTEMPTS:
                    raise failure from error
                time.sleep(0.1 * 2**attempt)
        raise AssertionError

    def _uploads(self) -> Iterator[Any]:
        """The uploads of files of an export or a table that are not completed."""
        for folder in ("topic=", "data/"):
            prefix, markers = f"{self.prefix}{folder}", dict[str, str]()
            while True:
                # Some servers have this error for a bucket that never had an upload.
                found = self.call(
                    "list_multipart_uploads", None, unless={"NoSuchUpload"}, Prefix=prefix, **markers
                )
                found = found or {}
                yield from found.get("Uploads", ())
                if not found.get("IsTruncated"):
                    break
                markers = {
                    "KeyMarker": found.get("NextKeyMarker", ""),
                    "UploadIdMarker": found.get("NextUploadIdMarker", ""),
                }

    def _error(self, error: Exception, path: str | None) -> KcliError:
        return s3_error(error, self.url, self.bucket, self.url if path is None else self.name(path))


class _NewS3File(NewFile):
    """Parts are sent by a thread while the next one fills."""

    def __init__(self, store: S3Store, path: str) -> None:
        super().__init__(store.name(path))
        self._store = store
        self._path = path
        self._upload = ""
        self._waiting = bytearray()
        self._sender: ThreadPoolExecutor | None = None
        self._parts: list[Future[str]] = []

    def append(self, data: memoryview) -> None:
        """See ``NewFile``."""
        self._waiting += data
        while len(self._waiting) >= (size := _PART << len(self._parts) // _PARTS_PER_SIZE):
            self._send(bytes(self._waiting[:size]))
            del self._waiting[:size]

    def finish(self) -> bool:
        """See ``NewFile``."""
        condition = {"IfNoneMatch": "*"}
        if not self._upload:
            tag = self._store.given_name("put_object", self._path, condition, Body=bytes(self._waiting))
            return tag is not None
        if self._waiting:
            self._send(bytes(self._waiting))
            self._waiting.clear()
        parts = [
            {"PartNumber": number, "ETag": part.result()} for number, part in enumerate(self._parts, start=1)
        ]
        tag = self._complete(condition, parts)
        if tag is not None:
            self._upload = ""
        return tag is not None

    def discard(self) -> None:
        """See ``NewFile``. What cannot be aborted now is removed by the next run."""
        if self._sender is not None:
            self._sender.shutdown(cancel_futures=True)  # a part that arrives later would stay
            self._sender = None
        if self._upload:
            with suppress(KcliError):
                self._store.call("abort_multipart_upload", self._path, UploadId=self._upload)
            self._upload = ""

    def _complete(self, condition: dict[str, str], parts: list[dict[str, Any]]) -> str | None:
        try:
            return self._store.given_name(
                "complete_multipart_upload",
                self._path,
                condition,
                UploadId=self._upload,
                MultipartUpload={"Parts": parts},
            )
        except StoreError as error:
            # The answer to an earlier attempt was lost: the upload is completed, and is no more.
            cause = error.__cause__
            lost = isinstance(cause, Exception) and code_of(cause) == "NoSuchUpload"
            if lost and self._store.size(self._path) is not None:
                return None
            raise

    def _send(self, data: bytes) -> None:
        if not self._upload:
            self._upload = str(self._store.call("create_multipart_upload", self._path)["UploadId"])  # type: ignore[index]
            self._sender = ThreadPoolExecutor(1)
        assert self._sender is not None
        number = len(self._parts) + 1
        if number > _BEGUN_AT_ONCE:
            self._parts[number - 1 - _BEGUN_AT_ONCE].result()
        self._parts.append(self._sender.submit(self._sent, number, data))

    def _sent(self, number: int, data: bytes) -> str:
        found = self._store.call(
            "upload_part", self._path, UploadId=self._upload, PartNumber=number, Body=data
        )
        return str(cast(Any, found)["ETag"])


class Access(NamedTuple):
    """What other libraries need to reach the store, in this process only. ``endpoint``: empty for AWS's own."""

    endpoint: str
    region: str
    key: str
    secret: str
    token: str


def access(url: str) -> Access:
    """What botocore finds now; StoreDeniedError without credentials."""
    client = _client(_environment())
    session = library("botocore.session", extra="lake", wanted_by="s3://").get_session()
    try:
        found = session.get_credentials()
        keys = None if found is None else found.get_frozen_credentials()
    except Exception as error:
        raise s3_error(error, url, urlsplit(url).netloc, url) from error
    if keys is None:
        raise no_credentials(url)
    host = urlsplit(client.meta.endpoint_url).hostname or ""
    return Access(
        "" if host.endswith((".amazonaws.com", ".amazonaws.com.cn")) else str(client.meta.endpoint_url),
        str(client.meta.region_name),
        keys.access_key,
        keys.secret_key,
        keys.token or "",
    )


def _environment() -> tuple[tuple[str, str], ...]:
    """What a client is made of. A process that was forked has sockets of its own."""
    found = sorted(item for item in os.environ.items() if item[0].startswith("AWS_"))
    return ("pid", str(os.getpid())), *found


@lru_cache(maxsize=2)
def _client(_environment: tuple[tuple[str, str], ...]) -> Any:
    """A client costs 130 ms of CPU: one for each process, unless what it is made of changes. It serves all threads."""
    session = library("botocore.session", extra="lake", wanted_by="s3://")
    config = library("botocore.config", extra="lake", wanted_by="s3://")
    return session.get_session().create_client(
        "s3",
        region_name=os.environ.get("AWS_REGION"),  # which all but botocore read; it has AWS_DEFAULT_REGION
        config=config.Config(
            connect_timeout=_CONNECT_SECONDS,
            read_timeout=_READ_SECONDS,
            retries={"mode": "standard", "total_max_attempts": _ATTEMPTS},
            user_agent_extra="kcli",
        ),
    )
