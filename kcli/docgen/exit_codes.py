"""The exit codes, for help and the manual."""

EXIT_CODES = (
    ("0", "everything requested was done and confirmed"),
    ("1", "run-time error; a named topic or group does not exist; nothing confirmed"),
    ("2", "usage or configuration error; an answer is required, but there is no terminal"),
    ("3", "cluster unreachable, silent, not Kafka, or timed out"),
    ("4", "authentication, authorisation, certificates"),
    ("5", "data integrity: corrupt, lost, truncated, out of range"),
    ("6", "partly done; the report lists what was not"),
    ("7", "refused because of its state: live group, fenced, already exists"),
    ("8", "a requested check is false (--max-lag, --max-lag-time, pipeline verify)"),
    ("129 130 143", "stopped cleanly by SIGHUP, SIGINT, SIGTERM"),
    ("141", "the reader closed the pipe"),
)
