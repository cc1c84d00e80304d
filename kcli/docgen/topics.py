"""What ``kcli help`` explains besides commands: a word and what it is about. Loaded with every help."""

OPTIONS, PROFILES = "options", "profiles"

CONCEPTS = {
    "offsets": "offsets and ranges, as --offset and --to read them",
    "times": "instants and durations, as --since and --timeout read them",
    "filters": "which records consume prints: --grep and --where",
    "formats": "how records are printed and read: -o, -f, -i and -s",
    "output": "lists and documents, for people and for programs",
    "config": "where options come from, and files of other tools",
    "security": "encryption, authentication, secrets, protected clusters",
    "exit-codes": "what the exit codes mean",
}
"""Each has a page in section 7 of the manual, from ``concepts.py``."""

TOPICS = (OPTIONS, PROFILES, *CONCEPTS)

RELATED = {
    **dict.fromkeys(("serde", "serdes", "avro", "format", "csv"), "formats"),
    **dict.fromkeys(("where", "grep", "jmespath", "filter", "expressions"), "filters"),
    **dict.fromkeys(("duration", "durations", "time", "timestamp", "timestamps", "dates"), "times"),
    **dict.fromkeys(("range", "ranges", "positions"), "offsets"),
    **dict.fromkeys(("json", "ndjson", "tsv", "table", "tables", "pipes"), "output"),
    **dict.fromkeys(("environment", "variables", "configuration"), "config"),
    **dict.fromkeys(("tls", "ssl", "sasl", "auth", "authentication", "secrets", "passwords"), "security"),
    **dict.fromkeys(("exit", "codes", "status", "exits"), "exit-codes"),
    **dict.fromkeys(("properties", "client-options", "settings"), "options"),
}
"""Words that are looked for, and the topic that has them."""
