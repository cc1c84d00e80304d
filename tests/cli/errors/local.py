"""Rows of errors before any cluster is asked: words of kcli, profiles, sandboxes, files. Not a test."""

from tests.cli.errors.row import Row

_FOUND = (("XDG_CONFIG_HOME", "{dir}/home"),)

WORDS = [
    Row("acls create --principal User:a --operation zzz --topic x", 2, "no operation 'zzz'", "those on topics",
        "`kcli acls create --help` has examples"),
    Row("quotas alter --user ann --set zzzzzz=1", 2, "has no quota zzzzzz", "its keys are",
        "`kcli quotas alter --help` explains the keys"),
    Row("schema zzzzzzzz", 2, "no kind 'zzzzzzzz'", "is of this kind", "`kcli schema` lists the kinds"),
    Row("schema Group -o yaml", 2, "-o yaml is for the list", "a JSON document", "`kcli schema Group`"),
    Row("help zzzzzzz", 2, "'zzzzzzz'", "neither a command nor a concept", "`kcli help` lists commands and concepts"),
    Row("produce orders -f %q", 2, "-f '%q'", "no verb %q", "`kcli produce --help` lists the verbs"),
    Row("groups rewind", 2, "missing argument GROUP", "required",
        "`kcli groups list` lists the groups; --journal lists the rewinds made from this machine"),
    Row("groups delete", 2, "missing argument GROUP", "without --match",
        "`kcli groups list --match GLOB` lists those that match"),
    Row("topics delete", 2, "missing argument TOPIC", "without --match",
        "name topics, or use --match GLOB: `kcli topics list --match GLOB` lists those that match"),
    Row("produce '^a'", 2, "'^a' is not a valid topic name", "like a pattern",
        "`kcli topics list --match GLOB` shows them"),
    Row("txn describe -p 0", 2, "-p without a topic", "those of --topic",
        "add it: `kcli txn describe --topic TOPIC -p 0`"),
    Row("txn describe", 2, "no transaction is selected", "is needed",
        "as in `kcli txn describe --topic orders -p 0`; `kcli txn list` shows what is open"),
    Row("reassign cancel", 2, "what is to be cancelled", "required",
        "`kcli reassign status` shows what is being moved"),
    Row("export orders", 2, "'orders' is no kind of document", "the kinds are Topic",
        "choose one of them; `kcli consume TOPIC -e -o ndjson` prints the records of a topic"),
    Row("diff {dir} --prune", 2, "--prune without --only and --match", "everything that the cluster has",
        "--only KIND, or --match GLOB"),
    Row("configs describe brokers x", 2, "'x' is not a broker id", "by its number",
        "`kcli cluster describe` lists the brokers; `default`"),
]  # fmt: skip

OPTIONS = [
    Row("consume orders -X enable.partition.eof=true", 2, "has no effect", "nothing to kcli",
        "`kcli consume TOPIC --exit` stops at the end"),
    Row("consume orders -X enable.auto.offset.store=true", 2, "has no effect", "nothing to kcli",
        "`kcli consume TOPIC -g GROUP` commits only what was written"),
    Row("topics list -X allow.auto.create.topics=true", 2, "has no effect", "never creates a topic",
        "leave it out; `kcli topics create TOPIC` creates one"),
]  # fmt: skip

PROFILES = [
    Row("profile show", 2, "no profile is in use", "neither", "`kcli profile add NAME -b HOST:PORT` makes one"),
    Row("profile show", 2, "no profile is in use", "neither",
        "`kcli profile show NAME`; `kcli profile list` lists them", env=(("XDG_CONFIG_HOME", "{dir}/unused"),)),
    Row("profile list", 2, "config.toml", "", "move it away, then `kcli profile add NAME -b HOST:PORT` writes a new one",
        lambda here: here.broken_config(True), env=(("XDG_CONFIG_HOME", "{dir}/broken"),),
        first=lambda here: here.broken_config(False)),
    Row("profile add one", 2, "would be empty", "no option", "`kcli profile add one -b HOST:PORT`"),
    Row("profile import rpk", 2, "no file of rpk", "looked for",
        "name the file: `kcli profile import FILE --format rpk`"),
    Row("profile import {dir}/broken.csv --format rpk", 2, "is not read", "no mapping",
        "add the profile with `kcli profile add NAME -b HOST:PORT`"),
]  # fmt: skip

SANDBOX = [
    Row(
        "sandbox up 'a b'",
        2,
        "'a b' is not a valid sandbox name",
        "a name has",
        "as in `kcli sandbox up test`",
    ),
]

FILES = [
    Row("reassign run /no/such", 2, "cannot read /no/such", "no such file",
        "correct the name; `kcli reassign plan FILE` writes one"),
    Row("reassign run {dir}/two.txt", 2, "is no file of a reassignment", "not JSON",
        "`kcli reassign plan FILE` writes one, so does"),
]  # fmt: skip

PIPELINE = [
    Row("pipeline query orders --sql 'select 1' -o parquet", 2, "without a folder", "the last argument",
        "`kcli pipeline query orders --sql SQL -o parquet DIR`"),
    Row("pipeline query orders --sql 'select 1' --runner processes", 2, "--runner processes", "DuckDB or Spark runs",
        "`kcli consume TOPIC --where EXPR` filters without Spark"),
    Row("query orders", 2, "an argument is missing", "it needs a topic, SQL",
        '`kcli query TOPIC "select count(*) from source"`'),
    Row("pipeline export orders", 2, "a topic and a folder", "only 'orders'", "`kcli pipeline export TOPIC DIR`"),
    Row("pipeline query orders --sql 'delete from x'", 2, "begins with delete", "only read",
        "`kcli pipeline replay TOPIC --to TOPIC` and `kcli produce TOPIC` write records"),
    Row("pipeline import {dir}", 2, "is no complete export", "an export writes at last",
        "name the folder DIR of a `kcli pipeline export TOPIC DIR`, or run that again"),
    Row("pipeline import {dir} --with-groups --partitions by-key", 2, "--with-groups with --partitions by-key",
        "go to several by key", "leave one of them out"),
    Row("pipeline export orders {dir} --continuous --with-groups", 2, "--with-groups with --continuous",
        "of a run that ends", "leave one of them out"),
    Row("pipeline import {dir}/spoilt", 2, "is not valid", "", "it is written by `kcli pipeline export TOPIC DIR`"),
]  # fmt: skip

ROWS = [*WORDS, *OPTIONS, *PROFILES, *SANDBOX, *FILES, *PIPELINE]
