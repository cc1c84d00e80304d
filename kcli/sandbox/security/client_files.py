"""Files of client options, one per user and way to connect: what ``-F FILE`` takes.

The keys are those that kcli shares with librdkafka, except for PKCS#12 stores, which have Java's.
"""

from collections.abc import Mapping

from kcli.sandbox.properties import render
from kcli.sandbox.security.material import Material, write_private
from kcli.sandbox.security.names import (
    CLIENT_FILES,
    LISTENERS,
    MUTUAL_TLS,
    OAUTHBEARER,
    Way,
    certificate_options,
)


def write_client_files(material: Material, bootstraps: Mapping[str, str]) -> None:
    """Replace all files; each contains a password, or the name of a file that does.

    ``bootstraps``: listener to ``host:port,…``.
    """
    for name, way in CLIENT_FILES.items():
        properties = client_properties(material, way, bootstraps[way.listener])
        write_private(material.names.client_file(name), render(properties).encode())


def client_properties(material: Material, way: Way, bootstrap: str) -> dict[str, str]:
    """The options of one client."""
    if way.listener == MUTUAL_TLS and not way.pkcs12:
        return certificate_options(material.names, way.user, bootstrap)
    protocol = LISTENERS[way.listener]
    common = {"bootstrap.servers": bootstrap, "security.protocol": protocol}
    if way.pkcs12:
        return {**common, **_stores(material, way.user)}
    authority = {"ssl.ca.location": str(material.names.authority)} if protocol.endswith("SSL") else {}
    return {**common, **_login(material, way), **authority}


def _login(material: Material, way: Way) -> dict[str, str]:
    if not way.mechanism:
        return {}
    if way.mechanism == OAUTHBEARER:
        login = {"sasl.oauthbearer.token.file": str(material.names.token(way.user))}
    else:
        login = {"sasl.username": way.user, "sasl.password": material.passwords[way.user].reveal()}
    return {"sasl.mechanism": way.mechanism, **login}


def _stores(material: Material, user: str) -> dict[str, str]:
    password = material.store_password.reveal()
    return {
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": str(material.names.pkcs12(user)),
        "ssl.keystore.password": password,
        "ssl.truststore.type": "PKCS12",
        "ssl.truststore.location": str(material.names.truststore),
        "ssl.truststore.password": password,
    }
