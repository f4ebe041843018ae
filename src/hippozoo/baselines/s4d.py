"""S4D: a bank of damped oscillators per channel, run as one convolution, stepped as a recurrence."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from hippozoo._internal.arguments import shorten, whole_number
from hippozoo.baselines.base import Baseline
from hippozoo.layers import Timing

__all__ = ["S4D"]

# At the start, steps are drawn log-uniformly between these.
SHORTEST_STEP, LONGEST_STEP = 1e-3, 1e-1
# Up to here a triangular matrix per channel is faster than the Fourier transform.
LONGEST_DIRECT = 64

State = Float[Tensor, "batch layers width modes 2"]


class S4D(Baseline):
    """Diagonal state space blocks with a gated output, a way around and a norm behind it.

    The oscillators are kept as real and imaginary parts, so that nothing is complex but the Fourier transform that long
    sequences are convolved by. The state is (batch, layers, width, modes, 2).

    Parameters
    ----------
    inputs, outputs, width, layers, device, dtype
        As in `Baseline`.
    order
        Real coefficients of each channel, two for each oscillator.

    Examples
    --------
    >>> model = S4D(inputs=32, outputs=32)
    >>> y, state = model(torch.randn(5, 30, 32))
    >>> y.shape, state.shape
    (torch.Size([5, 30, 32]), torch.Size([5, 1, 80, 24, 2]))
    >>> sum(parameter.numel() for parameter in model.parameters())
    26192

    References
    ----------
    Gu, Gupta, Goel and Ré (2022), On the parameterization and initialization of diagonal state space models.
    """

    power = 2  # the norms take squares

    def __init__(
        self,
        inputs: int,
        outputs: int,
        width: int = 80,
        layers: int = 1,
        order: int = 48,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(inputs, outputs, width, layers, device, dtype)
        self.order = whole_number("order", order, minimum=2)
        if self.order % 2:
            raise ValueError(f"order={shorten(order)}: every oscillator has two coefficients; pass an even order.")
        self.encoder = nn.Linear(self.inputs, self.width, **self._place)
        blocks = (_Block(self.width, self.order // 2, self._place) for _ in range(self.layers))
        self.blocks = nn.ModuleList(blocks)
        self.readout = nn.Linear(self.width, self.outputs, **self._place)

    def _start(self, batch: int, channels: int) -> State:
        return self._zeros(batch, self.layers, self.width, self.order // 2, 2)

    def _roll(self, x: Tensor, state: Any, timing: Timing) -> tuple[Tensor, State]:
        x = self.encoder(x)
        after = []
        for number, block in enumerate(self.blocks):
            x, memory = block(x, None if state is None else state[:, number], timing.lengths, timing.real)
            after.append(memory)
        return self.readout(x), torch.stack(after, 1)


class _Modes(NamedTuple):
    """The oscillators' powers, and their weights in the output; real parts first, then imaginary ones."""

    # Powers 0 to time - 1.
    powers: Float[Tensor, "width modes_twice time"]
    # Power `time` alone.
    beyond: Float[Tensor, "width modes_twice"]
    weights: Float[Tensor, "width modes_twice"]


class _Block(nn.Module):
    """norm(x + gated(memory(x)))."""

    def __init__(self, width: int, modes: int, place: dict[str, Any]) -> None:
        super().__init__()
        self.modes = modes
        bounds = math.log(SHORTEST_STEP), math.log(LONGEST_STEP)
        self.log_step = nn.Parameter(torch.empty(width, **place).uniform_(*bounds))
        self.log_decay = nn.Parameter(torch.full((width, modes), math.log(0.5), **place))
        self.frequency = nn.Parameter(math.pi * torch.arange(modes, **place).repeat(width, 1))
        self.weight = nn.Parameter(torch.randn(width, modes, 2, **place) / math.sqrt(2))
        self.skip = nn.Parameter(torch.randn(width, **place))
        self.mix = nn.Linear(width, 2 * width, **place)
        self.norm = nn.LayerNorm(width, **place)

    def forward(
        self,
        x: Float[Tensor, "batch time width"],
        state: Float[Tensor, "batch width modes 2"] | None,
        lengths: Int[Tensor, " batch"] | None,
        real: Tensor | None,
    ) -> tuple[Float[Tensor, "batch time width"], Float[Tensor, "batch width modes 2"]]:
        modes = self._modes(x.shape[1])
        samples = x if real is None else torch.where(real[..., None], x, 0.0)
        signal = samples.permute(2, 0, 1)  # width first: every channel has a kernel of its own
        flat = None if state is None else state.permute(1, 0, 3, 2).flatten(2)  # (width, batch, modes twice)
        y = convolved(signal, (modes.weights[:, None] @ modes.powers)[:, 0])
        if flat is not None:
            y = y + self._left_over(flat, modes)
        after = self._after(signal, flat, modes, lengths)
        y = torch.addcmul(y.permute(1, 2, 0), samples, self.skip)
        return self.norm(x + functional.glu(self.mix(functional.gelu(y)), dim=-1)), after

    def _modes(self, n_steps: int) -> _Modes:
        step = self.log_step.exp()[:, None]
        decay, turn = -self.log_decay.exp(), self.frequency
        times = torch.arange(n_steps + 1, dtype=step.dtype, device=step.device)
        size = torch.exp((step * decay)[..., None] * times)
        angle = (step * turn)[..., None] * times
        cosine, sine = size * angle.cos(), size * angle.sin()
        powers = torch.cat([cosine, sine], 1)
        # Zero-order hold: what a sample adds is (lambda - 1) / a, here part of the output's weight.
        added_real, added_imaginary = cosine[..., 1] - 1, sine[..., 1]
        norm = decay.square() + turn.square()
        held_real = (added_real * decay + added_imaginary * turn) / norm
        held_imaginary = (added_imaginary * decay - added_real * turn) / norm
        w_real, w_imaginary = self.weight.unbind(-1)
        weights_real = 2 * (w_real * held_real - w_imaginary * held_imaginary)
        weights_imaginary = 2 * (w_real * held_imaginary + w_imaginary * held_real)
        weights = torch.cat([weights_real, -weights_imaginary], 1)
        return _Modes(powers[..., :-1], powers[..., -1], weights)

    def _left_over(self, state: Tensor, modes: _Modes) -> Tensor:
        """What the state before adds to the outputs, (width, batch, time)."""
        # The weights turned by one power more than the sample's own time; the real part of weight * power * state.
        powers = torch.cat([modes.powers[..., 1:], modes.beyond[..., None]], -1)
        p_real, p_imaginary = powers.chunk(2, dim=1)
        w_real, w_imaginary = modes.weights[..., None].chunk(2, dim=1)
        on_real = w_real * p_real + w_imaginary * p_imaginary
        on_imaginary = w_imaginary * p_real - w_real * p_imaginary
        return state @ torch.cat([on_real, on_imaginary], 1)

    def _after(
        self, signal: Tensor, state: Tensor | None, modes: _Modes, lengths: Tensor | None
    ) -> Float[Tensor, "batch width modes 2"]:
        """The state after the last real sample."""
        n_steps = signal.shape[-1]
        if lengths is not None:
            # Push every item against the end: zeros before the first sample change nothing.
            places = torch.arange(n_steps, device=signal.device) - (n_steps - lengths)[:, None]
            pushed = signal.gather(2, places.clamp(min=0).expand(len(signal), -1, -1))
            signal = torch.where(places >= 0, pushed, 0.0)
        after = signal @ modes.powers.flip(-1).mT  # (width, batch, modes twice)
        if state is not None:
            whole = torch.cat([modes.powers, modes.beyond[..., None]], -1)
            power = whole[..., -1:] if lengths is None else whole[..., lengths]
            p_real, p_imaginary = power.transpose(1, 2).chunk(2, dim=-1)
            s_real, s_imaginary = state.chunk(2, dim=-1)
            turned = p_real * s_real - p_imaginary * s_imaginary, p_real * s_imaginary + p_imaginary * s_real
            after = after + torch.cat(turned, -1)
        return after.unflatten(-1, (2, self.modes)).permute(1, 0, 3, 2)


def convolved(
    signal: Float[Tensor, "width batch time"], kernel: Float[Tensor, "width time"]
) -> Float[Tensor, "width batch time"]:
    """Each channel's causal convolution with its own kernel: by a matrix where it is short, else by Fourier."""
    n_steps = signal.shape[-1]
    if n_steps <= LONGEST_DIRECT:
        # Row l of the matrix is the kernel moved l samples on: windows of one padded row, taken backwards.
        rows = functional.pad(kernel, (n_steps - 1, 0)).unfold(-1, n_steps, 1).flip(1)
        return signal @ rows
    size = 2 * n_steps
    spectrum = torch.fft.rfft(signal, n=size) * torch.fft.rfft(kernel, n=size)[:, None]
    return torch.fft.irfft(spectrum, n=size)[..., :n_steps]
