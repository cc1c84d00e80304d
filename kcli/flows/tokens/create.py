"""``kcli tokens create``: creates a delegation token. Its HMAC goes where the user wants it, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from kcli.account.change import Change, Found, Item, Question, is_lost
from kcli.account.outcomes import Outcome
from kcli.core.admin.admin import Admin
from kcli.core.admin.delegation_tokens import (
    SEE,
    SERVER_DEFAULT,
    DelegationToken,
    Principal,
    check_encrypted,
)
from kcli.core.clock import wall_ms
from kcli.core.errors import KcliError, OutcomeUnknownError
from kcli.core.exit_codes import ExitCode
from kcli.core.secret import Secret
from kcli.flows.read_back import wait_until_empty
from kcli.flows.tokens.rows import COLUMNS, argument, token_row, when
from kcli.output.progress import duration_text
from kcli.output.sanitise import visible_line

_NEW = "the new token"
TokenItem = Item[str, DelegationToken | None]


class HmacPlace(Protocol):
    """Where the HMAC of a new token goes."""

    name: str

    def check(self) -> None:
        """Before the plan: raises what is known to stand against it. Changes nothing."""

    def open(self) -> None:
        """Right before the act: raises where nothing can be written."""

    def put(self, hmac: Secret) -> None:
        """Writes it, durably; raises if that fails."""

    def close(self) -> None:
        """At the end, whether it was put there or not."""


class UnknownTokenError(OutcomeUnknownError):
    """The response to the creation was lost."""


class HmacNotWrittenError(KcliError):
    """A token was created, and its HMAC could not be written."""

    exit_code = ExitCode.PARTLY


class NotCreatedError(KcliError):
    """A token that brokers confirmed is not there."""

    exit_code = ExitCode.REFUSED


class TokenCreation(Change[str, DelegationToken | None]):
    """A token for ``owner``, or for this client. ``max_lifetime_ms``: SERVER_DEFAULT is that of the brokers."""

    kind = "TokenCreate"
    printed_by = "tokens create"
    item_meaning = "A delegation token, without its HMAC."
    columns = COLUMNS
    quiet_report = True

    def __init__(
        self,
        owner: Principal | None,
        renewers: Sequence[Principal],
        max_lifetime_ms: int,
        place: HmacPlace,
        *,
        takes_stdout: bool,
    ) -> None:
        self.owner, self.renewers, self.max_lifetime_ms = owner, tuple(renewers), max_lifetime_ms
        self.place, self.takes_stdout = place, takes_stdout
        self._not_written: KcliError | None = None
        self._made: DelegationToken | None = None

    def begin(self, admin: Admin) -> None:
        """ConfigError for a connection without encryption, and what stands against the place of the HMAC."""
        check_encrypted(admin.cluster.options)
        self.place.check()

    def decide(self, admin: Admin) -> list[TokenItem]:
        """One item. Raises where brokers give no tokens, or none to this client."""
        admin.describe_tokens()
        return [Item(_NEW, None)]

    def text(self, plan: Sequence[TokenItem]) -> str:  # noqa: ARG002
        """What it will be, and where its HMAC goes."""
        longest = (
            "the brokers' delegation.token.max.lifetime.ms"
            if self.max_lifetime_ms == SERVER_DEFAULT
            else f"{duration_text(self.max_lifetime_ms / 1000)}, or less where brokers allow less"
        )
        lines = [
            f"Create a delegation token of {self._owner()}:",
            f"  renewers: {', '.join(map(str, self.renewers)) or 'only its owner'}",
            f"  longest life: {longest}",
            f"  its HMAC, which is a password, goes to {self.place.name}",
        ]
        return "\n".join(visible_line(line) for line in lines)

    def _owner(self) -> str:
        return str(self.owner) if self.owner else "this client"

    def questions(self, plan: Sequence[TokenItem]) -> list[Question]:
        """One."""
        subject = str(self.owner) if self.owner else "token"
        return [Question(self.text(plan), f"Create a token of {self._owner()}?", subject=subject)]

    def warnings(self, plan: Sequence[TokenItem]) -> Iterator[str]:  # noqa: ARG002
        """That this client cannot renew or expire a token of another owner."""
        if self.owner is not None and not self.renewers:
            yield f"only {self.owner} can renew or expire this token: --renewer names who else can, as who creates it"

    def confirmed(self) -> None:
        """Opens the place of the HMAC."""
        self.place.open()

    def apply(self, admin: Admin, todo: Sequence[TokenItem]) -> dict[str, KcliError | None]:
        """Creates it, once, and puts its HMAC where it belongs, before anything else can fail."""
        try:
            self._made = admin.create_token(
                owner=self.owner, renewers=self.renewers, max_lifetime_ms=self.max_lifetime_ms
            )
        except KcliError as error:
            if not is_lost(error):
                raise
            unknown = UnknownTokenError(
                "it is unknown whether the token was created",
                why=str(error),
                do=f"{SEE}; expire one that nobody uses",
            )
            unknown.exit_code = ExitCode(error.exit_code)
            return dict.fromkeys((item.key for item in todo), unknown)
        try:
            self.place.put(self._made.hmac)
        except (KcliError, OSError) as error:
            self._not_written = HmacNotWrittenError(
                f"token {self._made.id} was created, but its HMAC was not written to {self.place.name}",
                why=(error.strerror if isinstance(error, OSError) else "") or str(error),
                do=f"`kcli tokens expire {argument(self._made.id)}` removes it",
            )
        return {item.key: None for item in todo}

    def read_back(
        self, admin: Admin, items: Sequence[TokenItem]
    ) -> dict[str, Found[DelegationToken | None] | KcliError]:
        """The token as brokers describe it."""
        made = self._made
        if made is None:
            return {}
        seen: list[DelegationToken] = []

        def missing() -> list[str]:
            seen[:] = [token for token in admin.describe_tokens([made.owner]) if token.id == made.id]
            return [] if seen else [made.id]

        error = self._not_written
        if wait_until_empty(admin, missing, f"token {made.id} was created", see=SEE):
            error = error or NotCreatedError(
                f"token {made.id} was created, and is not there",
                why="another client has removed it since, or this client may not see it",
                do=SEE,
            )
        return {item.key: Found(seen[0] if seen else made, error) for item in items}

    def unread(self, item: TokenItem) -> DelegationToken | None:  # noqa: ARG002
        """What the response had."""
        return self._made

    def clean_up(self, admin: Admin, *, dry_run: bool) -> Iterable[KcliError]:  # noqa: ARG002
        """Closes the place of the HMAC."""
        self.place.close()
        return ()

    def stopped(self, plan: Sequence[TokenItem]) -> Iterable[str]:  # noqa: ARG002
        """Where the act was interrupted."""
        return ("stopped: the token may have been created",)

    def row(self, item: TokenItem) -> dict[str, Any]:
        """The values of the columns."""
        if item.facts is not None:
            return token_row(item.facts, wall_ms())
        planned: dict[str, Any] = dict.fromkeys(column.key for column in COLUMNS)
        return planned | {
            "owner": self.owner and str(self.owner),
            "renewers": [str(one) for one in self.renewers],
        }

    def summary(self, items: Sequence[TokenItem]) -> Iterator[str]:
        """Which was created, and until when it is valid."""
        now = wall_ms()
        for item in items:
            if (token := item.facts) is not None and item.outcome is Outcome.DONE:
                yield (
                    f"created token {token.id} of {token.owner}, read back: expires {when(token.expires_at, now)}; can "
                    f"be renewed until {when(token.max_at, now)}"
                )
