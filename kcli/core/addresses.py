"""Addresses of brokers as users write them: ``HOST:PORT``, several separated by commas; and paths of log directories,
likewise. Pure.
"""

import contextlib
import re

from kcli.core.errors import ConfigError

_DEFAULT_PORT = 9092
_NOT_IN_A_HOST = "/\\?#'\"<>={}$|;,\x7f"


def broker_addresses(servers: str) -> list[tuple[str, int]]:
    """(host, port) of each; ConfigError names a malformed address, without a user and password in it."""
    found = [_address(text) for text in filter(None, (part.strip() for part in servers.split(",")))]
    if not found:
        raise ConfigError(
            "no broker is named", do='name one: -b HOST:PORT, or bootstrap_servers="HOST:PORT" in a program'
        )
    return found


def log_directories(log_dirs: str) -> list[str]:
    """The paths in ``log.dirs``; ConfigError where there is none."""
    found = [path for path in (part.strip() for part in log_dirs.split(",")) if path]
    if not found:
        raise ConfigError(
            "log.dirs names no directory", why="its value is empty", do="leave it out, or name one"
        )
    return found


def cluster_place(bootstrap_servers: str, log_dirs: str) -> str:
    """Where a cluster is, in words: its brokers, or the directories that it is read from."""
    if not log_dirs:
        return bootstrap_servers
    first, *others = log_directories(log_dirs)
    return f"log directory {first}" + (f" and {len(others)} more" if others else "")


def _address(text: str) -> tuple[str, int]:
    scheme, separator, address = text.rpartition("://")
    if "@" in text:
        raise _malformed(
            text.rpartition("@")[2],
            "there is an @ before it: an address has no user and no password",
            "give sasl.username and sasl.password_file, and -b HOST:PORT alone",
        )
    if separator and scheme.lower() in ("http", "https"):
        raise _malformed(text, "brokers do not speak HTTP", "write HOST:PORT")
    if ";" in address or (len(address.split()) > 1 and ":" in address.split()[0]):
        raise _malformed(text, "several addresses are separated by commas", "write HOST:PORT,HOST:PORT")
    host, colon, port = address.rpartition(":")
    if address.count(":") > 1 and "]" not in address:
        raise _malformed(text, *_several_colons(address))
    if not colon or "]" in port:
        host, port = address, str(_DEFAULT_PORT)
    unsuitable = next((sign for sign in host if sign in _NOT_IN_A_HOST or sign.isspace() or sign < " "), "")
    if unsuitable:
        raise _malformed(
            text,
            f"a host name has no {unsuitable!r}" if unsuitable.strip() else "there is a blank in it",
            "write HOST:PORT, several separated by commas",
        )
    if not host or not port.isdecimal() or not 0 < int(port) < 65_536:
        raise _malformed(
            text,
            "it must be HOST or HOST:PORT, with a port from 1 to 65535",
            "for example: -b broker1:9092,broker2:9092",
        )
    return host.strip("[]"), int(port)


def _several_colons(address: str) -> tuple[str, str]:
    """Why and what to do: an IPv6 address without brackets, or anything else."""
    if re.fullmatch(r"[0-9A-Fa-f:.]+(%\w+)?", address):
        return "an IPv6 address must be in brackets", f"write {_bracketed(address)}"
    return "it has more than one colon", "write HOST:PORT, several separated by commas"


def _bracketed(address: str) -> str:
    """How an IPv6 address without brackets should be written; four or five digits at its end are taken for the port."""
    from ipaddress import IPv6Address  # only for the text of an error

    host, _colon, port = address.rpartition(":")
    if port.isdecimal() and len(port) in (4, 5):
        with contextlib.suppress(ValueError):
            return f"[{IPv6Address(host)}]:{port}"
    return f"[{address}]:{_DEFAULT_PORT}"


def _malformed(text: str, why: str, do: str) -> ConfigError:
    return ConfigError(f"{text!r} is not the address of a broker", why=why, do=do)
