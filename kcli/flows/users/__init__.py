"""SCRAM credentials of users, and the changes of them, each for the command of its name."""

DEFAULT_MECHANISM = "SCRAM-SHA-512"
"""Of a credential, unless another one is named."""
DEFAULT_ITERATIONS = 8_192
"""Of a credential, unless a number is given."""
