"""How much each input, at each moment, adds to an output; exact, since the readout is linear."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from hippozoo._internal.arguments import shorten, whole_number
from hippozoo.zoo.salience._lookup import cubics, read

__all__ = ["attribute", "sample_weights"]


def sample_weights(
    member: Any, x: Float[Tensor, "batch time inputs"], state: Any = None, dt: Any = None
) -> Float[Tensor, "batch time time"] | Float[Tensor, "batch time time channels"]:
    """``weights[:, t, i]``: what the lag functional after sample t makes of sample i; zero for i > t.

    `member` is a `SalienceLayer` with a shared readout, or a `SalienceModel`; the rest is as in its call. The salience
    is taken as it is: the weights say what the memory does with the samples, not how the samples decide over it. Where
    every channel has its own clock, an axis of channels comes last.

    Examples
    --------
    >>> import torch
    >>> from hippozoo.systems import LegT
    >>> from hippozoo.zoo.salience import SalienceLayer
    >>> layer = SalienceLayer(LegT(8, timescale=10.0), channels=2, outputs=1)
    >>> tuple(sample_weights(layer, torch.randn(3, 20, 2)).shape)  # of each sample (last axis) in each output
    (3, 20, 20)
    """
    layer = getattr(member, "layer", member)
    if layer.readout != "shared":
        raise ValueError(f"readout={layer.readout!r}; weights over samples need a shared lag functional.")
    if not layer._has_table:
        raise ValueError(f"{layer.system!r} has no table of lags; use SalienceTrace.sample_weights instead.")
    with torch.no_grad():
        clock = member.warped_time(x, state, dt)
        edges = torch.cat([torch.zeros_like(clock[:, :1]), clock], 1)
        cubic = cubics(layer._values, layer._slopes, layer.functional)
        left = read(cubic, clock[:, :, None] - edges[:, None], layer._root_step)
        weights = -left.diff(dim=2)
        return weights if layer.per_channel else weights[..., 0]


def attribute(
    member: Any,
    inputs: Float[Tensor, "batch time inputs"],
    target: tuple[int, int],
    state: Any = None,
    dt: Any = None,
) -> Float[Tensor, "batch time inputs"]:
    """What each input number at each moment adds to one output: the shape of the inputs, as captum's methods give it.

    With the salience as it was, outputs are linear in the inputs, so this is no approximation: the attributions add up
    to the output less what biases and a carried state bring.

    `target` says after which sample, and which output; the rest is as in `sample_weights`.

    Examples
    --------
    >>> from hippozoo.systems import LegT
    >>> from hippozoo.zoo.salience import SalienceModel
    >>> model = SalienceModel(4, 3, LegT(16, timescale=10.0), width=5)
    >>> x = torch.randn(2, 12, 4)
    >>> attribute(model, x, target=(11, 0)).shape
    torch.Size([2, 12, 4])
    """
    layer = getattr(member, "layer", member)
    if not isinstance(target, (tuple, list)) or len(target) != 2:
        raise ValueError(f"target={shorten(target)}; pass two numbers, (sample, output), both counted from 0.")
    step, output = (whole_number("target", number, minimum=0) for number in target)
    weights = sample_weights(member, inputs, state, dt)
    if not 0 <= step < inputs.shape[1]:
        raise ValueError(f"target={target}: the sequence has {inputs.shape[1]} samples; count from 0.")
    outputs = layer.outputs or layer.channels
    if not 0 <= output < outputs:
        raise ValueError(f"target={target}: there are {outputs} outputs; count from 0.")
    with torch.no_grad():
        to_channels = torch.eye(layer.channels, dtype=inputs.dtype, device=inputs.device)
        from_channels = layer.output.weight[output] if layer.outputs else to_channels[output]
        from_inputs = member.input.weight if layer is not member else to_channels
        at = weights[:, step]  # (batch, time) or (batch, time, channels)
        each = at[..., None] * from_channels if at.ndim == 2 else at * from_channels
        return (each @ from_inputs) * inputs
