"""Which keys are the registry's: so that nobody loads its options who does not use it. Pure."""

PREFIXES = ("schema.registry.", "basic.auth.", "bearer.auth.")


def is_registry_key(key: str) -> bool:
    """Whether ``key`` is about the registry, spelled well or not."""
    return key.startswith(PREFIXES)
