"""From differential equation to update rule: ``state <- A_d state + b_d sample``.

The zero-order hold is exact for a signal that is constant between samples, whatever the step. The bilinear rule
is cheaper to apply (O(N) for structured systems) and approximate; it is stable at any step too. Forward Euler is
not offered: with these systems it blows up at steps one would use.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from jaxtyping import Float
from scipy.linalg import expm

from hippozoo._internal.arguments import real_array
from hippozoo.systems import HippoSystem

__all__ = ["Method", "bilinear", "discretise", "longest_step", "settled", "zero_order_hold"]

Method = Literal["zoh", "bilinear"]
Step = Float[np.ndarray, "*steps"] | float
# Longer steps, in timescales, are cut to this, so that nothing overflows.
LONGEST_STEP = 1e12
# No system of ours has forgotten before: shorter steps need not ask.
_NOT_FORGOTTEN = 4.0
Update = tuple[Float[np.ndarray, "*steps order order"], Float[np.ndarray, "*steps order"]]


def zero_order_hold(system: HippoSystem, dt: Step) -> Update:
    """The exact update for a sample held for `dt`; an array of steps gives a stack of updates.

    Examples
    --------
    Two half steps make one whole step.

    >>> from hippozoo.systems import LegT
    >>> A_half, _ = zero_order_hold(LegT(order=4, timescale=3.0), 0.5)
    >>> A_whole, _ = zero_order_hold(LegT(order=4, timescale=3.0), 1.0)
    >>> bool(np.allclose(A_half @ A_half, A_whole))
    True
    """
    step = _scaled_steps(system, dt)
    N = system.order
    # After a long step only the sample is left. The exponential would not find that: its rounding grows with the step.
    endless = (
        step >= system.forgotten_after if step.size and step.max() > _NOT_FORGOTTEN else np.zeros(step.shape, bool)
    )
    # exp([[A, b], [0, 0]] h) holds A_d and b_d side by side and needs no A^-1.
    augmented = np.zeros((N + 1, N + 1))
    augmented[:N, :N] = system.A
    augmented[:N, N] = system.b
    both = expm(augmented * np.where(endless, 0.0, step)[..., None, None])
    A_d, b_d = both[..., :N, :N], both[..., :N, N]
    if endless.any():
        A_d[endless] = 0.0
        b_d[endless] = settled(system)
    return A_d, b_d


def settled(system: HippoSystem) -> Float[np.ndarray, " order"]:
    """The state that remembers a constant past of 1: where a held sample of 1 leads.

    Examples
    --------
    >>> from hippozoo.systems import LegT
    >>> bool(np.allclose(settled(LegT(order=3, timescale=1.0)), [1, 0, 0]))
    True
    """
    return np.linalg.solve(system.A, -system.b)


def longest_step(system: HippoSystem, method: Method = "zoh") -> float:
    """Time, in timescales, to which longer steps may be cut without a difference.

    Examples
    --------
    >>> from hippozoo.systems import LegT
    >>> longest_step(LegT(order=64, timescale=1.0))
    8.0
    """
    return min(system.forgotten_after, LONGEST_STEP) if method == "zoh" else LONGEST_STEP


def bilinear(system: HippoSystem, dt: Step) -> Update:
    """The trapezoidal update, second order in `dt`; an array of steps gives a stack of updates.

    Examples
    --------
    A constant past stays what it is.

    >>> from hippozoo.systems import LegS
    >>> A_d, b_d = bilinear(LegS(order=4, timescale=1.0), 0.3)
    >>> bool(np.allclose(A_d[:, 0] + b_d, [1, 0, 0, 0]))
    True
    """
    half = (_scaled_steps(system, dt) / 2)[..., None, None]
    identity = np.eye(system.order)
    right = np.concatenate([identity + half * system.A, 2 * half * system.b[:, None]], axis=-1)
    both = np.linalg.solve(identity - half * system.A, right)
    return both[..., :-1], both[..., -1]


def discretise(system: HippoSystem, dt: Step, method: Method = "zoh") -> Update:
    """The update rule by the name of its method: ``"zoh"`` (exact) or ``"bilinear"``.

    Examples
    --------
    >>> from hippozoo.systems import LegT
    >>> A_d, b_d = discretise(LegT(order=4, timescale=1.0), 0.1, "bilinear")
    >>> A_d.shape, b_d.shape
    ((4, 4), (4,))
    """
    if method not in get_args(Method):
        raise ValueError(f"method={method!r} is unknown; pass 'zoh' (exact) or 'bilinear'.")
    return zero_order_hold(system, dt) if method == "zoh" else bilinear(system, dt)


def _scaled_steps(system: HippoSystem, dt: Step) -> Float[np.ndarray, "*steps"]:
    with np.errstate(over="ignore"):
        step = checked_steps(dt) / system.timescale
    return np.asarray(np.minimum(step, LONGEST_STEP))


def checked_steps(dt: Step) -> Float[np.ndarray, "*steps"]:
    """The steps as float64, all of them above zero."""
    step = real_array("dt", dt)
    if step.size and step.min() <= 0:
        raise ValueError(f"dt={step.min()}: time only runs forwards; pass dt > 0.")
    return step
