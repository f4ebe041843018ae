"""Learnt windows: pairs of state and future, and a small study to the end."""

import numpy as np

from hippozoo.memory import Memory
from hippozoo.systems import LegT
from hippozoo_studies import over_seeds, reproduce
from hippozoo_studies.beyond import learnt_windows as study


def test_a_state_is_paired_with_the_samples_after_it():
    signal = np.arange(400.0)
    memory = Memory(LegT(4, 20.0))
    states, futures = study.pairs(memory, signal, 3)
    assert futures[0].tolist() == [101.0, 102.0, 103.0]
    np.testing.assert_allclose(states[0], memory.final(signal[:101]))
    assert len(states) == len(futures)


def test_a_learnt_window_is_judged_against_the_papers():
    def row(share):
        one = {"window": over_seeds([50.0]), "mse": over_seeds([share]), "over_32": over_seeds([share])}
        return {"H4": {"fixed": {"32": over_seeds([1.0]), "64": over_seeds([0.9])}, "from_32": one}}

    verdicts = [study.claims(row(share))[0].verdict for share in (0.9, 1.1)]
    assert verdicts == ["holds", "does not hold"]


def test_a_small_study_runs_to_the_end(tmp_path):
    document = reproduce("learnt-windows", quick=True, out=tmp_path)
    assert set(document["metrics"]) == {"H4", "H32"}
    window = document["metrics"]["H32"]["from_32"]["window"]["mean"]
    assert 20 < window < 50
    assert window != 32.0
    assert "| 32 | learnt from 32 |" in (tmp_path / "learnt-windows" / "table.md").read_text()
    assert (tmp_path / "learnt-windows" / "windows.png").exists()
