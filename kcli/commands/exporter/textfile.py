"""``kcli exporter --textfile``: the page of one sample, for node_exporter's textfile collector."""

from threading import Event

from kcli.account.survey import Missing
from kcli.commands.exporter.options import ExporterOptions
from kcli.commands.exporter.sampling import samplers
from kcli.commands.shared.context import Invocation
from kcli.core.clock import monotonic
from kcli.core.errors import KcliError
from kcli.exporter.exposition import CLASSIC, document, joined
from kcli.exporter.last_sample import LastSample
from kcli.exporter.metrics import is_of_one_sample
from kcli.exporter.page import Page
from kcli.files.atomic import replace_file

_MODE = 0o644
"""node_exporter runs as another user."""


def write(inv: Invocation, asked: ExporterOptions, path: str) -> int:
    """A cluster that could not be read has no figures on the page, and its kcli_exporter_up is 0: what was in the file
    before would pass for new.
    """
    some = samplers(inv, asked)
    from kcli.exporter.health import Health  # an optional extra

    states: dict[str, LastSample] = {}
    for one in some:
        loop = one.loop(Event(), warn=lambda _text: None)  # what is missing is reported below
        with one.open_readers() as readers:
            missing = loop.sample(readers)
        states[one.cluster.name] = loop.state
        for part in missing:
            inv.lacks(part._replace(what=f"{one.where}{part.what}"))
        if loop.state.page is not None and loop.state.page.dropped:
            inv.lacks(
                Missing(
                    f"{one.where}{loop.state.page.dropped:,} series",
                    "",
                    _left_out(one.where, loop.state.page),
                )
            )
    texts = [state.page.text for state in states.values() if state.page is not None]
    health = Health(once=True).part(CLASSIC, states, monotonic(), 0, labelled=len(some) > 1)
    if inv.dry_run:
        inv.talk.note(f"would write {path}")
    else:
        pieces = document(CLASSIC, [health, *joined(texts, CLASSIC, is_of_one_sample)])
        replace_file(path, b"".join(pieces), mode=_MODE)
    return inv.finish(done=bool(texts))


def _left_out(where: str, page: Page) -> KcliError:
    return KcliError(
        f"{where}{page.dropped:,} series are left out",
        why="there are more than --max-series allows; kcli_series_dropped on the page counts them by collector",
        do="allow more with --max-series, or choose fewer groups and topics with --groups and --topics",
    )
