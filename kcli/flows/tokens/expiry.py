"""``kcli tokens renew`` and ``expire``: other times at which delegation tokens expire."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from kcli.account.change import Change, Found, Item, Question, is_lost, planned
from kcli.account.outcomes import Outcome
from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigKind, ConfigResource
from kcli.core.admin.delegation_tokens import (
    NOT_FOUND,
    OWNER_MISMATCH,
    SEE,
    SERVER_DEFAULT,
    DelegationToken,
    Principal,
    check_encrypted,
    login_principal,
    refusal,
)
from kcli.core.classes import NamedTuple
from kcli.core.clock import wall_ms
from kcli.core.errors import BrokerError, KcliError
from kcli.core.exit_codes import ExitCode
from kcli.flows.read_back import wait_until_empty
from kcli.flows.tokens.rows import EXPIRES_AT, EXPIRES_IN, OWNER, TOKEN_ID, no_token, seconds_left, when
from kcli.output.progress import counted, duration_text
from kcli.output.sanitise import visible_line
from kcli.output.tables import Column

_LATEST = "cannot be renewed beyond this time"
_GONE = "it is removed"
_PERIOD = "delegation.token.expiry.time.ms"
_CLOCKS_DIFFER_MS = 600_000
"""By so much at most, or the read-back would not tell what brokers granted."""


class Expiry(NamedTuple):
    """A token before the change (None: this client sees none), and when it expires after it; None is unknown yet."""

    token: DelegationToken | None
    new: int | None = None


ExpiryItem = Item[str, Expiry]


class ExpiryNotMovedError(KcliError):
    """A token does not expire when brokers confirmed that it does."""

    exit_code = ExitCode.REFUSED


class TooLongError(KcliError):
    """Brokers renew a token for less than what was asked for."""

    exit_code = ExitCode.REFUSED


class ExpiryChange(Change[str, Expiry]):
    """Another expiry of tokens, by their ids: ``period_ms`` from when brokers receive it. ``dry``: nothing will be
    changed, so the plan says what brokers would refuse.
    """

    item_meaning = "A delegation token."
    columns = (
        TOKEN_ID,
        OWNER,
        Column("old_expires_at", "time", meaning="When it expired before; null if unknown."),
        EXPIRES_AT,
        EXPIRES_IN,
    )
    verb: ClassVar[str]
    doing: ClassVar[str]
    done: ClassVar[str]

    def __init__(self, ids: Sequence[str], period_ms: int, *, dry: bool = False) -> None:
        self.ids, self.period_ms, self._dry = tuple(dict.fromkeys(ids)), period_ms, dry
        self._confirmed: dict[str, int | None] = {}
        self._lost: set[str] = set()

    def begin(self, admin: Admin) -> None:
        """ConfigError for a connection without encryption."""
        check_encrypted(admin.cluster.options)

    def decide(self, admin: Admin) -> list[ExpiryItem]:
        """An item for each id; refused where this client sees no such token."""
        tokens = {token.id: token for token in self.tokens(admin)}
        client = login_principal(admin.cluster.options) if self._dry else None
        return [self._item(one, tokens.get(one), list(tokens), client) for one in self.ids]

    def tokens(self, admin: Admin) -> list[DelegationToken]:
        """Those that this client sees, and what else it takes to decide."""
        return admin.describe_tokens()

    def _item(
        self, token_id: str, token: DelegationToken | None, known: list[str], client: Principal | None
    ) -> ExpiryItem:
        if token is None:
            return Item(token_id, Expiry(None), Outcome.REFUSED, no_token(token_id, known))
        if note := self.needless(token, wall_ms()):
            return Item(token_id, Expiry(token, token.expires_at), Outcome.UNCHANGED, note=note)
        if client is not None and client not in (token.owner, *token.renewers):
            return Item(
                token_id,
                Expiry(token),
                Outcome.REFUSED,
                refusal(OWNER_MISMATCH, f"{self.doing} token {token_id}"),
            )
        if too_long := self.too_long(token, wall_ms()):
            return Item(token_id, Expiry(token), Outcome.REFUSED, too_long)
        return Item(token_id, Expiry(token))

    def needless(self, token: DelegationToken, now: int) -> str:  # noqa: ARG002
        """Why nothing has to be done; empty where something has."""
        return ""

    def too_long(self, token: DelegationToken, now: int) -> KcliError | None:  # noqa: ARG002
        """The error where brokers are known not to give it so long."""
        return None

    def target(self, token: DelegationToken) -> str:
        """When it will expire, for people."""
        raise NotImplementedError

    def text(self, plan: Sequence[ExpiryItem]) -> str:
        """A line for each token."""
        now = wall_ms()
        lines = [f"{self.verb} {counted(len(planned(plan)), 'delegation token')}:"]
        for item in plan:
            if (token := item.facts.token) is not None and item.outcome is not Outcome.REFUSED:
                end = item.note or f"→ {self.target(token)}"
                lines.append(f"  {token.id} of {token.owner}: expires {when(token.expires_at, now)} {end}")
        return "\n".join(visible_line(line) for line in lines)

    def questions(self, plan: Sequence[ExpiryItem]) -> list[Question]:
        """One for all."""
        subject = plan[0].key if len(plan) == 1 else None
        count = counted(len(planned(plan)), "token")
        return [Question(self.text(plan), f"{self.verb} {count}?", subject=subject)]

    def send(self, admin: Admin, tokens: Sequence[DelegationToken]) -> dict[str, int | KcliError | None]:
        """Sends the requests: for each id when it expires now; None where it is removed."""
        raise NotImplementedError

    def apply(self, admin: Admin, todo: Sequence[ExpiryItem]) -> dict[str, KcliError | None]:
        """All at the same time."""
        answers: dict[str, KcliError | None] = {}
        for key, found in self.send(admin, [item.facts.token for item in todo if item.facts.token]).items():
            if isinstance(found, KcliError):
                answers[key] = found
            else:
                answers[key], self._confirmed[key] = None, found
        self._lost = {key for key, error in answers.items() if is_lost(error)}
        return answers

    def read_back(self, admin: Admin, items: Sequence[ExpiryItem]) -> dict[str, Found[Expiry] | KcliError]:
        """When they expire now."""
        made = [item for item in items if item.key in self._confirmed or item.key in self._lost]
        now: dict[str, int] = {}

        def wrong() -> list[ExpiryItem]:
            now.clear()
            now.update({token.id: token.expires_at for token in admin.describe_tokens()})
            return [item for item in made if not self._is_done(item, now.get(item.key))]

        done = f"{counted(len(self._confirmed), 'token')} {self.done}"
        bad = wait_until_empty(admin, wrong, done, see=SEE)
        return {item.key: self._found(item, now.get(item.key), wrong=item in bad) for item in made}

    def _is_done(self, item: ExpiryItem, expires_at: int | None) -> bool:
        if item.key not in self._confirmed:  # the answer was lost: whatever it is now, it is another time
            assert item.facts.token is not None
            return expires_at != item.facts.token.expires_at
        wanted = self._confirmed[item.key]
        return expires_at == wanted or (expires_at is None and wanted is not None and wanted <= wall_ms())

    def _found(self, item: ExpiryItem, expires_at: int | None, *, wrong: bool) -> Found[Expiry]:
        facts = item.facts._replace(new=expires_at)
        if not wrong:
            return Found(facts, self.less(facts), note=_GONE if expires_at is None else "")
        shown = "is not there" if expires_at is None else f"expires {when(expires_at, wall_ms())}"
        error = ExpiryNotMovedError(
            f"token {item.key} was {self.done}, but {shown}",
            why="another client has changed it since, or the broker has not received the change yet",
            do=SEE,
        )
        return Found(facts, error)

    def less(self, facts: Expiry) -> KcliError | None:  # noqa: ARG002
        """The error where brokers gave it less than what was asked for."""
        return None

    def row(self, item: ExpiryItem) -> dict[str, Any]:
        """The values of the columns."""
        token, new = item.facts
        return {
            "token_id": item.key,
            "owner": token and str(token.owner),
            "old_expires_at": token and token.expires_at,
            "expires_at": new,
            "expires_in_seconds": None if new is None else seconds_left(new, wall_ms()),
        }

    def summary(self, items: Sequence[ExpiryItem]) -> Iterator[str]:
        """Which were changed."""
        now = wall_ms()
        for item in items:
            new = item.facts.new
            yield f"{self.done} token {item.key}, read back: " + (
                _GONE if new is None else f"expires {when(new, now)}"
            )


class TokenRenewal(ExpiryChange):
    """Renews tokens: for ``period_ms``, or for the period of the brokers; not beyond their longest life."""

    kind = "TokenRenew"
    printed_by = "tokens renew"
    verb = "Renew"
    doing = "renewing"
    done = "renewed"
    _most_ms: int | None = None

    def tokens(self, admin: Admin) -> list[DelegationToken]:
        """KRaft brokers renew for their own period at most; where they do not say it, what is read back tells."""
        if self.period_ms == SERVER_DEFAULT:
            return super().tokens(admin)
        found: list[DelegationToken]
        found, has_limit, period = admin.together(
            admin.describe_tokens, lambda: _is_kraft(admin), lambda: _period_of_brokers(admin)
        )
        self._most_ms = period if has_limit else None
        return found

    def too_long(self, token: DelegationToken, now: int) -> KcliError | None:
        """Where the brokers' period is shorter, and its longest life is not."""
        most = self._most_ms
        if most is None or min(now + self.period_ms, token.max_at) <= now + most:
            return None
        return _too_long(f"token {token.id} cannot be renewed for so long", duration_text(most / 1000))

    def less(self, facts: Expiry) -> KcliError | None:
        """Where it expires before the period is over, and before the end of its longest life."""
        if self.period_ms == SERVER_DEFAULT or facts.token is None or facts.new is None:
            return None
        wanted = min(wall_ms() + self.period_ms, facts.token.max_at)
        if facts.new >= wanted - _CLOCKS_DIFFER_MS:
            return None
        what = f"token {facts.token.id} was renewed, but expires {when(facts.new, wall_ms())}"
        return _too_long(what, duration_text((facts.new - wall_ms()) / 1000))

    def needless(self, token: DelegationToken, now: int) -> str:
        """Where it expires at its latest already."""
        shorter = self.period_ms != SERVER_DEFAULT and now + self.period_ms < token.max_at
        return _LATEST if token.expires_at >= token.max_at and not shorter else ""

    def target(self, token: DelegationToken) -> str:
        """The period, and its limit."""
        period = (
            "in the brokers' delegation.token.expiry.time.ms"
            if self.period_ms == SERVER_DEFAULT
            else f"in {duration_text(self.period_ms / 1000)}"
        )
        return f"{period}, at the latest {when(token.max_at, wall_ms())}"

    def warnings(self, plan: Sequence[ExpiryItem]) -> Iterator[str]:
        """A period that is shorter than what is left."""
        end = wall_ms() + self.period_ms
        for item in plan:
            token = item.facts.token
            if self.period_ms != SERVER_DEFAULT and token is not None and end < token.expires_at:
                yield f"token {token.id} will expire earlier than without this: --for is less than the time left"

    def send(self, admin: Admin, tokens: Sequence[DelegationToken]) -> dict[str, int | KcliError | None]:
        """Renews them."""
        return dict(admin.renew_tokens(tokens, self.period_ms))


def _is_kraft(admin: Admin) -> bool:
    """Whether it is known to be."""
    try:
        admin.describe_quorum()
    except KcliError:
        return False
    return True


def _period_of_brokers(admin: Admin) -> int | None:
    """In ms; None where it is not known."""
    resource = ConfigResource(ConfigKind.BROKER, str(min(admin.cluster.view.nodes)))
    try:
        entries = admin.describe_configs([resource], keys=[_PERIOD])[resource]
    except KcliError:
        return None
    if isinstance(entries, KcliError):
        return None
    return next((int(entry.value) for entry in entries if entry.name == _PERIOD and entry.value), None)


def _too_long(what: str, most: str) -> TooLongError:
    return TooLongError(
        what,
        why=f"brokers renew a token for at most {most} at a time: their {_PERIOD}",
        do="leave out --for, and renew it again before then",
    )


class TokenEnd(ExpiryChange):
    """Has tokens expire in ``period_ms``; SERVER_DEFAULT removes them at once."""

    kind = "TokenExpire"
    printed_by = "tokens expire"
    verb = "Expire"
    doing = "expiring"
    done = "expired"

    def target(self, token: DelegationToken) -> str:
        """The time, or that it is removed."""
        if self.period_ms == SERVER_DEFAULT:
            return "at once; nobody can make it again"
        return f"in {duration_text(self.period_ms / 1000)}, at the latest {when(token.max_at, wall_ms())}"

    def send(self, admin: Admin, tokens: Sequence[DelegationToken]) -> dict[str, int | KcliError | None]:
        """Has them expire. One that is to be removed, and is not there, is as it should be: an earlier attempt, whose
        response was lost, or another client has removed it.
        """
        found: dict[str, int | KcliError | None] = dict(admin.expire_tokens(tokens, self.period_ms))
        if self.period_ms == SERVER_DEFAULT:
            for key, one in found.items():
                gone = isinstance(one, BrokerError) and one.code == NOT_FOUND
                if gone or not isinstance(one, KcliError):
                    found[key] = None
        return found
