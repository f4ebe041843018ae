"""What a person reads after a run: a quick one judges nothing."""

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from hippozoo_studies import summary


@pytest.mark.parametrize(("quick", "expected"), [(True, "not judged: it works"), (False, "does not hold: it works")])
def test_a_quick_run_judges_nothing(quick, expected):
    claim = {"claim": "it works", "holds": False, "verdict": "does not hold", "evidence": "0.1 against 0.9"}
    document = {
        "name": "one",
        "quick": quick,
        "seeds": [0],
        "metrics": {},
        "paper": {},
        "seconds": 1.0,
        "claims": [claim],
    }
    out = StringIO()
    Console(file=out, width=100).print(summary(document, Path("results")))
    assert expected in out.getvalue()
    assert ("does not hold" in out.getvalue()) == (not quick)


@pytest.mark.parametrize(("missing", "expected"), [(0, ""), (1, "1 unit is still"), (27, "27 units are still")])
def test_a_result_that_is_not_final_says_so(missing, expected):
    document = {"name": "one", "quick": False, "seeds": [0], "metrics": {}, "paper": {}, "seconds": 1.0, "claims": []}
    out = StringIO()
    Console(file=out, width=200).print(summary(document | {"units_missing": missing}, Path("results")))
    assert expected in out.getvalue()
    assert ("not final" in out.getvalue()) == (missing > 0)
    assert ("hippozoo reproduce one goes on" in out.getvalue()) == (missing > 0)
