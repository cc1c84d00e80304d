"""Signed tokens (JWT, RS256) for OAUTHBEARER, and the key set (JWKS) with which brokers verify them.

Kafka's own validator verifies them: the brokers read the key set from a file instead of from an identity provider.
Needs the packages ``cryptography``, as ``certificates.py``, and ``PyJWT``.
"""

import json
import time

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

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
        public = RSAAlgorithm.to_jwk(self.key.public_key(), as_dict=True)
        key = {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": KEY_ID, "n": public["n"], "e": public["e"]}
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
        return Secret(jwt.encode(claims, self.key, algorithm="RS256", headers={"kid": KEY_ID}))
