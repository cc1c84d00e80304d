"""Client options, each declared once: the field is the option, its metadata the rest.

A field's name is Kafka's name with underscores for dots (``request_timeout_ms`` is ``request.timeout.ms``). Help, man
pages, completion and the validation of files are generated from these classes. Pure: reads no file.
"""

import functools
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from kcli.core import classes
from kcli.core.addresses import cluster_place
from kcli.core.classes import dataclass
from kcli.core.errors import ConfigError
from kcli.core.near_names import near_names
from kcli.core.secret import Secret
from kcli.core.types import CODEC_NAMES
from kcli.core.version import __version__

O = TypeVar("O", bound="ClientOptions")  # noqa: E741 - O for Options

_NO_SECRET = Secret("")


def option(
    default: Any,
    doc: str,
    *,
    aliases: tuple[str, ...] = (),
    choices: tuple[str, ...] = (),
    low: int | None = None,
    secret: bool = False,
    path: bool = False,
    in_code: bool = False,
) -> Any:
    """Declares an option: default, one line of help, librdkafka's spelling, legal values.

    ``path``: its value names a file. ``in_code``: its value is an object, which only a program can give; it has no
    spelling.
    """
    metadata = {
        "doc": doc,
        "aliases": aliases,
        "choices": choices,
        "low": low,
        "secret": secret,
        "path": path,
        "in_code": in_code,
    }
    return classes.field(default=default, metadata=metadata)


AROUND_RECORDS = 1 << 20
"""Bytes of a fetch response besides its records: topics, partitions, aborted transactions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOptions:
    """Options of every client. Durations end in ``_ms`` because Kafka's own names do."""

    bootstrap_servers: str = option(
        "",
        "brokers to start from: HOST:PORT, several separated by commas",
        aliases=("metadata.broker.list", "bootstrap.server"),
    )
    log_dirs: str = option(
        "",
        "read these log directories of brokers instead of asking brokers: paths, several separated by commas",
        aliases=("log.dir",),
        path=True,
    )
    log_dirs_transactions: str = option(
        "wait",
        "what transactions do that are open at the end of log directories: what follows waits for them, as at a broker, "
        "or they end as their coordinator would have ended them: aborted, if it had not decided to commit",
        choices=("wait", "end"),
    )
    client_id: str = option("kcli", "the name under which brokers log and limit this client")
    cluster_id: str = option("", "the id of the cluster that is meant: brokers of any other are refused")
    security_protocol: str = option(
        "PLAINTEXT",
        "protocol used to communicate with the brokers: SSL is TLS, SASL authenticates",
        choices=("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
    )
    sasl_mechanism: str = option(
        "",
        "how to authenticate with security.protocol=SASL_SSL or SASL_PLAINTEXT",
        aliases=("sasl.mechanisms",),
        choices=("", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "AWS_MSK_IAM", "GSSAPI"),
    )
    sasl_username: str = option("", "the user of PLAIN and SCRAM")
    sasl_password: Secret = option(_NO_SECRET, "the password of sasl.username", secret=True)
    sasl_tokenauth: bool = option(
        False,
        "authenticate with a delegation token: sasl.username is its id, sasl.password its HMAC (KIP-48)",
    )
    sasl_oauthbearer_token_provider: Callable[[], Any] | None = option(
        None,
        "returns a kcli.core.connection.sasl.token.Token; called in a thread of its own",
        in_code=True,
    )
    sasl_oauthbearer_token_file: str = option(
        "", "file with the token of OAUTHBEARER, read again before the token expires", path=True
    )
    sasl_oauthbearer_token_command: str = option(
        "",
        "program that prints the token of OAUTHBEARER, with its arguments; run without a shell, again before it expires",
    )
    sasl_oauthbearer_token_endpoint_url: str = option(
        "", "https address that grants tokens for client credentials (KIP-768)"
    )
    sasl_oauthbearer_client_id: str = option(
        "",
        "the client that the token endpoint knows",
        aliases=("sasl.oauthbearer.client.credentials.client.id",),
    )
    sasl_oauthbearer_client_secret: Secret = option(
        _NO_SECRET,
        "the secret of sasl.oauthbearer.client.id",
        aliases=("sasl.oauthbearer.client.credentials.client.secret",),
        secret=True,
    )
    sasl_oauthbearer_scope: str = option("", "the scope that is requested from the token endpoint")
    sasl_oauthbearer_extensions: str = option(
        "", "SASL extensions sent with the token: NAME=VALUE, several separated by commas (KIP-342)"
    )
    sasl_oauthbearer_header_urlencode: bool = option(
        False, "encode client id and secret for the token endpoint as URLs, as RFC 6749 wants it"
    )
    sasl_oauthbearer_ca_location: str = option(
        "",
        "PEM file of the authorities to trust for the token endpoint, instead of the system's",
        aliases=("https.ca.location",),
        path=True,
    )
    sasl_aws_region: str = option("", "AWS region of AWS_MSK_IAM; unset: the region in the broker's name")
    sasl_aws_profile: str = option(
        "", "profile of AWS's configuration for AWS_MSK_IAM; unset: AWS_PROFILE, or the default credentials"
    )
    sasl_kerberos_service_name: str = option(
        "kafka", "the brokers' service for GSSAPI: the part of their principals before the slash"
    )
    sasl_kerberos_principal: str = option("", "the principal of GSSAPI; unset: that of the ticket cache")
    sasl_kerberos_keytab: str = option(
        "", "keytab with the key of sasl.kerberos.principal; unset: the ticket cache is used", path=True
    )
    allow_plaintext_secrets: bool = option(
        False,
        "send passwords and tokens over connections without TLS too: by PLAIN and OAUTHBEARER, to proxies and registries",
    )
    ssl_ca_location: str = option(
        "",
        "PEM or PKCS12 file of the authorities to trust, instead of the system's",
        aliases=("ssl.truststore.location",),
        path=True,
    )
    ssl_ca_pem: str = option(
        "",
        "the authorities to trust, as PEM text",
        aliases=("ssl.truststore.certificates",),
    )
    ssl_truststore_type: str = option(
        "",
        "format of ssl.truststore.location; empty: found in the file. A JKS store must be converted",
        choices=("", "PEM", "PKCS12", "JKS"),
    )
    ssl_truststore_password: Secret = option(
        _NO_SECRET, "password of a PKCS12 file in ssl.truststore.location", secret=True
    )
    ssl_keystore_location: str = option(
        "", "PEM or PKCS12 file with both the client's certificate and its private key", path=True
    )
    ssl_keystore_type: str = option(
        "",
        "format of ssl.keystore.location; empty: found in the file. A JKS store must be converted",
        choices=("", "PEM", "PKCS12", "JKS"),
    )
    ssl_keystore_password: Secret = option(
        _NO_SECRET, "password of a PKCS12 file in ssl.keystore.location", secret=True
    )
    ssl_certificate_location: str = option(
        "", "PEM file of the client's certificate, with its chain", path=True
    )
    ssl_certificate_pem: str = option(
        "",
        "the client's certificate, with its chain, as PEM text",
        aliases=("ssl.keystore.certificate.chain",),
    )
    ssl_key_location: str = option("", "PEM file of the client's private key", path=True)
    ssl_key_pem: Secret = option(
        _NO_SECRET,
        "the client's private key, as PEM text",
        aliases=("ssl.keystore.key",),
        secret=True,
    )
    ssl_key_password: Secret = option(_NO_SECRET, "password of an encrypted private key", secret=True)
    ssl_endpoint_identification_algorithm: str = option(
        "https",
        "https checks that the certificate names the broker's host; none (or empty) switches that off",
        choices=("https", "none", ""),
    )
    enable_ssl_certificate_verification: bool = option(
        True, "verify the brokers' certificates; false accepts any, so that any server may pose as a broker"
    )
    metadata_allowed_hosts: str = option(
        "",
        "hosts that the cluster's metadata may lead to, as patterns: *.example.org,10.0.0.*; empty: all hosts",
    )
    map_address: str = option(
        "",
        "connect elsewhere than a broker advertises: HOST:PORT=HOST:PORT, several separated by commas; a broker's host "
        "may be a pattern (*.internal); a port that is left out is any before the sign, and the broker's own after it",
    )
    proxy_url: str = option(
        "",
        "connect to brokers through a proxy: socks5h://HOST:PORT, socks5://HOST:PORT (names are looked up here) or "
        "http://HOST:PORT (CONNECT); a login may precede the host",
    )
    proxy_username: str = option("", "the user of proxy.url")
    proxy_password: Secret = option(_NO_SECRET, "the password of proxy.username", secret=True)
    request_timeout_ms: int = option(
        30_000,
        "how long to wait for the response to a request",
        aliases=("socket.timeout.ms",),
        low=1,
    )
    default_api_timeout_ms: int = option(60_000, "how long an operation may take with all its retries", low=1)
    socket_connection_setup_timeout_ms: int = option(
        10_000, "how long a connection may take to be made, with its handshake", low=1
    )
    reconnect_backoff_ms: int = option(
        50, "wait before connecting to a broker again; doubles with each failure", low=0
    )
    reconnect_backoff_max_ms: int = option(
        1_500, "the longest wait before connecting to a broker again", low=0
    )
    retry_backoff_ms: int = option(
        100, "wait before sending a failed request again; doubles with each failure", low=0
    )
    retry_backoff_max_ms: int = option(1_000, "the longest wait before sending a failed request again", low=0)
    metadata_max_age_ms: int = option(
        300_000,
        "metadata is refreshed after this time even without an error",
        aliases=("topic.metadata.refresh.interval.ms",),
        low=1,
    )
    connections_max_idle_ms: int = option(
        540_000, "a connection that was idle for this long is closed; 0 never closes", low=0
    )
    send_buffer_bytes: int = option(
        -1,
        "SO_SNDBUF of the connections; -1 leaves it to the system",
        aliases=("socket.send.buffer.bytes",),
        low=-1,
    )
    receive_buffer_bytes: int = option(
        -1,
        "SO_RCVBUF of the connections; -1 leaves it to the system",
        aliases=("socket.receive.buffer.bytes",),
        low=-1,
    )
    receive_message_max_bytes: int = option(
        104_857_600, "the largest response that is accepted from a broker, in bytes", low=1_000
    )
    allow_auto_create_topics: bool = option(
        False,
        "let brokers create missing topics that the client requests",
        aliases=("allow.auto.create.topics",),
    )

    @property
    def servers(self) -> str:
        """Where the cluster is, as it is named to people: its brokers, or the directories that it is read from."""
        return cluster_place(self.bootstrap_servers, self.log_dirs)

    @property
    def largest_response(self) -> int:
        """The largest response that is accepted, in bytes."""
        return self.receive_message_max_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerOptions(ClientOptions):
    """Options of a producer: Java's defaults, except batches of about 1 MB for bulk input."""

    acks: str = option(
        "all",
        "which replicas must have a batch before it is confirmed: all in-sync replicas, 1 (the leader) or 0 (none)",
        aliases=("request.required.acks",),
        choices=("all", "-1", "1", "0"),
    )
    enable_idempotence: bool = option(True, "number the batches so that a retry is never stored twice")
    max_in_flight_requests_per_connection: int = option(
        5,
        "requests to one broker that may wait for their response at a time; by default more of a broker that is far "
        "away, with at most five batches of a partition",
        aliases=("max.in.flight",),
        low=1,
    )
    linger_ms: float = option(
        5.0,
        "how long a batch may wait for more records before it is sent",
        aliases=("queue.buffering.max.ms",),
        low=0,
    )
    batch_size: int = option(1_000_000, "bytes of records, before compression, that make a batch full", low=1)
    max_request_size: int = option(
        1_048_576,
        "the largest record, before compression as well, in bytes; if set, the largest request with records, too",
        aliases=("message.max.bytes",),
        low=1,
    )
    compression_type: str = option(
        "none",
        "compression codec of the batches",
        aliases=("compression.codec",),
        choices=CODEC_NAMES,
    )
    compression_level: int | None = option(None, "level of the codec; each codec has its own range")
    delivery_timeout_ms: int = option(
        120_000,
        "a record that is not confirmed by then has failed",
        aliases=("message.timeout.ms",),
        low=1,
    )
    buffer_memory: int = option(33_554_432, "bytes of records that may wait for their confirmation", low=1)
    max_block_ms: int = option(60_000, "how long sending may wait for room in buffer.memory", low=0)
    transactional_id: str = option(
        "", "id of a transactional producer; a new producer with the same id fences the one before it"
    )
    transaction_timeout_ms: int = option(
        60_000, "the coordinator aborts a transaction that is open for longer than this", low=1
    )
    partitioner: str = option(
        "murmur2",
        "which partition a key belongs to: murmur2 is Java's; consistent is librdkafka's consistent_random (CRC32)",
        choices=("murmur2", "consistent", "hashcode", "random", "roundrobin", "manual"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerOptions(ClientOptions):
    """Options of a consumer: Java's defaults, except whole batches and larger fetches."""

    group_id: str = option("", "the group whose members share the partitions of what they subscribe to")
    group_instance_id: str = option(
        "", "a name that stays the same over restarts: a static member, which keeps its partitions (KIP-345)"
    )
    group_protocol: str = option(
        "classic",
        "classic: members assign among themselves; consumer: the coordinator assigns (KIP-848, Kafka 4.0 on)",
        choices=("classic", "consumer"),
    )
    group_remote_assignor: str = option(
        "",
        "how the coordinator assigns with group.protocol=consumer: uniform or range; unset: the coordinator's default",
    )
    partition_assignment_strategy: str = option(
        "range,cooperative-sticky",
        "how members assign with group.protocol=classic, preferred first: range, roundrobin, sticky, cooperative-sticky",
    )
    session_timeout_ms: int = option(
        45_000,
        "a member that sends no heartbeat for this long is removed from its group; for group.protocol=classic",
        low=1,
    )
    heartbeat_interval_ms: int = option(
        3_000, "interval between the heartbeats of a member; for group.protocol=classic", low=1
    )
    max_poll_interval_ms: int = option(
        300_000, "a member that does not poll for this long leaves its group (KIP-62)", low=1
    )
    max_poll_records: int = option(500, "the most records that one poll hands out", low=1)
    enable_auto_commit: bool = option(
        True,
        "commit in the background what earlier polls handed out; needs group.id",
        aliases=("auto.commit.enable",),
    )
    auto_commit_interval_ms: int = option(5_000, "interval between automatic commits", low=0)
    auto_offset_reset: str = option(
        "latest",
        "where to begin without a committed offset: earliest (that of `kcli consume -g`), latest, by_duration:P1D (a day "
        "back) or none (an error)",
    )
    fetch_min_bytes: int = option(1, "a broker waits until it has this many bytes to return", low=0)
    fetch_max_wait_ms: int = option(
        500, "how long a broker may wait for fetch.min.bytes", aliases=("fetch.wait.max.ms",), low=0
    )
    fetch_max_bytes: int = option(
        16_777_216,
        "the most bytes that one fetch response should carry; by default more of a broker that is far away",
        low=1,
    )
    max_partition_fetch_bytes: int = option(
        4_194_304,
        "the most bytes of one partition that a fetch response should carry; by default more of a broker that is far "
        "away",
        aliases=("fetch.message.max.bytes",),
        low=1,
    )
    max_decompressed_batch_bytes: int = option(
        268_435_456, "a batch that decompresses to more than this is refused", low=1_024
    )
    check_crcs: bool = option(True, "verify the checksum of every batch", aliases=("check.crcs",))
    isolation_level: str = option(
        "read_committed",
        "whether records of open and aborted transactions are shown",
        choices=("read_committed", "read_uncommitted"),
    )
    client_rack: str = option("", "read from a replica in this rack where there is one (KIP-392)")
    exclude_internal_topics: bool = option(
        True, "a pattern that is subscribed to does not match internal topics"
    )
    on_out_of_range: str = option(
        "",
        "when a position is not in the log: fail, or continue at the earliest or latest offset; "
        "empty: auto.offset.reset where the consumer chose the position, else fail",
        choices=("", "fail", "earliest", "latest"),
    )
    on_corrupt: str = option(
        "fail",
        "a batch whose checksum is wrong ends the reading with an error, or is skipped with a warning",
        choices=("fail", "skip"),
    )
    show_control_batches: bool = option(
        False, "hand out the markers that end transactions, as batches of their own"
    )
    fetch_buffer_bytes: int = option(
        67_108_864,
        "bytes of fetch responses that are buffered, of all brokers together; by default 100663296 while one is far away",
        low=1_024,
    )

    @property
    def largest_response(self) -> int:
        """The same, and never less than a fetch may bring by itself, unless the limit was lowered or raised by hand."""
        limit = self.receive_message_max_bytes
        if not is_default(self, "receive_message_max_bytes"):
            return limit
        return max(limit, self.fetch_max_bytes + AROUND_RECORDS)


OF_MEMBERS = (
    "group_instance_id",
    "group_protocol",
    "group_remote_assignor",
    "partition_assignment_strategy",
    "session_timeout_ms",
    "heartbeat_interval_ms",
    "max_poll_interval_ms",
    "enable_auto_commit",
    "auto_commit_interval_ms",
)
"""Options of a consumer that count for members of a group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareConsumerOptions(ConsumerOptions):
    """Options of a member of a share group (KIP-932)."""

    share_acknowledgement_mode: str = option(
        "implicit",
        "implicit accepts with each poll what the last one handed out; explicit only what is acknowledged",
        choices=("implicit", "explicit"),
    )
    share_acquire_mode: str = option(
        "batch_optimized",
        "batch_optimized acquires whole batches; record_limit no more than max.poll.records (Kafka 4.2 on)",
        choices=("batch_optimized", "record_limit"),
    )


OF_BROKERS = frozenset({"max_request_size"})
"""What depends on what the brokers of a cluster accept: all clients that a command makes have these options."""
_LARGEST_REQUEST = 1 << 30


def limited_by_brokers(options: ProducerOptions) -> ProducerOptions:
    """For what other clients have written: whether it is too large is for the brokers to say, unless a limit is set."""
    if not is_default(options, "max_request_size"):
        return options
    return classes.replace(options, max_request_size=_LARGEST_REQUEST)


def is_default(options: ClientOptions, name: str) -> bool:
    """Whether the field ``name`` has its default: what a client may adapt is left as it is where it was set."""
    return bool(getattr(options, name) == default_of(type(options), name))


def is_set(options: ClientOptions, name: str) -> bool:
    """Whether the field ``name``, a number above 256 or a text, was given a value, be it that of its default."""
    return getattr(options, name) is not default_of(type(options), name)


def default_of(kind: type[ClientOptions], name: str) -> Any:
    """The default of the field ``name``."""
    return next(field.default for field in classes.fields(kind) if field.name == name)


WHOLE_BATCHES = 0x7FFF_FFFF
"""For ``max_poll_records``: a poll returns all that has arrived."""

ALL_OPTIONS: tuple[type[ClientOptions], ...] = (
    ClientOptions,
    ProducerOptions,
    ConsumerOptions,
    ShareConsumerOptions,
)

_MECHANISMS_OF = {
    "sasl_username": ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"),
    "sasl_password": ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"),
    "sasl_tokenauth": ("SCRAM-SHA-256", "SCRAM-SHA-512"),
    "sasl_oauthbearer_": ("OAUTHBEARER",),
    "sasl_aws_": ("AWS_MSK_IAM",),
    "sasl_kerberos_": ("GSSAPI",),
}
"""By the beginning of an option's name."""

N = TypeVar("N", int, float)


def key_of(name: str) -> str:
    """The option's name in files and on the command line: ``linger_ms`` → ``linger.ms``."""
    return name.replace("_", ".")


def written_fields(options: type[Any]) -> list[classes.Field[Any]]:
    """The options of a class that files and command lines can set; the others are objects of a program."""
    return [field for field in classes.fields(options) if not field.metadata["in_code"]]


def default_text(field: classes.Field[Any]) -> str:
    """The default as it is written in a file, empty if the option is unset or a secret."""
    default = field.default
    if default is None or field.metadata["secret"]:
        return ""
    if isinstance(default, bool):
        return str(default).lower()
    return f"{default:.15g}" if isinstance(default, float) else str(default)


def mechanisms_of(name: str) -> tuple[str, ...]:
    """The SASL mechanisms that use the option ``name``; empty for an option that is not of a mechanism."""
    if not name.startswith("sasl_"):
        return ()
    return next((users for start, users in _MECHANISMS_OF.items() if name.startswith(start)), ())


class Vocabulary:
    """The options of some classes under all their spellings. The error for an unknown key says ``whose`` options they
    are, and gives ``hint`` if no name is similar.
    """

    def __init__(self, kinds: Iterable[type[Any]], whose: str, hint: str = "") -> None:
        self._kinds = tuple(kinds)
        self._whose = whose
        self._hint = hint

    @functools.cached_property
    def fields(self) -> dict[str, classes.Field[Any]]:
        """The fields of all options, by each spelling of their keys."""
        return {
            spelling: field
            for options in self._kinds
            for field in written_fields(options)
            for spelling in (key_of(field.name), *field.metadata["aliases"])
        }

    def find(self, key: str) -> classes.Field[Any] | None:
        """The option that ``key`` spells, None if there is none. Few runs give one by another spelling than its name."""
        name = "" if "_" in key else key.replace(".", "_")
        for options in self._kinds:
            for field in classes.fields(options):
                if field.name == name and not field.metadata["in_code"]:
                    return field
        return self.fields.get(key)

    def field_of(self, key: str, origin: str = "") -> classes.Field[Any]:
        """The option that ``key`` spells; ConfigError with the nearest name for an unknown key."""
        field = self.find(key)
        if field is not None:
            return field
        near = near_names(key, self.fields)
        raise ConfigError(
            f"unknown option {key!r}" + (f" in {origin}" if origin else ""),
            why=f"no option of {self._whose} has this name in kcli {__version__}",
            do=f"did you mean {near[0]!r}?"
            if near
            else self._hint or f"there are {', '.join(sorted(self.fields))}",
        )

    def parse_pairs(self, pairs: Iterable[tuple[str, str, str]]) -> dict[str, Any]:
        """Typed values by field name from (key, text, origin) triples; a later one wins."""
        values: dict[str, Any] = {}
        for key, text, origin in pairs:
            field = self.field_of(key, origin)
            values[field.name] = parse_value(field, text, origin)
        return values


_CLIENTS = Vocabulary(ALL_OPTIONS, "a client", "`kcli help options` lists them all")
field_of = _CLIENTS.field_of
parse_pairs = _CLIENTS.parse_pairs


def is_option(key: str) -> bool:
    """Whether ``key`` is a spelling of a client's option."""
    return _CLIENTS.find(key) is not None


def spellings() -> Iterable[str]:
    """All spellings of the options of clients."""
    return _CLIENTS.fields


def option_field(key: str) -> classes.Field[Any] | None:
    """The option that ``key`` spells, None if there is none."""
    return _CLIENTS.find(key)


def parse_value(field: classes.Field[Any], text: str, origin: str = "") -> Any:
    """The value of ``text``; ConfigError says what is legal."""
    key = key_of(field.name)
    try:
        return _parse(field, text)
    except ValueError as error:
        near = nearest_choice(text, field.metadata["choices"])
        raise ConfigError(
            f"{key}={text!r} is not a valid value" + (f" (from {origin})" if origin else ""),
            why=str(error),
            do=f"did you mean {near}?" if near else f"{key}: {field.metadata['doc']}",
        ) from None


def _parse(field: classes.Field[Any], text: str) -> Any:
    choices, low = field.metadata["choices"], field.metadata["low"]
    if field.type is bool:
        return _parse_bool(text)
    if field.type is Secret:
        return Secret(text)
    if field.type is int or field.type == int | None:
        value: int | float = _number(int, text, "a whole number")
    elif field.type is float:
        value = _number(float, text, "a number")
        if not math.isfinite(value):
            raise ValueError("it must be a number")
    else:
        return _parse_choice(text, choices) if choices else text
    if low is not None and value < low:
        raise ValueError(f"it must be at least {low}")
    return value


def _number(kind: type[N], text: str, wanted: str) -> N:
    try:
        return kind(text)
    except ValueError:
        raise ValueError(f"it must be {wanted}") from None


def _parse_bool(text: str) -> bool:
    words = {"true": True, "false": False, "1": True, "0": False}
    if text.lower() not in words:
        raise ValueError("it must be true or false")
    return words[text.lower()]


def _parse_choice(text: str, choices: tuple[str, ...]) -> str:
    for choice in choices:
        if text.lower() == choice.lower():
            return choice
    raise ValueError(f"it must be one of {', '.join(filter(None, choices))}")


def nearest_choice(text: str, choices: tuple[str, ...]) -> str:
    """The choice that was probably meant, empty if that is not clear. SSL is Kafka's name for TLS."""
    word = text.lower().replace("tls", "ssl")
    by_word = {choice.lower(): choice for choice in choices if choice}
    near = near_names(word, by_word)
    return by_word[near[0]] if near else ""


def given(kind: type[O], options: O | None, values: Mapping[str, Any]) -> O:
    """The options of a client of the Python API: an object of ``kind``, or keywords that name its fields.

    A keyword's value may be text as in a file. ConfigError for an unknown name or an invalid value, or for both an
    object and keywords.
    """
    if options is not None and values:
        raise ConfigError(
            f"options and {', '.join(values)} were both given",
            why="one of them would be ignored",
            do="use dataclasses.replace(options, …), or keywords alone",
        )
    if options is not None:
        return _checked(kind, options)
    fields = {field.name: field for field in classes.fields(kind)}
    for name in values:
        if name not in fields:
            near = near_names(name, fields)
            raise ConfigError(
                f"{kind.__name__} has no option {name!r}",
                why="a misspelt option would change nothing",
                do=f"did you mean {near[0]!r}?" if near else "`kcli help options` lists them all",
            )
    return kind(**{name: _taken(fields[name], value) for name, value in values.items()})


def _checked(kind: type[O], options: Any) -> O:
    if isinstance(options, kind):
        return options
    client = kind.__name__.removesuffix("Options").replace("Client", "Admin")
    if isinstance(options, Mapping):
        do = f"{client}(**options), with underscores for the dots of the keys"
    elif isinstance(options, str):
        do = f"{client}(bootstrap_servers={options!r})"
    else:
        do = f"{client}(bootstrap_servers=…), or {kind.__name__}(…)"
    raise ConfigError(
        f"{options!r} is not a {kind.__name__}", why="options are keywords, or an object of that class", do=do
    )


def _taken(field: classes.Field[Any], value: Any) -> Any:
    """Parses the value of a keyword as in a file."""
    if field.metadata["in_code"]:
        return _object(field, value)
    if field.type is Secret and isinstance(value, Secret):
        return value
    if isinstance(value, list | tuple) and field.name == "bootstrap_servers":
        value = ",".join(map(str, value))
    if isinstance(value, bool) != (field.type is bool) and not isinstance(value, str):
        text = repr(value)
    elif isinstance(value, str | bool | int | float):
        text = str(value)
    elif value is None and field.default is None:
        return None
    else:
        text = repr(value)
    return parse_value(field, text)


def _object(field: classes.Field[Any], value: Any) -> Any:
    if value is None or callable(value):
        return value
    raise ConfigError(
        f"{field.name} is not a function", why=f"it is a {type(value).__name__}", do=field.metadata["doc"]
    )


def option_names(kind: type[ClientOptions]) -> frozenset[str]:
    """The names of all options of a client, as keywords."""
    return frozenset(field.name for field in classes.fields(kind))


def own_option_names(kind: type[ClientOptions]) -> frozenset[str]:
    """The names of the options that only this kind of client has: what it does, and not how it reaches its cluster."""
    return option_names(kind) - option_names(ClientOptions)


def build(options: type[O], values: Mapping[str, Any]) -> O:
    """``options`` from the ``values`` that it has a field for; keys of other clients are left out."""
    fields = {field.name: field for field in classes.fields(options)}
    found = {name: value for name, value in values.items() if name in fields}
    for name, value in found.items():
        if isinstance(value, str) and not fields[name].metadata.get("path"):
            _check_text(name, value)
    return options(**found)


def _check_text(name: str, value: str) -> None:
    """What is sent to brokers is UTF-8; only a file name may contain other bytes (PEP 383)."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ConfigError(
            f"{key_of(name)}={value!r} is not a valid value",
            why="names are sent to brokers as UTF-8, and it is not valid UTF-8",
            do="use a terminal whose locale is UTF-8",
        ) from None
