"""The form of Java properties files. Pure."""

from collections.abc import Mapping


def render(properties: Mapping[str, str]) -> str:
    """A Java properties file: backslashes, line ends and a leading blank of a value are escaped."""
    return "".join(f"{key}={_escape(value)}\n" for key, value in properties.items())


def _escape(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return "\\" + escaped if escaped.startswith(" ") else escaped
