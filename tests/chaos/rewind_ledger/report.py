"""What a run of the ledger has shown: a line for each cell, the table, and whether it is good enough. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence

from tests.chaos.rewind_ledger.run import Judged, Outcome

CALM_LIMIT, DISTURBED_LIMIT = 0.03, 0.10
"""The share of partitions that may be reported as unknown, in cells where nobody is killed, and in the others."""
VOID_LIMIT = 0.05
_FACTS = {True: "held", False: "NOT held", None: "not seen"}


def line(seed: int, outcome: Outcome) -> str:
    """One cell."""
    cell = outcome.cell
    head = f"{seed}:{cell.number} [{cell}] {outcome.seconds:.0f} s (rewind {outcome.rewind_seconds:.1f} s)"
    if outcome.void:
        return f"{head} VOID {outcome.void}"
    counted = Counter(f"{one.status}/{_FACTS[one.fact.held]}" for one in outcome.judged)
    shown = ", ".join(f"{count} {name}" for name, count in sorted(counted.items()))
    text = f"{head} exit {outcome.code}: {shown}"
    details = [f"FAULT: {fault}" for fault in outcome.faults]
    details += [
        f"partition {one.partition} {one.status}: set {one.new}, was {one.committed}; {one.fact.why}"
        for one in outcome.judged
        if one.fact.why and one.status != "held"
    ]
    details += outcome.notes
    if outcome.code not in (0, 3, 6) or not outcome.judged:
        details.append(outcome.error.replace("\n", " ")[:300])
    return "\n    ".join([text, *details])


def kind(outcome: Outcome) -> str:
    """What the summary counts together."""
    cell = outcome.cell
    protocol = (
        "KIP-848" if not cell.assignor else "cooperative" if "cooperative" in cell.assignor else "eager"
    )
    return f"{protocol}, {'calm' if cell.calm else 'disturbed'}"


def summary(outcomes: Sequence[Outcome]) -> list[str]:
    """The table by protocol and by what happened, then the shares."""
    columns = sorted({_column(one) for outcome in outcomes for one in outcome.judged})
    rows = sorted({kind(outcome) for outcome in outcomes})
    lines = [f"{'':24}{'cells':>7}{'partitions':>12}" + "".join(f"{name:>22}" for name in columns)]
    for row in [*rows, "all"]:
        of_row = [outcome for outcome in outcomes if row in (kind(outcome), "all")]
        counted = Counter(_column(one) for outcome in of_row for one in outcome.judged)
        figures = "".join(f"{counted[name]:>22}" for name in columns)
        lines.append(f"{row:24}{len(of_row):>7}{sum(counted.values()):>12}{figures}")
    for name, share, limit in _shares(outcomes):
        lines.append(f"unknown, {name}: {share:.1%} (at most {limit:.0%})")
    return lines


def complaints(outcomes: Sequence[Outcome]) -> list[str]:
    """Why the run has failed; empty: it has not."""
    found = [f"cell {outcome.cell.number}: {fault}" for outcome in outcomes for fault in outcome.faults]
    for name, share, limit in _shares(outcomes):
        if share >= limit:
            found.append(
                f"{share:.1%} of the partitions of {name} cells are unknown, {limit:.0%} is the limit"
            )
    void = sum(bool(outcome.void) for outcome in outcomes)
    if void > VOID_LIMIT * len(outcomes):
        found.append(f"{void} of {len(outcomes)} cells are void: they did not come to their rewind")
    return found


def _shares(outcomes: Sequence[Outcome]) -> Iterable[tuple[str, float, float]]:
    for name, calm, limit in (("calm", True, CALM_LIMIT), ("disturbed", False, DISTURBED_LIMIT)):
        judged = [one for outcome in outcomes if outcome.cell.calm is calm for one in outcome.judged]
        if judged:
            yield name, sum(one.status == "unknown" for one in judged) / len(judged), limit


def _column(one: Judged) -> str:
    return one.status if one.status == "refused" else f"{one.status}/{_FACTS[one.fact.held]}"
