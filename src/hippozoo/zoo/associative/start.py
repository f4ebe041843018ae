"""Where learning starts: functionals of the state that read one sample of the recent past."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from hippozoo._internal.arguments import whole_number
from hippozoo.discretise import discretise
from hippozoo.systems import HippoSystem

__all__ = ["sample_reader"]


def sample_reader(system: HippoSystem, dt: float, lag: int, among: int = 4) -> Float[np.ndarray, " order"]:
    """The smallest weights w for which ``w @ state`` is the sample `lag` steps ago, and none of the others named.

    Parameters
    ----------
    system, dt
        The memory, and the time from sample to sample.
    lag
        Which sample: 0 is the newest.
    among
        How many of the newest samples are told apart. With a window of many samples a smooth basis cannot single one
        out; the answer is then the one of least squares.

    Examples
    --------
    >>> from hippozoo.memory import Memory
    >>> from hippozoo.systems import LegT
    >>> previous = sample_reader(LegT(order=16, timescale=2.0), 1.0, lag=1)
    >>> state = Memory(LegT(order=16, timescale=2.0)).final(np.array([5.0, 7.0]))
    >>> float((previous @ state).round(6))
    5.0
    """
    among = whole_number("among", among)
    lag = whole_number("lag", lag, minimum=0)
    if lag >= among:
        raise ValueError(f"lag={lag}, but only the newest among={among} samples are told apart; pass lag < among.")
    A_d, b_d = discretise(system, dt, "zoh")
    responses = [b_d]
    for _ in range(among - 1):
        responses.append(A_d @ responses[-1])
    # Directions in which the samples hardly differ are left alone: to read them would take huge weights.
    return np.linalg.pinv(np.stack(responses), rcond=1e-3)[:, lag]
