"""When the bearer token of a registry is renewed: before it expires, where it is refused, and from where it came."""

import os
from pathlib import Path

import pytest

from kcli.core.connection.sasl.token import Token
from kcli.core.secret import Secret
from kcli.profiles.secret_keys import SecretSource
from kcli.profiles.secrets import SecretReader, registry_values
from kcli.serde.errors import RegistryAuthError
from kcli.serde.registry.bearer import BearerTokens, bearer_tokens
from kcli.serde.registry.options import RegistryOptions
from tests.unit.serde.test_transport import OK, Wire, error


@pytest.mark.parametrize(
    ("life", "margin", "renewed_at"),
    [(3_600, 300, 3_300), (60, 300, 30), (3_600, 0, 3_600), (-5, 300, 10), (None, 300, None)],
)
def test_a_token_is_renewed_before_its_end(
    life: float | None, margin: float, renewed_at: float | None
) -> None:
    now, fetched = [1_000.0], []

    def fetch() -> Token:
        fetched.append(now[0])
        return Token(value=Secret(f"t{len(fetched)}"), expires_at=None if life is None else now[0] + life)

    tokens = BearerTokens(fetch, margin, now=lambda: now[0])
    assert tokens.text() == "t1"
    for seconds in range(0, 4_000, 10):
        now[0] = 1_000.0 + seconds
        if renewed_at is not None and seconds >= renewed_at:
            assert tokens.text() == "t2"
            break
        assert tokens.text() == "t1"
    assert len(fetched) == (1 if renewed_at is None else 2)


def test_a_token_of_a_file_is_read_again_where_it_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("alt\n")
    path.chmod(0o600)
    source = SecretSource("bearer.auth.token", "file", str(path), "-X")
    reader = SecretReader(os.environ, lambda _text: None)
    found = {"schema_registry_url": "https://h", "bearer_auth_token": source}
    values = registry_values(reader, found, lambda: ("", None))
    wire = Wire((401, error(401)), OK, (401, error(401)))
    transport = wire.transport()
    transport.client.tokens = bearer_tokens(RegistryOptions.build(values))
    path.write_text("neu\n")
    assert transport.ask("GET", "/x") == {"a": 1}
    assert [asked.headers["Authorization"] for asked in wire.asked] == ["Bearer alt", "Bearer neu"]
    with pytest.raises(RegistryAuthError):  # it is the same as before: nothing is asked twice
        transport.ask("GET", "/y")
    assert len(wire.asked) == 3
