"""What ``kcli help`` explains besides commands: a word and what it is about. Loaded with every help."""

OPTIONS, PROFILES = "options", "profiles"

CONCEPTS = {
    "offsets": "offsets and ranges, as --offset and --to read them",
    "times": "instants and durations, as --since and --timeout read them",
    "filters": "which records consume prints: --grep and --where",
    "formats": "how records are printed and read: -o, -f, -i and -s",
    "serdes": "keys and values as numbers, JSON, Avro and the like: -s",
    "groups": "groups, their offsets and lag, and how to move them",
    "mirror": "jobs that copy topics to another cluster",
    "output": "lists and documents, for people and for programs",
    "config": "where options come from, and files of other tools",
    "security": "encryption, authentication, secrets, protected clusters",
    "exit-codes": "what the exit codes mean",
    "environment": "the variables that kcli reads, and where it keeps files",
    "tasks": "what people want to do, and the lines that do it",
}
"""Each has a page in section 7 of the manual, from ``concepts.py``."""

TOPICS = (OPTIONS, PROFILES, *CONCEPTS)

RELATED = {
    **dict.fromkeys(("format", "csv"), "formats"),
    **dict.fromkeys(
        (
            "serde",
            "avro",
            "protobuf",
            "deserializer",
            "deserializers",
            "serializer",
            "serializers",
            "decoding",
        ),
        "serdes",
    ),
    **dict.fromkeys(
        ("where", "grep", "jmespath", "filter", "expressions", "select", "distinct", "count"), "filters"
    ),
    **dict.fromkeys(("duration", "durations", "time", "timestamp", "timestamps", "dates"), "times"),
    **dict.fromkeys(("range", "ranges", "positions"), "offsets"),
    **dict.fromkeys(("json", "ndjson", "tsv", "table", "tables", "pipes"), "output"),
    **dict.fromkeys(("configuration",), "config"),
    **dict.fromkeys(("variables", "env"), "environment"),
    **dict.fromkeys(("task", "howto", "how-to", "recipes", "recipe", "cookbook", "faq"), "tasks"),
    **dict.fromkeys(("mirrors", "mirroring", "mirrormaker", "replication"), "mirror"),
    **dict.fromkeys(("tls", "ssl", "sasl", "auth", "authentication", "secrets", "passwords"), "security"),
    **dict.fromkeys(("exit", "codes", "status", "exits"), "exit-codes"),
    **dict.fromkeys(("properties", "client-options", "settings"), "options"),
}
"""Words that are looked for, and the topic that has them."""
