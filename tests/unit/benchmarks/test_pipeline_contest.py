"""What the benchmark of the pipeline says of its targets: ratios of medians, and seconds."""

from benchmarks._measure import Cost
from benchmarks.pipeline._contest import Contest, Target


def test_targets_are_ratios_or_seconds() -> None:
    contest = Contest(
        "group by",
        0.5,
        {"ours": None, "theirs": None},
        [
            Target("A", "ours", "theirs", 0.5),
            Target("B", "ours", None, 1.5),
            Target("C", "ours", None, 1.5, "wall"),
            Target("D", "theirs", "absent", 1.0),
        ],
        {"ours": [Cost(2.0, 1.0), Cost(2.0, 1.0), Cost(9.0, 9.0)], "theirs": [Cost(5.0, 2.0)]},
    )
    said = contest.report("not installed").splitlines()[-4:]
    assert said == [
        "A: ours: 0.40 × theirs, cpu (target ≤ 0.5): met",
        "B: ours: 2.00 s, cpu (target ≤ 1.5): MISSED",
        "C: ours: 1.00 s, wall (target ≤ 1.5): met",
        "D: theirs: × absent, cpu (target ≤ 1): not measured",
    ]
