"""What server.properties says about security, and the SCRAM credentials for the format step. Pure."""

from collections.abc import Mapping

from kcli.core.secret import Secret
from kcli.sandbox.security.material import Material
from kcli.sandbox.security.names import (
    AUDIENCE,
    INTERNAL,
    ISSUER,
    MECHANISMS,
    MUTUAL_TLS,
    OAUTHBEARER,
    SASL_PLAINTEXT,
    SASL_SSL,
    SCRAM,
    SUPER_USERS,
    USERS,
    Names,
    node_name,
)

_MODULES = "org.apache.kafka.common.security"
_CONTROLLER = "CONTROLLER"


def security_properties(material: Material, node_id: int) -> dict[str, str]:
    """The security properties of node ``node_id``. They contain passwords: the file is for its owner only."""
    names = material.names
    properties = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "false",
        "super.users": ";".join(f"User:{user}" for user in SUPER_USERS),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(names.certificate(node_name(node_id))),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(names.authority),
        # The principal of a certificate is its common name: User:alice, as with every mechanism of SASL.
        "ssl.principal.mapping.rules": "RULE:^CN=([^,]+)$/$1/,DEFAULT",
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        "sasl.oauthbearer.jwks.endpoint.url": names.key_set.as_uri(),
        "sasl.oauthbearer.expected.audience": AUDIENCE,
        "sasl.oauthbearer.expected.issuer": ISSUER,
    }
    for listener in (MUTUAL_TLS, INTERNAL, _CONTROLLER):
        properties[f"listener.name.{listener.lower()}.ssl.client.auth"] = "required"
    for listener in (SASL_SSL, SASL_PLAINTEXT):
        properties |= _sasl(f"listener.name.{listener.lower()}", material.passwords)
    return properties


def allowed_urls(names: Names) -> str:
    """The option of the JVM without which Kafka reads no key set (CVE-2025-27817)."""
    return f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={names.key_set.as_uri()}"


def scram_arguments(material: Material) -> list[str]:
    """The arguments of Kafka's format step; they contain passwords, so they must not be in a command line."""
    return [
        word
        for mechanism in SCRAM
        for user in USERS
        for word in (
            "--add-scram",
            f"{mechanism}=[name={user},password={material.passwords[user].reveal()}]",
        )
    ]


def _sasl(prefix: str, passwords: Mapping[str, Secret]) -> dict[str, str]:
    plain = " ".join(f'user_{user}="{passwords[user].reveal()}"' for user in USERS)
    scram = f"{_MODULES}.scram.ScramLoginModule required;"
    oauth = f"{prefix}.{OAUTHBEARER.lower()}"
    return {
        f"{prefix}.plain.sasl.jaas.config": f"{_MODULES}.plain.PlainLoginModule required {plain};",
        **{f"{prefix}.{mechanism.lower()}.sasl.jaas.config": scram for mechanism in SCRAM},
        f"{oauth}.sasl.jaas.config": f"{_MODULES}.oauthbearer.OAuthBearerLoginModule required;",
        f"{oauth}.sasl.server.callback.handler.class": (
            f"{_MODULES}.oauthbearer.OAuthBearerValidatorCallbackHandler"
        ),
    }
