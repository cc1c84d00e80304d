"""What a dry run asks about permissions: a stream finds out at its first request, which a dry run does not send."""

from collections.abc import Iterable, Sequence

from kcli.account.survey import Missing
from kcli.commands.shared.context import Invocation
from kcli.core.admin.admin import Admin
from kcli.core.errors import KcliError
from kcli.core.options import ClientOptions
from kcli.flows.permitted import denied_groups, denied_topics


def check_permitted(
    inv: Invocation, operation: str, topics: Iterable[str], doing: str, *, group: str | None = None
) -> set[str]:
    """Reports the topics on which brokers would refuse the operation as missing, and returns them; KcliError where they
    would refuse all of it, such as READ on the ``group``. ``doing`` has ``{}`` in the name's place.
    """
    names = list(dict.fromkeys(topics))
    with Admin(inv.inner_options(ClientOptions), inv.hooks, timeout=inv.timeout) as admin:
        denied = denied_topics(admin, names, operation, doing)
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
