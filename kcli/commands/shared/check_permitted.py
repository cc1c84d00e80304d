"""What a dry run asks about permissions: a stream finds out at its first request, which a dry run does not send."""

from collections.abc import Iterable, Mapping, Sequence

from kcli.account.survey import Missing
from kcli.commands.shared.context import Invocation
from kcli.core.admin.admin import Admin
from kcli.core.errors import KcliError
from kcli.core.options import ClientOptions
from kcli.flows.permitted import denied_groups, denied_topics


def check_permitted(
    inv: Invocation, doing: Mapping[str, str], topics: Iterable[str], *, group: str | None = None
) -> set[str]:
    """Reports the topics on which brokers would refuse an operation as missing, and returns them; KcliError where they
    would refuse all of it, such as READ on the ``group``. ``doing``: what each operation is for, with ``{}`` in the
    name's place: ``{"READ": "reading topic {}"}``.
    """
    names = list(dict.fromkeys(topics))
    denied: dict[str, KcliError] = {}
    with Admin(inv.inner_options(ClientOptions), inv.hooks, timeout=inv.timeout) as admin:
        for operation, text in doing.items():
            denied = denied_topics(admin, names, operation, text) | denied
        of_group = _denied_group(admin, [group] if group is not None else [])
    errors = [*of_group, *denied.values()]
    if errors and (of_group or len(denied) == len(names)):
        raise errors[0]
    for error in errors:
        inv.lacks(Missing.of(error))
    return set(denied)


def _denied_group(admin: Admin, names: Sequence[str]) -> list[KcliError]:
    """Brokers say it only of a group that exists."""
    found = admin.describe_groups(names, include_operations=True) if names else {}
    known = {name: group for name, group in found.items() if not isinstance(group, KcliError)}
    return list(denied_groups(known, "READ", "joining group {}").values())
