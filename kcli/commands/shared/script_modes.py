"""What Kafka's scripts and kcat do, and what their options are in kcli. Data."""

from kcli.commands.shared.translation import NOTHING, Mode
from kcli.core.positions import SPECIAL_NAMES

_CLUSTER = {
    "--bootstrap-server=": "-b {}",
    "--bootstrap-servers=": "-b {}",
    "--bootstrap-controller=": "-b {}",
    "--broker-list=": "-b {}",
    "--command-config=": "-F {}",
    "--consumer.config=": "-F {}",
    "--producer.config=": "-F {}",
    "--consumer-config=": "-F {}",
    "--producer-config=": "-F {}",
    "--consumer-property=": "-X {}",
    "--producer-property=": "-X {}",
    "--command-property=": "-X {}",
    "--zookeeper=": NOTHING,
    "--timeout=": "--timeout {}ms",
    "--timeout-ms=": "--timeout {}ms",
    "--dry-run": "--dry-run",
    "--force": "--yes",
    "--execute": "--yes",
    "--verbose": "",
    "--version": "",
    "--help": "",
}
_NAMED = {**_CLUSTER, "--topic=": "{}", "--group=": "{}"}
_DUMP = {
    **_CLUSTER,
    "--files=": "{,}",
    "--print-data-log": "--records",
    "--deep-iteration": "--records",
    "--offsets-decoder": "--records",
    "--transaction-log-decoder": "--records",
    "--cluster-metadata-decoder": "--records",
    "--share-group-state-decoder": "--records",
    "--remote-log-metadata-decoder": NOTHING,
    "--max-message-size=": "",
    "--max-bytes=": NOTHING,
}
_DUMP_RECORDS = {
    **_DUMP,
    "--files=": "--from-dir {,}",
    "--print-data-log": "",
    "--deep-iteration": "",
    "--skip-record-metadata": "",
    "--key-decoder-class=": "-s key=SERDE",
    "--value-decoder-class=": "-s value=SERDE",
}
_TOPICS = {
    **_NAMED,
    "--partitions=": "--partitions {}",
    "--replication-factor=": "--replication-factor {}",
    "--config=": "--config {}",
    "--if-not-exists": "--if-not-exists",
    "--if-exists": NOTHING,
    "--exclude-internal": "",
    "--under-replicated-partitions": "--under-replicated",
    "--unavailable-partitions": "--unavailable",
    "--under-min-isr-partitions": "--under-min-isr",
    "--at-min-isr-partitions": "--at-min-isr",
    "--topics-with-overrides": "--with-overrides",
    "--replica-assignment=": NOTHING,
    "--topic-id=": "--id {}",
    "--partition-size-limit-per-response=": "",
}
_GROUPS = {
    **_CLUSTER,
    "--group=": "{}",
    "--all-groups": "--all",
    "--members": "--members",
    "--offsets": "--offsets",
    "--state": "--state",
    "--state=": "--state {}",
    "--type=": "--type {}",
    "--group-type=": "--type {}",
    "--topic=": "--topic {}",
    "--all-topics": "--all-topics",
    "--consumer": "--type consumer",
    "--share": "--type share",
    "--streams": "--type streams",
    "--protocol=": "",
}
_REWIND = {
    **_GROUPS,
    "--to-earliest": "--to earliest",
    "--to-latest": "--to latest",
    "--to-current": "--to current",
    "--to-offset=": "--to {}",
    "--to-datetime=": "--to-datetime {}",
    "--by-duration=": "--by-duration {}",
    "--shift-by=": "--shift-by {}",
    "--from-file=": "--from-file {}",
    "--export": "--export",
    "--reset-offsets": "",
    "--all-groups": "--all-groups",
}
_CONSUME = {
    **_CLUSTER,
    "--topic=": "{}",
    "--include=": "^{}",
    "--whitelist=": "^{}",
    "--from-beginning": "--from-beginning",
    "--max-messages=": "-n {}",
    "--timeout-ms=": "--idle-timeout {}ms",
    "--partition=": "-p {}",
    "--offset=": "--offset {}",
    "--group=": "-g {}",
    "--isolation-level=": "--isolation-level {}",
    "--property=": "-f FORMAT",
    "--property=print.key=true": r"-f '%k\t%v\n'",
    "--formatter-property=": "-f FORMAT",
    "--formatter-property=print.key=true": r"-f '%k\t%v\n'",
    "--formatter-config=": "-f FORMAT",
    "--formatter=": "-s SERDE",
    "--key-deserializer=": "-s key=SERDE",
    "--value-deserializer=": "-s value=SERDE",
    "--skip-message-on-error": "--on-corrupt skip",
    "--enable-systest-events": NOTHING,
}
_SHARE_CONSUME = {
    **_CONSUME,
    "--release": "--on-each release",
    "--reject": "--on-each reject",
    "--reject-message-on-error": "",
}
_PRODUCE = {
    **_CLUSTER,
    "--topic=": "{}",
    "--property=": "-f FORMAT",
    "--property=parse.key=true": r"-K '\t'",
    "--reader-property=": "-f FORMAT",
    "--reader-property=parse.key=true": r"-K '\t'",
    "--reader-property=null.marker=NULL": "--null-marker NULL",
    "--reader-config=": "-f FORMAT",
    "--compression-codec": "-z gzip",
    "--compression-codec=": "-z {}",
    "--request-required-acks=": "--acks {}",
    "--batch-size=": "-X batch.size={}",
    "--sync": "",
    "--timeout=": "-X linger.ms={}",
    "--line-reader=": NOTHING,
    "--max-block-ms=": "-X max.block.ms={}",
    "--message-send-max-retries=": "",
    "--request-timeout-ms=": "-X request.timeout.ms={}",
    "--retry-backoff-ms=": "-X retry.backoff.ms={}",
    "--max-memory-bytes=": "-X buffer.memory={}",
    "--max-partition-memory-bytes=": "-X batch.size={}",
    "--metadata-expiry-ms=": "-X metadata.max.age.ms={}",
    "--socket-buffer-size=": "-X send.buffer.bytes={}",
}
_CONFIGS = {
    **_CLUSTER,
    "--entity-type=": "",
    "--entity-name=": "{}",
    "--entity-default": "default",
    "--topic=": "{}",
    "--broker=": "{}",
    "--group=": "{}",
    "--broker-logger=": "{}",
    "--client-metrics=": "{}",
    "--broker-defaults": "default",
    "--add-config=": "--set {,}",
    "--delete-config=": "--unset {,}",
    "--add-config-file=": "--set @{}",
    "--alter": "",
    "--describe": "",
    "--all": "--all",
}
_CONFIG_KINDS = (
    (("brokers",), "brokers BROKER"),
    (("--broker",), "brokers BROKER"),
    (("--broker-defaults",), "brokers BROKER"),
    (("groups",), "groups GROUP"),
    (("--group",), "groups GROUP"),
    (("broker-loggers",), "broker-loggers BROKER"),
    (("--broker-logger",), "broker-loggers BROKER"),
    (("client-metrics",), "client-metrics NAME"),
    (("--client-metrics",), "client-metrics NAME"),
    ((), "topics TOPIC"),
)
_QUOTAS = {
    **_CLUSTER,
    "--entity-type=": "",
    "--entity-name=": "--user {}",
    "--user=": "--user {}",
    "--client=": "--client-id {}",
    "--ip=": "--ip {}",
    "--user-defaults": "--user '<default>'",
    "--client-defaults": "--client-id '<default>'",
    "--ip-defaults": "--ip '<default>'",
    "--add-config=": "--set {,}",
    "--delete-config=": "--unset {,}",
}
_CLIENT_QUOTAS = {**_QUOTAS, "--entity-name=": "--client-id {}"}
_IP_QUOTAS = {**_QUOTAS, "--entity-name=": "--ip {}"}
_QUOTA_FLAGS = ("--user", "--client", "--ip", "--user-defaults", "--client-defaults", "--ip-defaults")
_USERS = {**_CLUSTER, "--entity-type=": "", "--entity-name=": "{}", "--user=": "{}", "--add-config=": ""}
_ACLS = {
    **_CLUSTER,
    "--allow-principal=": "--principal {}",
    "--deny-principal=": "--deny --principal {}",
    "--principal=": "--principal {}",
    "--allow-host=": "--host {}",
    "--deny-host=": "--host {}",
    "--operation=": "--operation {}",
    "--topic=": "--topic {}",
    "--group=": "--group {}",
    "--cluster": "--cluster",
    "--transactional-id=": "--transactional-id {}",
    "--resource-pattern-type=": "--pattern {}",
    "--delegation-token=": "--delegation-token {}",
    "--user-principal=": "--user-principal {}",
    "--idempotent": "",
}
_TOKENS = {
    **_CLUSTER,
    "--owner-principal=": "--owner {}",
    "--renewer-principal=": "--renewer {}",
    "--max-life-time-period=": "--max-lifetime {}ms",
    "--max-life-time-period=-1": "",
    "--renew-time-period=": "--for {}ms",
    "--renew-time-period=-1": "",
    "--expiry-time-period=": "--in {}ms",
    "--expiry-time-period=-1": "",
    "--hmac=": "",
}
"""A token is named by its id, which ``tokens list`` shows, and not by its HMAC."""
_METRICS = {
    **_CLUSTER,
    "--name=": "{}",
    "--generate-name": "$(uuidgen)",
    "--metrics=": "--set metrics={}",
    "--interval=": "--set interval.ms={}",
    "--match=": "--set match={}",
}
_PERF = {
    **_CLUSTER,
    "--topic=": "-t {}",
    "--num-records=": "--num-records {}",
    "--messages=": "--num-records {}",
    "--record-size=": "--record-size {}",
    "--throughput=": "--throughput {}",
    "--payload-file=": "--payload-file {}",
    "--payload-delimiter=": "--payload-delimiter {}",
    "--producer-props=": "-X {}",
    "--producer-acks=": "-X acks={}",
    "--warmup-records=": "--warmup-records {}",
    "--reporting-interval=": "--reporting-interval {}ms",
    "--group=": "-g {}",
    "--threads=": "--processes {}",
    "--max-messages=": "--num-records {}",
    "--transactional-id=": "--transactional-id {}",
    "--transaction-duration-ms=": "--transaction-duration {}ms",
    "--payload-monotonic": "",
    "--print-metrics": "-o json",
    "--fetch-size=": "-X max.partition.fetch.bytes={}",
    "--from-latest": "--from-latest",
    "--timeout=": "--idle-timeout {}ms",
    "--record-key-range=": "",
    "--key-distribution=": "--keys {}:N",
    "--key-distribution=none": "",
    "--random-seed=": "--seed {}",
    "--hide-header": "",
    "--show-detailed-stats": "",
    "--show-consumer-stats": "",
    "--date-format=": "",
    "--socket-buffer-size=": "-X receive.buffer.bytes={}",
    "--include=": "-t TOPIC",
}
_TXN = {
    **_CLUSTER,
    "--transactional-id=": "{}",
    "--transactionalId=": "{}",
    "--topic=": "--topic {}",
    "--partition=": "-p {}",
    "--broker-id=": "",
    "--broker=": "",
    "--start-offset=": "",
    "--producer-id=": "",
    "--producer-epoch=": "",
    "--coordinator-epoch=": "",
    "--max-transaction-timeout=": "--older-than {}m",
}
_FEATURES = {
    **_CLUSTER,
    "--metadata=": "--metadata {}",
    "--release-version=": "--release-version {}",
    "--feature=": "--feature {}",
    "--unsafe": "--unsafe",
}
_REASSIGN = {
    **_CLUSTER,
    "--reassignment-json-file=": "{}",
    "--topics-to-move-json-file=": "",
    "--broker-list=": "--brokers {}",
    "--throttle=": "--throttle {}",
    "--additional": "",
    "--preserve-throttles": "",
    "--disable-rack-aware": "--disable-rack-aware",
    "--disallow-replication-factor-change": "--disallow-replication-factor-change",
}

_ACL_VERBS = (
    Mode(("--add", "--producer"), "acls create --producer", {**_ACLS, "--add": "", "--producer": ""}),
    Mode(("--add", "--consumer"), "acls create --consumer", {**_ACLS, "--add": "", "--consumer": ""}),
    Mode(("--add",), "acls create", {**_ACLS, "--add": ""}),
    Mode(("--remove",), "acls delete", {**_ACLS, "--remove": "", "--consumer": "", "--producer": ""}),
    Mode((), "acls list", {**_ACLS, "--list": ""}),
)
_GROUP_VERBS = (
    Mode(("--reset-offsets", "--export", "--to-current"), "groups export GROUP", {
        **_GROUPS, "--reset-offsets": "", "--export": "", "--to-current": "", "--all-topics": "",
    }),
    Mode(("--reset-offsets",), "groups rewind GROUP", _REWIND),
    Mode(("--delete-offsets",), "groups delete-offsets GROUP", {**_GROUPS, "--delete-offsets": ""}),
    Mode(("--delete",), "groups delete GROUP", {**_GROUPS, "--delete": "", "--all-groups": "--match '*'"}),
    Mode(("--describe",), "groups describe GROUP", {**_GROUPS, "--describe": ""}),
    Mode(("--validate-regex",), ""),
    Mode((), "groups list", {**_GROUPS, "--list": ""}),
)  # fmt: skip
_DELETE_OFFSETS = {**_GROUPS, "--delete-offsets": ""}
_SHARE_GROUP_VERBS = (
    Mode(("--reset-offsets",), "groups rewind GROUP", _REWIND),
    Mode(("--delete-offsets",), "groups delete-offsets GROUP", _DELETE_OFFSETS),
    Mode(("--delete",), "groups delete GROUP", {**_GROUPS, "--delete": "", "--all-groups": "--match '*'"}),
    Mode(("--describe",), "groups describe GROUP", {**_GROUPS, "--describe": ""}),
)

_RESET = {
    **_CLUSTER,
    "--to-earliest": "--to earliest",
    "--to-latest": "--to latest",
    "--to-current": "--to current",
    "--to-offset=": "--to {}",
    "--to-datetime=": "--to {}",
    "--by-duration=": "--to @-{}",
    "--shift-by=": "--to +{}",
    "--shift-by=-": "--to -{}",
    "--from-file=": "--from-file {}",
    "--reset-offsets": "",
    "--group=": "{}",
    "--application-id=": "{}",
    "--config-file=": "-F {}",
    "--all-input-topics": "",
    "--input-topic=": "--input-topic {}",
    "--input-topics=": "--input-topic {}",
    "--intermediate-topics=": "--intermediate-topic {}",
    "--delete-all-internal-topics": "",
    "--delete-internal-topic=": "--internal-topic {}",
    "--internal-topics=": "--internal-topic {}",
    "--all-groups": NOTHING,
    "--export": NOTHING,
    "--force": NOTHING,
}
_STREAMS = {**_GROUPS, "--input-topic=": "-t {}", "--all-input-topics": NOTHING, "--topology": "--topology"}
_STREAMS_GROUP_VERBS = (
    Mode(("--reset-offsets", "--export", "--to-current"), "groups export GROUP", {
        **_STREAMS, "--reset-offsets": "", "--export": "", "--to-current": "", "--all-input-topics": "",
    }),
    Mode(("--reset-offsets",), "groups reset-app GROUP", _RESET),
    Mode(("--delete-offsets",), "groups delete-offsets GROUP", {**_STREAMS, "--delete-offsets": ""}),
    Mode(("--delete",), "groups delete GROUP", {
        **_STREAMS, "--delete": "", "--all-groups": NOTHING, "--delete-all-internal-topics": NOTHING,
    }),
    Mode(("--describe",), "groups describe GROUP", {**_STREAMS, "--describe": ""}),
    Mode((), "groups list --type streams", {**_GROUPS, "--list": ""}),
)  # fmt: skip

SCRIPTS: dict[str, tuple[Mode, ...]] = {
    "kafka-topics": (
        Mode(("--create",), "topics create TOPIC", {
            **_TOPICS, "--create": "", "--replica-assignment=": "--assignment {}",
        }),
        Mode(("--describe",), "topics describe TOPIC", {**_TOPICS, "--describe": "", "--if-exists": "--if-exists"}),
        Mode(("--alter",), "topics alter TOPIC", {
            **_TOPICS, "--alter": "", "--config=": "--set {}", "--delete-config=": "--unset {}",
        }),
        Mode(("--delete",), "topics delete TOPIC", {**_TOPICS, "--delete": "", "--if-exists": "--if-exists"}),
        Mode((), "topics list", {**_TOPICS, "--list": "", "--topic=": "--match {}"}),
    ),
    "kafka-consumer-groups": _GROUP_VERBS,
    "kafka-groups": _GROUP_VERBS,
    "kafka-share-groups": (
        *_SHARE_GROUP_VERBS, Mode((), "groups list --type share", {**_GROUPS, "--list": ""}),
    ),
    "kafka-streams-groups": _STREAMS_GROUP_VERBS,
    "kafka-streams-application-reset": (
        Mode(("--force",), "groups remove-members GROUP", {
            **_CLUSTER, "--application-id=": "{}", "--input-topics=": "", "--intermediate-topics=": "", "--force": "",
        }),
        Mode((), "groups reset-app GROUP", _RESET),
    ),
    "kafka-console-consumer": (Mode((), "consume TOPIC", _CONSUME),),
    "kafka-console-producer": (Mode((), "produce TOPIC", _PRODUCE),),
    "kafka-simple-consumer": (Mode((), "consume TOPIC", _CONSUME),),
    "kafka-configs": (
        Mode(("--alter", "SCRAM*"), "users set NAME", {**_USERS, "--alter": ""}),
        Mode(("--alter", "users"), "quotas alter", {**_QUOTAS, "--alter": ""}),
        Mode(("--alter", "--user"), "quotas alter", {**_QUOTAS, "--alter": ""}),
        Mode(("--alter", "clients"), "quotas alter", {**_CLIENT_QUOTAS, "--alter": ""}),
        Mode(("--alter", "ips"), "quotas alter", {**_IP_QUOTAS, "--alter": ""}),
        *(Mode(("--alter", need), "quotas alter", {**_QUOTAS, "--alter": ""}) for need in _QUOTA_FLAGS),
        *(Mode(("--alter", *needs), f"configs alter {kind}", _CONFIGS) for needs, kind in _CONFIG_KINDS),
        Mode(("users",), "quotas list", {**_QUOTAS, "--describe": "", "--all": ""}),
        Mode(("clients",), "quotas list", {**_CLIENT_QUOTAS, "--describe": "", "--all": ""}),
        Mode(("ips",), "quotas list", {**_IP_QUOTAS, "--describe": "", "--all": ""}),
        *(Mode((need,), "quotas list", {**_QUOTAS, "--describe": "", "--all": ""}) for need in _QUOTA_FLAGS),
        *(Mode(needs, f"configs describe {kind}", _CONFIGS) for needs, kind in _CONFIG_KINDS),
    ),
    "kafka-acls": _ACL_VERBS,
    "kafka-get-offsets": (
        Mode((), "topics offsets TOPIC", {
            **_NAMED, "--time=": "--time {}", "--time=-1": "", "--time=-2": "--time earliest", "--partitions=": "-p {}",
            **{f"--time={value}": f"--time {word}" for value, word in SPECIAL_NAMES.items()},
            "--topic-partitions=": "{}", "--exclude-internal-topics": "",
        }),
    ),
    "kafka-run-class": (),
    "kafka-delete-records": (
        Mode((), "topics trim", {**_CLUSTER, "--offset-json-file=": "--from-file {}"}),
    ),
    "kafka-reassign-partitions": (
        Mode(("--generate",), "reassign plan FILE", {**_REASSIGN, "--generate": ""}),
        Mode(("--execute", "--replica-alter-log-dirs-throttle"), "brokers move-log-dir BROKER --from DIR --to DIR", {
            **_REASSIGN, "--reassignment-json-file=": "", "--replica-alter-log-dirs-throttle=": "--throttle {}",
        }),
        Mode(("--execute",), "reassign run FILE", _REASSIGN),
        Mode(("--cancel",), "reassign cancel --topic TOPIC", {
            **_REASSIGN, "--cancel": "", "--reassignment-json-file=": "",
        }),
        Mode((), "reassign status", {**_REASSIGN, "--verify": "", "--list": ""}),
    ),
    "kafka-leader-election": (
        Mode((), "elect-leaders", {
            **_CLUSTER, "--election-type=": "", "--election-type=unclean": "--unclean", "--topic=": "--topic {}",
            "--partition=": "-p {}", "--all-topic-partitions": "", "--path-to-json-file=": "--from-file {}",
            "--admin.config=": "-F {}",
        }),
    ),
    "kafka-preferred-replica-election": (
        Mode((), "elect-leaders", {
            **_CLUSTER, "--path-to-json-file=": "--from-file {}", "--admin.config=": "-F {}",
        }),
    ),
    "kafka-transactions": (
        Mode(("describe-producers",), "topics who -o wide", {
            **_CLUSTER, "describe-producers": "", "--topic=": "{}", "--partition=": "", "--broker-id=": "",
        }),
        Mode(("describe",), "txn describe ID", {**_TXN, "describe": ""}),
        Mode(("abort",), "txn abort ID", {**_TXN, "abort": ""}),
        Mode(("forceTerminateTransaction",), "txn abort ID", {**_TXN, "forceTerminateTransaction": ""}),
        Mode((), "txn list", {
            **_TXN, "list": "", "find-hanging": "", "--duration-filter=": "--older-than {}ms",
            "--transactional-id-pattern=": "--match {}",
        }),
    ),
    "kafka-delegation-tokens": (
        Mode(("--create",), "tokens create --hmac-file FILE", {**_TOKENS, "--create": ""}),
        Mode(("--renew",), "tokens renew ID", {**_TOKENS, "--renew": ""}),
        Mode(("--expire",), "tokens expire ID", {**_TOKENS, "--expire": ""}),
        Mode((), "tokens list", {**_TOKENS, "--describe": ""}),
    ),
    "kafka-client-metrics": (
        Mode(("--alter",), "configs alter client-metrics NAME", {**_METRICS, "--alter": ""}),
        Mode(("--delete",), "configs alter client-metrics NAME --unset-all", {**_METRICS, "--delete": ""}),
        Mode(("--describe", "--name"), "configs describe client-metrics NAME", {**_METRICS, "--describe": ""}),
        Mode((), "configs list client-metrics", {**_METRICS, "--list": "", "--describe": ""}),
    ),
    "kafka-log-dirs": (
        Mode(("--topic-list",), "topics list --with-size", {
            **_CLUSTER, "--describe": "", "--broker-list=": "", "--topic-list=": "--match {}",
        }),
        Mode(("--broker-list",), "brokers describe ID", {**_CLUSTER, "--describe": "", "--broker-list=": "{}"}),
        Mode((), "cluster describe --log-dirs", {**_CLUSTER, "--describe": ""}),
    ),
    "kafka-metadata-quorum": (
        Mode(("add-controller",), "quorum add-controller ID", {**_CLUSTER, "add-controller": ""}),
        Mode(("remove-controller",), "quorum remove-controller ID", {
            **_CLUSTER, "remove-controller": "", "--controller-id=": "{}", "--unregister": "",
            "--controller-directory-id=": "--directory-id {}",
        }),
        Mode((), "quorum describe", {
            **_CLUSTER, "describe": "", "--status": "", "--replication": "", "--human-readable": "",
        }),
    ),
    "kafka-features": (
        Mode(("upgrade",), "features upgrade", {**_FEATURES, "upgrade": ""}),
        Mode(("downgrade",), "features downgrade", {**_FEATURES, "downgrade": ""}),
        Mode(("disable",), "features downgrade", {**_FEATURES, "disable": "", "--feature=": "--feature {}=0"}),
        Mode(("version-mapping",), ""),
        Mode(("feature-dependencies",), ""),
        Mode(("describe", "--node-id"), "brokers describe ID", {**_CLUSTER, "describe": "", "--node-id=": "{}"}),
        Mode((), "features list", {**_CLUSTER, "describe": ""}),
    ),
    "kafka-cluster": (
        Mode(("unregister",), "brokers unregister ID", {
            **_CLUSTER, "unregister": "", "--id=": "{}", "--config=": "-F {}",
        }),
        Mode(("list-endpoints",), "brokers list", {
            **_CLUSTER, "list-endpoints": "", "--include-fenced-brokers": "", "--config=": "-F {}",
        }),
        Mode(("api-versions",), "brokers api-versions", {**_CLUSTER, "api-versions": "", "--config=": "-F {}"}),
        Mode(("--bootstrap-controller",), "quorum describe", {**_CLUSTER, "cluster-id": "", "--config=": "-F {}"}),
        Mode((), "cluster describe", {**_CLUSTER, "cluster-id": "", "--config=": "-F {}"}),
    ),
    "kafka-broker-api-versions": (Mode((), "brokers api-versions", _CLUSTER),),
    "kafka-producer-perf-test": (Mode((), "perf produce", _PERF),),
    "kafka-consumer-perf-test": (Mode((), "perf consume", _PERF),),
    "kafka-e2e-latency": (Mode((), "perf e2e", _PERF),),
    "kafka-verifiable-producer": (Mode((), "perf produce --verify", {**_PERF, "--acks=": "-X acks={}"}),),
    "kafka-verifiable-consumer": (Mode((), "consume TOPIC", {**_CONSUME, "--group-id=": "-g {}"}),),
    "kafka-console-share-consumer": (Mode((), "consume TOPIC --group-type share", _SHARE_CONSUME),),
    "kafka-share-consumer-perf-test": (Mode((), "perf consume --group-type share", _PERF),),
    "kafka-verifiable-share-consumer": (Mode((), "consume TOPIC --group-type share", {
        **_SHARE_CONSUME, "--group-id=": "-g {}",
    }),),
    "kafka-dump-log": (
        Mode(("--index-sanity-check",), "segments verify FILE", {**_DUMP, "--index-sanity-check": ""}),
        Mode(("--verify-index-only",), "segments verify FILE", {**_DUMP, "--verify-index-only": ""}),
        Mode(("--skip-record-metadata",), "consume", _DUMP_RECORDS),
        Mode(("--key-decoder-class",), "consume", _DUMP_RECORDS),
        Mode(("--value-decoder-class",), "consume", _DUMP_RECORDS),
        Mode((), "segments dump FILE -o kafka", _DUMP),
    ),
    "kafka-server-start": (Mode((), "sandbox up"),),
    "kafka-server-stop": (Mode((), "sandbox down"),),
    "zookeeper-server-start": (Mode((), "sandbox up"),),
    "connect-mirror-maker": (Mode((), "mirror --from HOST:PORT --to HOST:PORT -t TOPIC", {"--clusters=": NOTHING}),),
    "kafka-mirror-maker": (Mode((), "mirror --from HOST:PORT --to HOST:PORT -t TOPIC", {
        **_CLUSTER, "--whitelist=": NOTHING, "--include=": NOTHING, "--num.streams=": NOTHING,
    }),),
    **dict.fromkeys((
        "kafka-storage", "kafka-metadata-shell", "kafka-replica-verification", "kafka-jmx",
        "connect-standalone", "connect-distributed", "connect-plugin-path", "trogdor", "kafka-server-start-docker",
        "zookeeper-shell", "zookeeper-security-migration",
    ), ()),
}  # fmt: skip
"""By the name of a script without ``.sh``; its modes in the order in which they are tried. Without modes: kcli has no
such thing."""

_KCAT_BOTH = {
    "-b=": "-b {}", "-F=": "-F {}", "-X=": "-X {}", "-X=list": NOTHING, "-X=dump": NOTHING, "-t=": "{}", "-p=": "-p {}",
    "-D=": "-D {}", "-s=": "-s SERDE", "-r=": "-X schema.registry.url={}", "-d=": "--debug", "-q": "-q", "-v": "-v",
    "-E": "", "-u": "", "-m=": "--timeout {}s", "-V": "", "-M=": NOTHING, "-U": NOTHING, "-i=": NOTHING,
}  # fmt: skip
_KCAT_CONSUME = {
    **_KCAT_BOTH, "-C": "", "-e": "-e", "-c=": "-n {}", "-f=": "-f {}", "-J": "-J", "-Z": "--null-marker NULL",
    "-K=": r"-f '%k{}%v\n'", "-o=": "--offset {}", "-o=beginning": "--from-beginning", "-o=s@": "--since {}",
    "-o=e@": "--until {}", "-o=stored": "-g GROUP",
    "-O": r"-f '%o %v\n'",
    "-T": NOTHING, "-G=": "-g {}",
}  # fmt: skip
KCAT: dict[str, Mode] = {
    "-C": Mode((), "consume TOPIC", _KCAT_CONSUME),
    "-G": Mode((), "consume TOPIC", _KCAT_CONSUME),
    "-P": Mode((), "produce TOPIC", {
        **_KCAT_BOTH, "-P": "", "-K=": "-K {}", "-k=": "-k {}", "-H=": "-H {}", "-z=": "-z {}", "-Z": "-Z", "-l": "",
        "-l=": "{}", "-T": "--tee", "-c=": NOTHING, "-p=-1": "--partitioner random",
    }),
    "-L": Mode((), "cluster describe", {**_KCAT_BOTH, "-L": "", "-J": "-o json", "-t=": ""}),
    "-Q": Mode((), "topics offsets TOPIC", {**_KCAT_BOTH, "-Q": "", "-J": "-o json", "-t=": "{:}"}),
}  # fmt: skip
