"""The pages on concepts: for ``kcli help offsets``, the manual page kcli-offsets(7), and other renderings. Data.

A page is a sequence of sections. A line of a section is a paragraph, a term with what it means, or an ``Example``, which
may have several lines to type.
"""

from collections.abc import Sequence

from kcli.core.classes import NamedTuple
from kcli.docgen.describe import Example
from kcli.docgen.environment import ENVIRONMENT, FILES
from kcli.docgen.exit_codes import EXIT_CODES
from kcli.docgen.tasks import TASKS
from kcli.docgen.topics import CONCEPTS

Line = str | tuple[str, str] | Example


class Section(NamedTuple):
    """A part of a concept; ``heading`` is empty for the first one."""

    heading: str
    lines: Sequence[Line]


class Concept(NamedTuple):
    """``name`` is the word after ``kcli help``."""

    name: str
    summary: str
    sections: Sequence[Section]

    @property
    def examples(self) -> list[Example]:
        """All examples."""
        return [line for section in self.sections for line in section.lines if isinstance(line, Example)]


def concept(name: str) -> Concept:
    """The page of one of ``CONCEPTS``."""
    return Concept(name, CONCEPTS[name], _SECTIONS[name])


_OFFSETS = (
    Section(
        "",
        (
            "An offset is the number of a record in its partition. --offset of `consume`, `mirror` and `pipeline` "
            "reads a start or a range, --to of `groups rewind` a target; each partition has its own result.",
        ),
    ),
    Section(
        "Positions",
        (
            ("earliest", "the first record that is still there; also beginning, start, oldest"),
            ("latest", "after the last record; also end, newest"),
            ("stored", "what the group has committed; also current"),
            ("max-timestamp", "the first record with the newest timestamp (Kafka 3.0)"),
            ("earliest-local", "the first record on the leader's own disk (Kafka 3.6)"),
            ("latest-tiered", "the last record in remote storage (Kafka 3.9)"),
            ("earliest-pending-upload", "the first record that remote storage does not have yet (Kafka 4.2)"),
            ("1000", "this offset"),
            ("+1000", "this many offsets after the start; of rewind: after the committed offset"),
            ("-1000", "this many offsets before the end; of rewind: before the committed offset"),
            ("@-1h, 2026-11-21T10:00Z", "the first record that is not older: see `kcli help times`"),
        ),
    ),
    Section(
        "Ranges",
        (
            "The end is exclusive, and is waited for unless -e is given.",
            ("100:200", "from 100 to 199; also 100..200, but not 100-200"),
            ("start+5:end-5", "all but the first five and the last five of each partition"),
            (":200", "from the earliest on"),
            ("@-2h:@-1h", "between two times; where colons are ambiguous, write .. instead"),
        ),
    ),
    Section(
        "Limits",
        (
            "Offsets have gaps where compaction has deleted records and where transactions end, so a range may have "
            "fewer records than offsets. An offset before the start or after the end is out of range: exit code 5, "
            "unless --on-out-of-range is earliest or latest. It is an error (exit code 7) if a broker does not know a "
            "special offset, or if nothing of a partition is in remote storage.",
        ),
    ),
    Section(
        "Examples",
        (
            Example("kcli consume orders --offset -10 -e", "the last ten of each partition"),
            Example("kcli consume orders --tail 10", "the last ten of all partitions together"),
            Example("kcli consume orders --offset 5:9", "four offsets of each partition"),
            Example("kcli groups rewind g --to -100", "a hundred records back"),
            Example("kcli topics offsets orders", "where each partition begins and ends"),
        ),
    ),
)

_TIMES = (
    Section(
        "",
        (
            "--since and --until accept an instant; so does every option that accepts an offset, with @ in front. A time "
            "means the first record whose timestamp is not older.",
        ),
    ),
    Section(
        "Instants",
        (
            ("2026-11-21T10:00Z", "a date, or a date with a time; Z or +01:00 is the zone"),
            ("2026-11-21", "the beginning of a day"),
            ("10:30", "this time today"),
            ("now, today, yesterday", "days begin at midnight"),
            ("3h, @-3h", "three hours ago"),
            ("@1732180000000", "an epoch: the time since 1970, in s, ms, µs or ns by its digits"),
            ("1732180000, 90", "a number alone is an epoch too: 90 is in 1970, 90s is 90 seconds ago"),
            "A number that would be a time more than 100 years away is refused.",
        ),
    ),
    Section(
        "Zones",
        (
            "A time without a zone is local; plans show it in UTC as well. `groups rewind` without a terminal refuses "
            "such a time, because a script may run elsewhere; --to-datetime is UTC then, as in Kafka's script. Of a time "
            "that is there twice when clocks are set back the first is taken, and one that they skip is moved forward; "
            "both are said.",
        ),
    ),
    Section(
        "Durations",
        (
            ("90s, 5m, 1h30m, 2d", "units are ms, s, m, h, d and w"),
            ("500ms", "milliseconds"),
            ("PT1H30M", "as in ISO 8601"),
            ("90", "a number without a unit is seconds (but an epoch where an instant is expected)"),
        ),
    ),
    Section(
        "Examples",
        (
            Example("kcli consume t --since 3h -e", "the last three hours"),
            Example("kcli consume t --since 10:00 --until 10:30", "half an hour of today"),
            Example("kcli groups rewind g --to @-1h", "an hour back"),
            Example("kcli groups lag g --max-lag-time 5m", "a limit that is a duration"),
        ),
    ),
)

_FILTERS = (
    Section(
        "",
        (
            "A record is printed if all filters of the line match it; -n counts these. --key reads one partition, --grep "
            "searches bytes, --where is an expression on decoded records.",
        ),
    ),
    Section(
        "--grep",
        (
            ("v:late, k:^k1$", "a regular expression in the value, in the key"),
            ("h:trace=^a1, t:x", "in a header, in the name of the topic"),
            ("!k:^test", "records that it does not match"),
        ),
    ),
    Section(
        "--where",
        (
            "The fields are key, value (parsed JSON), headers, topic, partition, offset and timestamp.",
            ("value.a > 80", "numbers, true, false and null as they are"),
            (
                "value.c == 'DE'",
                "text in single quotes; in double quotes too, but after a dot and inside [?…]",
            ),
            ('value."unit price"', "a name with other signs than letters, digits and _"),
            ("value.items[?qty > 5]", "lists; any JMESPath"),
            ("in ('a', 'b')", "one of these; also not in, and in value.list"),
            ("key =~ '^k[0-9]'", "a regular expression"),
            ("and, or, not", "not before a comparison negates it"),
            ("timestamp >= '3h'", "a time, as of --since"),
            ("to_number(headers.n) > 1", "headers and keys are text"),
        ),
    ),
    Section(
        "Fields",
        (
            "--select, --distinct and --count --by name fields of what the filters leave. Other fields than these are "
            "refused; a path that a record lacks is null, and one that no record has is named by a warning.",
            ("key, value, headers", "also topic, partition, offset and timestamp"),
            ("value.customer.id", "a member of the JSON value; headers.trace is one header"),
            ("value.total as total", "another name, of --select"),
            ("hour", "the hour of the timestamp, of --count --by"),
        ),
    ),
    Section(
        "Types",
        (
            "A number compared with text is refused if the expression shows it, else said once: with < and the like the "
            "record is skipped, with == they are unequal. What is missing is null, and no error.",
        ),
    ),
    Section(
        "Examples",
        (
            Example("kcli consume t -e --grep v:error --grep '!k:^test'", "both have to match"),
            Example("kcli consume t -e --where 'value.status >= 500 and key'", "by members of JSON values"),
            Example("kcli consume t -e --where 'timestamp > \"1h\"' --key k1", "of one key, the last hour"),
            Example(
                "kcli consume t --where 'value.total > 80' --count --by value.country",
                "how many match, by a field",
            ),
        ),
    ),
)

_FORMATS = (
    Section("", ("Records are bytes: formats and serdes decide how they are printed and read.",)),
    Section(
        "consume -o",
        (
            ("value", "the value and a newline; the default"),
            ("table", "columns for people"),
            (
                "ndjson",
                "all of a record; produce -i ndjson restores it, and the partition with --partitioner manual",
            ),
            ("json", "the same in one document, which produce does not read"),
            ("csv", "with a header line"),
            ("raw", "four bytes of length, then the value; -1 is null"),
            ("hex", "a dump"),
            ("kcat", "as kcat -J prints it"),
        ),
    ),
    Section(
        "consume -f",
        (
            ("%t %p %o", "topic, partition, offset"),
            ("%k %v %s", "key, value, value"),
            ("%K %V %S", "their lengths, -1 for null"),
            ("%R", "the length of the value in four bytes"),
            ("%T %d", "timestamp in ms"),
            ("%d{strftime[%H:%M]}", "the time in UTC"),
            ("%h %H", "headers, and how many"),
            ("%h{NAME}", "the value of one header, the last of that name"),
            ("%h{%k=%v }", "each header"),
            ("%e %x %y", "leader epoch, producer id and epoch"),
            ("%v{base64}", "encoded; also {hex} and {json}, also of %k"),
            (r"\n \t \xNN", "escapes; no newline is added"),
        ),
    ),
    Section(
        "produce -i",
        (
            ("lines", "one record a line; -K splits off the key; the default"),
            ("ndjson", "what consume -o ndjson writes"),
            ("raw, kcat", "as those outputs"),
            (
                "csv",
                "as consume -o csv; a JSON object a row where no column of the header line is one of those",
            ),
            (
                "csv-objects",
                "a JSON object of each row, whatever its columns; all cells are text, empty ones null",
            ),
            ("file", "each FILE is a record"),
            ("failed", "what --failed has collected"),
        ),
    ),
    Section("Serdes", ("-s decodes and encodes keys and values: see `kcli help serdes`.",)),
    Section(
        "Examples",
        (
            Example(r"kcli consume t -e -f '%o %k=%v\n'", "offset, key and value"),
            Example("kcli consume t -e -o ndjson", "everything, as JSON lines"),
            Example("kcli produce t -K : lines.txt", "the key precedes a colon"),
            Example("kcli consume t -s value=avro -e", "Avro, by a registry"),
        ),
    ),
)

_SERDES = (
    Section(
        "",
        (
            "A key and a value are bytes. -s says what they are: `consume` decodes them, `produce` encodes what it "
            "reads. -s SERDE applies to both, -s key=SERDE and -s value=SERDE to one of them. Null stays null.",
        ),
    ),
    Section(
        "Without a schema",
        (
            ("str", "text in UTF-8"),
            ("json", "JSON; numbers of any length are exact"),
            ("short, int, long", "integers of 2, 4 and 8 bytes, as Java's serializers write them"),
            ("float, double", "numbers of 4 and 8 bytes"),
            ("hex, base64", "any bytes, as text"),
            (
                "consumer_offsets",
                "an internal topic; also transaction_state, share_group_state, cluster_metadata",
            ),
        ),
    ),
    Section(
        "With a schema",
        (
            ("avro", "by the schema registry; avro:file=order.avsc without one"),
            ("protobuf", "by the registry; protobuf:file=shop.proto,message=shop.Order"),
            ("jsonschema", "JSON with the id of its schema; writing validates"),
            ("schema.registry.url", "the address of the registry: -X, or an option of a profile"),
            "Reading uses the schema that the record names, writing the latest one of the subject TOPIC-value or "
            "TOPIC-key; avro:subject=NAME,version=3 chooses another. Nothing is registered. The libraries come with "
            "`pip install 'kcli-kafka[schemas]'`.",
        ),
    ),
    Section(
        "What cannot be decoded",
        (
            "It is printed as its bytes, counted on stderr with the first reason, and changes nothing about the exit "
            "code. A line that cannot be encoded is not sent: --failed FILE collects it, and the exit code is 6.",
        ),
    ),
    Section(
        "Examples",
        (
            Example(
                "kcli consume t -s key=long -s value=json -e -o ndjson",
                "numbers as keys, JSON within JSON lines",
            ),
            Example(
                "kcli consume t -s value=avro -X schema.registry.url=http://registry:8081 -e",
                "Avro, by a registry",
            ),
            Example("kcli produce t -s value=avro:file=order.avsc a.json", "Avro, by a file"),
            Example("kcli consume t --key 4711 -s key=long -e", "a key of eight bytes"),
            Example("kcli consume __consumer_offsets -e -o ndjson", "an internal topic, decoded without -s"),
        ),
    ),
)

_GROUPS = (
    Section(
        "",
        (
            "A group is consumers that share the partitions of topics. It commits, for each partition, the offset of the "
            "next record to read. `kcli groups --help` is the help of the commands.",
        ),
    ),
    Section(
        "Types",
        (
            ("classic, consumer", "members read partitions and commit; consumer is the protocol of KIP-848"),
            ("share", "members share the records of a partition (KIP-932); no commits, but a start offset"),
            ("streams", "applications of Kafka Streams (KIP-1071)"),
        ),
    ),
    Section(
        "States",
        (
            ("stable", "members have their partitions"),
            ("rebalancing", "partitions are being given to other members; brokers name several such states"),
            ("empty", "no members, but commits: what is moved freely"),
            ("dead", "nothing is left of it"),
        ),
    ),
    Section(
        "Lag",
        (
            "Lag in records is the end of the log less the commit; lag in time is the age of the first unread record. "
            "VERDICT judges it: ok, slow, stalled, stopped, empty, rebalancing, rewound, held (by an open transaction), "
            "unread or loss risk. Some of them take several samples: --watch.",
        ),
    ),
    Section(
        "Moving offsets",
        (
            "`groups rewind` shows a plan, asks, keeps the old offsets, commits and reads back. Brokers refuse commits "
            "from outside while a group has members: exit code 7.",
            ("--dry-run", "the plan only"),
            ("--live", "hold a running group back for a moment, and see whether the offsets stay"),
            ("--wait", "wait until its members have left"),
            ("--to +1", "one record further: over a record that cannot be read"),
            ("--to @-1h", "to the first record of the last hour; see `kcli help offsets`"),
            ("--undo", "what was before"),
        ),
    ),
    Section(
        "Reading as a member",
        (
            "`consume -g` begins at the commits, or at the earliest record, and commits what was written to stdout. "
            "Without -g nothing joins a group and nothing is committed.",
        ),
    ),
    Section(
        "Examples",
        (
            Example("kcli groups list --topic orders", "who reads a topic"),
            Example("kcli groups lag billing", "how far it is behind, by partition"),
            Example("kcli groups describe billing --members", "who has which partitions"),
            Example("kcli groups describe billing --peek 1", "the records around its commits"),
            Example(
                "kcli groups rewind billing --topic orders --to @-1h --dry-run", "what a rewind would do"
            ),
            Example("kcli groups export --all --format ndjson --file all.ndjson", "all offsets, in a file"),
        ),
    ),
)

_MIRROR = (
    Section(
        "",
        (
            "A mirror copies topics to another cluster, follows them, and proves that the copy is equal. Keys, values, "
            "headers, timestamps and order are kept. `kcli mirror --help` is the help of the commands.",
        ),
    ),
    Section(
        "A job",
        (
            "It is its two clusters and its name (--job, `default` without it). Its positions are in the topic "
            "__kcli_mirror of the target, so the same line continues where it was, on any machine. A second run of the "
            "job stands by, unless --no-standby is given.",
            ("--until-caught-up", "end when all is copied that was there at the start"),
            ("--verify", "compare all records at the end; --verify-only copies nothing"),
            ("--exactly-once", "in transactions of the target; without it, a crash may repeat records"),
            ("--sync-groups", "commit the groups' offsets on the target too, translated"),
            ("--sync-acls, --sync-configs", "permissions and settings"),
            ("--map-topic A=B", "another name; '^(.*)$=eu.\\1' for all"),
        ),
    ),
    Section(
        "Partitions of a job",
        (
            ("copying, caught_up", "records are there to copy; there are none"),
            ("waiting", "for a leader, an open transaction or a cluster that is away"),
            ("ended", "it cannot go on: the reason is beside it"),
            ("not_selected", "copied before, and not selected now"),
        ),
    ),
    Section(
        "The way over",
        (
            "Stop the producers of the source; `mirror promote` ends the job for good and says what of the source has "
            "arrived; start the applications on the target. --source-lost is for a source that is gone. `mirror reverse` "
            "then copies back what was written since.",
        ),
    ),
    Section(
        "Examples",
        (
            Example(
                "kcli mirror --from a:9092 --to b:9092 -t orders --until-caught-up --verify",
                "once, with the proof",
            ),
            Example(
                "kcli mirror --from a:9092 --to b:9092 -t '*' --sync-groups '*'",
                "all topics, and follow them",
            ),
            Example("kcli mirror status --to b:9092", "which jobs there are, and how far"),
            Example(
                "kcli mirror check --from a:9092 --to b:9092 --max-lag-time 1m", "for monitoring: exit code 8"
            ),
            Example(
                "kcli mirror promote --from a:9092 --to b:9092 --dry-run", "what is there, before the change"
            ),
        ),
    ),
)

_OUTPUT = (
    Section(
        "",
        (
            "Results go to stdout; progress, plans and warnings go to stderr. -o chooses the format of every list; the "
            "default is table on a terminal, and plain in a pipe.",
        ),
    ),
    Section(
        "Formats",
        (
            ("table, wide", "for people; wide has all columns"),
            ("plain", "columns separated by two spaces, nothing truncated; - is unknown"),
            ("tsv, csv", "for cut and spreadsheets; what is unknown is empty"),
            ("json, yaml", "one document with its items and warnings"),
            ("ndjson", "one item a line"),
            ("name", "the first column only"),
            ("openmetrics", "of groups lag"),
            ("kafka", "as Kafka's scripts print it: perf, groups describe"),
        ),
    ),
    Section(
        "Documents",
        (
            "A document has `kind`, `api` (kcli/v1), `cluster`, `at`, `items` and `warnings`; lines of ndjson have a "
            "`kind` each, records none. `kcli schema KIND` prints the JSON Schema.",
            "Keys are snake_case with the unit in the name, times are RFC 3339 in UTC, unknown is null. Within kcli/v1 "
            "keys are only added.",
            "An error is one object on stderr: `kind`, `code`, `what`, `why`, `do`. With --progress json progress is "
            "one object a second.",
        ),
    ),
    Section(
        "Terminals",
        (
            ("--no-headers", "no header line in plain, tsv and csv"),
            ("--color never", "also NO_COLOR and TERM=dumb"),
            ("--no-pager", "also KCLI_PAGER=cat"),
            ("-q, -v", "less, or more on stderr"),
            ("--raw", "of consume: bytes unchanged; else a terminal shows control characters as escapes"),
        ),
    ),
    Section(
        "Examples",
        (
            Example("kcli topics list -o name", "for a loop"),
            Example("kcli groups lag -o tsv | cut -f1,4", "two columns"),
            Example("kcli groups lag -o json", "for jq"),
            Example("kcli schema GroupLagList", "what that is"),
        ),
    ),
)

_CONFIG = (
    Section(
        "",
        (
            "A client option has the name that Kafka's Java clients or librdkafka give it; `kcli help options` lists "
            "all. Nothing assumes localhost:9092. `kcli config --help` is the help of the command.",
        ),
    ),
    Section(
        "Sources, strongest first",
        (
            ("-b, --client-id", "options with a name of their own"),
            ("-X KEY=VALUE", "the last wins"),
            ("-F FILE", "Java's .properties, or librdkafka's key=value"),
            ("KCLI_X_SASL_MECHANISM", "any key; also KCLI_BOOTSTRAP_SERVER and KCLI_PROFILE"),
            ("--profile NAME", "a profile, or sandbox:NAME: see `kcli help profiles`"),
            ("[defaults]", "of config.toml, then of /etc/kcli/config.toml"),
            ("KAFKA_BOOTSTRAP_SERVERS", "and KAFKA_SECURITY_PROTOCOL, KAFKA_SASL_*, KAFKA_SSL_*"),
            ("a running sandbox", "where nothing else names brokers"),
        ),
    ),
    Section(
        "Checks",
        (
            "An unknown key is an error with the nearest one: exit code 2. Options that mean nothing to kcli are "
            "listed with -v, and by `kcli config check`.",
        ),
    ),
    Section(
        "Examples",
        (
            Example("kcli topics list -b kafka1:9092", "brokers to start from"),
            Example("kcli topics list -F client.properties", "a file of Java's tools"),
            Example("kcli profile import kcat", "what another tool has"),
            Example("kcli config show --origin", "what applies, and why"),
            Example("kcli config check", "everything that is wrong"),
        ),
    ),
)

_SECURITY = (
    Section(
        "",
        (
            "Encryption and authentication are client options: -X, files and profiles accept them with the names of "
            "Java's clients or librdkafka.",
        ),
    ),
    Section(
        "security.protocol",
        (
            ("PLAINTEXT", "neither; the default"),
            ("SSL", "TLS; with a client certificate also authentication"),
            ("SASL_SSL", "TLS and a mechanism of SASL"),
            ("SASL_PLAINTEXT", "SASL without encryption"),
        ),
    ),
    Section(
        "sasl.mechanism",
        (
            ("SCRAM-SHA-256", "and SCRAM-SHA-512: sasl.username, sasl.password"),
            (
                "sasl.tokenauth=true",
                "with SCRAM: the user is the id of a delegation token, the password its HMAC",
            ),
            ("PLAIN", "the same as SCRAM; the password is sent as it is"),
            ("OAUTHBEARER", "tokens of a file, a program or an identity provider"),
            ("GSSAPI", "Kerberos"),
            ("AWS_MSK_IAM", "credentials of AWS"),
        ),
    ),
    Section(
        "Secrets",
        (
            ("sasl.password_file", "a file that only you can read"),
            ("sasl.password_command", "a program that prints it"),
            ("keyring:SERVICE/USER", "the keyring of the system"),
            ("KCLI_X_SASL_PASSWORD", "an environment variable"),
            "On the command line, where others can see it, a secret is accepted with a warning. Without TLS, PLAIN "
            "and OAUTHBEARER are refused: exit code 2, unless --allow-plaintext-secrets is given.",
        ),
    ),
    Section(
        "Protected clusters",
        (
            ("read_only", "a mark of a profile: what changes the cluster is refused"),
            ("protected", "--yes is not enough: --confirm NAME"),
            ("cluster_id", "any other cluster is refused"),
        ),
    ),
    Section(
        "Examples",
        (
            Example("kcli doctor", "DNS, TCP, TLS, SASL, permissions: step by step"),
            Example("kcli acls list --principal User:me", "what somebody may do"),
            Example("kcli sandbox up s --secure", "a Kafka with TLS and SASL, to try it"),
            Example("kcli help profiles", "how a profile has all this"),
        ),
    ),
)

_EXIT_CODES = (
    Section("Exit codes", EXIT_CODES),
    Section(
        "When several apply", ("The first of: a signal, 5, 4, 7, 3, then 6 if anything was done, 2, 8, 1.",)
    ),
    Section(
        "Examples",
        (
            Example("kcli groups lag g --max-lag 1000 -q", "8 where it is further behind"),
            Example("kcli topics delete t --dry-run", "0, or 7 if it would be refused"),
        ),
    ),
)

_ENVIRONMENT = (
    Section("Variables", ENVIRONMENT),
    Section("Files", FILES),
    Section(
        "Which commands read them",
        (
            "Those that name a cluster are read by all commands that contact one, after -b, -X and -F and before the "
            "profile: see `kcli help config`. The help of a command has those that are its own.",
        ),
    ),
    Section(
        "Examples",
        (
            Example("KCLI_BOOTSTRAP_SERVER=kafka1:9092 kcli topics list", "brokers for one line"),
            Example("KCLI_X_SASL_MECHANISM=PLAIN kcli config show --origin", "any client option"),
        ),
    ),
)

_TASKS = (
    Section(
        "",
        (
            "What people want to do, and what to type for it: `kcli help skip a poison message` shows one, `kcli help "
            "--search WORD` those with a word. The lines are for a topic orders and a group billing.",
        ),
    ),
    *(
        Section(heading, tuple(Example("\n".join(task.lines), task.title) for task in tasks))
        for heading, tasks in TASKS.items()
    ),
)

_SECTIONS: dict[str, Sequence[Section]] = {
    "offsets": _OFFSETS,
    "times": _TIMES,
    "filters": _FILTERS,
    "formats": _FORMATS,
    "output": _OUTPUT,
    "config": _CONFIG,
    "security": _SECURITY,
    "serdes": _SERDES,
    "groups": _GROUPS,
    "mirror": _MIRROR,
    "exit-codes": _EXIT_CODES,
    "environment": _ENVIRONMENT,
    "tasks": _TASKS,
}
