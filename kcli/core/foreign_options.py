"""Options of other clients that kcli lacks: those that have no meaning here, and those it does not support yet.

Pure, and loaded only for a key that is not one of kcli's own. Sources: ``configNames()`` of the Java clients 2.8.2,
3.9.2 and 4.4.0, and librdkafka's CONFIGURATION.md.
"""

JAVA_KEYS = frozenset({
    "auto.include.jmx.reporter", "bootstrap.controllers", "bootstrap.resolve.timeout.ms",
    "buffer.memory.allocation.strategy", "client.dns.lookup", "compression.gzip.level", "compression.lz4.level",
    "compression.zstd.level", "config.providers", "enable.metrics.push", "interceptor.classes",
    "internal.auto.downgrade.txn.commit", "internal.leave.group.on.close",
    "internal.throw.on.fetch.stable.offset.unsupported", "key.deserializer", "key.serializer",
    "metadata.cluster.check.enable", "metadata.max.idle.ms", "metadata.recovery.rebootstrap.trigger.ms",
    "metadata.recovery.strategy", "metric.reporters", "metrics.num.samples", "metrics.recording.level",
    "metrics.sample.window.ms", "partitioner.adaptive.partitioning.enable", "partitioner.availability.timeout.ms",
    "partitioner.class", "partitioner.ignore.keys", "partitioner.rack.aware", "retries", "sasl.kerberos.kinit.cmd",
    "sasl.kerberos.min.time.before.relogin", "sasl.kerberos.ticket.renew.jitter",
    "sasl.kerberos.ticket.renew.window.factor", "sasl.login.connect.timeout.ms", "sasl.login.read.timeout.ms",
    "sasl.login.refresh.buffer.seconds", "sasl.login.refresh.min.period.seconds", "sasl.login.refresh.window.factor",
    "sasl.login.refresh.window.jitter", "sasl.login.retry.backoff.max.ms", "sasl.login.retry.backoff.ms",
    "sasl.oauthbearer.allow.unverified.audience", "sasl.oauthbearer.allow.unverified.issuer",
    "sasl.oauthbearer.clock.skew.seconds", "sasl.oauthbearer.expected.audience", "sasl.oauthbearer.expected.issuer",
    "sasl.oauthbearer.jwks.endpoint.refresh.ms", "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", "sasl.oauthbearer.jwks.endpoint.url",
    "sasl.oauthbearer.jwt.validator.class", "sasl.oauthbearer.scope.claim.name", "sasl.oauthbearer.sub.claim.name",
    "security.providers",
    "socket.connection.setup.timeout.max.ms", "ssl.keymanager.algorithm", "ssl.protocol", "ssl.provider",
    "ssl.secure.random.implementation", "ssl.trustmanager.algorithm", "transaction.two.phase.commit.enable",
    "value.deserializer", "value.serializer",
})  # fmt: skip
"""Options of Java's producer, consumer and admin client."""

LIBRDKAFKA_KEYS = frozenset({
    "api.version.fallback.ms", "api.version.request", "api.version.request.timeout.ms",
    "background_event_cb", "batch.num.messages", "broker.address.family", "broker.address.ttl",
    "broker.version.fallback", "builtin.features", "closesocket_cb", "connect_cb",
    "consume.callback.max.messages", "consume_cb", "coordinator.query.interval.ms", "debug",
    "default_topic_conf", "delivery.report.only.error", "dr_cb", "dr_msg_cb", "enable.auto.offset.store",
    "enable.gapless.guarantee", "enable.partition.eof", "enable.random.seed", "enabled_events", "error_cb",
    "fetch.error.backoff.ms", "fetch.queue.backoff.ms", "group.protocol.type", "interceptors",
    "internal.termination.signal", "log.connection.close", "log.queue",
    "log.thread.name", "log_cb", "log_level", "message.copy.max.bytes", "message.send.max.retries",
    "msg_order_cmp", "offset.store.method", "offset.store.path", "offset.store.sync.interval.ms",
    "offset_commit_cb", "opaque", "open_cb", "partitioner_cb", "plugin.library.paths",
    "produce.offset.report", "queue.buffering.backpressure.threshold", "queue.buffering.max.kbytes",
    "queue.buffering.max.messages", "queued.max.messages.kbytes", "queued.min.messages", "queuing.strategy",
    "rebalance_cb", "reconnect.backoff.jitter.ms", "resolve_cb", "socket.blocking.max.ms",
    "socket.keepalive.enable", "socket.max.fails", "socket.nagle.disable", "socket_cb", "ssl.providers",
    "statistics.interval.ms", "stats_cb", "sticky.partitioning.linger.ms", "throttle_cb", "topic.blacklist",
    "topic.metadata.propagation.max.ms", "topic.metadata.refresh.fast.cnt",
    "topic.metadata.refresh.fast.interval.ms", "topic.metadata.refresh.sparse",
})  # fmt: skip
"""Options of librdkafka only."""

_OF_BOTH = frozenset({
    "client.dns.lookup", "enable.metrics.push", "metadata.recovery.rebootstrap.trigger.ms", "metadata.recovery.strategy",
    "retries", "sasl.kerberos.kinit.cmd", "sasl.kerberos.min.time.before.relogin", "sasl.oauthbearer.sub.claim.name",
})  # fmt: skip
"""Of ``JAVA_KEYS``, those that librdkafka has too."""

_ONLY_JAVA = frozenset({
    "buffer.memory", "default.api.timeout.ms", "exclude.internal.topics", "fetch.max.wait.ms", "max.block.ms",
    "max.request.size", "receive.buffer.bytes", "sasl.jaas.config", "send.buffer.bytes", "ssl.enabled.protocols",
    "ssl.engine.factory.class", "ssl.keystore.certificate.chain", "ssl.keystore.key", "ssl.keystore.type",
    "ssl.truststore.certificates", "ssl.truststore.location", "ssl.truststore.password", "ssl.truststore.type",
})  # fmt: skip
_ONLY_LIBRDKAFKA = frozenset({
    "auto.commit.enable", "compression.codec", "compression.level", "enable.sasl.oauthbearer.unsecure.jwt",
    "enable.ssl.certificate.verification", "fetch.message.max.bytes", "fetch.wait.max.ms", "https.ca.location",
    "https.ca.pem", "max.in.flight", "message.max.bytes", "message.timeout.ms", "metadata.broker.list", "partitioner",
    "queue.buffering.max.ms", "receive.message.max.bytes", "request.required.acks", "sasl.kerberos.keytab",
    "sasl.kerberos.principal", "sasl.mechanisms", "sasl.oauthbearer.client.id", "sasl.oauthbearer.client.secret",
    "sasl.oauthbearer.config", "sasl.oauthbearer.extensions", "sasl.oauthbearer.method", "sasl.password",
    "sasl.username", "socket.receive.buffer.bytes", "socket.send.buffer.bytes", "socket.timeout.ms",
    "ssl.ca.certificate.stores", "ssl.ca.location", "ssl.ca.pem", "ssl.certificate.location", "ssl.certificate.pem",
    "ssl.crl.location", "ssl.curves.list", "ssl.engine.id", "ssl.engine.location", "ssl.key.location", "ssl.key.pem",
    "ssl.sigalgs.list", "topic.metadata.refresh.interval.ms",
})  # fmt: skip
"""Options that both kcli and one of the others have, or that kcli refuses, under a name that the third does not know."""

_INSTEAD = {
    "retries": "records are sent again until delivery.timeout.ms has passed",
    "message.send.max.retries": "records are sent again until delivery.timeout.ms has passed",
    "queue.buffering.max.messages": "buffer.memory limits what waits, in bytes",
    "queue.buffering.max.kbytes": "buffer.memory limits what waits, in bytes",
    "batch.num.messages": "batch.size limits a batch, in bytes",
    "queued.max.messages.kbytes": "fetch.buffer.bytes limits what was fetched, in bytes",
    "queued.min.messages": "fetch.buffer.bytes limits what was fetched, in bytes",
    "compression.gzip.level": "use compression.level",
    "compression.lz4.level": "use compression.level",
    "compression.zstd.level": "use compression.level",
    "metadata.cluster.check.enable": "cluster_id of a profile refuses another cluster",
    "partitioner.class": "use partitioner",
    "key.serializer": "-s encodes keys and values",
    "value.serializer": "-s encodes keys and values",
    "key.deserializer": "-s decodes keys and values",
    "value.deserializer": "-s decodes keys and values",
    "enable.partition.eof": "`kcli consume TOPIC --exit` stops at the end",
    "enable.auto.offset.store": "`kcli consume TOPIC -g GROUP` commits only what was written; --no-commit does not",
    "sasl.kerberos.kinit.cmd": "run kinit before, or name a keytab with sasl.kerberos.keytab",
    "debug": "use --debug",
    "log_level": "use -v or --debug",
}

_HANDLES = {
    "ssl_ca": "ssl.ca.location or ssl.ca.pem",
    "ssl_certificate": "ssl.certificate.location or ssl.certificate.pem",
    "ssl_key": "ssl.key.location or ssl.key.pem",
    "https.ca.pem": "sasl.oauthbearer.ca.location",
    "ssl.ca.certificate.stores": "ssl.ca.location; without it the system's authorities are trusted",
}
_RESTRICTIONS = frozenset({
    "ssl.cipher.suites", "ssl.curves.list", "ssl.sigalgs.list", "ssl.enabled.protocols", "ssl.crl.location",
    "ssl.engine.id", "ssl.engine.location", "ssl.engine.factory.class", "ssl_engine_callback_data",
    "ssl.certificate.verify_cb",
})  # fmt: skip
_OTHER_TOKENS = (
    "name the token with sasl.oauthbearer.token.file, a program that prints it with sasl.oauthbearer.token.command, "
    "or an endpoint for client credentials with sasl.oauthbearer.token.endpoint.url"
)
BROKER_SASL_KEYS = frozenset({
    "sasl.enabled.mechanisms", "sasl.kerberos.principal.to.local.rules", "sasl.mechanism.controller.protocol",
    "sasl.mechanism.inter.broker.protocol", "sasl.server.callback.handler.class", "sasl.server.max.receive.size",
    "sasl.oauthbearer.jwt.validator.class",
})  # fmt: skip
"""Options of brokers, which images of Kafka read from variables KAFKA_SASL_…"""
_OAUTH_WITHOUT_PREFIX = ("enable.sasl.oauthbearer.unsecure.jwt", "oauthbearer_token_refresh_cb")
_UNSECURED = ("unsecured tokens prove nothing: they are for tests of brokers only", _OTHER_TOKENS)
_BY_ASSERTION = (
    "kcli authenticates with a client id and a secret, not with signed assertions",
    _OTHER_TOKENS,
)
_UNSUPPORTED_SASL = {
    "enable.sasl.oauthbearer.unsecure.jwt": _UNSECURED,
    "sasl.oauthbearer.config": _UNSECURED,
    "oauthbearer_token_refresh_cb": ("it is a function of a program", _OTHER_TOKENS),
    "sasl.oauthbearer.metadata.authentication.": (
        "kcli asks no service of a cloud for tokens",
        _OTHER_TOKENS,
    ),
    "sasl.oauthbearer.method": ("of its values only oidc and default mean something to kcli", _OTHER_TOKENS),
    "sasl.oauthbearer.assertion.": _BY_ASSERTION,
    "sasl.oauthbearer.grant.type": _BY_ASSERTION,
    "sasl.login.": (
        "it configures the login modules of Java's clients",
        "give sasl.mechanism with the options of that mechanism",
    ),
    "sasl.client.": (
        "it configures the login modules of Java's clients",
        "give sasl.mechanism with the options of that mechanism",
    ),
}
"""Why not and what to do instead, by the beginning of the key."""


_PROVIDERS = "config.providers."
"""The settings of Java's config providers, under names that the user chooses: values that refer to them are refused."""


def is_foreign(key: str) -> bool:
    """Whether ``key`` is an option of another client that has no effect on kcli."""
    return key in JAVA_KEYS or key in LIBRDKAFKA_KEYS or key.startswith(_PROVIDERS)


def whose(key: str) -> str:
    """The clients that have a foreign option."""
    return "librdkafka" if key in LIBRDKAFKA_KEYS else "Java's clients"


def only_in_java(key: str) -> bool:
    """Whether a key is known to Java's clients, and not to librdkafka."""
    own = key in JAVA_KEYS and key not in _OF_BOTH
    return own or key in _ONLY_JAVA or key.startswith((_PROVIDERS, "sasl.login.", "sasl.client."))


def only_in_librdkafka(key: str) -> bool:
    """Whether a key is known to librdkafka, and not to Java's clients."""
    return key in LIBRDKAFKA_KEYS or key in _ONLY_LIBRDKAFKA


def instead_of_key(key: str) -> str:
    """What to use instead of a foreign option; empty if there is no equivalent."""
    return _INSTEAD.get(key, "")


def is_sasl(key: str) -> bool:
    """Whether an option is about SASL, known or not: a misspelt one must not switch authentication off."""
    return key.startswith("sasl.") or key in _OAUTH_WITHOUT_PREFIX


def unsupported_sasl(key: str) -> tuple[str, str] | None:
    """Why kcli cannot do what an option of SASL requests, and what to do; None for an unknown option."""
    if is_foreign(key):
        return None
    return next((told for start, told in _UNSUPPORTED_SASL.items() if key.startswith(start)), None)


def is_default_of_tls(key: str, text: str) -> bool:
    """Whether an option restricts TLS to what kcli uses anyway: ``ssl.enabled.protocols`` as Java's default is."""
    return key == "ssl.enabled.protocols" and {part.strip() for part in text.split(",")} == {
        "TLSv1.2",
        "TLSv1.3",
    }


def unsupported_tls(key: str) -> tuple[str, str] | None:
    """Why kcli cannot do what a TLS option requests, and what to do; None if it can."""
    if key in _HANDLES:
        return "kcli reads certificates and keys from files or text", f"use {_HANDLES[key]}"
    if key in _RESTRICTIONS:
        return "this version cannot restrict TLS further than to 1.2 and newer", "leave it out"
    return None
