"""Names in a secure sandbox: its users, listeners and mechanisms, and the files in its security folder.

Names only: passwords are random, and nothing here reads or writes a file. Light, as ``discovery`` loads it.
"""

from pathlib import Path

from kcli.core.classes import dataclass

ADMIN = "admin"
"""A super user."""

ALICE = "alice"
"""A user without any right, until ACLs grant her some."""

USERS = (ADMIN, ALICE)

BROKER = "broker"
"""What the nodes are to each other, by their certificates; a super user."""

SUPER_USERS = (ADMIN, BROKER)

SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
OAUTHBEARER = "OAUTHBEARER"
MECHANISMS = ("PLAIN", *SCRAM, OAUTHBEARER)
"""What the SASL listeners offer."""

SASL_SSL, TLS, MUTUAL_TLS, SASL_PLAINTEXT, INTERNAL = "SASL_SSL", "SSL", "MTLS", "SASL_PLAINTEXT", "INTERNAL"
LISTENERS = {
    SASL_SSL: "SASL_SSL",
    TLS: "SSL",
    MUTUAL_TLS: "SSL",
    SASL_PLAINTEXT: "SASL_PLAINTEXT",
    INTERNAL: "SSL",
}
"""Listener to security protocol. SASL_SSL has the ports that the user chose; ``INTERNAL`` is for the brokers."""

WITH_CLIENT_CERTIFICATE = (MUTUAL_TLS, INTERNAL)

HOSTS = ("localhost", "127.0.0.1")
"""The names in the certificate of every node."""

AUDIENCE, ISSUER = "kafka", "kcli-sandbox"
"""What the brokers demand of a token."""

FIRST_VERSION = (3, 5)
"""Kafka's format step sets SCRAM credentials from this version on (KIP-900)."""


@dataclass(frozen=True, slots=True)
class Way:
    """A way to connect as ``user``, which a file of client options describes. ``mechanism``: empty without SASL."""

    user: str
    listener: str
    mechanism: str = ""
    pkcs12: bool = False


CLIENT_FILES = {
    **{f"{user}-{name.lower()}": Way(user, SASL_SSL, name) for user in USERS for name in MECHANISMS},
    **{f"{user}-certificate": Way(user, MUTUAL_TLS) for user in USERS},
    **{f"{user}-pkcs12": Way(user, MUTUAL_TLS, pkcs12=True) for user in USERS},
    "anonymous-tls": Way("", TLS),
    "admin-sasl-plaintext": Way(ADMIN, SASL_PLAINTEXT, SCRAM[-1]),
}
"""The files of client options, by name."""


class Names:
    """The files in the security folder ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.passwords = folder / "passwords.json"
        self.authority = folder / "ca.pem"
        self.authority_key = folder / "ca.key"
        self.truststore = folder / "ca.p12"
        self.token_key = folder / "tokens.key"
        self.key_set = folder / "jwks.json"
        self.clients = folder / "clients"

    def certificate(self, owner: str) -> Path:
        return self.folder / f"{owner}.pem"

    def key(self, owner: str) -> Path:
        return self.folder / f"{owner}.key"

    def pkcs12(self, owner: str) -> Path:
        return self.folder / f"{owner}.p12"

    def token(self, user: str) -> Path:
        return self.folder / f"{user}.token"

    def format_log(self, node_id: int) -> Path:
        return self.folder / f"format-{node_id}.log"

    def format_arguments(self, node_id: int) -> Path:
        return self.folder / f"format-{node_id}.args"

    def client_file(self, name: str) -> Path:
        """The properties file of a client, for the way ``name`` in ``CLIENT_FILES``."""
        return self.clients / f"{name}.properties"


def certificate_options(names: Names, user: str, bootstrap: str) -> dict[str, str]:
    """The client options with which ``user`` connects by certificate; ``bootstrap`` is that of ``MUTUAL_TLS``."""
    return {
        "bootstrap.servers": bootstrap,
        "security.protocol": LISTENERS[MUTUAL_TLS],
        "ssl.ca.location": str(names.authority),
        "ssl.certificate.location": str(names.certificate(user)),
        "ssl.key.location": str(names.key(user)),
    }


def node_name(node_id: int) -> str:
    return f"node-{node_id}"
