"""Options of the commands that serve pages over HTTP, and the server that they ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from kcli.commands.shared.context import Invocation
from kcli.commands.shared.usage import usage
from kcli.core.classes import dataclass

if TYPE_CHECKING:  # loaded where anything is served
    from kcli.exporter.address import Address
    from kcli.exporter.server import Server, Site


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """Where to serve, and for whom; in the words of the command line."""

    listen: str
    tls_certificate: str | None = None
    tls_key: str | None = None
    tls_client_ca: str | None = None
    users: str | None = None

    @property
    def given(self) -> str:
        """The first option that is given; empty without one."""
        values = {
            "--listen": self.listen,
            "--tls-certificate": self.tls_certificate,
            "--tls-key": self.tls_key,
            "--tls-client-ca": self.tls_client_ca,
            "--users": self.users,
        }
        return next((flag for flag, value in values.items() if value), "")

    def check(self, command: str) -> None:
        """Usage errors."""
        for option, file in (("--tls-key", self.tls_key), ("--tls-client-ca", self.tls_client_ca)):
            if file is not None and self.tls_certificate is None:
                raise usage(
                    f"{command}: {option} without --tls-certificate",
                    why="a server needs a certificate of its own for TLS",
                    do="add --tls-certificate FILE",
                )

    def server(self, site: Site, warn: Callable[[str], object]) -> Server:
        """The server, which listens and does not accept yet. Raises ConfigError, or PortTakenError."""
        # ssl and http are loaded where anything is served.
        from kcli.exporter.address import parse_address
        from kcli.exporter.server import Server
        from kcli.exporter.tls import ServerTls
        from kcli.exporter.users import Users

        address = parse_address(self.listen)
        users = Users(self.users, warn) if self.users is not None else None
        tls = None
        if self.tls_certificate is not None:
            tls = ServerTls(self.tls_certificate, self.tls_key, self.tls_client_ca, warn)
        return Server(address, site, tls=tls, users=users)

    def warn_of_strangers(self, address: Address, warn: Callable[[str], object]) -> None:
        """What is not safe about an address that others can reach."""
        if address.is_loopback:
            return
        if self.users is not None and self.tls_certificate is None:
            warn("passwords cross the network readable: --tls-certificate encrypts them")
        elif self.users is None and self.tls_client_ca is None:
            warn(
                "any client that reaches this address can read the figures, unless --users or --tls-client-ca is given"
            )


def access_options() -> list[Callable[[Any], Any]]:
    """Who may read the pages: those of ``Serving`` but for ``--listen``."""
    return [
        click.option("--tls-certificate", metavar="FILE", help="serve over TLS with this certificate (PEM)"),
        click.option(
            "--tls-key", metavar="FILE", help="the certificate's key (default: the file of --tls-certificate)"
        ),
        click.option(
            "--tls-client-ca",
            metavar="FILE",
            help="accept only clients with a certificate of this authority (PEM)",
        ),
        click.option(
            "--users", metavar="FILE", help="ask for a user and a password; FILE has lines of NAME:HASH"
        ),
    ]


@contextmanager
def served(inv: Invocation, serving: Serving, site: Site) -> Iterator[None]:
    """Serves the site beside the block; a dry run only looks whether that is possible."""
    server = serving.server(site, inv.talk.warn)
    try:
        serving.warn_of_strangers(server.address, inv.talk.warn)
        if not inv.dry_run:
            server.start()
            inv.talk.note(f"metrics: {server.url}")
        yield
    finally:
        server.close()
