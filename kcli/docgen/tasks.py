"""What people want to do, each with the lines that do it: for `kcli help tasks`, `kcli help WORDS` and the search. Data.

The lines are typed as they are on a sandbox that has a topic ``orders`` and a group ``billing``. Loaded only where they
are shown or searched.
"""

from collections.abc import Iterator

from kcli.core.classes import NamedTuple


class Task(NamedTuple):
    """``title``: what is wanted, as somebody asks for it; ``lines`` to type; ``also``: other words for it."""

    title: str
    lines: tuple[str, ...]
    also: str = ""


TASKS: dict[str, tuple[Task, ...]] = {
    "Find and read records": (
        Task("read all records of a topic, then stop", ("kcli consume orders -e",), "cat dump exit"),
        Task("follow new records as they come", ("kcli consume orders --offset latest",), "tail live watch"),
        Task(
            "show the last ten records",
            ("kcli consume orders --tail 10 -o table", "kcli consume orders --tail 10 --follow"),
            "newest latest",
        ),
        Task("show the first ten records", ("kcli consume orders -n 10 -o pretty",), "head limit oldest"),
        Task(
            "read a record by its partition and offset",
            ("kcli consume orders -p 0 --offset 5:6 -o table",),
            "one single",
        ),
        Task(
            "read the records between two times",
            ("kcli consume orders --since 2h --until 1h", "kcli consume orders --since today -e"),
            "since timestamp hour yesterday range",
        ),
        Task("find a record by its key", ("kcli consume orders --key k1 -e -o table",), "look up search"),
        Task(
            "search for a text in records",
            (
                "kcli consume orders -e --grep v:error -o table",
                "kcli consume orders -e --grep h:source=web --grep '!k:^test'",
            ),
            "find grep regex header filter",
        ),
        Task(
            "search by a field of JSON values",
            ("kcli consume orders -e --where 'value.total > 80 and value.status == \"late\"'",),
            "find filter where expression",
        ),
        Task(
            "print only some fields of records",
            (
                "kcli consume orders -e --select 'key,value.total as total,timestamp'",
                r"kcli consume orders -e -f '%p %o %k %v\n'",
            ),
            "select columns project format key header",
        ),
        Task(
            "count records",
            ("kcli consume orders --count", "kcli consume orders --count --by key --top 10"),
            "how many number size",
        ),
        Task(
            "see the last value of each key",
            ("kcli consume orders --latest-per-key -o table",),
            "latest current state compacted table",
        ),
        Task(
            "list the different values of a field",
            ("kcli consume orders --distinct value.status -e",),
            "unique",
        ),
        Task(
            "tell null from empty values",
            (r"kcli consume orders -e --null-marker NULL -f '%k\t%v\n'",),
            "tombstone deleted",
        ),
        Task(
            "wait in a test until a record arrives",
            ("kcli consume orders --key k1 --expect 1.. --within 10s",),
            "assert check expect smoke ci",
        ),
        Task(
            "query a topic by SQL",
            ("kcli query orders 'select value:status, count(*) from source group by all'",),
            "select join group duckdb",
        ),
    ),
    "Send records": (
        Task(
            "send one record",
            ("""kcli produce orders -k k1 --value '{"id":1}'""",),
            "produce publish write message value key",
        ),
        Task(
            "send a file, one record a line",
            ("kcli produce orders lines.txt", "kcli produce orders -K : keyed.txt"),
            "produce load key",
        ),
        Task(
            "send a csv file as JSON objects",
            ("kcli produce orders -i csv --key-from value.id orders.csv",),
            "table spreadsheet excel comma import load file columns",
        ),
        Task(
            "send records with headers",
            ("echo hello | kcli produce orders -H source=test -H trace=a1",),
            "header",
        ),
        Task(
            "send a tombstone for a key",
            ("kcli produce orders -k k1 --tombstone",),
            "delete null empty compacted",
        ),
        Task(
            "copy records to another topic exactly",
            ("kcli consume orders -e -o ndjson | kcli produce copy -i ndjson",),
            "clone duplicate cp same",
        ),
        Task(
            "keep the records of a topic in a file",
            (
                "kcli consume orders -e -o ndjson > orders.ndjson",
                "kcli produce copy -i ndjson orders.ndjson",
            ),
            "back up backup export dump restore import",
        ),
        Task(
            "send dead letters once more",
            ("kcli consume orders.dlq -e -o ndjson | kcli produce orders -i ndjson",),
            "dlq redrive replay retry",
        ),
    ),
    "Groups and their offsets": (
        Task(
            "see who reads and who writes this topic",
            ("kcli topics who orders", "kcli groups describe billing --members"),
            "consumers readers producers writers reader writer uses members group clients",
        ),
        Task("see how far a group is behind", ("kcli groups lag billing",), "lag late progress"),
        Task(
            "find out why a group is behind, slow or stuck",
            (
                "kcli groups why billing",
                "kcli txn list --topic orders",
                "kcli doctor --topic orders --group billing",
            ),
            "it lag hang stalled blocked consumer rebalance",
        ),
        Task(
            "skip a poison message",
            (
                "kcli groups describe billing --peek 1",
                "kcli groups rewind billing --topic orders:0 --to +1",
            ),
            "bad record stuck pill jump over advance",
        ),
        Task(
            "let a group read the last hour again",
            (
                "kcli groups rewind billing --topic orders --to @-1h --dry-run",
                "kcli groups rewind billing --topic orders --to @-1h",
            ),
            "replay reset rewind time yesterday reprocess",
        ),
        Task(
            "let a group read everything again",
            ("kcli groups rewind billing --topic orders --to earliest",),
            "replay reset beginning oldest reprocess",
        ),
        Task(
            "skip the backlog of a group",
            ("kcli groups rewind billing --topic orders --to latest",),
            "reset newest end jump",
        ),
        Task(
            "move the offsets of a group that is running",
            ("kcli groups rewind billing --topic orders --to @-10m --live",),
            "rewind reset active members",
        ),
        Task(
            "undo a rewind",
            ("kcli groups rewind --journal", "kcli groups rewind billing --undo"),
            "restore back mistake",
        ),
        Task(
            "create a group that starts at the end",
            ("kcli groups create reports -t orders --from latest",),
            "new offsets",
        ),
        Task(
            "keep the offsets of a group in a file",
            (
                "kcli groups export billing --file billing.csv",
                "kcli groups import billing.csv --group billing",
            ),
            "back up backup save restore",
        ),
        Task(
            "give a new group the offsets of another",
            ("kcli groups copy billing billing-v2",),
            "copy clone rename move",
        ),
        Task(
            "alert when a group falls behind",
            ("kcli groups lag billing --max-lag 1000 -q", "kcli groups lag billing --max-lag-time 5m -q"),
            "monitor check exit code limit",
        ),
        Task("delete a group", ("kcli groups delete billing",), "remove"),
    ),
    "Topics": (
        Task(
            "create a topic",
            ("kcli topics create orders --partitions 12 --config retention.ms=3600000",),
            "new add",
        ),
        Task(
            "copy a topic to a new name",
            ("kcli topics copy orders orders.v2 --dry-run", "kcli topics copy orders orders.v2"),
            "clone duplicate cp rename",
        ),
        Task("see how large topics are", ("kcli topics list --with-size",), "size bytes disk space"),
        Task(
            "see where partitions begin and end",
            ("kcli topics offsets orders",),
            "offsets watermark first last",
        ),
        Task(
            "see the settings of a topic and where they come from",
            ("kcli configs describe topics orders --all --origin",),
            "config configuration default",
        ),
        Task(
            "change the retention of a topic",
            ("kcli topics alter orders --set retention.ms=604800000",),
            "config setting alter set",
        ),
        Task("add partitions to a topic", ("kcli topics alter orders --partitions 24",), "more increase"),
        Task(
            "empty a topic",
            ("kcli topics trim orders --before latest --dry-run", "kcli topics trim orders --before latest"),
            "purge truncate clear delete records",
        ),
        Task("delete a topic", ("kcli topics delete orders", "kcli undo"), "remove drop"),
    ),
    "Cluster and access": (
        Task(
            "see whether the cluster is healthy",
            ("kcli cluster check", "kcli cluster describe", "kcli doctor"),
            "status ping health check broker offline under-replicated",
        ),
        Task(
            "know whether a broker may be restarted",
            ("kcli cluster check --if-stopped 2", "kcli cluster check --watch"),
            "stop rolling restart safe health gate upgrade maintenance",
        ),
        Task(
            "see how full the disks of brokers are", ("kcli cluster describe --log-dirs",), "size space usage"
        ),
        Task(
            "move replicas to other brokers",
            (
                "kcli reassign plan --topic orders moves.json",
                "kcli reassign run moves.json --throttle 50MB/s",
                "kcli reassign status moves.json",
            ),
            "reassign drain balance partitions replication factor",
        ),
        Task(
            "take a broker out of service",
            ("kcli brokers drain 3 --throttle 50MB/s --watch", "kcli brokers drain 3 --undo --watch"),
            "decommission remove drain empty evacuate leaders",
        ),
        Task(
            "move replicas to another disk of a broker",
            ("kcli brokers move-log-dir 1 --from /disk1 --to /disk2 --watch",),
            "log directory volume full jbod",
        ),
        Task(
            "give leadership back to preferred replicas", ("kcli elect-leaders",), "leader election balance"
        ),
        Task(
            "find transactions that block readers",
            ("kcli txn list", "kcli txn describe --topic orders"),
            "hanging transaction open stuck abort",
        ),
        Task(
            "let an application read a topic",
            ("kcli acls create --principal User:alice --consumer --topic orders --group billing",),
            "acl permission grant allow consumer",
        ),
        Task(
            "let an application write to a topic",
            ("kcli acls create --principal User:bob --producer --topic orders",),
            "acl permission grant allow producer app",
        ),
        Task(
            "keep topics, ACLs and quotas in files, and see where the cluster differs",
            ("kcli export --file cluster.yaml", "kcli diff cluster.yaml"),
            "export yaml declarative gitops backup drift compare settings configuration",
        ),
        Task(
            "see whether a user may read a topic",
            ("kcli acls check --principal User:alice --operation read --topic orders --group billing",),
            "acl permission check may can allowed denied alice write access",
        ),
        Task(
            "see what a user may do", ("kcli acls list --principal User:alice",), "acl permission rights who"
        ),
        Task(
            "create a user with a password",
            ("kcli sandbox up secure --secure", "kcli users set alice --profile sandbox:secure"),
            "scram credentials add login",
        ),
        Task(
            "give a job a delegation token instead of a password",
            ("kcli tokens create --hmac-file token.secret", "kcli tokens list"),
            "tokens scram login short-lived credentials renew expire",
        ),
        Task(
            "see whether the files of a broker's log are whole",
            ("kcli segments verify /data/kafka", "kcli segments verify /mnt/broker1 --compare /mnt/broker2"),
            "segments log disk corrupt checksum crc index damage recovery files directory dump-log kafka-dump-log",
        ),
        Task(
            "read what a broker's log files have, without the broker",
            ("kcli segments list /data/kafka", "kcli segments dump /data/kafka/orders-0 --records"),
            "segments log files offline kafka-dump-log dump disk metadata-shell metadata log acls configurations",
        ),
        Task(
            "see whether the controllers are well",
            ("kcli quorum describe", "kcli quorum describe --watch"),
            "quorum kraft controller voters observers leader epoch lag metadata majority",
        ),
        Task(
            "replace a controller",
            (
                "kcli quorum remove-controller 3",
                "kcli quorum add-controller 4 --endpoint controller-4:9093",
            ),
            "quorum kraft voter add remove majority dynamic",
        ),
        Task(
            "finish an upgrade of the cluster",
            (
                "kcli features list",
                "kcli features upgrade --release-version 4.4 --dry-run",
                "kcli features upgrade --release-version 4.4",
            ),
            "metadata.version feature level finalize release new version downgrade",
        ),
        Task(
            "see what brokers support",
            ("kcli brokers list", "kcli brokers api-versions --differences"),
            "api versions apis features listeners rack version upgrade",
        ),
        Task(
            "forget a broker that is gone",
            ("kcli brokers list", "kcli brokers unregister 4"),
            "unregister decommission remove dead fenced broker",
        ),
        Task(
            "change the log level of a broker",
            (
                "kcli configs alter broker-loggers 1 --set kafka.server.KafkaApis=DEBUG",
                "kcli configs alter broker-loggers 1 --unset kafka.server.KafkaApis",
            ),
            "logger loggers logging log4j debug trace",
        ),
        Task(
            "limit how much a client sends",
            ("kcli quotas alter --client-id etl --set producer_byte_rate=1MB/s",),
            "quota throttle rate noisy",
        ),
        Task(
            "see the schemas of a registry",
            ("kcli registry list", "kcli registry describe orders-value"),
            "schema registry subject subjects version avro protobuf confluent karapace apicurio",
        ),
        Task(
            "check and register a schema",
            (
                "kcli registry check orders-value order.avsc",
                "kcli registry register orders-value order.avsc",
            ),
            "schema registry compatible compatibility evolution register subject",
        ),
        Task(
            "find the topics that use a schema",
            ("kcli registry usage orders-value",),
            "schema registry subject id used consumers topics who",
        ),
        Task(
            "copy a schema registry",
            ("kcli registry export --profile prod | kcli registry import - --profile staging",),
            "schema registry export import migrate backup ids",
        ),
        Task(
            "take back a deletion",
            ("kcli undo", "kcli groups rewind --journal"),
            "undo restore mistake journal",
        ),
    ),
    "Copy, measure, watch": (
        Task(
            "copy a topic to another cluster",
            (
                "kcli mirror --from sandbox:default --to sandbox:other -t orders --until-caught-up --verify",
                "kcli mirror status --to sandbox:other",
            ),
            "mirror migrate replicate move",
        ),
        Task(
            "copy a topic within the cluster",
            (
                "kcli mirror --from sandbox:default --to sandbox:default -t orders --map-topic orders=copy "
                "--until-caught-up",
            ),
            "clone rename duplicate",
        ),
        Task(
            "measure how fast a cluster is",
            (
                "kcli topics create load --partitions 3",
                "kcli perf produce -t load --num-records 100000",
                "kcli perf consume -t load",
                "kcli perf e2e -t load --num-records 1000",
            ),
            "benchmark bench throughput latency performance",
        ),
        Task("watch groups, topics and brokers live", ("kcli top",), "screen monitor dashboard tui"),
        Task(
            "export lag to Prometheus",
            ("kcli exporter --listen 127.0.0.1:9308",),
            "metrics monitoring grafana",
        ),
    ),
    "This tool": (
        Task(
            "try kcli without a cluster",
            ("kcli sandbox up", "kcli topics create orders --partitions 3", "kcli sandbox down --delete"),
            "local kafka docker start test",
        ),
        Task(
            "keep the options of a cluster under a name",
            ("kcli profile add test -b localhost:9092", "kcli profile use test", "kcli config show --origin"),
            "context connect login bootstrap",
        ),
        Task(
            "find out why it does not connect", ("kcli doctor",), "error timeout tls sasl unreachable network"
        ),
        Task(
            "process lists in a script",
            ("kcli topics list -o name", "kcli groups lag -o json", "kcli schema GroupLagList"),
            "json jq awk csv output",
        ),
        Task("complete commands in the shell", ("kcli completion bash --install",), "tab bash zsh fish"),
    ),
}
"""By what they are about."""


def all_tasks() -> Iterator[Task]:
    """In the order of the page."""
    for tasks in TASKS.values():
        yield from tasks
