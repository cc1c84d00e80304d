"""Which store a DIR is, what is refused, and what is read from the environment for it."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kcli.core.errors import ConfigError
from kcli.pipeline.store.folder import FolderStore
from kcli.pipeline.store.s3 import S3Store, _client
from kcli.pipeline.store.store import Store
from kcli.pipeline.store.urls import _azure_settings, _gcs_settings, canonical, open_store


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("s3://bucket/a/b/", "s3://bucket/a/b"),
        ("s3://bucket", "s3://bucket"),
        ("S3://bucket/A", "s3://bucket/A"),
        ("gs://bucket/a", "gs://bucket/a"),
        ("abfss://box@account.dfs.core.windows.net/a", "abfss://box@account.dfs.core.windows.net/a"),
        ("hdfs:///a", "hdfs:///a"),
        ("hdfs://name:8020/a", "hdfs://name:8020/a"),
        ("file:///a/b%20c", "/a/b c"),
        ("file://localhost/a/../b", "/b"),
        ("/a/s3://bucket", "/a/s3:/bucket"),
        ("./s3:/bucket", f"{os.getcwd()}/s3:/bucket"),
        ("a:b", f"{os.getcwd()}/a:b"),
    ],
)
def test_what_is_meant(given: str, meant: str) -> None:
    assert canonical(given) == meant
    assert canonical(meant) == meant


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("s4://bucket/x", "known are s3://, gs://, abfss://, hdfs://, file:// and paths"),
        ("http://host/x", "known are"),
        ("s3a://bucket/x", "known are"),
        ("x://y", "known are"),
        ("s3:/bucket/x", "two slashes"),
        ("file:/x", "two slashes"),
        ("s3:///x", "a part is missing"),
        ("s3://", "a part is missing"),
        ("abfss://box/x", "a part is missing"),
        ("abfss://account.dfs.core.windows.net/x", "a part is missing"),
        ("hdfs://host", "names no folder"),
        ("file://host/x", "another machine"),
        ("file:///", "no folder"),
        ("s3://bucket/a//b", "has no name"),
        ("s3://bucket/../b", "is . or .."),
        ("s3://bucket/a b", "white space"),
        ("s3://bucket/a\n", "white space"),
        ("s3://key:hidden@bucket/x", "credentials are not part of it"),
        ("s3://hidden@bucket/x", "credentials are not part of it"),
        ("hdfs://user@host/x", "credentials are not part of it"),
        ("abfss://box:hidden@account.dfs.core.windows.net/x", "credentials are not part of it"),
        ("s3://bucket/x?secret=hidden", "a query"),
        ("s3://bucket/x?", "a query"),
        ("gs://bucket/x#hidden", "a fragment"),
        ("", "perhaps a variable is not set"),
        (" ", "perhaps a variable is not set"),
    ],
)
def test_what_is_refused(given: str, why: str) -> None:
    with pytest.raises(ConfigError) as caught:
        canonical(given)
    assert why in caught.value.why
    assert caught.value.do
    if ":hidden" in given or "=hidden" in given:
        assert "hidden" not in str(caught.value)


def test_the_store_of_a_url(tmp_path: Path) -> None:
    assert isinstance(open_store(str(tmp_path)), FolderStore)
    found = open_store("s3://bucket/a/b")
    assert isinstance(found, S3Store)
    assert (found.url, found.bucket, found.prefix) == ("s3://bucket/a/b", "bucket", "a/b/")
    assert found.name("x") == "s3://bucket/a/b/x"
    root = open_store("s3://bucket")
    assert isinstance(root, S3Store)
    assert (root.prefix, root.name("x")) == ("", "s3://bucket/x")


def test_a_store_that_a_library_is_missing_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcli.pipeline.arrow_library.find_spec", lambda _name: None)
    with pytest.raises(ConfigError, match="pyarrow") as caught:
        open_store("gs://bucket/a")
    assert "kcli-kafka[lake]" in caught.value.do


@pytest.mark.parametrize(
    "use", [lambda store: list(store.names()), lambda store: store.read("x"), lambda s: s.put("x", b"", "")]
)
def test_s3_without_botocore(monkeypatch: pytest.MonkeyPatch, use: Callable[[Store], object]) -> None:
    monkeypatch.setitem(sys.modules, "botocore.session", None)
    _client.cache_clear()
    with pytest.raises(ConfigError, match="needs a library") as caught:
        use(open_store("s3://bucket/a"))
    assert "kcli-kafka[lake]" in caught.value.do
    assert caught.value.__cause__ is None


def test_settings_of_google() -> None:
    found = _gcs_settings("")
    assert set(found) == {"retry_time_limit"}
    for emulator in ("http://127.0.0.1:9/", "127.0.0.1:9"):
        found = _gcs_settings(emulator)
        assert (found["endpoint_override"], found["scheme"], found["anonymous"]) == (
            "127.0.0.1:9",
            "http",
            True,
        )


def test_settings_of_azure(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CONNECTION_STRING", "KEY", "SAS_TOKEN"):
        monkeypatch.delenv(f"AZURE_STORAGE_{name}", raising=False)
    host = "account.dfs.core.windows.net"
    assert _azure_settings(host) == {"account_name": "account"}
    assert _azure_settings("account.dfs.core.usgovcloudapi.net") == {
        "account_name": "account",
        "dfs_storage_authority": ".dfs.core.usgovcloudapi.net",
        "blob_storage_authority": ".blob.core.usgovcloudapi.net",
    }
    monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", "sv=1&sig=2")
    assert _azure_settings(host)["sas_token"] == "?sv=1&sig=2"
    monkeypatch.setenv("AZURE_STORAGE_KEY", "a==")
    assert _azure_settings(host) == {"account_name": "account", "account_key": "a=="}
    text = "AccountName=account;AccountKey=b==;BlobEndpoint=http://127.0.0.1:1/account"
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", text)
    assert _azure_settings(host) == {
        "account_name": "account",
        "account_key": "b==",
        "blob_storage_authority": "127.0.0.1:1",
        "blob_storage_scheme": "http",
        "dfs_storage_authority": "127.0.0.1:1",
        "dfs_storage_scheme": "http",
    }
    assert _azure_settings("other.dfs.core.windows.net") == {"account_name": "other", "account_key": "a=="}
