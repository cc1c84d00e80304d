"""Real registries of Apicurio give the schemas of records as the one of the tests does.

``KCLI_APICURIO`` has their addresses with commas between: one of version 2 and one of version 3, each empty. They are on
Maven Central (io.apicurio:apicurio-registry-app, 110 to 160 MB), and run with ``java -jar``.
"""

import http.client
import json
import os
import struct
from typing import Any
from urllib.parse import urlsplit

import pytest

from kcli.serde.serde import SerdeContext
from tests.registry.apicurio import Artifact
from tests.registry.test_foreign import ARTIFACTS, LINE, VALUE, avro, opened, ref

ADDRESSES = list(filter(None, os.environ.get("KCLI_APICURIO", "").split(",")))
pytestmark = [pytest.mark.long, pytest.mark.integration]


class Real:
    """A running registry, by its API."""

    def __init__(self, url: str) -> None:
        self.url = url
        parts = urlsplit(url)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=120)
        self.api = "v3" if self._ask("GET", "/apis/registry/v3/system/info")[0] == 200 else "v2"

    def create(self, name: str, one: Artifact) -> tuple[int, int]:
        """The global id and the id of the content."""
        references = [
            {"groupId": "default", "artifactId": artifact, "version": "1", "name": imported}
            for imported, artifact in one.references.items()
        ]
        path = f"/apis/registry/{self.api}/groups/default/artifacts"
        if self.api == "v2":
            body: Any = {"content": one.content, "references": references}
            headers = {
                "Content-Type": "application/create.extended+json",
                "X-Registry-ArtifactId": name,
                "X-Registry-ArtifactType": one.kind,
            }
            status, made = self._ask("POST", path, body, headers)
            assert status == 200, made
            return made["globalId"], made["contentId"]
        kind = "application/x-protobuf" if one.kind == "PROTOBUF" else "application/json"
        content = {"content": one.content, "contentType": kind, "references": references}
        body = {
            "artifactId": name,
            "artifactType": one.kind,
            "firstVersion": {"version": "1", "content": content},
        }
        status, made = self._ask("POST", path, body, {"Content-Type": "application/json"})
        assert status == 200, made
        return made["version"]["globalId"], made["version"]["contentId"]

    def _ask(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[int, Any]:
        self._connection.request(method, path, None if body is None else json.dumps(body), headers or {})
        answer = self._connection.getresponse()
        data = answer.read()
        return answer.status, json.loads(data or b"null")


@pytest.mark.skipif(not ADDRESSES, reason="KCLI_APICURIO names no Apicurio Registry")
@pytest.mark.parametrize("url", ADDRESSES)
def test_records_are_decoded_by_a_real_registry(url: str) -> None:
    real = Real(url)
    ids = {name: real.create(name, one) for name, one in ARTIFACTS.items() if name != "wsdl"}
    serde = opened("apicurio", schema_registry_url=url)
    for name, payload, value in (
        ("order", avro(VALUE), VALUE),
        ("proto", ref("Zebra") + LINE, {"z": 5}),
        ("json", b'{"a": 1}', {"a": 1}),
    ):
        global_id, content_id = ids[name]
        for data in (
            b"\0" + struct.pack(">q", global_id) + payload,
            b"\0" + struct.pack(">i", content_id) + payload,
        ):
            assert serde.decode(data, SerdeContext("t")) == value
    serde.close()
