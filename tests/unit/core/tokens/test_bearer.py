"""What is accepted as a token, and what is read from it."""

import base64
import json

import pytest

from kcli.core.errors import AuthError
from kcli.core.tokens.bearer import LONGEST, token_of

ORIGIN = "the test"


def jwt(claims: object) -> str:
    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return f"{part({'alg': 'RS256'})}.{part(claims)}.c2ln"


def test_expiry_and_subject_of_a_jwt() -> None:
    token = token_of(f" {jwt({'exp': 1_700_000_000, 'sub': 'alice'})}\n", ORIGIN, {"a": "b"}, expires_at=5.0)
    assert (token.expires_at, token.principal, token.extensions) == (1_700_000_000.0, "alice", {"a": "b"})
    assert token.value.reveal() == jwt({"exp": 1_700_000_000, "sub": "alice"})


@pytest.mark.parametrize(
    "text",
    [
        "opaque",
        "a.b.c",
        "a.!.c".replace("!", "_"),
        jwt([1]),
        jwt("x"),
        jwt({"exp": "soon", "sub": 7}),
        jwt({"exp": True}),
        jwt({"exp": float("nan")}),
        jwt({"exp": float("inf")}),
        "x." + base64.urlsafe_b64encode(b"[" * 40_000).decode().rstrip("=") + ".y",
    ],
)
def test_a_token_without_usable_claims_keeps_the_expiry_that_came_beside_it(text: str) -> None:
    token = token_of(text, ORIGIN, {}, expires_at=7.0)
    assert (token.expires_at, token.principal) == (7.0, "")


@pytest.mark.parametrize(
    "text", ["", "  \n", "two words", "line\nbreak", "ctrl\x01a", "x=y", "é", "{}", "a" * (LONGEST + 1)]
)
def test_what_is_no_token_is_refused_without_being_shown(text: str) -> None:
    with pytest.raises(AuthError) as caught:
        token_of(text, ORIGIN, {})
    said = f"{caught.value.what} {caught.value.why} {caught.value.do}"
    assert ORIGIN in said
    assert len(text) < 3 or text.strip() not in said or not text.strip()
