"""What ``kcli --version`` prints; with ``-v`` also what it is built on."""

from kcli import __version__

LIBRARIES = ("click", "rich", "msgspec", "crc32c", "lz4", "cramjam", "backports.zstd", "isal")


def version_text(*, verbose: bool) -> str:
    """One line, or a few ``name: value`` lines."""
    line = f"kcli {__version__}"
    if not verbose:
        return line
    return "\n".join((line, *(f"{name}: {value}" for name, value in _details())))


def _details() -> list[tuple[str, str]]:
    import platform

    return [
        ("python", f"{platform.python_implementation()} {platform.python_version()}"),
        ("platform", f"{platform.system()} {platform.machine()}"),
        ("records", _records()),
        *((name, _installed(name)) for name in LIBRARIES),
    ]


def _records() -> str:
    try:
        from kcli.core.kernels.active import IMPLEMENTATION
    except ImportError as error:
        return f"not available ({error})"
    return str(IMPLEMENTATION)


def _installed(name: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
