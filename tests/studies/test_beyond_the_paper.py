"""Studies beyond the paper: clock or comb, multi-query recall, systems whose form nobody names."""

import numpy as np
import pytest

import hippozoo_studies.beyond.cubic_kernels as cubic
import hippozoo_studies.beyond.multi_query_recall as recall
import hippozoo_studies.beyond.salience_start as start
from hippozoo_studies import Finished, Result, over_seeds, reproduce
from hippozoo_studies.framework.claims import answers


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("salience-start", "| token alone | random | 0.003 |"),
        ("multi-query-recall", "| Associative Memory |"),
        ("cubic-kernels", "| rank 2 | 8 | 89 |"),
        ("unnamed-systems", "| tanks, seldom full | test |"),
    ],
)
def test_a_quick_run_writes_its_table(name, words, tmp_path):
    document = reproduce(name, quick=True, out=tmp_path)
    assert document["quick"]
    assert words in (tmp_path / name / "table.md").read_text()


@pytest.mark.parametrize(("random", "holds"), [(0, True), (5, False)])
def test_the_bump_decides_if_random_starts_learn_fewer_clocks(random, holds):
    cells = {
        "bump": {"clocks": 5, "accuracy": over_seeds([1.0] * 5)},
        "random": {"clocks": random, "accuracy": over_seeds([0.8] * 5)},
    }
    (claim,) = start._claims({"input": {name: {"0.001": one} for name, one in cells.items()}})
    assert claim.holds is holds
    assert (
        f"token alone, 5 of 5 runs learn a clock (ratio below 0.1) from the bump, and {random} of 5" in claim.evidence
    )


def test_a_kind_of_salience_with_one_start_only_is_not_judged_and_named_as_missing():
    cell = {"clocks": 5, "accuracy": over_seeds([1.0] * 5), "salience_ratio": over_seeds([0.003] * 5)}
    both = {name: {f"{rate:g}": cell for rate in start.Config().rates} for name in start.STARTS}
    metrics = {"input": both, "state": {"bump": {"0.001": cell}}}
    (claim,) = start._claims(metrics)
    assert "(token alone)" in claim.claim
    text = start.table(Result(metrics, [], {"config": start.Config()}))
    assert "Not run yet: 25 of 30 runs with salience from token and memory." in text


@pytest.mark.parametrize(
    ("ours", "sizes", "seeds", "expected"),
    [
        (0.95, 3, 3, "holds"),
        (0.9, 3, 3, "does not hold"),
        (0.95, 2, 3, "cannot be told"),
        (0.95, 3, 1, "cannot be told"),
    ],
)
def test_associative_memory_is_judged_against_deltanet_once_all_is_run(ours, sizes, seeds, expected):
    row = {"assoc": over_seeds([ours] * seeds), "deltanet": over_seeds([0.955] * seeds)}
    (claim,) = answers(recall.CLAIMS, recall.Config(), {"accuracy": {f"size_{number}": row for number in range(sizes)}})
    assert claim.verdict == expected


def test_runs_of_a_rival_that_learn_nothing_do_not_make_us_better():
    row = {"assoc": over_seeds([0.88] * 3), "deltanet": over_seeds([0.05, 0.92, 0.94])}
    (claim,) = answers(recall.CLAIMS, recall.Config(), {"accuracy": {f"size_{number}": row for number in range(3)}})
    assert claim.verdict == "holds in part"
    assert "at 3 of 3 sizes by the mean over seeds, at 0 by the median" in claim.evidence


def test_each_kind_of_address_is_judged_by_itself_and_has_the_same_size():
    row = {"assoc": over_seeds([0.88] * 3), "assoc_2d": over_seeds([0.95] * 3), "deltanet": over_seeds([0.92] * 3)}
    found = answers(recall.CLAIMS, recall.Config(), {"accuracy": {f"size_{number}": row for number in range(3)}})
    assert [one.verdict for one in found] == ["does not hold", "holds", "holds"]
    assert "two-dimensional" in found[1].claim
    for model in recall.TITLE:
        core = recall.build(recall.Config(), model).core
        assert sum(one.numel() for one in core.parameters()) == pytest.approx(25_000, rel=0.03)


def test_each_task_of_recall_has_units_and_rates_of_its_own():
    config = recall.Config(models=("assoc",), sizes=((64, 8),), seeds=(0,))
    units = recall.units(config)
    # Units of our task have the keys that they had before there was another.
    assert [unit.get("task") for unit in units] == [None, None, "zoology", "zoology"]
    losses = {None: {3e-3: 0.1, 1e-2: 0.2}, "zoology": {3e-3: 0.2, 1e-2: 0.1}}
    found = [
        Finished(unit, {"validation_loss": losses[unit.get("task")][unit["rate"]], "accuracy": 0.5}, 1.0)
        for unit in units
    ]
    more = {unit.get("task"): unit["rate"] for unit in recall.more_units(config, found)}
    assert more == {None: 3e-3, "zoology": 1e-2}


def test_runs_with_more_steps_stand_beside_the_others_and_change_none_of_them():
    config = recall.Config(models=("assoc_2d", "deltanet"), tasks=("zoology",), sizes=((64, 8),), seeds=(0,))

    def run(unit, accuracy):
        result = {"validation_loss": unit["rate"], "accuracy": accuracy, "core_parameters": 25_000}
        return Finished(unit, result, 1.0)

    found = [run(unit, 0.9) for unit in recall.units(config)]
    longer = [unit for unit in recall.more_units(config, found) if "steps" in unit]
    assert [(unit["model"], unit["rate"], unit["steps"]) for unit in longer] == [
        ("assoc_2d", 3e-3, 1_600),
        ("deltanet", 3e-3, 1_600),
    ]
    late = [run(unit, accuracy) for unit, accuracy in zip(longer, (0.95, 0.97), strict=True)]
    before, after = (recall.assemble(config, some) for some in (found, [*found, *late]))
    assert before.metrics["zoology"]["accuracy"] == after.metrics["zoology"]["accuracy"]
    assert after.metrics["zoology"]["longer"] == {"length_64_pairs_8": {"assoc_2d": 0.95, "deltanet": 0.97}}
    (claim,) = [one for one in after.claims if "1,600 steps" in one.claim]
    assert (claim.verdict, claim in before.claims) == ("does not hold", False)
    assert "| DeltaNet | 97.0 |" in recall.table(after)


def test_the_cubic_system_is_its_kernels_applied_to_the_past(rng):
    length = 9
    signal, target = cubic.cubic_system(60, rng, length)
    first, third = cubic.filters(length)[0], cubic.kernel_of(cubic.filters(length))
    padded = np.concatenate([np.zeros(length - 1), signal])
    past = np.lib.stride_tricks.sliding_window_view(padded, length)[:, ::-1]
    expected = past @ first + np.einsum("ijk,ti,tj,tk->t", third, past, past, past)
    np.testing.assert_allclose(target, expected, atol=1e-12)


def test_two_products_of_functionals_can_be_the_third_kernel():
    """At a high order nothing is lost: the least error of a kernel is rounding, at a low order it is not."""
    assert cubic._least_kernel_error(64, 32.0) < 1e-12 < cubic._least_kernel_error(8, 32.0)
