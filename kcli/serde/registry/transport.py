"""HTTP to a schema registry: one connection per address, kept open; retry and failover; responses of limited size.

Runs in the thread that decodes, between two polls: it waits at most for the time limit of each request. Responses are
untrusted. No redirect is followed: it would carry credentials to another address. Connections, clock and sleep are
injected, so tests need neither sockets nor time.
"""

import email.utils
import http.client
import json
import random
import ssl
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

from kcli.core.classes import NamedTuple, fields
from kcli.core.clock import wall
from kcli.core.errors import AuthError, ConfigError
from kcli.core.net.http import HttpConnection, Proxy, failure, https_connection, read_body
from kcli.core.net.tls.context import make_context
from kcli.core.net.tls.stores import Stores
from kcli.serde.errors import RegistryAuthError, RegistryError, RegistryUnreachableError, SchemaNotFoundError
from kcli.serde.registry.addresses import Address
from kcli.serde.registry.bearer import bearer_tokens
from kcli.serde.registry.options import RegistryOptions

MAX_ANSWER = 16 << 20
_JSON_PART = 1 << 16
_LEAST = 0.001
_NOT_FOUND = (40401, 40402, 40403)
_TEMPORARY = (408, 429, 500, 502, 503, 504)
_CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"
_WANTS_CERTIFICATE = ("CERTIFICATE_REQUIRED", "BAD_CERTIFICATE", "UNKNOWN_CA", "CERTIFICATE_UNKNOWN")
"""Words in OpenSSL's names of the alerts by which a server refuses the client's certificate, or that there is none."""

Connect = Callable[[Address, float], HttpConnection]
"""A connection, with the timeout of each of its steps in seconds."""


class Answer(NamedTuple):
    """A response. ``headers`` by name in lower case."""

    address: Address
    status: int
    headers: dict[str, str]
    body: bytes


class _TemporaryError(Exception):
    """This try failed, another may succeed, but not with the same address within ``seconds``."""

    def __init__(self, why: str, seconds: float = 0.0) -> None:
        super().__init__(why)
        self.seconds = seconds


class Transport:
    """Sends requests to the registries of ``addresses``, starting with the one that responded last."""

    def __init__(
        self,
        addresses: Sequence[Address],
        options: RegistryOptions,
        *,
        accept: str = f"{_CONTENT_TYPE}, application/json",
        connect: Connect | None = None,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._addresses = addresses
        self._options = options
        self._accept = accept
        self._connect = connect or Connector(options).connect
        self._tokens = bearer_tokens(options)
        self._now, self._sleep = now, sleep
        self._open: dict[Address, HttpConnection] = {}
        self._busy: dict[Address, float] = {}
        self._wire = options.schema_registry_wire or (lambda _line: None)
        self._current = 0

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
        """The response of whatever content; errors as ``ask``."""
        why: list[str] = []
        deadline = self._now() + self._options.schema_registry_api_timeout_ms / 1000
        for attempt in range(self._options.schema_registry_max_retries + 1):
            address = self._addresses[self._current]
            if attempt:
                pause = max(self._pause(attempt), self._busy.pop(address, 0.0) - self._now())
                if self._now() + pause >= deadline:
                    break
                self._sleep(pause)
            try:
                return self._judged(address, method, path, body, deadline)
            except _TemporaryError as error:
                why.append(f"{address}: {error}")
                if error.seconds:
                    self._busy[address] = self._now() + error.seconds
                self._current = (self._current + 1) % len(self._addresses)
        raise RegistryUnreachableError(
            f"the schema registry does not answer {method} {path}",
            why="; ".join(dict.fromkeys(why)),
            do="check schema.registry.url, and that the registry runs",
        )

    def close(self) -> None:
        """Closes the connections."""
        while self._open:
            self._open.popitem()[1].close()

    def _judged(self, address: Address, method: str, path: str, body: Any, deadline: float) -> Answer:
        """The response, if it is no error. A token that is refused is renewed once."""
        answer = self._try(address, method, path, body, deadline)
        if answer.status == 401 and self._tokens is not None and self._tokens.renew():
            answer = self._try(address, method, path, body, deadline)
        if answer.status in _TEMPORARY:
            seconds = _retry_after(answer.headers.get("retry-after", ""))
            raise _TemporaryError(_message(answer.status, answer.body)[1], seconds)
        if not 200 <= answer.status < 300:
            raise _refusal(answer, f"{method} {path}")
        return answer

    def _try(self, address: Address, method: str, path: str, body: Any, deadline: float) -> Answer:
        # The other side may have closed a kept connection in the meantime: that is not a failure yet.
        until = min(deadline, self._now() + self._options.schema_registry_request_timeout_ms / 1000)
        for connection, fresh in self._connections(address, until):
            try:
                return self._exchange(connection, address, method, path, body, until)
            except (OSError, http.client.HTTPException) as error:
                self._wire(f"✗ {address} {method} {path} {failure(error)}")
                self._drop(address)
                _refuse_certificate(address, error)
                if fresh:
                    raise _TemporaryError(_cause(address, error)) from None
        raise AssertionError("a fresh connection was tried last")

    def _connections(self, address: Address, until: float) -> Iterator[tuple[HttpConnection, bool]]:
        """The open connection, if any, then a new one."""
        kept = self._open.get(address)
        if kept is not None:
            yield kept, False
        try:
            self._open[address] = fresh = self._connect(address, max(_LEAST, until - self._now()))
        except (OSError, http.client.HTTPException) as error:
            _refuse_certificate(address, error)
            raise _TemporaryError(_cause(address, error)) from None
        yield fresh, True

    def _exchange(
        self, connection: HttpConnection, address: Address, method: str, path: str, body: Any, until: float
    ) -> Answer:
        data = None if body is None else json.dumps(body).encode()
        target = f"{self._through_proxy(address)}{address.path}{path}"
        if (kept := getattr(connection, "sock", None)) is not None:
            kept.settimeout(max(_LEAST, until - self._now()))
        headers, begun = self._headers(address, data), self._now()
        self._wire(f"→ {address} {method} {path} {len(data or b'')} bytes")
        connection.request(method, target, body=data, headers=headers)
        response = connection.getresponse()
        content = read_body(response, MAX_ANSWER, until, self._now)
        milliseconds = (self._now() - begun) * 1000
        self._wire(
            f"← {address} {method} {path} {response.status} {len(content)} bytes {milliseconds:.0f} ms"
        )
        if len(content) > MAX_ANSWER:
            self._drop(address)
            raise RegistryError(
                f"the answer of {address} to {method} {path} is too large",
                why=f"it has more than {MAX_ANSWER:,} bytes",
                status=response.status,
            )
        found = {name.lower(): value for name, value in response.getheaders()}
        response.close()  # read1 does not notice the end: the connection would not accept the next request
        return Answer(address, response.status, found, content)

    def _through_proxy(self, address: Address) -> str:
        """What precedes the path in a request: a proxy forwards plain HTTP by the whole URL."""
        if address.secure or not self._options.proxy_host:
            return ""
        return str(address).removesuffix(address.path)

    def _headers(self, address: Address, body: bytes | None) -> dict[str, str]:
        options = self._options
        headers = {"Accept": self._accept, "User-Agent": "kcli"}
        if body is not None:
            headers["Content-Type"] = _CONTENT_TYPE
        if self._tokens is not None:
            headers["Authorization"] = f"Bearer {self._tokens.text()}"
        elif address.authorization:
            headers["Authorization"] = address.authorization
        if options.bearer_auth_logical_cluster:
            headers["target-sr-cluster"] = options.bearer_auth_logical_cluster
        if options.bearer_auth_identity_pool_id:
            headers["Confluent-Identity-Pool-Id"] = options.bearer_auth_identity_pool_id
        return headers

    def _pause(self, attempt: int) -> float:
        first, most = (
            self._options.schema_registry_retries_wait_ms,
            self._options.schema_registry_retries_max_wait_ms,
        )
        pause: float = min(most, first * 2 ** (attempt - 1)) / 1000
        return pause * random.uniform(0.8, 1.2)

    def _drop(self, address: Address) -> None:
        connection = self._open.pop(address, None)
        if connection is not None:
            connection.close()


class Connector:
    """Makes connections; the TLS context is created with the first one that needs it. Plain HTTP goes through
    ``proxy.host`` only, HTTPS also through the proxy of the environment.
    """

    def __init__(self, options: RegistryOptions) -> None:
        self._options = options
        self._proxy = proxy_of(options)
        self._context: ssl.SSLContext | None = None

    def connect(self, address: Address, timeout: float) -> HttpConnection:
        """An open connection; OSError, or an error that another try does not cure."""
        proxy = self._proxy
        if not address.secure:
            host, port = (address.host, address.port) if proxy is None else (proxy.host, proxy.port)
            plain = http.client.HTTPConnection(host, port, timeout=timeout)
            plain.connect()
            return plain
        self._context = self._context or registry_context(self._options)
        secure = https_connection(address.host, address.port, timeout, self._context, proxy)
        secure.connect()
        return secure


def proxy_of(options: RegistryOptions) -> Proxy | None:
    """The proxy that the options name; ConfigError for half of it."""
    if bool(options.proxy_host) == bool(options.proxy_port):
        return Proxy(options.proxy_host, options.proxy_port) if options.proxy_host else None
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


def _refuse_certificate(address: Address, error: Exception) -> None:
    """AuthError where one side refuses the certificate of the other."""
    if isinstance(error, ssl.SSLCertVerificationError):
        raise AuthError(
            f"{address}: the schema registry's certificate was not accepted",
            why=error.verify_message or str(error),
            do="check schema.registry.ssl.ca.location, and that the certificate names this host",
        ) from None
    reason = (getattr(error, "reason", None) or "") if isinstance(error, ssl.SSLError) else ""
    if "ALERT" in reason and any(word in reason for word in _WANTS_CERTIFICATE):
        raise AuthError(
            f"{address}: the schema registry accepts no client without a certificate that it trusts",
            why=f"the TLS handshake failed ({reason})",
            do="name one with schema.registry.ssl.keystore.location, or with schema.registry.ssl.certificate.location "
            "and schema.registry.ssl.key.location",
        ) from None


def _cause(address: Address, error: Exception) -> str:
    """Why there is no answer. The alert of a registry that demands a certificate is lost where it closes at once."""
    if address.secure and isinstance(error, ssl.SSLEOFError | ConnectionResetError | BrokenPipeError):
        return (
            f"{failure(error)}, as where a registry demands a certificate of the client "
            "(schema.registry.ssl.keystore.location names one)"
        )
    return failure(error)


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
    if status == 407:
        do = "the proxy wants credentials: give HTTPS_PROXY=http://NAME:PASSWORD@HOST:PORT instead of proxy.host"
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


def _retry_after(text: str) -> float:
    """Seconds, or a date (RFC 9110); 0 for what is neither."""
    if text.isascii() and text.isdigit() and len(text) < 10:
        return float(text)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - wall())
    except (TypeError, ValueError, OverflowError):
        return 0.0


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
