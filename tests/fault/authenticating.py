"""What the tests of SASL share: clusters with users, options of clients that log in. Not a test."""

from typing import Any

from kcli.core.connection.sasl.token import Token
from kcli.core.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kcli.core.protocol.messages.sasl_handshake import SaslHandshakeRequest
from kcli.core.secret import Secret
from tests.fake.cluster import FakeCluster
from tests.fake.sasl import Sasl

CANARY = "hunter2-canary"
PASSWORDS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
MECHANISMS = (*PASSWORDS, "OAUTHBEARER")


def users(**fields: Any) -> Sasl:
    """A user and a token, whose secret is the canary."""
    return Sasl(users={"alice": CANARY}, tokens={CANARY: "alice"}, **fields)


def login(mechanism: str = "PLAIN", *, secret: str = CANARY, user: str = "alice") -> dict[str, Any]:
    """The options of a client."""
    given: dict[str, Any] = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "allow_plaintext_secrets": True,
    }
    if mechanism == "OAUTHBEARER":
        given["sasl_oauthbearer_token_provider"] = lambda: Token(value=Secret(secret), principal=user)
    else:
        given |= {"sasl_username": user, "sasl_password": Secret(secret)}
    return given


def attempts(cluster: FakeCluster) -> int:
    """How often a client began to authenticate."""
    return len(cluster.seen(SaslHandshakeRequest))


def messages(cluster: FakeCluster) -> list[bytes]:
    """What clients sent to authenticate."""
    return [bytes(seen.request.auth_bytes) for seen in cluster.seen(SaslAuthenticateRequest)]  # type: ignore[attr-defined]
