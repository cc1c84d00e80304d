"""``kcli features downgrade``: finalize lower levels of features, or switch them off."""

from kcli.commands.features._types import level_options, wanted_levels
from kcli.commands.shared.changing import run_change
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import option


@command(
    "downgrade",
    exits={
        1: "no broker knows the feature",
        7: "the controller refuses it, as where metadata would be lost, or the feature has a lower level",
    },
    reads=("XDG_STATE_HOME",),
    examples=(
        ("kcli features downgrade --feature share.version=1", "a lower level"),
        ("kcli features downgrade --feature streams.version=0", "switch it off"),
        ("kcli features downgrade --metadata 4.3 --dry-run", "would the controller do so?"),
    ),
)
@level_options("downgrade")
@option("--unsafe", is_flag=True, help="also where metadata is lost, as far as the controller does so")
@pass_invocation
def downgrade_features(
    inv: Invocation,
    features: tuple[tuple[str, int], ...],
    metadata: int | None,
    release: str | None,
    unsafe: bool,
) -> int:
    """Downgrade features to lower levels; level 0 switches a feature off.

    A safe downgrade loses no metadata: the controller refuses others, and --unsafe too in many versions (Kafka 4.4 never
    goes back to a metadata.version that has other records). The controller checks it before the plan is shown, also with
    --dry-run. All levels are changed or none, and read back. `kcli undo` upgrades again.
    """
    from kcli.flows.features.change import FeatureDowngrade  # clients are loaded when the command runs

    levels = wanted_levels("downgrade", features, metadata, release)
    return run_change(inv, FeatureDowngrade(levels, release=release, unsafe=unsafe))
