"""Update rules in torch: differentiable in the step, many at a time, and a sequence that has one per sample."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from hippozoo.discretise import Method
from hippozoo.layers.derivatives import make_again, without_autocast
from hippozoo.systems import HippoSystem

Generator = Float[Tensor, "order_and_1 order_and_1"]
Updates = tuple[Float[Tensor, "*steps order order"], Float[Tensor, "*steps order"]]

# Matrices and states held at a time, in numbers: a stretch of time long enough to be fast, too small to be noticed.
MATRIX_BUDGET = 1 << 24
STATE_BUDGET = 1 << 23
# Matrices worked on at a time, in numbers: they stay in the cache.
CACHED = 1 << 18
# Up to so many steps, one exponential each is cheaper than tables of digits.
FEW_STEPS = 24
LARGEST_BASE = 100
# exp(x) to rounding by its Taylor series for |x| <= 1/2.
SERIES_REACH, SERIES_TERMS = 0.5, 16


def augmented_generator(system: HippoSystem) -> Generator:
    """``[[A, b], [0, 0]]``: its exponential holds A_d and b_d side by side; float64."""
    N = system.order
    generator = np.zeros((N + 1, N + 1))
    generator[:N, :N], generator[:N, N] = system.A, system.b
    return torch.from_numpy(generator)


def updates(
    steps: Float[Tensor, "*steps"],
    generator: Generator,
    method: Method,
    dtype: torch.dtype = torch.float64,
    *,
    longest: float,
) -> Updates:
    """A_d and b_d of every step (in timescales), computed in float64; a step of 0 leaves the state as it is.

    Steps are cut to `longest` (`hippozoo.discretise.longest_step`): rounding would grow with them, and nothing else.
    """
    rule = exponential if method == "zoh" else trapezoid
    both = rule(steps.reshape(-1).clamp(max=longest), generator, dtype, longest)
    both = both.view(*steps.shape, *both.shape[1:])
    return both[..., :-1, :-1], both[..., :-1, -1]


def trapezoid(
    steps: Float[Tensor, " steps"], generator: Generator, dtype: torch.dtype, longest: float | None = None
) -> Float[Tensor, "steps n n"]:
    """``(1 - h/2 G)^-1 (1 + h/2 G)``: holds the bilinear rule where `exponential` holds the exact one."""
    generator = generator.to(steps)
    half = steps[:, None, None] / 2 * generator
    identity = torch.eye(len(generator), dtype=generator.dtype, device=generator.device)
    return torch.linalg.solve(identity - half, identity + half).to(dtype)


def exponential(
    steps: Float[Tensor, " steps"],
    generator: Generator,
    dtype: torch.dtype = torch.float64,
    longest: float | None = None,
) -> Float[Tensor, "steps n n"]:
    """``exp(h G)`` for every step h up to `longest`, computed in float64 and differentiable in the steps."""
    if steps.requires_grad:
        found = _Exponential.apply(steps, generator, longest)
        return found.to(dtype)  # pyright: ignore[reportOptionalMemberAccess]
    return exponentials(steps, generator, dtype, longest)


class _Exponential(torch.autograd.Function):
    """Its own derivative but for a factor, so the backward pass needs no exponential of twice the size."""

    @staticmethod
    def forward(steps: Tensor, generator: Tensor, longest: float | None) -> Tensor:
        return exponentials(steps, generator, steps.dtype, longest)

    @staticmethod
    def setup_context(ctx, inputs: tuple[Tensor, Tensor, float | None], output: Tensor) -> None:
        ctx.save_for_backward(inputs[1].to(output), output)

    @staticmethod
    @without_autocast
    def backward(ctx, *gradients: Tensor) -> tuple[Tensor, None, None]:
        generator, output = ctx.saved_tensors
        # They commute; in this order nothing cancels, and after a long step, A_d = 0, the derivative is truly zero.
        return (gradients[0] * (output @ generator)).sum((-2, -1)), None, None

    @staticmethod
    def vmap(info, in_dims, *args: Any) -> tuple[Tensor, int | None]:
        # Many batches of steps are so many more steps.
        steps, generator, longest = args
        if in_dims[0] is None:
            return cast(Tensor, _Exponential.apply(steps, generator, longest)), None
        steps = steps.movedim(in_dims[0], 0)
        both = cast(Tensor, _Exponential.apply(steps.reshape(-1), generator, longest))
        return both.view(*steps.shape, *both.shape[1:]), 0


def exponentials(
    steps: Float[Tensor, " steps"], generator: Generator, dtype: torch.dtype, longest: float | None = None
) -> Float[Tensor, "steps n n"]:
    """``exp(h G)`` for every step, each different one computed once."""
    if steps.device.type != "cpu" and longest is not None and not torch.compiler.is_compiling():
        # To look for equal steps, or for the longest, the host would have to wait.
        return by_digits(steps, digit_tables(generator, longest, steps.device, steps.dtype), dtype)
    generator = generator.to(steps)
    if len(steps) == 1 or torch.compiler.is_compiling():
        return _matrix_exponentials(steps[:, None, None] * generator).to(dtype)
    values, where = torch.unique(steps, return_inverse=True)
    if len(values) <= FEW_STEPS:
        return _matrix_exponentials(values[:, None, None] * generator).to(dtype)[where]
    return by_digits(values, make_digit_tables(generator, float(values[-1])), dtype)[where]


def _matrix_exponentials(matrices: Float[Tensor, "some n n"]) -> Float[Tensor, "some n n"]:
    # Of a single matrix of norm 0.001 to 0.05 torch takes too few terms and loses half of the digits (seen in 2.13);
    # of several it does not. So a zero stands beside one.
    if len(matrices) > 1:
        return torch.linalg.matrix_exp(matrices)
    return torch.linalg.matrix_exp(torch.cat([matrices, torch.zeros_like(matrices)]))[:1]


class DigitTables(NamedTuple):
    """Exponentials of the multiples of a few step sizes, and the series for what is left of a step."""

    unit: float
    base: int
    tables: tuple[Float[Tensor, "base n n"], ...]
    terms: Float[Tensor, "terms n n"]


def make_digit_tables(generator: Generator, longest: float) -> DigitTables:
    """For all steps up to the longest one."""
    norm = float(torch.linalg.matrix_norm(generator, 1))
    spans = max(2.0, longest * norm / SERIES_REACH)
    levels = math.ceil(math.log(spans, LARGEST_BASE))
    base = math.ceil(spans ** (1 / levels)) + 1
    unit = longest / (base**levels - 1)
    sizes = generator.new_tensor([unit * base**level for level in range(levels)])
    tables = tuple(powers(one, base) for one in _matrix_exponentials(sizes[:, None, None] * generator))
    return DigitTables(unit, base, tables, series_terms(generator))


@lru_cache(maxsize=16)
def digit_tables(generator: Generator, longest: float, device: torch.device, dtype: torch.dtype) -> DigitTables:
    """Tables of a layer's generator, made once on the host, for an accelerator."""
    found = make_digit_tables(generator.cpu().double(), longest)
    moved = tuple(table.to(device, dtype) for table in found.tables)
    return found._replace(tables=moved, terms=found.terms.to(device, dtype))


def by_digits(steps: Float[Tensor, " steps"], made: DigitTables, dtype: torch.dtype) -> Float[Tensor, "steps n n"]:
    """``exp(h G)`` for every step: h digit by digit from tables, the rest by a short series; two products per step."""
    n = made.terms.shape[-1]
    exponents = torch.arange(SERIES_TERMS, device=steps.device)
    pieces = []
    for rest in steps.split(max(1, CACHED // n**2)):
        digits = []
        # The largest digit first: all of them in one number would need more bits than it has.
        for level in reversed(range(len(made.tables))):
            size = made.unit * made.base**level
            digits.append((rest / size).floor().clamp(0, made.base - 1))
            rest = rest - digits[-1] * size
        # What rounding leaves of a long step must not leave the reach of the series.
        result = torch.tensordot(rest.clamp(0.0, made.unit)[:, None] ** exponents, made.terms, 1)
        for digit, table in zip(digits, reversed(made.tables), strict=True):
            result = table[digit.long()] @ result
        pieces.append(result.to(dtype))
    return torch.cat(pieces)


def powers(matrix: Float[Tensor, "n n"], count: int) -> Float[Tensor, "count n n"]:
    """The matrix to the powers 0 .. count - 1, by doubling."""
    found = torch.eye(len(matrix), dtype=matrix.dtype, device=matrix.device)[None]
    while len(found) < count:
        found = torch.cat([found, found @ matrix])
        matrix = matrix @ matrix
    return found[:count]


def series_terms(generator: Generator) -> Float[Tensor, "terms n n"]:
    """``G^k / k!``: with powers of h they make the Taylor series of ``exp(h G)``."""
    terms = [torch.eye(len(generator), dtype=generator.dtype, device=generator.device)]
    for k in range(1, SERIES_TERMS):
        terms.append(terms[-1] @ generator / k)
    return torch.stack(terms)


def one_where_all_are_equal(steps: Float[Tensor, "*steps"]) -> Float[Tensor, "*some"]:
    """A single step in place of many equal ones, where nobody asks for the gradient of each."""
    if steps.ndim == 0 or steps.requires_grad or steps.device.type != "cpu" or torch.compiler.is_compiling():
        return steps
    first = steps.flatten()[0]
    return first if bool((steps == first).all()) else steps


@torch.compiler.disable()  # a compiled model leaves its graph here: tables depend on the values of the steps
def roll_varying(
    x: Float[Tensor, "batch time channels"],
    state: Float[Tensor, "batch channels order"],
    steps: Float[Tensor, "rows time"],
    update: Callable[[Float[Tensor, "rows chunk"]], Updates],
    read: Callable[[Float[Tensor, "batch chunk channels order"]], Tensor],
) -> tuple[Tensor, Float[Tensor, "batch channels order"]]:
    """A sequence whose every sample has its own step; ``rows`` is 1 where the batch shares them."""

    def one(x: Tensor, state: Tensor, steps: Tensor) -> tuple[Tensor, Tensor]:
        states, state = roll_stretch(x, state, *update(steps))
        return read(states), state

    return by_stretches(one, x, state, steps)


def by_stretches(
    one: Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]], x: Tensor, state: Tensor, steps: Tensor
) -> tuple[Tensor, Tensor]:
    """Outputs of ``one(x, state, steps)``, as many samples at a time as memory allows, and the last state."""
    batch, n_steps, channels = x.shape
    rows, order = len(steps), state.shape[-1]
    held = min(MATRIX_BUDGET // (rows * (order + 1) ** 2), STATE_BUDGET // (batch * channels * order))
    stretch = min(n_steps, max(1, held))
    pieces = []
    # Split, not sliced: every slice would have a gradient as long as the whole sequence.
    for x_now, steps_now in zip(x.split(stretch, 1), steps.split(stretch, 1), strict=True):
        y, state = make_again(one, x_now, state, steps_now, when=stretch < n_steps)
        pieces.append(y)
    return (pieces[0] if len(pieces) == 1 else torch.cat(pieces, 1)), state


def roll_stretch(
    x: Float[Tensor, "batch time channels"],
    state: Float[Tensor, "batch channels order"],
    A_d: Float[Tensor, "rows time order order"],
    b_d: Float[Tensor, "rows time order"],
) -> tuple[Float[Tensor, "batch time channels order"], Float[Tensor, "batch channels order"]]:
    """The state after every sample, one product per step."""
    batch, n_steps, channels = x.shape
    shared = len(A_d) == 1
    if shared:  # then the items are so many more channels
        x = x.transpose(0, 1).reshape(1, n_steps, batch * channels)
        state = state.reshape(1, batch * channels, -1)
    arrivals = x[..., None] * b_d[:, :, None]
    states = []
    for arrival, A_t in zip(arrivals.unbind(1), A_d.unbind(1), strict=True):
        state = torch.baddbmm(arrival, state, A_t.mT)
        states.append(state)
    if shared:
        rolled = torch.stack(states, 1).view(n_steps, batch, channels, -1).transpose(0, 1)
        return rolled, state.view(batch, channels, -1)
    return torch.stack(states, 1), state
