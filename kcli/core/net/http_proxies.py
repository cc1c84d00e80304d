"""The HTTP proxy of a request: the one that the environment names for its scheme (or the system's settings, on macOS)."""

import os
import sys

from kcli.core.errors import ConfigError
from kcli.core.net.http_address import HttpAddress, parse_http


def proxy_of_environment(address: HttpAddress) -> HttpAddress | None:
    """HTTPS_PROXY or HTTP_PROXY, else ALL_PROXY, unless NO_PROXY exempts the host; never for loopback: what is sent in
    the clear on this machine is not meant for another. ConfigError for a proxy that is none of HTTP.
    """
    named_somewhere = sys.platform == "darwin" or any(name.lower().endswith("_proxy") for name in os.environ)
    if address.on_loopback or not named_somewhere:
        return None
    import urllib.request  # large, and seldom needed

    proxies = urllib.request.getproxies()
    scheme = "https" if address.secure else "http"
    named = proxies.get(scheme) or proxies.get("all")
    host = address.origin.partition("://")[2]
    if not named or urllib.request.proxy_bypass(host) or _is_exempt(address.host, address.port):
        return None
    found = parse_http(named if "://" in named else f"http://{named}")
    if found is None:
        variable = f"{scheme if proxies.get(scheme) else 'all'}_proxy".upper()
        raise ConfigError(
            f"{variable} names no proxy that kcli can use",
            why="it is http or https, perhaps NAME:PASSWORD@, a host and a port",
            do=f"{variable}=http://HOST:PORT, or exempt the host: NO_PROXY={address.host}",
        )
    return found._replace(path="")


def _is_exempt(host: str, port: int) -> bool:
    """What ``urllib`` does not know in NO_PROXY: ``*.domain``, networks as 10.0.0.0/8, and addresses of IPv6."""
    exempt = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    entries = [entry.strip().lower() for entry in exempt.split(",")]
    if any(one.startswith("*.") and host.endswith(one[1:].removesuffix(f":{port}")) for one in entries):
        return True
    if "/" not in exempt and ":" not in host:
        return False
    import ipaddress  # only for networks

    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    for entry in entries:
        try:
            if address in ipaddress.ip_network(entry, strict=False):
                return True
        except ValueError:
            continue
    return False
