"""The pages on concepts: for ``kcli help offsets``, the manual page kcli-offsets(7), and other renderings. Data.

A page is a sequence of sections. A line of a section is a paragraph, a term with what it means, or an ``Example``.
"""

from collections.abc import Sequence
from typing import NamedTuple

from kcli.docgen.describe import Example
from kcli.docgen.exit_codes import EXIT_CODES
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
            ("100:200", "from 100 to 199; also 100..200"),
            (":200", "from the earliest on"),
            ("@-2h:@-1h", "between two times; where colons are ambiguous, write .. instead"),
        ),
    ),
    Section(
        "Limits",
        (
            "Offsets have gaps where compaction has deleted records and where transactions end, so a range may have "
            "fewer records than offsets. An offset before the start or after the end is out of range: exit code 5, "
            "unless --on-out-of-range is earliest or latest.",
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
            ("csv, raw, kcat", "as those outputs"),
            ("file", "each FILE is a record"),
            ("failed", "what --failed has collected"),
        ),
    ),
    Section(
        "Serdes, -s",
        (
            "-s applies to key and value, -s key=… and -s value=… to one of them.",
            ("str, json, hex, base64", "text in different forms"),
            ("short, int, long", "integers of 2, 4 and 8 bytes"),
            ("float, double", "numbers of 4 and 8 bytes"),
            ("avro, protobuf", "with a schema registry, or :file=FILE"),
            ("jsonschema", "likewise"),
        ),
    ),
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
            ("PLAIN", "the same; the password is sent as it is"),
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
        "When several apply", ("The first of: a signal, 5, 4, 7, 3, then 6 if anything was done, 8, 1.",)
    ),
    Section(
        "Examples",
        (
            Example("kcli groups lag g --max-lag 1000 -q", "8 where it is further behind"),
            Example("kcli topics delete t --dry-run", "0, or 7 if it would be refused"),
        ),
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
    "exit-codes": _EXIT_CODES,
}
