"""``kcli features upgrade``: finalize higher levels of features."""

from kcli.commands.features._types import level_options, wanted_levels
from kcli.commands.shared.changing import run_change
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation


@command(
    "upgrade",
    exits={
        1: "no broker knows the feature",
        7: "some broker or controller does not support the level, or the feature has a higher one",
    },
    reads=("XDG_STATE_HOME",),
    examples=(
        ("kcli features upgrade --release-version 4.4", "all features, after all brokers run Kafka 4.4"),
        (
            "kcli features upgrade --metadata 4.4-IV2 --dry-run",
            "checked by the controller, and nothing changed",
        ),
        (
            "kcli features upgrade --feature kraft.version=1",
            "a dynamic quorum: voters can be added and removed",
        ),
    ),
)
@level_options("upgrade")
@pass_invocation
def upgrade_features(
    inv: Invocation,
    features: tuple[tuple[str, int], ...],
    metadata: int | None,
    release: str | None,
) -> int:
    """Upgrade features to higher levels, such as metadata.version after all brokers and controllers were upgraded.

    The plan says what it allows, and what it forbids afterwards: older brokers that can no longer join, and whether there
    is a way back; where there is none, the name of the feature has to be typed. `kcli undo` downgrades again where that
    is possible.

    The controller checks the plan before it is shown, also with --dry-run. All levels are changed or none, and read
    back. --release-version leaves kraft.version alone where it is 0: such a quorum is static, and has to be made
    dynamic by name, since it is run in another way then and there is no way back. Kafka's script upgrades it with the
    others.
    """
    from kcli.flows.features.change import FeatureUpgrade  # clients are loaded when the command runs

    levels = wanted_levels("upgrade", features, metadata, release)
    return run_change(inv, FeatureUpgrade(levels, release=release))
