"""Bytes that the state of an ensemble holds, field by field: what is saved, and what is in memory.

python benchmarks/ensemble_size.py > benchmarks/ensemble_size.txt
"""

from __future__ import annotations

import numpy as np

from hippozoo.ensemble import forecaster_for

HORIZONS = (1, 4, 24, 96)


def sizes(horizon: int, **choices: object) -> dict[str, int]:
    """Bytes of every array of one channel; every buffer counts once.

    Maps follow from moments: they are not saved, and all states between two renewals share them.
    """
    forecaster = forecaster_for(horizon, **choices)
    mixture = forecaster.initial_state().mixture
    arrays = {name: value.nbytes for name, value in vars(mixture).items() if isinstance(value, np.ndarray)}
    arrays["moments"] = mixture.moments.numbers.nbytes
    found = dict(sorted(arrays.items(), key=lambda one: -one[1]))
    saved, maps = sum(found.values()), forecaster.mixer.maps(mixture).nbytes
    return found | {"saved": saved, "maps": maps, "in memory": saved + maps}


def main() -> None:
    """One column for each horizon, with defaults; and one map at horizon 4."""
    columns = {f"horizon {horizon}": sizes(horizon) for horizon in HORIZONS}
    columns["horizon 4, one map"] = sizes(4, history=forecaster_for(4).history[0], anchor="last", ridge=0.1)
    print(f"{'bytes':<12}" + "".join(f"{name:>20}" for name in columns))
    for name in columns["horizon 24"]:
        print(f"{name:<12}" + "".join(f"{one[name]:>20,}" for one in columns.values()))
    print()
    print("After the log has filled up in a long gap, before maps are renewed, moments are held and saved twice.")


if __name__ == "__main__":
    main()
