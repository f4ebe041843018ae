"""Bytes that the state of an ensemble holds, field by field.

python benchmarks/ensemble_size.py > benchmarks/ensemble_size.txt
"""

from __future__ import annotations

import numpy as np

from hippozoo.ensemble import forecaster_for

HORIZONS = (1, 4, 24, 96)


def sizes(horizon: int, **choices: object) -> dict[str, int]:
    """Bytes of every array of one channel, the largest first; every buffer counts once."""
    forecaster = forecaster_for(horizon, **choices)
    mixture = forecaster.initial_state().mixture
    arrays = {name: value.nbytes for name, value in vars(mixture).items() if isinstance(value, np.ndarray)}
    return dict(sorted(arrays.items(), key=lambda one: -one[1]))


def main() -> None:
    """One column for each horizon, with defaults; and one map at horizon 4."""
    columns = {f"horizon {horizon}": sizes(horizon) for horizon in HORIZONS}
    columns["horizon 4, one map"] = sizes(4, history=forecaster_for(4).history[0], anchor="last", ridge=0.1)
    names = list(columns["horizon 24"])
    print(f"{'bytes':<12}" + "".join(f"{name:>20}" for name in columns))
    for name in [*names, "total"]:
        row = [sum(one.values()) if name == "total" else one[name] for one in columns.values()]
        print(f"{name:<12}" + "".join(f"{number:>20,}" for number in row))


if __name__ == "__main__":
    main()
