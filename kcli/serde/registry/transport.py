"""Requests to a schema registry by ``core/net/http.py``, and what its errors mean.

Runs in the thread that decodes, between two polls: it waits at most for the time limit of each request. Responses are
untrusted.
"""

import json
import ssl
import time
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

from kcli.core.classes import fields
from kcli.core.errors import AuthError, ConfigError
from kcli.core.net.http import HttpClient, Policy, UnansweredError
from kcli.core.net.http_address import HttpAddress
from kcli.core.net.http_messages import (
    Answer,
    ClientCertificateError,
    NoAnswerError,
    ProxyRefusalError,
    Request,
    UntrustedError,
)
from kcli.core.net.tls.context import make_context
from kcli.core.net.tls.stores import Stores
from kcli.serde.errors import RegistryAuthError, RegistryError, RegistryUnreachableError, SchemaNotFoundError
from kcli.serde.registry.bearer import bearer_tokens
from kcli.serde.registry.options import RegistryOptions

MAX_ANSWER = 16 << 20
_JSON_PART = 1 << 16
_NOT_FOUND = (40401, 40402, 40403)
_CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"


class Transport:
    """Sends requests to the registries of ``addresses``, starting with the one that responded last."""

    def __init__(
        self,
        addresses: Sequence[HttpAddress],
        options: RegistryOptions,
        *,
        accept: str = f"{_CONTENT_TYPE}, application/json",
        send: Callable[[Request], Answer] | None = None,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._options = options
        self._headers = _headers(options, accept)
        self.client = HttpClient(
            addresses,
            Policy(
                options.schema_registry_max_retries + 1,
                options.schema_registry_retries_wait_ms / 1000,
                options.schema_registry_retries_max_wait_ms / 1000,
                MAX_ANSWER,
                options.schema_registry_request_timeout_ms / 1000,
            ),
            lambda: registry_context(options),
            proxy=proxy_of(options),
            tokens=bearer_tokens(options),
            why=lambda answer: _message(answer.status, answer.body)[1],
            wire=options.schema_registry_wire,
            send=send,
            now=now,
            sleep=sleep,
        )

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """The response's JSON; RegistryError for an error response, RegistryUnreachableError when all tries failed."""
        answer = self.answer(method, path, body)
        try:
            return json.loads(answer.body)
        except (ValueError, RecursionError):
            raise RegistryError(
                f"the answer of {answer.address} to {method} {path} is not JSON",
                why="another server answers at this address, perhaps",
                do="check schema.registry.url",
                status=answer.status,
            ) from None

    def answer(self, method: str, path: str, body: Any = None) -> Answer:
        """The response of whatever content; errors as ``ask``. What is posted to registries is idempotent: a schema that
        is registered twice has one id.
        """
        data = None if body is None else json.dumps(body).encode()
        headers = self._headers if data is None else {**self._headers, "Content-Type": _CONTENT_TYPE}
        seconds = self._options.schema_registry_api_timeout_ms / 1000
        try:
            answer = self.client.ask(method, path, data, headers, seconds=seconds)
        except UnansweredError as error:
            raise _unreachable(f"{method} {path}", error.reasons) from None
        except NoAnswerError as error:
            raise _refused_on_the_way(error, self._options.proxy_host) or _unreachable(
                f"{method} {path}", [(error.address, str(error))]
            ) from None
        if not answer.whole:
            raise RegistryError(
                f"the answer of {answer.address} to {method} {path} is too large",
                why=f"it has more than {MAX_ANSWER:,} bytes",
                status=answer.status,
            )
        if not 200 <= answer.status < 300:
            raise _refusal(answer, f"{method} {path}")
        return answer

    def close(self) -> None:
        """Closes the connections."""
        self.client.close()


def _headers(options: RegistryOptions, accept: str) -> dict[str, str]:
    headers = {"Accept": accept}
    if options.bearer_auth_logical_cluster:
        headers["target-sr-cluster"] = options.bearer_auth_logical_cluster
    if options.bearer_auth_identity_pool_id:
        headers["Confluent-Identity-Pool-Id"] = options.bearer_auth_identity_pool_id
    return headers


def proxy_of(options: RegistryOptions) -> HttpAddress | None:
    """The proxy that the options name; ConfigError for half of it."""
    if bool(options.proxy_host) == bool(options.proxy_port):
        return HttpAddress(False, options.proxy_host, options.proxy_port) if options.proxy_host else None
    missing, given = ("port", "host") if options.proxy_host else ("host", "port")
    raise ConfigError(
        f"proxy.{given} without proxy.{missing}",
        why="a proxy has both",
        do=f"set proxy.{missing}, or leave both out",
    )


def registry_context(options: RegistryOptions) -> ssl.SSLContext:
    """The TLS context; ConfigError names a file that cannot be used."""
    names = [field.name for field in fields(Stores) if field.name != "prefix"]
    stores = Stores(
        prefix="schema.registry.ssl",
        **{name: getattr(options, f"schema_registry_ssl_{name}") for name in names},
    )
    named = options.schema_registry_ssl_endpoint_identification_algorithm not in ("none", "")
    return make_context(stores, check_hostname=named)


def _refused_on_the_way(error: NoAnswerError, proxy_host: str) -> AuthError | None:
    """Where one side refuses the certificate of the other, or a proxy the request."""
    if isinstance(error, ProxyRefusalError):
        return AuthError(
            f"{error.address}: the proxy on the way to the schema registry refuses",
            why=str(error),
            do="proxy.host has no login: leave it out, and give HTTPS_PROXY=http://NAME:PASSWORD@HOST:PORT"
            if proxy_host
            else error.do,
        )
    if isinstance(error, UntrustedError):
        return AuthError(
            f"{error.address}: the schema registry's certificate was not accepted",
            why=str(error),
            do="check schema.registry.ssl.ca.location, and that the certificate names this host",
        )
    if isinstance(error, ClientCertificateError):
        return AuthError(
            f"{error.address}: the schema registry accepts no client without a certificate that it trusts",
            why=str(error),
            do="name one with schema.registry.ssl.keystore.location, or with schema.registry.ssl.certificate.location "
            "and schema.registry.ssl.key.location",
        )
    return None


def _unreachable(what: str, reasons: Sequence[tuple[HttpAddress, str]]) -> RegistryUnreachableError:
    return RegistryUnreachableError(
        f"the schema registry does not answer {what}",
        why="; ".join(dict.fromkeys(f"{address}: {why}" for address, why in reasons)),
        do="check schema.registry.url, and that the registry runs",
    )


def _refusal(answer: Answer, what: str) -> RegistryError:
    address, status = answer.address, answer.status
    if status < 400:
        return RegistryError(
            f"{address} redirects {what} to {_target(answer.headers.get('location', ''))}",
            why=f"HTTP {status}; redirects are not followed, as they would carry credentials along",
            do="put the final address into schema.registry.url",
            status=status,
        )
    code, message = _message(status, answer.body)
    what = f"the schema registry {address} refuses {what}"
    if status in (401, 403):
        do = "check basic.auth.user.info or bearer.auth.*, and what this user may read"
        return RegistryAuthError(what, why=message, do=do, status=status, code=code)
    if status == 404 and code in _NOT_FOUND:
        return SchemaNotFoundError(what, why=message, status=status, code=code)
    do = "check the path in schema.registry.url" if status == 404 else ""
    return RegistryError(what, why=message, do=do, status=status, code=code)


def _target(location: str) -> str:
    """Where a redirect leads, without credentials and parameters."""
    try:
        parts = urlsplit(location)
        host = f"//{parts.netloc.rpartition('@')[2]}" if parts.netloc else ""
    except ValueError:
        return "another address"
    scheme = f"{parts.scheme}:" if parts.scheme else ""
    shown = "".join(c for c in f"{scheme}{host}{parts.path}" if c.isprintable())[:300]
    return shown or "another address"


def _message(status: int, data: bytes) -> tuple[int, str]:
    """The registry's own code and message, sanitized: one line without control characters, of limited length."""
    code, message = 0, ""
    try:
        body = json.loads(data[:_JSON_PART])
        if isinstance(body, dict):
            number = body.get("error_code")
            code = number if isinstance(number, int) else 0
            message = str(body.get("message") or "")
    except (ValueError, RecursionError):
        pass
    plain = " ".join("".join(c if c.isprintable() else " " for c in message).split())
    if len(plain) > 300:
        plain = plain[:299] + "…"
    number = code if code and code != status else status
    return code, f"{plain} ({number})" if plain else f"HTTP {number}"
