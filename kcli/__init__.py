"""kcli: a command-line suite for Apache Kafka, on a client core of its own."""

__version__ = "0.1.0"
