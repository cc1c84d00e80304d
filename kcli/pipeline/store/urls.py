"""Which store a DIR of the command line is: a path, or a URL of a known scheme, and what is read from the environment for
it. A URL carries no credentials.
"""

import os
import re
from datetime import timedelta
from typing import Any
from urllib.parse import unquote, urlsplit

from kcli.core.classes import NamedTuple
from kcli.core.errors import ConfigError
from kcli.pipeline.arrow_library import check_pyarrow
from kcli.pipeline.store.errors import text_of
from kcli.pipeline.store.folder import FolderStore
from kcli.pipeline.store.s3 import S3Store
from kcli.pipeline.store.store import Store

FORMS = {
    "s3": "s3://BUCKET/PATH",
    "gs": "gs://BUCKET/PATH",
    "abfss": "abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH",
    "hdfs": "hdfs://HOST:PORT/PATH",
    "file": "file:///PATH",
}
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):/")
"""Also with one slash: a folder whose name ends with a colon is a mistyped URL."""
_RETRY_SECONDS = 30
"""Of GCS, for one request."""


class _Parts(NamedTuple):
    scheme: str
    host: str
    path: str


def canonical(text: str) -> str:
    """The absolute path or the URL that a user named; ConfigError for a URL of an unknown scheme, one that is not valid,
    and for nothing: a variable that is not set does not mean the folder that one happens to be in.
    """
    if not text.strip():
        raise ConfigError(
            "the name of the folder is empty",
            why="perhaps a variable is not set",
            do="name it; . is this folder",
        )
    parts = _parsed(text)
    if parts is None:
        return os.path.abspath(text)
    if parts.scheme == "file":
        return os.path.abspath(unquote(parts.path))
    return f"{parts.scheme}://{parts.host}{parts.path}"


def open_store(url: str) -> Store:
    """The store of what ``canonical`` returned. Nothing is sent yet."""
    parts = _parsed(url)
    if parts is None:
        return FolderStore(url)
    within = parts.path.lstrip("/")
    if parts.scheme == "s3":
        return S3Store(url, parts.host, within and within + "/")
    check_pyarrow(f"{parts.scheme}:// needs it", extra="lake")
    try:
        return _on_arrow(url, parts, within)
    except ImportError as error:
        raise ConfigError(
            f"this pyarrow has no {parts.scheme}://", why=str(error), do="install pyarrow from PyPI"
        ) from None


def _parsed(text: str) -> _Parts | None:
    """The parts of a URL; None for a path."""
    found = _SCHEME.match(text)
    if found is None:
        return None
    scheme = found[1].lower()
    if scheme not in FORMS:
        raise ConfigError(
            f"{_shown(text)}: there is no store {scheme}://",
            why=f"known are {', '.join(f'{each}://' for each in FORMS)} and paths",
            do=f"write {FORMS['s3']}, for example" if scheme.startswith("s3") else "name one of these",
        )
    if any(ord(character) < 32 or character.isspace() for character in text) and scheme != "file":
        raise _invalid(text, scheme, "it has white space or control characters")
    if not text[len(scheme) :].startswith("://"):
        raise _invalid(text, scheme, "two slashes follow the colon")
    parts = urlsplit(text)
    user, at, host = parts.netloc.rpartition("@")
    if (at and scheme != "abfss") or ":" in user:
        raise _invalid(text, scheme, "credentials are not part of it: they come from the environment")
    if parts.query or parts.fragment or text[-1] in "?#":
        raise _invalid(text, scheme, "it has a query or a fragment")
    path = parts.path.rstrip("/")
    if scheme == "file":
        if host not in ("", "localhost") or not path:
            raise _invalid(text, scheme, "it names another machine, or no folder")
    elif (not host and scheme != "hdfs") or (scheme == "abfss" and not (user and "." in host)):
        raise _invalid(text, scheme, "a part is missing")
    elif any(part in ("", ".", "..") for part in path.split("/")[1:]):
        raise _invalid(text, scheme, "a folder in it has no name, or is . or ..")
    elif scheme == "hdfs" and not path:
        raise _invalid(text, scheme, "it names no folder")
    return _Parts(scheme, parts.netloc, path)


def _invalid(text: str, scheme: str, why: str) -> ConfigError:
    return ConfigError(f"{_shown(text)} is not a valid URL", why=why, do=f"write {FORMS[scheme]}")


def _shown(text: str) -> str:
    """The URL without what may be a secret."""
    shown = re.sub(r"//[^/]*:[^/]*@", "//…@", text)
    return re.sub(r"[?#].*", "?…", shown, flags=re.DOTALL)


def _on_arrow(url: str, parts: _Parts, within: str) -> Store:
    import pyarrow.fs as pafs  # an extra

    from kcli.pipeline.store.arrow_fs import ArrowStore

    if parts.scheme == "gs":
        root = f"{parts.host}/{within}".rstrip("/")
        return ArrowStore(
            url,
            pafs.GcsFileSystem(**_gcs_settings(os.environ.get("STORAGE_EMULATOR_HOST", ""))),
            root,
            bucket=parts.host,
            chain="GOOGLE_APPLICATION_CREDENTIALS, `gcloud auth application-default login`, or the machine's account",
        )
    if parts.scheme == "abfss":
        container, _, host = parts.host.partition("@")
        root = f"{container}/{within}".rstrip("/")
        return ArrowStore(
            url,
            pafs.AzureFileSystem(**_azure_settings(host)),
            root,
            bucket=container,
            chain="AZURE_STORAGE_CONNECTION_STRING, AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN, or AZURE_CLIENT_ID, "
            "AZURE_TENANT_ID and AZURE_CLIENT_SECRET",
        )
    try:
        found, root = pafs.FileSystem.from_uri(f"hdfs://{parts.host}{parts.path}")
    except OSError as error:
        raise ConfigError(
            f"{url} cannot be opened",
            why=text_of(error),
            do="set HADOOP_HOME, JAVA_HOME and CLASSPATH as `hadoop classpath --glob` prints it: libhdfs needs them",
        ) from None
    return ArrowStore(url, found, root, bucket="", chain="the Kerberos ticket: klist")


def _gcs_settings(emulator: str) -> dict[str, Any]:
    found: dict[str, Any] = {"retry_time_limit": timedelta(seconds=_RETRY_SECONDS)}
    if emulator:
        scheme, _, host = emulator.rpartition("://")
        found |= {"anonymous": True, "scheme": scheme or "http", "endpoint_override": host.rstrip("/")}
    return found


def _azure_settings(host: str) -> dict[str, Any]:
    """Of an account, from the variables that Azure's own tools read."""
    account, _, domain = host.partition(".")
    found: dict[str, Any] = {"account_name": account}
    words = dict(
        part.split("=", 1)
        for part in os.environ.get("AZURE_STORAGE_CONNECTION_STRING", "").split(";")
        if "=" in part
    )
    if words.get("AccountName", account) != account:
        words = {}  # of another account
    key = words.get("AccountKey") or os.environ.get("AZURE_STORAGE_KEY")
    token = words.get("SharedAccessSignature") or os.environ.get("AZURE_STORAGE_SAS_TOKEN")
    if key:
        found["account_key"] = key
    elif token:
        found["sas_token"] = token if token.startswith("?") else f"?{token}"
    if endpoint := words.get("BlobEndpoint"):
        parts = urlsplit(endpoint)
        found |= dict.fromkeys(("blob_storage_authority", "dfs_storage_authority"), parts.netloc)
        found |= dict.fromkeys(("blob_storage_scheme", "dfs_storage_scheme"), parts.scheme)
    elif domain != "dfs.core.windows.net":
        found["dfs_storage_authority"] = f".{domain}"
        found["blob_storage_authority"] = "." + re.sub(r"^dfs\.", "blob.", domain)
    return found
