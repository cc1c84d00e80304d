"""AWS_MSK_IAM finds its access key wherever AWS's own tools do: each place of the chain, with a server that plays AWS."""

import hashlib
import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from botocore.credentials import SSOProvider

from kcli.core.connection.sasl.aws_msk_iam import prepare
from kcli.core.options import ClientOptions
from tests.http.server import Server, says

HOST = "b-1.demo.abc123.c2.kafka.eu-central-1.amazonaws.com"
LATER = "2999-01-01T00:00:00Z"
KEYS = {"AccessKeyId": "AKIDFOUND", "SecretAccessKey": "geheim", "Token": "token", "Expiration": LATER}
ASSUMED = f"""<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
<AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>AKIDFOUND</AccessKeyId>
<SecretAccessKey>geheim</SecretAccessKey><SessionToken>token</SessionToken><Expiration>{LATER}</Expiration>
</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"""
OF_SSO = {
    "accessKeyId": "AKIDFOUND",
    "secretAccessKey": "geheim",
    "sessionToken": "token",
    "expiration": 32503680000000,
}


class World:
    def __init__(self, home: Path, patch: pytest.MonkeyPatch, server: Server) -> None:
        self.home, self.server, self._patch = home, server, patch

    def folder_of_tokens(self) -> None:
        """botocore finds it when it is imported, by the HOME of that moment."""
        self._patch.setattr(SSOProvider, "_SSO_TOKEN_CACHE_DIR", str(self.home / ".aws/sso/cache"))

    def env(self, **values: str) -> None:
        for name, value in values.items():
            self._patch.setenv(name, value)

    def file(self, name: str, text: str) -> str:
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return str(path)


def environment(world: World) -> str:
    world.env(AWS_ACCESS_KEY_ID="AKIDFOUND", AWS_SECRET_ACCESS_KEY="geheim")
    return ""


def profile(world: World) -> str:
    world.file(".aws/credentials", "[work]\naws_access_key_id=AKIDFOUND\naws_secret_access_key=geheim\n")
    return "work"


def process(world: World) -> str:
    text = json.dumps({"Version": 1, **KEYS, "SessionToken": "token"})
    script = world.file("give.sh", f"echo '{text}'\n")
    world.file(".aws/config", f"[default]\ncredential_process=sh {script}\n")
    return ""


def web_identity(world: World) -> str:
    world.server.answer = says(200, ASSUMED.encode(), Content_Type="text/xml")
    world.env(
        AWS_ROLE_ARN="arn:aws:iam::123456789012:role/kafka",
        AWS_WEB_IDENTITY_TOKEN_FILE=world.file("token", "a.b.c"),
        AWS_ENDPOINT_URL_STS=world.server.url,
        AWS_DEFAULT_REGION="eu-central-1",
    )
    return ""


def sso(world: World) -> str:
    start = "https://example.awsapps.com/start"
    cached = {"startUrl": start, "region": "eu-central-1", "accessToken": "t", "expiresAt": LATER}
    name = hashlib.sha1(start.encode(), usedforsecurity=False).hexdigest()
    world.file(f".aws/sso/cache/{name}.json", json.dumps(cached))
    world.folder_of_tokens()
    where = f"sso_start_url={start}\nsso_region=eu-central-1"
    world.file(".aws/config", f"[profile sso]\n{where}\nsso_account_id=123456789012\nsso_role_name=kafka\n")
    world.server.answer = says(200, json.dumps({"roleCredentials": OF_SSO}).encode())
    world.env(AWS_ENDPOINT_URL_SSO=world.server.url)
    return "sso"


def container(world: World) -> str:
    world.server.answer = says(200, json.dumps(KEYS).encode())
    world.env(AWS_CONTAINER_CREDENTIALS_FULL_URI=f"{world.server.url}/keys")
    return ""


def instance(world: World) -> str:
    pages: dict[str, str] = {
        "/latest/api/token": "session",
        "/latest/meta-data/iam/security-credentials/": "role",
        "/latest/meta-data/iam/security-credentials/role": json.dumps({"Code": "Success", **KEYS}),
    }

    def answer(handler: BaseHTTPRequestHandler) -> None:
        says(200, pages.get(urlsplit(handler.path).path, "").encode())(handler)

    world.server.answer = answer
    world.env(AWS_EC2_METADATA_SERVICE_ENDPOINT=world.server.url, AWS_EC2_METADATA_DISABLED="false")
    return ""


PLACES = [environment, profile, process, web_identity, sso, container, instance]


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_the_access_key_is_found(
    place: Callable[[World], str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("AWS_PROFILE", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_ACCESS_KEY_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with Server(says(404)) as server:
        named = place(World(tmp_path, monkeypatch, server))
        credentials = prepare(ClientOptions(sasl_mechanism="AWS_MSK_IAM", sasl_aws_profile=named))
        exchange = credentials.begin(HOST)
        step: Any = next(exchange)
        sent = json.loads(step.fn())
    assert sent["x-amz-credential"].startswith("AKIDFOUND/")
    assert credentials.user() == "AKIDFOUND"
    assert ("x-amz-security-token" in sent) == (place not in (environment, profile))
