"""Command lines of Kafka's scripts, of kcat and of kafkactl, as lines for kcli. Pure; loaded only for errors.

A line is translated word by word and never run: the remedy shows it. What kcli has nothing for is named.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import NamedTuple

NOTHING = "nothing"
"""Of an option that has no counterpart."""


class Mode(NamedTuple):
    """``needs``: words that choose it, or beginnings of words with ``*``. ``command``: what follows ``kcli``, with placeholders in
    capitals that the line's own arguments replace; empty where kcli has no such thing, and ``options`` is not used.

    ``options``: what becomes of an option; its name ends with ``=`` if it has a value, which replaces ``{}``, or each of
    its comma-separated parts ``{,}``, or the part before its first colon ``{:}``. An empty text: it is not needed. ``--name=value`` is one value of it.
    """

    needs: tuple[str, ...]
    command: str
    options: Mapping[str, str] = {}


_CLUSTER = {
    "--bootstrap-server=": "-b {}",
    "--bootstrap-servers=": "-b {}",
    "--bootstrap-controller=": NOTHING,
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
    "--under-min-isr-partitions": NOTHING,
    "--at-min-isr-partitions": NOTHING,
    "--topics-with-overrides": NOTHING,
    "--replica-assignment=": NOTHING,
    "--topic-id=": NOTHING,
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
    "--property=": NOTHING,
    "--property=print.key=true": r"-f '%k\t%v\n'",
    "--formatter-property=": NOTHING,
    "--formatter-property=print.key=true": r"-f '%k\t%v\n'",
    "--formatter=": "-s SERDE",
    "--key-deserializer=": "-s key=SERDE",
    "--value-deserializer=": "-s value=SERDE",
    "--skip-message-on-error": "--on-corrupt skip",
    "--enable-systest-events": NOTHING,
}
_PRODUCE = {
    **_CLUSTER,
    "--topic=": "{}",
    "--property=": NOTHING,
    "--property=parse.key=true": r"-K '\t'",
    "--reader-property=": NOTHING,
    "--reader-property=parse.key=true": r"-K '\t'",
    "--compression-codec": "-z gzip",
    "--compression-codec=": "-z {}",
    "--request-required-acks=": "--acks {}",
    "--batch-size=": "-X batch.size={}",
    "--sync": "",
    "--timeout=": "-X linger.ms={}",
    "--line-reader=": NOTHING,
    "--max-block-ms=": "-X max.block.ms={}",
    "--message-send-max-retries=": "-X retries={}",
    "--request-timeout-ms=": "-X request.timeout.ms={}",
    "--retry-backoff-ms=": "-X retry.backoff.ms={}",
    "--max-memory-bytes=": "-X buffer.memory={}",
    "--max-partition-memory-bytes=": "-X batch.size={}",
    "--metadata-expiry-ms=": "-X metadata.max.age.ms={}",
    "--socket-buffer-size=": NOTHING,
}
_CONFIGS = {
    **_CLUSTER,
    "--entity-type=": "",
    "--entity-name=": "{}",
    "--entity-default": "default",
    "--topic=": "{}",
    "--broker=": "{}",
    "--group=": "{}",
    "--broker-defaults": "default",
    "--add-config=": "--set {,}",
    "--delete-config=": "--unset {,}",
    "--add-config-file=": NOTHING,
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
    "--add-config=": "--set {,}",
    "--delete-config=": "--unset {,}",
}
_CLIENT_QUOTAS = {**_QUOTAS, "--entity-name=": "--client-id {}"}
_IP_QUOTAS = {**_QUOTAS, "--entity-name=": "--ip {}"}
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
    "--delegation-token=": NOTHING,
    "--user-principal=": NOTHING,
    "--idempotent": NOTHING,
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
    "--transactional-id=": NOTHING,
    "--transaction-duration-ms=": NOTHING,
    "--payload-monotonic": NOTHING,
    "--print-metrics": NOTHING,
    "--fetch-size=": "-X max.partition.fetch.bytes={}",
    "--from-latest": NOTHING,
    "--hide-header": "",
    "--show-detailed-stats": "",
    "--date-format=": "",
    "--socket-buffer-size=": NOTHING,
    "--include=": NOTHING,
}
_TXN = {
    **_CLUSTER,
    "--transactional-id=": "{}",
    "--topic=": "--topic {}",
    "--partition=": "-p {}",
    "--broker-id=": NOTHING,
    "--broker=": NOTHING,
    "--start-offset=": "",
    "--producer-id=": NOTHING,
    "--producer-epoch=": NOTHING,
    "--coordinator-epoch=": NOTHING,
    "--max-transaction-timeout=": "--older-than {}m",
}
_REASSIGN = {
    **_CLUSTER,
    "--reassignment-json-file=": "{}",
    "--topics-to-move-json-file=": "",
    "--broker-list=": "--brokers {}",
    "--throttle=": "--throttle {}",
    "--replica-alter-log-dirs-throttle=": NOTHING,
    "--additional": NOTHING,
    "--preserve-throttles": NOTHING,
    "--disable-rack-aware": NOTHING,
}

_ACL_VERBS = (
    Mode(("--add", "--producer"), "acls create --operation write", {**_ACLS, "--add": "", "--producer": ""}),
    Mode(("--add", "--consumer"), "acls create --operation read", {**_ACLS, "--add": "", "--consumer": ""}),
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
    Mode(("--delete",), "groups delete GROUP", {**_GROUPS, "--delete": "", "--all-groups": NOTHING}),
    Mode(("--describe",), "groups describe GROUP", {**_GROUPS, "--describe": ""}),
    Mode(("--validate-regex",), ""),
    Mode((), "groups list", {**_GROUPS, "--list": ""}),
)  # fmt: skip
_OTHER_GROUP_VERBS = (
    Mode(("--reset-offsets",), ""),
    Mode(("--delete-offsets",), ""),
    Mode(("--delete",), "groups delete GROUP", {**_GROUPS, "--delete": ""}),
    Mode(("--describe",), "groups describe GROUP", {**_GROUPS, "--describe": ""}),
)

_SCRIPTS: dict[str, tuple[Mode, ...]] = {
    "kafka-topics": (
        Mode(("--create",), "topics create TOPIC", {**_TOPICS, "--create": ""}),
        Mode(("--describe",), "topics describe TOPIC", {**_TOPICS, "--describe": ""}),
        Mode(("--alter",), "topics alter TOPIC", {**_TOPICS, "--alter": "", "--config=": "--set {}"}),
        Mode(("--delete",), "topics delete TOPIC", {**_TOPICS, "--delete": ""}),
        Mode((), "topics list", {**_TOPICS, "--list": "", "--topic=": "--match {}"}),
    ),
    "kafka-consumer-groups": _GROUP_VERBS,
    "kafka-groups": _GROUP_VERBS,
    "kafka-share-groups": (
        *_OTHER_GROUP_VERBS, Mode((), "groups list --type share", {**_GROUPS, "--list": ""}),
    ),
    "kafka-streams-groups": (
        *_OTHER_GROUP_VERBS, Mode((), "groups list --type streams", {**_GROUPS, "--list": ""}),
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
        Mode(("broker-loggers",), ""),
        Mode(("client-metrics",), ""),
        *(Mode(("--alter", *needs), f"configs alter {kind}", _CONFIGS) for needs, kind in _CONFIG_KINDS),
        Mode(("users",), "quotas list", {**_QUOTAS, "--describe": "", "--all": ""}),
        Mode(("clients",), "quotas list", {**_CLIENT_QUOTAS, "--describe": "", "--all": ""}),
        Mode(("ips",), "quotas list", {**_IP_QUOTAS, "--describe": "", "--all": ""}),
        *(Mode(needs, f"configs describe {kind}", _CONFIGS) for needs, kind in _CONFIG_KINDS),
    ),
    "kafka-acls": _ACL_VERBS,
    "kafka-get-offsets": (
        Mode((), "topics offsets TOPIC", {
            **_NAMED, "--time=": "--time {}", "--time=-1": "", "--time=-2": "--time earliest", "--partitions=": NOTHING,
            "--topic-partitions=": NOTHING, "--exclude-internal-topics": "",
        }),
    ),
    "kafka-run-class": (),
    "kafka-delete-records": (
        Mode((), "topics trim TOPIC --before OFFSET", {**_CLUSTER, "--offset-json-file=": NOTHING}),
    ),
    "kafka-reassign-partitions": (
        Mode(("--generate",), "reassign plan FILE", {**_REASSIGN, "--generate": ""}),
        Mode(("--execute",), "reassign run FILE", _REASSIGN),
        Mode(("--cancel",), "reassign cancel --topic TOPIC", {
            **_REASSIGN, "--cancel": "", "--reassignment-json-file=": "",
        }),
        Mode((), "reassign status", {**_REASSIGN, "--verify": "", "--list": ""}),
    ),
    "kafka-leader-election": (
        Mode((), "elect-leaders", {
            **_CLUSTER, "--election-type=": "", "--election-type=unclean": "--unclean", "--topic=": "--topic {}",
            "--partition=": NOTHING, "--all-topic-partitions": "", "--path-to-json-file=": NOTHING,
            "--admin.config=": "-F {}",
        }),
    ),
    "kafka-preferred-replica-election": (
        Mode((), "elect-leaders", {**_CLUSTER, "--path-to-json-file=": NOTHING, "--admin.config=": "-F {}"}),
    ),
    "kafka-transactions": (
        Mode(("describe-producers",), "txn describe --topic TOPIC", {**_TXN, "describe-producers": ""}),
        Mode(("describe",), "txn describe ID", {**_TXN, "describe": ""}),
        Mode(("abort",), "txn abort ID", {**_TXN, "abort": ""}),
        Mode(("forceTerminateTransaction",), "txn abort ID", {**_TXN, "forceTerminateTransaction": ""}),
        Mode((), "txn list", {
            **_TXN, "list": "", "find-hanging": "", "--duration-filter=": "--older-than {}ms",
            "--transactional-id-pattern=": NOTHING,
        }),
    ),
    "kafka-log-dirs": (
        Mode((), "cluster describe --log-dirs", {
            **_CLUSTER, "--describe": "", "--broker-list=": NOTHING, "--topic-list=": NOTHING,
        }),
    ),
    "kafka-metadata-quorum": (
        Mode(("add-controller",), ""),
        Mode(("remove-controller",), ""),
        Mode((), "cluster describe", {**_CLUSTER, "describe": "", "--status": "", "--replication": "", "--human-readable": ""}),
    ),
    "kafka-features": (
        Mode(("upgrade",), ""),
        Mode(("downgrade",), ""),
        Mode(("disable",), ""),
        Mode((), "cluster describe --features", {**_CLUSTER, "describe": ""}),
    ),
    "kafka-cluster": (
        Mode(("unregister",), ""),
        Mode((), "cluster describe", {**_CLUSTER, "cluster-id": "", "list-endpoints": "", "--config=": "-F {}"}),
    ),
    "kafka-broker-api-versions": (Mode((), "doctor", _CLUSTER),),
    "kafka-producer-perf-test": (Mode((), "perf produce", _PERF),),
    "kafka-consumer-perf-test": (Mode((), "perf consume", _PERF),),
    "kafka-e2e-latency": (Mode((), "perf e2e", _PERF),),
    "kafka-verifiable-producer": (Mode((), "perf produce --verify", {**_PERF, "--acks=": "-X acks={}"}),),
    "kafka-verifiable-consumer": (Mode((), "consume TOPIC", {**_CONSUME, "--group-id=": "-g {}"}),),
    "kafka-console-share-consumer": (),
    "kafka-share-consumer-perf-test": (),
    "kafka-server-start": (Mode((), "sandbox up"),),
    "kafka-server-stop": (Mode((), "sandbox down"),),
    "zookeeper-server-start": (Mode((), "sandbox up"),),
    "connect-mirror-maker": (Mode((), "mirror --from HOST:PORT --to HOST:PORT -t TOPIC", {"--clusters=": NOTHING}),),
    "kafka-mirror-maker": (Mode((), "mirror --from HOST:PORT --to HOST:PORT -t TOPIC", {
        **_CLUSTER, "--whitelist=": NOTHING, "--include=": NOTHING, "--num.streams=": NOTHING,
    }),),
    **dict.fromkeys((
        "kafka-storage", "kafka-dump-log", "kafka-metadata-shell", "kafka-replica-verification",
        "kafka-delegation-tokens", "kafka-client-metrics", "kafka-streams-application-reset", "kafka-jmx",
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
    "-K=": r"-f '%k{}%v\n'", "-o=": "--offset {}", "-o=beginning": "--from-beginning", "-o=s@": "--since {}", "-o=e@": "--until {}", "-o=stored": "-g GROUP",
    "-O": r"-f '%o %v\n'",
    "-T": NOTHING, "-G=": "-g {}",
}  # fmt: skip
_KCAT: dict[str, Mode] = {
    "-C": Mode((), "consume TOPIC", _KCAT_CONSUME),
    "-G": Mode((), "consume TOPIC", _KCAT_CONSUME),
    "-P": Mode((), "produce TOPIC", {
        **_KCAT_BOTH, "-P": "", "-K=": "-K {}", "-k=": "-k {}", "-H=": "-H {}", "-z=": "-z {}", "-Z": "-Z", "-l": "",
        "-l=": "{}", "-T": "--tee", "-c=": NOTHING, "-p=-1": "--partitioner random",
    }),
    "-L": Mode((), "cluster describe", {**_KCAT_BOTH, "-L": "", "-J": "-o json", "-t=": ""}),
    "-Q": Mode((), "topics offsets TOPIC", {**_KCAT_BOTH, "-Q": "", "-J": "-o json", "-t=": "{:}"}),
}  # fmt: skip

_KAFKACTL = {"-o=": "-o {}", "-C=": NOTHING, "-V": "-v", "--context=": "--profile {}"}
_ACL_FLAGS = {
    **_KAFKACTL, "--allow-principal=": "--principal {}", "--deny-principal=": "--deny --principal {}",
    "--allow-host=": "--host {}", "--deny-host=": "--host {}", "--resource-pattern-type=": "--pattern {}",
    "--dry": "--dry-run", "--no-confirm": "--yes", "--topic=": "--topic {}", "--operation=": "--operation {}", "--principal=": "--principal {}",
    "--host=": "--host {}", "--pattern=": "--pattern {}", "--allow": "", "--deny": "--deny", "--group=": "--group {}",
    "--groups=": "--group {}", "--cluster": "--cluster", "-o=": "--operation {}", "-p=": "--principal {}", "-a": "",
    "-d": "--deny", "-t=": "--topic {}", "-g=": "--group {}", "-c": "--cluster", "--validate-only": "--dry-run",
    "--type=": NOTHING, "--resource-name=": NOTHING, "-r=": NOTHING,
}  # fmt: skip
_TOPIC_FLAGS = {
    **_KAFKACTL, "--partitions=": "--partitions {}", "-p=": "--partitions {}", "--config=": "--config {}",
    "-c=": "--config {}", "--replication-factor=": "--replication-factor {}", "-r=": "--replication-factor {}",
    "--validate-only": "--dry-run", "-v": "--dry-run", "--file=": NOTHING, "-f=": NOTHING, "--print-members": "--members",
    "--print-configs": "", "--all-configs": "", "--skip-empty": NOTHING,
}  # fmt: skip
_RESET_FLAGS = {
    **_KAFKACTL, "--topic=": "--topic {}", "--all-topics": "--all-topics", "--oldest": "--to earliest",
    "--newest": "--to latest", "--offset=": "--to {}", "--to-datetime=": "--to {}", "--execute": "--yes", "-e": "--yes",
    "--partition=": NOTHING, "-p=": NOTHING,
}  # fmt: skip
_USER_FLAGS = {
    **_KAFKACTL, "--mechanism=": "--mechanism {}", "-m=": "--mechanism {}", "--iterations=": "--iterations {}",
    "-i=": "--iterations {}", "--password=": "", "-p=": "", "--salt=": NOTHING, "-s=": NOTHING,
}  # fmt: skip
_ALTER_TOPIC = {
    **_TOPIC_FLAGS, "--config=": "--set {}", "-c=": "--set {}", "--replication-factor=": NOTHING, "-r=": NOTHING,
}  # fmt: skip
_GROUP_FLAGS = {
    **_KAFKACTL, "--topic=": "-t {}", "-t=": "-t {}", "--oldest": "--from earliest", "--newest": "--from latest",
    "--offset=": "--from {}", "--partition=": NOTHING, "-p=": NOTHING,
}  # fmt: skip

_NOUNS = {
    "topic": "topics", "topics": "topics", "group": "groups", "groups": "groups", "consumer-group": "groups",
    "consumer-groups": "groups", "consumergroup": "groups", "consumergroups": "groups", "cg": "groups", "broker": "brokers",
    "brokers": "brokers", "node": "brokers", "nodes": "brokers", "acl": "acls", "acls": "acls",
    "access-control-list": "acls", "user": "users", "users": "users", "offset": "offsets", "offsets": "offsets",
    "consumer-group-offset": "offsets", "cgo": "offsets", "partition": "partitions", "partitions": "partitions",
    "records": "records", "config": "configs", "configs": "configs", "quota": "quotas", "quotas": "quotas",
    "cluster": "cluster", "context": "profile", "contexts": "profile", "profile": "profile",
}  # fmt: skip
_VERBS = {
    "get": "list", "list": "list", "ls": "list", "describe": "describe", "show": "describe", "create": "create",
    "add": "create", "alter": "alter", "update": "alter", "delete": "delete", "remove": "delete", "rm": "delete",
    "reset": "reset", "clone": "clone", "copy": "clone", "cp": "clone",
}  # fmt: skip
_VERB_FIRST: dict[tuple[str, str], Mode] = {
    ("list", "topics"): Mode((), "topics list", _TOPIC_FLAGS),
    ("list", "groups"): Mode((), "groups list", {**_KAFKACTL, "-t=": "--topic {}", "--topic=": "--topic {}"}),
    ("list", "brokers"): Mode((), "cluster describe", _KAFKACTL),
    ("list", "acls"): Mode((), "acls list", _ACL_FLAGS),
    ("list", "users"): Mode((), "users list", _KAFKACTL),
    ("list", "quotas"): Mode((), "quotas list", _KAFKACTL),
    ("list", "offsets"): Mode((), "topics offsets TOPIC", _KAFKACTL),
    ("list", "profile"): Mode((), "profile list", _KAFKACTL),
    ("list", "cluster"): Mode((), "cluster describe", _KAFKACTL),
    ("list", "partitions"): Mode((), "topics describe TOPIC", _KAFKACTL),
    ("list", "configs"): Mode((), "configs describe topics TOPIC", _KAFKACTL),
    ("describe", "topics"): Mode((), "topics describe TOPIC", _TOPIC_FLAGS),
    ("describe", "groups"): Mode((), "groups describe GROUP", {
        **_KAFKACTL, "--print-members": "", "-m": "", "--only-with-lag": NOTHING, "-l": NOTHING, "--topic=": NOTHING,
    }),
    ("describe", "brokers"): Mode((), "configs describe brokers BROKER", {**_TOPIC_FLAGS, "--all-configs": "--all", "-a": "--all"}),
    ("describe", "users"): Mode((), "users list", _KAFKACTL),
    ("describe", "cluster"): Mode((), "cluster describe", _KAFKACTL),
    ("describe", "configs"): Mode((), "configs describe topics TOPIC", _KAFKACTL),
    ("describe", "acls"): Mode((), "acls list", _ACL_FLAGS),
    ("describe", "quotas"): Mode((), "quotas list", _KAFKACTL),
    ("describe", "partitions"): Mode((), "topics describe TOPIC", _KAFKACTL),
    ("create", "topics"): Mode((), "topics create TOPIC", _TOPIC_FLAGS),
    ("create", "groups"): Mode((), "groups create GROUP -t TOPIC --from earliest", _GROUP_FLAGS),
    ("create", "acls"): Mode((), "acls create", _ACL_FLAGS),
    ("create", "users"): Mode((), "users set NAME", _USER_FLAGS),
    ("create", "profile"): Mode((), "profile add NAME -b HOST:PORT", _KAFKACTL),
    ("create", "partitions"): Mode((), "topics alter TOPIC --partitions N", _KAFKACTL),
    ("alter", "topics"): Mode((), "topics alter TOPIC", _ALTER_TOPIC),
    ("alter", "brokers"): Mode((), "configs alter brokers BROKER", {**_KAFKACTL, "--config=": "--set {}", "-c=": "--set {}", "--validate-only": "--dry-run", "-v": "--dry-run"}),
    ("alter", "partitions"): Mode((), "reassign plan --topic TOPIC FILE", {**_KAFKACTL, "--replicas=": NOTHING, "-r=": NOTHING, "--validate-only": ""}),
    ("alter", "users"): Mode((), "users set NAME", _USER_FLAGS),
    ("alter", "configs"): Mode((), "configs alter topics TOPIC --set KEY=VALUE", _KAFKACTL),
    ("alter", "groups"): Mode((), "groups rewind GROUP --to SPEC", _RESET_FLAGS),
    ("alter", "quotas"): Mode((), "quotas alter --user NAME --set producer_byte_rate=1MB/s", _KAFKACTL),
    ("delete", "topics"): Mode((), "topics delete TOPIC", _KAFKACTL),
    ("delete", "groups"): Mode((), "groups delete GROUP", _KAFKACTL),
    ("delete", "offsets"): Mode((), "groups delete-offsets GROUP -t TOPIC", _GROUP_FLAGS),
    ("delete", "records"): Mode((), "topics trim TOPIC --before SPEC", {**_KAFKACTL, "--offset=": NOTHING}),
    ("delete", "acls"): Mode((), "acls delete", _ACL_FLAGS),
    ("delete", "users"): Mode((), "users delete NAME", _USER_FLAGS),
    ("delete", "profile"): Mode((), "profile remove NAME", _KAFKACTL),
    ("reset", "offsets"): Mode((), "groups rewind GROUP", _RESET_FLAGS),
    ("reset", "groups"): Mode((), "groups rewind GROUP", _RESET_FLAGS),
    ("clone", "groups"): Mode((), "groups copy GROUP COPY", _KAFKACTL),
    ("clone", "topics"): Mode(
        (), "mirror --from HOST:PORT --to HOST:PORT -t TOPIC --map-topic TOPIC=COPY --until-caught-up", _KAFKACTL
    ),
}  # fmt: skip

_RECORDS = {
    **_KAFKACTL, "-n=": "-n {}", "-b=": "-b {}", "-t=": "{}", "--topic=": "{}", "-f": "--follow", "-p=": "-p {}", "-e": "",
}  # fmt: skip
_TAIL = {**_RECORDS, "-n=": "--tail {}"}
_PLAIN = {**_KAFKACTL, "-b=": "-b {}"}
_CHECK = Mode((), "cluster describe", _PLAIN)
_COPY = Mode(
    (), "mirror --from HOST:PORT --to HOST:PORT -t TOPIC --map-topic TOPIC=COPY --until-caught-up", _PLAIN
)
_WORDS: dict[str, Mode] = {
    "head": Mode((), "consume TOPIC -n 10", _RECORDS),
    "tail": Mode((), "consume TOPIC --tail 10", _TAIL),
    "count": Mode((), "consume TOPIC --count", _RECORDS),
    "wc": Mode((), "consume TOPIC --count", _RECORDS),
    "grep": Mode((), "consume -e --grep v:REGEX TOPIC", _RECORDS),
    "peek": Mode((), "groups describe GROUP --peek 1", _PLAIN),
    "status": _CHECK,
    "health": _CHECK,
    "info": _CHECK,
    "ping": Mode((), "doctor", _PLAIN),
    "check": Mode((), "doctor", _PLAIN),
    "valid": Mode((), "doctor", _PLAIN),
    "connect": Mode((), "doctor", _PLAIN),
    "log-dirs": Mode((), "cluster describe --log-dirs", _PLAIN),
    "logdirs": Mode((), "cluster describe --log-dirs", _PLAIN),
    "quorum": _CHECK,
    "features": Mode((), "cluster describe --features", _PLAIN),
    "leader-election": Mode((), "elect-leaders", _PLAIN),
    "elect-leader": Mode((), "elect-leaders", _PLAIN),
    "cp": _COPY,
    "copy": _COPY,
    "clone": _COPY,
    "purge": Mode((), "topics trim TOPIC --before latest", _PLAIN),
    "truncate": Mode((), "topics trim TOPIC --before latest", _PLAIN),
    "empty": Mode((), "topics trim TOPIC --before latest", _PLAIN),
    "export": Mode((), "consume TOPIC -e -o ndjson", _PLAIN),
    "dump": Mode((), "consume TOPIC -e -o ndjson", _PLAIN),
    "backup": Mode((), "consume TOPIC -e -o ndjson", _PLAIN),
    "import": Mode((), "produce TOPIC -i ndjson FILE", _PLAIN),
    "restore": Mode((), "produce TOPIC -i ndjson FILE", _PLAIN),
    "partitions": Mode((), "topics describe TOPIC", _PLAIN),
    "consumergroup": Mode((), "groups list", _PLAIN),
    "share-groups": Mode((), "groups list --type share", _PLAIN),
    "share-group": Mode((), "groups list --type share", _PLAIN),
    "context": Mode((), "profile list", _PLAIN),
    "contexts": Mode((), "profile list", _PLAIN),
    "ctx": Mode((), "profile list", _PLAIN),
    "metadata": Mode((), "cluster describe", {**_PLAIN, "--section=": "", "--ids": "", "-i": "", "--internal": "", "-d": "", "--detailed": ""}),
    "fake": Mode((), "sandbox up", {**_PLAIN, "--ports=": NOTHING}),
    "myconfig": Mode((), "profile list", _PLAIN),
    "generate": Mode((), "completion SHELL", _PLAIN),
}  # fmt: skip
"""By a word with which people begin."""
_TWO_WORDS: dict[str, Mode] = {
    "partitions reassign": Mode((), "reassign plan --topic TOPIC FILE", _PLAIN),
    "partition reassign": Mode((), "reassign plan --topic TOPIC FILE", _PLAIN),
    "context use": Mode((), "profile use NAME", _PLAIN),
    "ctx use": Mode((), "profile use NAME", _PLAIN),
    "context add": Mode((), "profile add NAME -b HOST:PORT", _PLAIN),
    "share-group describe": Mode((), "groups describe GROUP", {**_PLAIN, "--section=": ""}),
    "share-group list": Mode((), "groups list --type share", {**_PLAIN, "-f=": "--state {}"}),
    "share-group delete": Mode((), "groups delete GROUP", _PLAIN),
    "logdirs describe": Mode(
        (), "cluster describe --log-dirs",
        {**_PLAIN, "-b=": NOTHING, "--broker=": NOTHING, "-H": "", "--human-readable": "", "--sort-by-size": NOTHING,
         "--aggregate-into=": NOTHING},
    ),
    "features describe": Mode((), "cluster describe --features", _PLAIN),
    "share-group seek": Mode((), ""),
    "share-group offset-delete": Mode((), ""),
    "logdirs alter": Mode((), ""),
    "features update": Mode((), ""),
    "features upgrade": Mode((), ""),
    "features downgrade": Mode((), ""),
    "client-metrics list": Mode((), ""),
    "client-metrics describe": Mode((), ""),
    "client-metrics alter": Mode((), ""),
    "dtoken create": Mode((), ""),
    "dtoken describe": Mode((), ""),
    "dtoken renew": Mode((), ""),
    "dtoken expire": Mode((), ""),
    "admin elect-leaders": Mode((), "elect-leaders", {**_PLAIN, "--all-partitions": "", "--unclean": "--unclean", "--dry-run": "--dry-run"}),
    "misc list-offsets": Mode((), "topics offsets TOPIC", {**_PLAIN, "--committed": ""}),
    "misc api-versions": Mode((), "doctor", {**_PLAIN, "-v=": ""}),
    "misc probe-version": Mode((), "doctor", _PLAIN),
    "misc errcode": Mode((), ""),
    "misc errtext": Mode((), ""),
    "misc raw-req": Mode((), ""),
    "misc offset-for-leader-epoch": Mode((), ""),
    "misc gen-autocomplete": Mode((), "completion bash", {**_PLAIN, "-k=": ""}),
    "myconfig use": Mode((), "profile use NAME", _PLAIN),
    "security role": Mode((), ""),
    "registry schema": Mode((), ""),
    "connect run": Mode((), ""),
    "transform list": Mode((), ""),
    "cloud login": Mode((), ""),
    "debug bundle": Mode((), ""),
    "generate shell-completion": Mode((), "completion SHELL", _PLAIN),
}  # fmt: skip
"""By the first two words; an empty line where kcli has no such thing."""
_OF_CLUSTER: dict[str, Mode] = {
    "logdirs describe": _TWO_WORDS["logdirs describe"]._replace(
        options={**_TWO_WORDS["logdirs describe"].options, "--topics=": NOTHING}
    ),
    "txn list": Mode((), "txn list", _PLAIN),
    "txn describe": Mode((), "txn describe ID", _PLAIN),
    "txn describe-producers": Mode((), "txn describe --topic TOPIC", {
        **_PLAIN, "-t=": "--topic {}", "--topics=": "--topic {}", "-p=": "-p {}", "--partitions=": "-p {}", "--all": NOTHING,
    }),
    "quotas describe": Mode((), "quotas list", {
        **_PLAIN, "--name=": "{=}", "--any=": NOTHING, "--default=": NOTHING, "--strict": NOTHING,
    }),
    "quotas alter": Mode((), "quotas alter", {
        **_PLAIN, "--name=": "{=}", "--default=": NOTHING, "--add=": "--set {}", "--delete=": "--unset {}", "--dry": "--dry-run",
    }),
    "quotas import": Mode((), ""),
    "partitions list": Mode((), "topics describe TOPIC", {**_PLAIN, "-a": ""}),
    "partitions move": Mode((), "reassign plan --topic TOPIC FILE", {**_PLAIN, "-p=": NOTHING}),
    "partitions move-status": Mode((), "reassign status", _PLAIN),
    "partitions move-cancel": Mode((), "reassign cancel --topic TOPIC", _PLAIN),
    "partitions transfer-leadership": Mode((), "elect-leaders", {**_PLAIN, "--partition=": NOTHING}),
    "partitions balancer-status": Mode((), ""),
    "storage mount": Mode((), ""),
    "brokers decommission": Mode((), ""),
}  # fmt: skip
"""Behind ``cluster``, as rpk's lines have them."""
_PREFIXES = frozenset({"admin", "adm", "security"})
"""Words before a noun: ``security acl list``, ``admin topic list``."""

_PLACEHOLDER = re.compile(r"\b(TOPIC|GROUP|COPY|NAME|ID|FILE|BROKER|SHELL|REGEX)\b")


class Translation(NamedTuple):
    """``line``: what to type, empty where kcli has no such thing. ``lacking``: options without a counterpart."""

    line: str
    lacking: tuple[str, ...] = ()


def of_script(name: str, words: Sequence[str]) -> Translation | None:
    """The line for one of Kafka's scripts, called ``name`` with these words; None for another name."""
    modes = _SCRIPTS.get(re.sub(r"\.(sh|bat)$", "", name))
    if modes is None:
        return None
    apart = [part for word in words for part in (word.split("=", 1) if word.startswith("--") else [word])]
    mode = next((one for one in modes if all(_has(apart, need) for need in one.needs)), None)
    return translated(mode, apart) if mode is not None and mode.command else Translation("")


def of_words(name: str, words: Sequence[str]) -> Translation | None:
    """The line for one that begins with a word of another tool; None for other words."""
    mode = _TWO_WORDS.get(" ".join((name, *words[:1])))
    if mode is not None:
        return translated(mode, words[1:]) if mode.command else Translation("")
    if name in _PREFIXES and len(words) > 1:
        return of_verb(words[1], [words[0], *words[2:]])
    mode = _WORDS.get(name)
    if mode is None or (name in _VERBS and words and words[0] in _NOUNS):
        return of_verb(name, words)
    return translated(mode, words)


def of_cluster(name: str, words: Sequence[str]) -> Translation | None:
    """The line for one of rpk that begins with ``cluster`` and these words; None for others."""
    mode = _OF_CLUSTER.get(" ".join((name, *words[:1])))
    if mode is None:
        return None
    return translated(mode, words[1:]) if mode.command else Translation("")


def of_verb(verb: str, words: Sequence[str]) -> Translation | None:
    """The line for one that begins with a verb, as kafkactl's do: ``get topics``, ``describe topic orders``."""
    place = next((index for index, word in enumerate(words) if word in _NOUNS), None)
    if place is None or verb not in _VERBS:
        return None
    mode = _VERB_FIRST.get((_VERBS[verb], _NOUNS[words[place]]))
    return translated(mode, [*words[:place], *words[place + 1 :]]) if mode is not None else None


def of_kcat(mode: str, words: Sequence[str]) -> Translation:
    """The line for one of kcat, ``-t orders -C -e``; ``mode`` is the option that says what it does."""
    chosen = _KCAT[mode]
    if mode == "-L" and any(word.startswith("-t") for word in words):
        chosen = Mode((), "topics describe TOPIC", {**chosen.options, "-t=": "{}"})
    return translated(chosen, _apart(words, chosen.options))


def translated(mode: Mode, words: Sequence[str]) -> Translation:
    """The line of a mode, with the arguments and options of these words."""
    arguments: list[str] = []
    options: list[str] = []
    lacking: list[str] = []
    left = list(words)
    while left:
        word = left.pop(0)
        name, sign, value = word.partition("=")
        if word in mode.options and f"{word}=" not in mode.options:
            text = mode.options[word]
        elif f"{name}=" in mode.options and (sign or (left and not left[0].startswith("--"))):
            value = value if sign else left.pop(0)
            if f"{name}={value[:2]}" in mode.options and value[1:2] == "@":
                name, value = f"{name}={value[:2]}", value[2:]  # kcat's s@TIME and e@TIME
            text = _filled(
                mode.options.get(f"{name}={value}", mode.options.get(f"{name}=", mode.options.get(name, ""))),
                value,
            )
        elif name in mode.options:
            text = mode.options[name]
        else:
            text = shlex.quote(word) if not word.startswith("-") else NOTHING
        if text == NOTHING:
            lacking.append(name)
        elif text:
            (options if text.startswith("-") else arguments).append(text)
    command = _without(mode.command.split(), {text.split()[0] for text in options})
    for argument in arguments:
        command = _with_argument(command, argument)
    return Translation(" ".join(("kcli", *command, *options)), tuple(dict.fromkeys(lacking)))


def _with_argument(command: list[str], argument: str) -> list[str]:
    """In the place of the first placeholder, wherever it is said; else behind the rest."""
    first = next((found[0] for word in command if (found := _PLACEHOLDER.search(word))), "")
    if not first:
        return [*command, argument]
    return [re.sub(rf"\b{first}\b", argument.replace("\\", r"\\"), word) for word in command]


def _without(command: list[str], given: set[str]) -> list[str]:
    """The mode's own words, less the options that the line has itself (and their values)."""
    kept: list[str] = []
    skip = False
    for word in command:
        if skip and not word.startswith("-"):
            continue
        skip = word in given
        if not skip:
            kept.append(word)
    return kept


def _filled(text: str, value: str) -> str:
    if "{,}" in text:
        parts = re.split(r",(?![^\[]*\])", value)
        return " ".join(text.replace("{,}", shlex.quote(part)) for part in parts)
    if text == "{=}":  # rpk's and kcl's user=NAME, client-id=NAME
        kind, _, name = value.partition("=")
        return f"--{kind} {shlex.quote(name)}"
    if "{:}" in text:
        return text.replace("{:}", shlex.quote(value.partition(":")[0]))
    if "'" in text:
        return text.replace("{}", value.replace("'", ""))
    if text.startswith("^"):
        return shlex.quote(text.replace("{}", value))
    return text.replace("{}", shlex.quote(value))


def _has(words: Sequence[str], need: str) -> bool:
    return any(word.startswith(need[:-1]) if need.endswith("*") else word == need for word in words)


def _apart(words: Sequence[str], options: Mapping[str, str]) -> list[str]:
    """Short options as kcat reads them, one word each: ``-eC`` is ``-e -C``, ``-c5`` is ``-c 5``."""
    found: list[str] = []
    for word in words:
        left = word[1:] if re.match(r"-[A-Za-z]", word) else ""
        if not left:
            found.append(word)
        while left:
            flag, left = f"-{left[0]}", left[1:]
            found.append(flag)
            if f"{flag}=" in options and flag not in options:
                found += [left] if left else []
                left = ""
    return found
