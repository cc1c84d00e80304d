"""Signed tokens (JWT, RS256) for OAUTHBEARER, and the key set (JWKS) with which brokers verify them.

Kafka's own validator verifies them: the brokers read the key set from a file instead of from an identity provider.
Needs the package ``cryptography``, as ``certificates.py``.
"""

import base64
import json
import time
from typing import Any

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from kcli.core.classes import dataclass
from kcli.core.secret import Secret
from kcli.sandbox.security.names import AUDIENCE, ISSUER

KEY_ID = "sandbox"
LIFETIME = 365 * 86_400.0
"""Seconds that a token is valid. Each ``up`` issues new ones."""


@dataclass(frozen=True, slots=True)
class TokenSigner:
    """The key that signs the tokens of one sandbox."""

    key: rsa.RSAPrivateKey

    @classmethod
    def create(cls) -> "TokenSigner":
        return cls(rsa.generate_private_key(public_exponent=65_537, key_size=2048))

    @classmethod
    def load(cls, key_pem: bytes) -> "TokenSigner":
        """The reverse of ``key_pem``; ValueError for anything else."""
        key = serialization.load_pem_private_key(key_pem, None)
        if not isinstance(key, rsa.RSAPrivateKey):
            raise ValueError("the key that signs the sandbox's tokens is of another kind")
        return cls(key)

    def key_pem(self) -> bytes:
        return self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )

    def key_set(self) -> bytes:
        """The public key as a JWKS document."""
        numbers = self.key.public_key().public_numbers()
        key = {
            "kty": "RSA",
            "use": "sig",
            "alg": "RS256",
            "kid": KEY_ID,
            "n": _base64url(numbers.n.to_bytes((numbers.n.bit_length() + 7) // 8, "big")),
            "e": _base64url(numbers.e.to_bytes(3, "big")),
        }
        return json.dumps({"keys": [key]}, indent=1).encode()

    def token(
        self,
        user: str,
        *,
        lifetime: float = LIFETIME,
        audience: str = AUDIENCE,
        issuer: str = ISSUER,
    ) -> Secret:
        """A token of ``user`` that expires ``lifetime`` seconds from now, or expired then if that is negative."""
        now = int(time.time())
        claims = {
            "iss": issuer,
            "aud": audience,
            "sub": user,
            "scope": "kafka",
            "iat": min(now, int(now + lifetime)),
            "exp": int(now + lifetime),
        }
        signed = f"{_json({'alg': 'RS256', 'typ': 'JWT', 'kid': KEY_ID})}.{_json(claims)}"
        signature = self.key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        return Secret(f"{signed}.{_base64url(signature)}")


def _json(document: dict[str, Any]) -> str:
    return _base64url(json.dumps(document, separators=(",", ":")).encode())


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
