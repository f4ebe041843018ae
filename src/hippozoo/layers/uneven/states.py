"""All states of samples that come at uneven times: one product per step, by matrices that are known beforehand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import torch
from jaxtyping import Float
from torch import Tensor

from hippozoo.layers.derivatives import differentiated_again, gradients_by_definition, without_autocast
from hippozoo.layers.types import State

__all__ = ["uneven_states"]

Definition = Callable[[Tensor, Tensor, Tensor], Tensor]


def uneven_states(
    matrices: Float[Tensor, "time rows order_and_1 order"],
    generator: Float[Tensor, "order order_and_1"],
    definition: Definition,
    steps: Float[Tensor, "rows time"],
    x: Float[Tensor, "batch time channels"],
    state: State,
) -> Float[Tensor, "batch time channels order"]:
    """The state after every sample; gradients reach samples, steps and the first state.

    Parameters
    ----------
    matrices
        ``[E(h); G(h)]``, transposed, of every step.
    generator
        ``[A, b]``: the derivative of a state by its step is ``A state + b x``.
    definition
        The same from steps, samples and state in plain torch: for derivatives of derivatives.
    steps
        In timescales; one row where all items share them.
    x, state
        Samples, and the state before them.
    """
    return cast(Tensor, _States.apply(matrices, generator, definition, steps, x, state))


class _States(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        matrices: Tensor,
        generator: Tensor,
        definition: Definition,
        steps: Tensor,
        x: Tensor,
        state: Tensor,
    ) -> Tensor:
        batch, n_steps, channels = x.shape
        rows, order = matrices.shape[1], state.shape[-1]
        # Time first, also in memory; items that share their steps are so many more channels.
        samples = x.transpose(0, 1).contiguous().view(n_steps, rows, -1)
        states = samples[..., None] * matrices[:, :, -1:]
        E_T, each = matrices[:, :, :-1].unbind(), states.unbind()
        before = state.reshape(rows, -1, order)
        for E_t, now in zip(E_T, each, strict=True):
            before = now.baddbmm_(before, E_t)
        ctx.definition = definition
        ctx.save_for_backward(matrices, generator, steps, x, state, states)
        return states.view(n_steps, batch, channels, order).transpose(0, 1)

    @staticmethod
    @without_autocast
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        matrices, generator, steps, x, state, states = ctx.saved_tensors
        (gradient,) = gradients
        if differentiated_again(gradient):
            inputs = steps, x, state
            return None, None, None, *gradients_by_definition(ctx.definition, inputs, gradient)
        batch, n_steps, channels = x.shape
        back = gradient.transpose(0, 1).clone(memory_format=torch.contiguous_format).view(states.shape)
        E, later = matrices[:, :, :-1].mT.unbind(), back.unbind()
        for t in range(n_steps - 1, 0, -1):
            later[t - 1].baddbmm_(later[t], E[t])
        for_state = torch.bmm(later[0], E[0]).view_as(state)
        for_x = torch.bmm(back.flatten(0, 1), matrices[:, :, -1].flatten(0, 1)[..., None])
        for_x = for_x.view(n_steps, batch, channels).transpose(0, 1)
        for_steps = None
        if ctx.needs_input_grad[3]:
            A, b = generator[:, :-1].to(back), generator[:, -1].to(back)
            for_steps = ((back @ A) * states).sum((-2, -1))
            samples = x.transpose(0, 1).reshape(n_steps, len(steps), -1)
            for_steps = (for_steps + ((back @ b) * samples).sum(-1)).mT.to(steps)
        return None, None, None, for_steps, for_x, for_state
