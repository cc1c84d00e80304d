"""Makes and reads what is secret about a sandbox: its CA, certificates, passwords and tokens, as files.

The folder is readable by its owner only, and so is each file in it. What exists stays as it is, so that a sandbox that
is started again has the same users and the same CA; only tokens are issued anew.
"""

import json
import os
import secrets
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from kcli.core.classes import dataclass
from kcli.core.extras import installation
from kcli.core.secret import Secret
from kcli.files.atomic import replace_file
from kcli.sandbox.errors import ExtraMissingError, RefusedError
from kcli.sandbox.security.names import BROKER, HOSTS, USERS, Names, node_name

_STORES = "stores"
"""The entry in the file of passwords for that of all PKCS#12 stores."""


@dataclass(frozen=True, slots=True)
class Material:
    """What a broker's configuration and the client files refer to or contain."""

    names: Names
    passwords: Mapping[str, Secret]

    @property
    def store_password(self) -> Secret:
        return self.passwords[_STORES]


def require_libraries() -> None:
    """ExtraMissingError without the packages that make certificates and tokens."""
    for package, module in (("cryptography", "cryptography"), ("PyJWT", "jwt")):
        if find_spec(module) is None:
            raise ExtraMissingError(
                f"--secure needs the Python package {package}, which is not installed",
                why="it makes the certificates and signs the tokens",
                do=installation("sandbox"),
            )


def prepare(folder: Path, node_ids: list[int]) -> Material:
    """Make what is missing in ``folder``, and new tokens."""
    require_libraries()
    names = Names(folder)
    for each in (folder, names.clients):
        each.mkdir(mode=0o700, parents=True, exist_ok=True)
        each.chmod(0o700)
    try:
        material = Material(names, _passwords(names))
        _certificates(material, node_ids)
        _tokens(names)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RefusedError(
            f"{folder} is damaged",
            why=str(error),
            do="throw the sandbox's data away (`kcli sandbox down NAME --delete`), or restore the folder",
        ) from None
    return material


def write_private(path: Path, data: bytes) -> None:
    replace_file(os.fspath(path), data, mode=0o600, sync=False)


def _passwords(names: Names) -> dict[str, Secret]:
    if not names.passwords.exists():
        made = {owner: secrets.token_urlsafe(18) for owner in (*USERS, _STORES)}
        write_private(names.passwords, json.dumps(made, indent=1).encode())
    read = json.loads(names.passwords.read_bytes())
    return {owner: Secret(read[owner]) for owner in (*USERS, _STORES)}


def _certificates(material: Material, node_ids: list[int]) -> None:
    from kcli.sandbox.security.certificates import Authority  # loads cryptography

    names = material.names
    if not names.authority.exists():
        made = Authority.create("kcli sandbox CA")
        write_private(names.authority_key, made.key_pem())
        write_private(names.truststore, made.truststore(material.store_password))
        write_private(names.authority, made.certificate_pem())  # last: it says that the others are there
    authority = Authority.load(names.authority_key.read_bytes(), names.authority.read_bytes())
    subjects = dict.fromkeys(map(node_name, node_ids), BROKER) | {user: user for user in USERS}
    for owner, subject in subjects.items():
        if names.pkcs12(owner).exists():
            continue
        hosts = HOSTS if subject == BROKER else ()
        issued = authority.issue(subject, hosts=hosts)
        write_private(names.key(owner), issued.key_pem())
        # A node's file is its key store, which has the key in it.
        write_private(names.certificate(owner), issued.chain_pem() if hosts else issued.certificate_pem())
        write_private(names.pkcs12(owner), issued.pkcs12(material.store_password))


def _tokens(names: Names) -> None:
    from kcli.sandbox.security.tokens import TokenSigner  # loads cryptography

    if not names.key_set.exists():
        made = TokenSigner.create()
        write_private(names.token_key, made.key_pem())
        write_private(names.key_set, made.key_set())
    signer = TokenSigner.load(names.token_key.read_bytes())
    for user in USERS:
        write_private(names.token(user), signer.token(user).reveal().encode())
