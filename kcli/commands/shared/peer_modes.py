"""Words and verbs with which lines of kafkactl, rpk, kcl, and of people, begin, and what they are in kcli. Data."""

from kcli.commands.shared.translation import NOTHING, Mode

_KAFKACTL = {"-o=": "-o {}", "-C=": NOTHING, "-V": "-v", "--context=": "--profile {}"}
_ACL_FLAGS = {
    **_KAFKACTL, "--allow-principal=": "--principal {}", "--deny-principal=": "--deny --principal {}",
    "--allow-host=": "--host {}", "--deny-host=": "--host {}", "--resource-pattern-type=": "--pattern {}",
    "--dry": "--dry-run", "--no-confirm": "--yes", "--topic=": "--topic {}", "--operation=": "--operation {}",
    "--principal=": "--principal {}",
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

NOUNS = {
    "topic": "topics", "topics": "topics", "group": "groups", "groups": "groups", "consumer-group": "groups",
    "consumer-groups": "groups", "consumergroup": "groups", "consumergroups": "groups", "cg": "groups",
        "broker": "brokers",
    "brokers": "brokers", "node": "brokers", "nodes": "brokers", "acl": "acls", "acls": "acls",
    "access-control-list": "acls", "user": "users", "users": "users", "offset": "offsets", "offsets": "offsets",
    "consumer-group-offset": "offsets", "cgo": "offsets", "partition": "partitions", "partitions": "partitions",
    "records": "records", "config": "configs", "configs": "configs", "quota": "quotas", "quotas": "quotas",
    "cluster": "cluster", "context": "profile", "contexts": "profile", "profile": "profile",
}  # fmt: skip
VERBS = {
    "get": "list", "list": "list", "ls": "list", "describe": "describe", "show": "describe", "create": "create",
    "add": "create", "alter": "alter", "update": "alter", "delete": "delete", "remove": "delete", "rm": "delete",
    "reset": "reset", "clone": "clone", "copy": "clone", "cp": "clone",
}  # fmt: skip
VERB_FIRST: dict[tuple[str, str], Mode] = {
    ("list", "topics"): Mode((), "topics list", _TOPIC_FLAGS),
    ("list", "groups"): Mode((), "groups list", {**_KAFKACTL, "-t=": "--topic {}", "--topic=": "--topic {}"}),
    ("list", "brokers"): Mode((), "brokers list", _KAFKACTL),
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
    ("describe", "brokers"): Mode((), "configs describe brokers BROKER", {**_TOPIC_FLAGS, "--all-configs": "--all",
        "-a": "--all"}),
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
    ("alter", "brokers"): Mode((), "configs alter brokers BROKER", {**_KAFKACTL, "--config=": "--set {}",
        "-c=": "--set {}", "--validate-only": "--dry-run", "-v": "--dry-run"}),
    ("alter", "partitions"): Mode((), "reassign plan --topic TOPIC FILE", {**_KAFKACTL, "--replicas=": NOTHING,
        "-r=": NOTHING, "--validate-only": ""}),
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
    **_KAFKACTL, "-n=": "-n {}", "-b=": "-b {}", "-t=": "{}", "--topic=": "{}", "-f": "--follow", "-p=": "-p {}",
    "-e": "",
}  # fmt: skip
_TAIL = {**_RECORDS, "-n=": "--tail {}"}
_PLAIN = {**_KAFKACTL, "-b=": "-b {}"}
_CHECK = Mode((), "cluster describe", _PLAIN)
_COPY = Mode(
    (), "mirror --from HOST:PORT --to HOST:PORT -t TOPIC --map-topic TOPIC=COPY --until-caught-up", _PLAIN
)
WORDS: dict[str, Mode] = {
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
    "leader-election": Mode((), "elect-leaders", _PLAIN),
    "elect-leader": Mode((), "elect-leaders", _PLAIN),
    "cp": _COPY,
    "copy": _COPY,
    "clone": _COPY,
    "purge": Mode((), "topics trim TOPIC --before latest", _PLAIN),
    "truncate": Mode((), "topics trim TOPIC --before latest", _PLAIN),
    "empty": Mode((), "topics trim TOPIC --before latest", _PLAIN),
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
    "metadata": Mode((), "cluster describe", {**_PLAIN, "--section=": "", "--ids": "", "-i": "", "--internal": "",
        "-d": "", "--detailed": ""}),
    "fake": Mode((), "sandbox up", {**_PLAIN, "--ports=": NOTHING}),
    "myconfig": Mode((), "profile list", _PLAIN),
    "generate": Mode((), "completion SHELL", _PLAIN),
}  # fmt: skip
"""By a word with which people begin."""
TWO_WORDS: dict[str, Mode] = {
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
    "client-metrics list": Mode((), "configs list client-metrics", _PLAIN),
    "client-metrics describe": Mode((), "configs describe client-metrics NAME", _PLAIN),
    "client-metrics alter": Mode((), "configs alter client-metrics NAME", _PLAIN),
    "dtoken create": Mode((), "tokens create --hmac-file FILE", {**_PLAIN, "--renewer=": "--renewer User:{}"}),
    "dtoken describe": Mode((), "tokens list", {**_PLAIN, "--owner=": "--owner User:{}"}),
    "dtoken renew": Mode((), "tokens renew ID", {**_PLAIN, "--hmac=": ""}),
    "dtoken expire": Mode((), "tokens expire ID", {**_PLAIN, "--hmac=": ""}),
    "admin elect-leaders": Mode((), "elect-leaders", {**_PLAIN, "--all-partitions": "", "--unclean": "--unclean",
        "--dry-run": "--dry-run"}),
    "misc list-offsets": Mode((), "topics offsets TOPIC", {**_PLAIN, "--committed": ""}),
    "misc api-versions": Mode((), "brokers api-versions", {**_PLAIN, "-v=": ""}),
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
OF_CLUSTER: dict[str, Mode] = {
    "logdirs describe": TWO_WORDS["logdirs describe"]._replace(
        options={**TWO_WORDS["logdirs describe"].options, "--topics=": NOTHING}
    ),
    "txn list": Mode((), "txn list", _PLAIN),
    "txn describe": Mode((), "txn describe ID", _PLAIN),
    "txn describe-producers": Mode((), "txn describe --topic TOPIC", {
        **_PLAIN, "-t=": "--topic {}", "--topics=": "--topic {}", "-p=": "-p {}", "--partitions=": "-p {}",
        "--all": NOTHING,
    }),
    "quotas describe": Mode((), "quotas list", {
        **_PLAIN, "--name=": "{=}", "--any=": NOTHING, "--default=": NOTHING, "--strict": NOTHING,
    }),
    "quotas alter": Mode((), "quotas alter", {
        **_PLAIN, "--name=": "{=}", "--default=": NOTHING, "--add=": "--set {}", "--delete=": "--unset {}",
        "--dry": "--dry-run",
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
PREFIXES = frozenset({"admin", "adm", "security"})
"""Words before a noun: ``security acl list``, ``admin topic list``."""
