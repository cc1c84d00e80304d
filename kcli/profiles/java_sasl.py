"""Other clients' ways to configure SASL as kcli's options: the text of
``sasl.jaas.config`` (login modules and their options), classes, and ways to get tokens. Pure: nothing in it is run.

Classes are names here, compared with those that are known: none is ever loaded. Sources: the classes' documentation
in Apache Kafka 4.x, aws-msk-iam-auth, and librdkafka's CONFIGURATION.md.
"""

import re
from collections.abc import Callable, Iterable, Mapping

from kcli.core.classes import NamedTuple
from kcli.core.errors import ConfigError
from kcli.core.near_names import near_names
from kcli.profiles.profile import Pair, Report
from kcli.profiles.secret_keys import JAAS, JAVA_SASL_KEYS

_TOKENS = re.compile(
    r"""(?P<gap>(?:\s|//[^\n]*|/\*.*?\*/)+)
    |(?P<quoted>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |(?P<sign>[=;])
    |(?P<word>[^\s"'=;]+)""",
    re.VERBOSE | re.DOTALL,
)
_FLAGS = ("required", "requisite", "sufficient", "optional")
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ESCAPE = re.compile(r"\\([0-3]?[0-7]{1,2}|.)", re.DOTALL)
_FORM = 'write MODULE required NAME="VALUE" …;'


class LoginModule(NamedTuple):
    """``name`` is the class, ``options`` what follows it."""

    name: str
    options: dict[str, str]


def parse_jaas(text: str, origin: str) -> LoginModule:
    """The login module; ConfigError says what is wrong, without the text."""
    tokens = _tokens(text, origin)
    if len(tokens) < 2:
        raise _invalid(
            origin, "there is no login module in it" if not tokens else "a control flag is missing"
        )
    (name, _), (flag, _) = tokens[:2]
    if flag.lower() not in _FLAGS:
        raise _invalid(origin, f"after the login module {name} one of {', '.join(_FLAGS)} has to follow")
    options: dict[str, str] = {}
    at = 2
    while at < len(tokens) and tokens[at] != (";", "sign"):
        key, sign, value = (*tokens[at : at + 3], ("", ""), ("", ""))[:3]
        if key[1] == "sign" or sign != ("=", "sign") or value[1] not in ("word", "quoted"):
            raise _invalid(origin, f'option {len(options) + 1} is not of the form NAME="VALUE"')
        options[key[0]] = value[0]
        at += 3
    if at >= len(tokens):
        raise _invalid(origin, "the semicolon at the end is missing")
    if at + 1 < len(tokens):
        raise _invalid(origin, "a client has one login module, and there is more after the first")
    return LoginModule(name, options)


def _tokens(text: str, origin: str) -> list[tuple[str, str]]:
    """The tokens of the text, each with its kind."""
    found, at = [], 0
    while at < len(text):
        match = _TOKENS.match(text, at)
        if match is None:
            raise _invalid(origin, "a quote is not closed")
        kind = str(match.lastgroup)
        if kind == "quoted":
            found.append((_ESCAPE.sub(_unescaped, match[0][1:-1]), kind))
        elif kind != "gap":
            found.append((match[0], kind))
        at = match.end()
    return found


def _unescaped(match: re.Match[str]) -> str:
    escape = match[1]
    return chr(int(escape, 8)) if escape[0] in "01234567" else _ESCAPES.get(escape, escape)


def _invalid(origin: str, why: str) -> ConfigError:
    return ConfigError(f"sasl.jaas.config cannot be read (from {origin})", why=why, do=_FORM)


_SECURITY = "org.apache.kafka.common.security."
_SHADED = "kafkashaded."  # Databricks and others rename Kafka's packages
_MSK = "software.amazon.msk.auth.iam."
_MECHANISM = "sasl.mechanism"
_MSK_MECHANISM = "AWS_MSK_IAM"

_AGREEING = {
    "sasl.oauthbearer.method": ("oidc", "default"),
    "sasl.oauthbearer.grant.type": ("client_credentials",),
    "sasl.oauthbearer.metadata.authentication.type": ("none",),
}
"""Options of librdkafka, with the values that need nothing of kcli."""
_OAUTH_HANDLERS = frozenset((
    f"{_SECURITY}oauthbearer.OAuthBearerLoginCallbackHandler",
    f"{_SECURITY}oauthbearer.secured.OAuthBearerLoginCallbackHandler",
    f"{_SECURITY}oauthbearer.internals.OAuthBearerSaslClientCallbackHandler",
    f"{_SECURITY}oauthbearer.DefaultJwtRetriever",
    f"{_SECURITY}oauthbearer.ClientCredentialsJwtRetriever",
    f"{_SECURITY}oauthbearer.FileJwtRetriever",
))  # fmt: skip
_MSK_HANDLERS = frozenset((f"{_MSK}IAMClientCallbackHandler", f"{_MSK}IAMOAuthBearerLoginCallbackHandler"))

Mapped = list[tuple[str, str]]


def translated(pairs: Iterable[Pair], report: Report) -> list[Pair]:
    """The pairs of one source, with kcli's options in place of Java's; ``report`` is called for what has none."""
    found: list[Pair] = []
    last: list[Pair] = []
    for pair in pairs:
        if pair.key not in JAVA_SASL_KEYS:
            found.append(pair)
            continue
        try:
            if pair.key == JAAS:
                found += _of_module(pair)
            elif pair.key in _AGREEING:
                found += _of_librdkafka(pair)
            else:
                last += _of_handler(pair)
        except ConfigError as error:
            report(error)
    return found + last


def _of_module(pair: Pair) -> list[Pair]:
    module = parse_jaas(pair.text, pair.origin)
    name = module.name.removeprefix(_SHADED)
    mapping = _MODULES.get(name)
    if mapping is None:
        known = ", ".join(one.rpartition(".")[2] for one in _MODULES)
        raise ConfigError(
            f"sasl.jaas.config names the login module {module.name}, which kcli does not know (from {pair.origin})",
            why=f"kcli runs no classes; it understands the options of {known}",
            do="use one of them, or sasl.mechanism with sasl.username and sasl.password_file",
        )
    return [Pair(key, text, pair.origin) for key, text in mapping(module.options, pair)]


def _of_librdkafka(pair: Pair) -> list[Pair]:
    """No pair for what kcli does anyway; the pair itself, which is then refused by its key, for anything else."""
    return [] if pair.text.strip().lower() in _AGREEING[pair.key] else [pair]


def _of_handler(pair: Pair) -> list[Pair]:
    name = pair.text.strip().removeprefix(_SHADED)
    if name in _OAUTH_HANDLERS or not name:
        return []
    if name in _MSK_HANDLERS:
        # Amazon's brokers offer both mechanisms on one port; kcli has one of them.
        return [Pair(_MECHANISM, _MSK_MECHANISM, pair.origin)] if "OAuth" in name else []
    raise ConfigError(
        f"{pair.key} names {pair.text.strip()}, which kcli does not know (from {pair.origin})",
        why="kcli runs no classes of Java",
        do="take it out; for tokens there are sasl.oauthbearer.token.endpoint.url, "
        "sasl.oauthbearer.token.file and sasl.oauthbearer.token.command",
    )


def _password(options: Mapping[str, str], pair: Pair) -> Mapped:
    _known(options, ("username", "password", "tokenauth", "serviceName"), pair)
    found = _taken(options, {"username": "sasl.username", "password": "sasl.password"})
    if options.get("tokenauth", "false").lower() == "true":
        found.append(("sasl.tokenauth", "true"))
    return found


def _oauth(options: Mapping[str, str], pair: Pair) -> Mapped:
    unsecured = [key for key in options if key.startswith("unsecured")]
    if unsecured:
        raise ConfigError(
            f"sasl.jaas.config: {unsecured[0]} is not supported (from {pair.origin})",
            why="unsecured tokens prove nothing: they are for tests of brokers only",
            do="name a token with sasl.oauthbearer.token.file or sasl.oauthbearer.token.command",
        )
    extensions = {
        key.removeprefix("extension_"): v for key, v in options.items() if key.startswith("extension_")
    }
    keys = {
        "clientId": "sasl.oauthbearer.client.id",
        "clientSecret": "sasl.oauthbearer.client.secret",
        "scope": "sasl.oauthbearer.scope",
    }
    plain = {key: value for key, value in options.items() if not key.startswith("extension_")}
    _known(plain, (*keys, "refreshToken"), pair)
    found = _taken(plain, keys)
    if extensions:
        found.append(("sasl.oauthbearer.extensions", ",".join(f"{key}={v}" for key, v in extensions.items())))
    return found


def _kerberos(options: Mapping[str, str], pair: Pair) -> Mapped:
    """A ticket of the cache (``kinit``) needs no option; a keytab is named with its principal."""
    _known(options, _KERBEROS, pair)
    keys = {"principal": "sasl.kerberos.principal", "serviceName": "sasl.kerberos.service.name"}
    if options.get("useKeyTab", "false").lower() == "true":
        if not options.get("keyTab"):
            raise ConfigError(
                f"sasl.jaas.config: useKeyTab without keyTab (from {pair.origin})",
                why="kcli does not know which keytab Java would use",
                do='name it with keyTab="PATH"',
            )
        keys["keyTab"] = "sasl.kerberos.keytab"
    if options.get("ticketCache"):
        raise ConfigError(
            f"sasl.jaas.config: ticketCache is not supported (from {pair.origin})",
            why="the Kerberos libraries of the system choose the ticket cache",
            do="set the variable KRB5CCNAME, and take ticketCache out",
        )
    return _taken(options, keys)


def _msk(options: Mapping[str, str], pair: Pair) -> Mapped:
    _known(options, _MSK_OPTIONS, pair)
    if options.get("awsRoleArn"):
        raise ConfigError(
            f"sasl.jaas.config: awsRoleArn is not supported (from {pair.origin})",
            why="AWS's own configuration says which role is assumed",
            do="give a profile in ~/.aws/config this role_arn, and name it with awsProfileName or sasl.aws.profile",
        )
    return _taken(options, {"awsProfileName": "sasl.aws.profile"})


_KERBEROS = (
    "useKeyTab", "keyTab", "principal", "storeKey", "useTicketCache", "ticketCache", "renewTGT", "doNotPrompt",
    "serviceName", "debug", "refreshKrb5Config", "isInitiator", "useFirstPass", "tryFirstPass", "storePass", "clearPass",
)  # fmt: skip

_MSK_OPTIONS = (
    "awsProfileName", "awsRoleArn", "awsRoleExternalId", "awsRoleSessionName", "awsStsRegion", "awsDebugCreds",
    "awsMaxRetries", "awsMaxBackOffTimeMs",
)  # fmt: skip

_MODULES: dict[str, Callable[[Mapping[str, str], Pair], Mapped]] = {
    f"{_SECURITY}plain.PlainLoginModule": _password,
    f"{_SECURITY}scram.ScramLoginModule": _password,
    f"{_SECURITY}oauthbearer.OAuthBearerLoginModule": _oauth,
    "com.sun.security.auth.module.Krb5LoginModule": _kerberos,
    f"{_MSK}IAMLoginModule": _msk,
}


def _taken(options: Mapping[str, str], keys: Mapping[str, str]) -> Mapped:
    return [(keys[name], value) for name, value in options.items() if name in keys]


def _known(options: Mapping[str, str], names: Iterable[str], pair: Pair) -> None:
    known = tuple(names)
    for name in options:
        if name not in known:
            near = near_names(name, known)
            raise ConfigError(
                f"unknown option {name!r} of the login module in sasl.jaas.config (from {pair.origin})",
                why=f"it has {', '.join(known)}",
                do=f"did you mean {near[0]!r}?" if near else "take it out",
            )
