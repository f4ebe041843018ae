"""Rows of the recall-scaling study: the paper's table, and what it leaves open."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["BEYOND", "FACTORS", "POSITIONS", "ROWS", "Row"]


@dataclass(frozen=True)
class Row:
    """One line of the paper's table, or one of ours.

    Parameters
    ----------
    setting, title
        As printed there.
    params
        In thousands.
    paper
        Its test accuracy, in per cent; NaN where it has none.
    layers, positions
        Of the model; positions are sinusoidal, or learnt.
    data, steps
        How many times the training sequences, and the steps, of the baseline.
    answer_alone
        The loss looks at the answer, and not at all outputs, most of which are to be silent.
    batch
        Sequences in a step; None for the study's own.
    varies
        The row of which batch or loss is varied: it is run once, at the rate of that row and with one seed.
    """

    setting: str
    title: str
    params: int
    paper: float = math.nan
    layers: int = 1
    positions: bool | Literal["learnt"] = False
    data: int = 1
    steps: int = 1
    answer_alone: bool = False
    batch: int | None = None
    varies: str = ""


_ALL = "Capacity 10x + Data 10x + Steps 2x"
ROWS: dict[str, Row] = {
    "assoc": Row("Baseline", "Assoc. Memory HiPPO", 25, 100.0),
    "transformer": Row("Baseline", "Transformer", 27, 32.9),
    "transformer_pe": Row("Baseline + PE", "Transformer", 27, 33.2, positions=True),
    "transformer_capacity": Row("Capacity 10x", "Transformer", 270, 32.4),
    "transformer_2_capacity_pe": Row("Capacity 10x + PE", "Transformer", 270, 98.9, 2, positions=True),
    "transformer_data": Row("Data 10x", "Transformer", 27, 32.9, data=10),
    "transformer_2_data_pe": Row("Data 10x + PE", "Transformer", 27, 32.7, 2, positions=True, data=10),
    "transformer_steps": Row("Steps 2x", "Transformer", 27, 34.5, steps=2),
    "transformer_2_steps_pe": Row("Steps 2x + PE", "Transformer", 27, 99.7, 2, positions=True, steps=2),
    "transformer_all": Row(_ALL, "Transformer", 270, 32.3, data=10, steps=2),
    "transformer_2_all": Row(_ALL, "Transformer", 270, 31.2, 2, data=10, steps=2),
    "lstm": Row("Baseline", "LSTM", 25, 32.7),
    "lstm_2": Row("Baseline", "LSTM", 48, 32.0, 2),
    "s4d": Row("Baseline", "S4D", 26, 33.2),
    "s4d_2": Row("Baseline", "S4D", 47, 33.2, 2),
    "lstm_all": Row(_ALL, "LSTM", 250, 68.2, data=10, steps=2),
    "lstm_2_all": Row(_ALL, "LSTM", 480, 77.8, 2, data=10, steps=2),
    "s4d_all": Row(_ALL, "S4D", 260, 32.8, data=10, steps=2),
    "s4d_2_all": Row(_ALL, "S4D", 470, 32.8, 2, data=10, steps=2),
}
_LONG = "Data 20x + Steps 8x, loss on the answer alone"
#: Not in the paper: whether attention can bind pairs at all, and whether that takes positions and two layers. One rate,
#: one seed.
BEYOND: dict[str, Row] = {
    "transformer_2_long_pe": Row(
        f"{_LONG} + PE", "Transformer", 27, layers=2, positions=True, data=20, steps=8, answer_alone=True
    ),
    "transformer_long_pe": Row(f"{_LONG} + PE", "Transformer", 27, positions=True, data=20, steps=8, answer_alone=True),
    "transformer_2_long": Row(_LONG, "Transformer", 27, layers=2, data=20, steps=8, answer_alone=True),
}


def _factors() -> dict[str, Row]:
    """Each factor of "Capacity 10x + Data 10x + Steps 2x" alone and in pairs, one layer; and more steps at 25,000."""
    found: dict[str, Row] = {}
    for model, title, small, large in (("lstm", "LSTM", 25, 250), ("s4d", "S4D", 26, 260)):
        # What decides the sentence about capacity comes first: the small model with everything else.
        found |= {
            f"{model}_data_steps_4": Row("Data 10x + Steps 4x", title, small, data=10, steps=4),
            f"{model}_data_steps": Row("Data 10x + Steps 2x", title, small, data=10, steps=2),
            f"{model}_data": Row("Data 10x", title, small, data=10),
            f"{model}_steps": Row("Steps 2x", title, small, steps=2),
            f"{model}_capacity_data": Row("Capacity 10x + Data 10x", title, large, data=10),
            f"{model}_capacity": Row("Capacity 10x", title, large),
            f"{model}_capacity_steps": Row("Capacity 10x + Steps 2x", title, large, steps=2),
        }
    return found


def _positions() -> dict[str, Row]:
    """The two settings in which the paper's two-layer transformers solve the task, with learnt positions too, and with
    batch and loss varied once each.
    """
    found: dict[str, Row] = {}
    settings = {"steps": ("Steps 2x", 27, 2), "capacity": ("Capacity 10x", 270, 1)}
    for name, (setting, params, steps) in settings.items():
        base: dict[str, Any] = {"params": params, "layers": 2, "steps": steps}
        found[f"transformer_2_{name}_learnt"] = Row(f"{setting} + learnt PE", "Transformer", **base, positions="learnt")
    for name, (setting, params, steps) in settings.items():
        for kind, words in ((True, "PE"), ("learnt", "learnt PE")):
            varied = f"transformer_2_{name}_{'learnt' if kind == 'learnt' else 'pe'}"
            common: dict[str, Any] = {
                "params": params,
                "layers": 2,
                "steps": steps,
                "positions": kind,
                "varies": varied,
            }
            found |= {
                f"{varied}_answer": Row(
                    f"{setting} + {words}, loss on the answer alone", "Transformer", **common, answer_alone=True
                ),
                f"{varied}_batch": Row(f"{setting} + {words}, batch of 256", "Transformer", **common, batch=256),
            }
    return found


#: Not in the paper: which of the three factors it takes.
FACTORS = _factors()
#: Not in the paper: learnt positions, and other readings of what it leaves open.
POSITIONS = _positions()
