"""What a salience memory did with one sequence, as arrays in real time: its clock, its measures, its functionals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from hippozoo._internal.arguments import real_array, whole_number
from hippozoo._internal.immutable import Immutable, read_only
from hippozoo.layers import calls_inside
from hippozoo.memory.varying_step import ExactStep
from hippozoo.systems import HippoSystem
from hippozoo.zoo.salience.layer import SalienceLayer

__all__ = ["SalienceTrace", "trace"]

Times = Float[np.ndarray, "*times"] | float


@dataclass(frozen=True, eq=False)
class SalienceTrace(Immutable):
    r"""One sequence, from real time 0 on, and the clock it was remembered by.

    Sample i is held from ``times[i]`` to ``times[i + 1]``, during which the warped clock runs at ``salience[i]``.

    `readout` is the lag functional w that the output applies to the state, if there is one.

    Examples
    --------
    The measure of what is remembered integrates to 1, up to what predates the stream.

    >>> from hippozoo.systems import LegT
    >>> seen = SalienceTrace(LegT(16, timescale=10.0), salience=np.array([1.0, 0.1, 2.0, 0.5]), dt=np.full(4, 3.0))
    >>> seen.warped_time.round(6).tolist()
    [0.0, 3.0, 3.3, 9.3, 10.8]
    >>> moments = (np.arange(12_000) + 0.5) / 1000
    >>> weight = seen.history_measure(moments, at=12.0)
    >>> round(float(weight.sum() / 1000 + seen.mass_before(12.0)), 6)
    1.0

    References
    ----------
    Paper, section "Salience HiPPO", induced history measures.
    """

    system: HippoSystem
    salience: Float[np.ndarray, " time"]
    dt: Float[np.ndarray, " time"]
    readout: Float[np.ndarray, " order"] | None = None

    def __post_init__(self) -> None:
        salience, dt = real_array("salience", self.salience), real_array("dt", self.dt)
        if salience.ndim != 1 or not len(salience) or dt.shape != salience.shape:
            raise ValueError(
                f"salience has shape {salience.shape} and dt {dt.shape}; pass one of each per sample, both (time,)."
            )
        for name, values in (("salience", salience), ("dt", dt)):
            if values.min() <= 0:
                first = int(np.argmax(values <= 0))
                raise ValueError(f"{name}[{first}]={values[first]}, but time only runs forwards; pass {name} > 0.")
        object.__setattr__(self, "salience", salience)
        object.__setattr__(self, "dt", dt)
        if self.readout is not None:
            readout = real_array("readout", self.readout)
            if readout.shape != (self.system.order,):
                raise ValueError(f"readout has shape {readout.shape}; {self.system!r} needs ({self.system.order},).")
            object.__setattr__(self, "readout", readout)

    @cached_property
    def times(self) -> Float[np.ndarray, " edges"]:
        """Real time at the beginning of every sample, and at the end of the last."""
        return read_only(np.concatenate([[0.0], np.cumsum(self.dt)]))

    @cached_property
    def warped_time(self) -> Float[np.ndarray, " edges"]:
        r"""The warped clock :math:`\varphi` at each of `times`."""
        return read_only(np.concatenate([[0.0], np.cumsum(self.salience * self.dt)]))

    def warp(self, times: Times) -> Float[np.ndarray, "*times"]:
        """The warped clock at any moment of the sequence."""
        return np.asarray(np.interp(self._moments("times", times), self.times, self.warped_time))

    def lags(self, times: Times, at: float) -> Float[np.ndarray, "*times"]:
        """How long ago each moment is, on the warped clock, seen from `at`; below 0 for moments after it."""
        return np.asarray(self.warp(float(at)) - self.warp(times))

    def history_measure(self, times: Times, at: float) -> Float[np.ndarray, "*times"]:
        r"""How much accuracy at each moment counts in the memory of `at`: :math:`\omega(\varphi(T)-\varphi(s))\,g(s)`.

        Integrates to 1 over the past, `mass_before` included; zero for moments after `at`.
        """
        lag = self.lags(times, at)
        remembered = self._remembered(lag)
        weight = self.system.weight(np.where(remembered, lag, 0.0))
        return np.where(remembered, weight * self._rate(times), 0.0)

    def mass_before(self, at: float) -> float:
        """The part of the measure that lies before the sequence began."""
        age = float(self.warp(float(at)))
        if age >= self.system.window:
            return 0.0
        # By Gauss panels, as fine near the present as weights may be.
        end = self.system.window if np.isfinite(self.system.window) else age + 60.0 * self.system.timescale
        edges = age + (end - age) * np.linspace(0, 1, 41) ** 2
        node, mass = np.polynomial.legendre.leggauss(16)
        half = np.diff(edges)[:, None] / 2
        return float((half * mass * self.system.weight(edges[:-1, None] + half * (node + 1))).sum())

    def effective_basis(self, times: Times, at: float) -> Float[np.ndarray, "*times order"]:
        """The basis functions in real time: orthonormal under `history_measure`; zero where nothing is remembered."""
        lag = self.lags(times, at)
        remembered = self._remembered(lag)
        return np.where(remembered[..., None], self.system.basis(np.where(remembered, lag, 0.0)), 0.0)

    def functional(self, times: Times, at: float) -> Float[np.ndarray, "*times"]:
        r"""What the output at `at` makes of the input at each moment: ``y(at) = ∫ functional(s) x(s) ds``, exactly.

        It is :math:`g(s)\, w \cdot e^{\tau A} b` at the warped lag :math:`\tau`: the dynamics themselves, ringing
        included, where measure times basis would be what they stand for.
        """
        lag = self.lags(times, at)
        past = np.maximum(lag, 0.0)
        response = self._after(past, self.system.b) @ self._w
        return np.where(lag >= 0, response * self._rate(times) / self.system.timescale, 0.0)

    def sample_weights(self, step: int) -> Float[np.ndarray, " time"]:
        """What the output after sample `step` makes of every sample: ``y[step] = sample_weights(step) @ x``."""
        step = whole_number("step", step, minimum=0)
        if step >= len(self.salience):
            raise ValueError(f"step={step}, but the sequence has {len(self.salience)} samples; count from 0.")
        lags = np.maximum(self.warped_time[step + 1] - self.warped_time, 0.0)
        settled = np.linalg.solve(self.system.A, -self.system.b)
        # A step at each lag leaves `settled` minus what is still to come of it.
        left = (settled - self._after(lags, settled)) @ self._w
        return -np.diff(left)

    @property
    def _w(self) -> np.ndarray:
        if self.readout is None:
            raise ValueError("this trace has no readout; make it of a layer with readout='shared', or pass readout=.")
        return self.readout

    def _rate(self, times: Times) -> np.ndarray:
        inside = np.searchsorted(self.times, self._moments("times", times), side="right") - 1
        return self.salience[np.clip(inside, 0, len(self.salience) - 1)]

    def _remembered(self, lag: np.ndarray) -> np.ndarray:
        return (lag >= 0) & (lag <= self.system.window)

    def _after(self, lags: np.ndarray, state: np.ndarray) -> np.ndarray:
        """``exp(lag A) state`` at each lag."""
        flat, back = np.unique(lags.ravel(), return_inverse=True)
        steps = np.diff(flat / self.system.timescale, prepend=0.0)
        rolled = ExactStep(self.system).scan(np.zeros((len(steps), 1)), steps, np.array(state)[None])[:, 0]
        return rolled[back].reshape(*lags.shape, -1)

    def _moments(self, name: str, times: Times) -> np.ndarray:
        moments = real_array(name, times)
        if moments.size and (moments.min() < 0 or moments.max() > self.times[-1] * (1 + 1e-12)):
            raise ValueError(
                f"{name} reaches from {moments.min():g} to {moments.max():g}, but the sequence lasts from 0 to "
                f"{self.times[-1]:g}; ask within it."
            )
        return moments


def trace(member: Any, x: Any, state: Any = None, dt: Any = None, *, item: int = 0, channel: int = 0) -> SalienceTrace:
    """Look at what a layer or model does with one item of a batch; a carried state counts, and predates the trace.

    `member` is a `SalienceLayer` or `SalienceModel`, or a model with a `SalienceLayer` inside, the first of which is
    traced; `x`, `state` and `dt` are as in its call. `channel` says whose clock, where each has its own.

    Examples
    --------
    >>> from hippozoo.systems import LegT
    >>> from hippozoo.zoo.salience import SalienceLayer
    >>> layer = SalienceLayer(LegT(8, timescale=10.0), channels=2)
    >>> trace(layer, torch.randn(3, 20, 2), item=1).warped_time.shape
    (21,)
    """
    layer, saliences = _saliences_of(member, x, state, dt)
    if not -len(saliences) <= item < len(saliences):
        raise ValueError(f"item={item}, but the batch has {len(saliences)}; count from 0.")
    clock = saliences[item, :, channel if layer.per_channel else 0].cpu().double().numpy()
    steps = np.full(len(clock), layer.dt)
    if dt is not None:
        held = torch.as_tensor(dt, dtype=torch.float64).cpu().numpy()
        steps = np.broadcast_to(held[item] if held.ndim == 2 else held, len(clock)).copy()
    w = layer.functional.detach().cpu().double().numpy() if layer.readout == "shared" else None
    return SalienceTrace(layer.system, clock, steps, w)


def _saliences_of(member: Any, x: Any, state: Any, dt: Any) -> tuple[Any, Any]:
    """The layer that is traced, and its saliences."""
    if callable(getattr(member, "salience", None)):
        with torch.no_grad():
            return getattr(member, "layer", member), member.salience(x, state, dt)
    call = calls_inside(member, SalienceLayer, x, state, dt)[0]
    with torch.no_grad():
        return call.layer, call.layer._saliences(call.x, call.state, call.timing)
