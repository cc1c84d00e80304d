"""Stores as Java's own keytool writes them: what is PKCS12 is used as it is, JKS is refused with the command that
converts it, which is typed here as it is printed. Needs a JDK.
"""

import subprocess
from pathlib import Path
from shlex import split

import pytest

from kcli.core import Admin
from kcli.core.errors import ConfigError
from tests.certificates import Authority
from tests.fake.cluster import FakeCluster

pytestmark = pytest.mark.long
PASSWORD = "hunter2"


def keytool(*words: str) -> None:
    done = subprocess.run(["keytool", *words], capture_output=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("stores"))


def trust_store(authority: Authority, kind: str) -> str:
    path = str(authority.folder / f"trust.{kind}")
    named = ("-keystore", path, "-storetype", kind, "-storepass", PASSWORD, "-alias", "kafka")
    keytool("-importcert", "-noprompt", "-file", str(authority.ca), *named)
    return path


def key_store(authority: Authority, kind: str) -> str:
    path = str(authority.folder / f"key.{kind}")
    source = ("-srckeystore", authority.client("ops").pkcs12(PASSWORD), "-srcstorepass", PASSWORD)
    keytool(
        "-importkeystore", *source, "-destkeystore", path, "-deststoretype", kind, "-deststorepass", PASSWORD
    )
    return path


def brokers_of(cluster: FakeCluster, **stores: str) -> int:
    passwords = {
        f"{name.rpartition('_')[0]}_password": PASSWORD for name in stores if name.endswith("_location")
    }
    passwords = {name.replace("ssl_ca_", "ssl_truststore_"): text for name, text in passwords.items()}
    with Admin(bootstrap_servers=cluster.bootstrap, security_protocol="SSL", **stores, **passwords) as admin:
        return len(admin.describe_cluster().brokers)


def test_stores_in_pkcs12_are_used_as_they_are(authority: Authority) -> None:
    """Also where the type says JKS, which Java accepts for such a file. keytool marks trusted certificates by an
    attribute of its own.
    """
    trust, key = trust_store(authority, "PKCS12"), key_store(authority, "PKCS12")
    with FakeCluster(1, tls=authority.demanding("127.0.0.1")) as cluster:
        for kind in ("", "PKCS12", "JKS"):
            stores = {"ssl_truststore_type": kind, "ssl_keystore_type": kind}
            assert brokers_of(cluster, ssl_ca_location=trust, ssl_keystore_location=key, **stores) == 1


@pytest.mark.parametrize("kind", ["JKS", "JCEKS"])
def test_the_command_that_is_printed_converts_a_store_of_java(authority: Authority, kind: str) -> None:
    found: dict[str, str] = {}
    with FakeCluster(1, tls=authority.demanding("127.0.0.1")) as cluster:
        for option, path in (
            ("ssl_ca_location", trust_store(authority, kind)),
            ("ssl_keystore_location", key_store(authority, kind)),
        ):
            with pytest.raises(ConfigError) as raised:
                brokers_of(cluster, **{option: path})
            assert str(raised.value).startswith(f"{path} is a JKS store, which kcli does not read")
            command = raised.value.do.removeprefix("convert it: ").removesuffix("; then name the new file")
            words = split(command)
            assert words[0] == "keytool"
            keytool(*words[1:], "-srcstorepass", PASSWORD, "-deststorepass", PASSWORD)
            found[option] = words[words.index("-destkeystore") + 1]
            assert Path(found[option]).exists()
        assert brokers_of(cluster, **found) == 1
    for path in found.values():
        Path(path).unlink()
