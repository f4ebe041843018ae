"""What learning a polynomial readout online costs, against the loops that people write."""

from __future__ import annotations

from benchmarks.timing import row, seconds  # first: it sets one thread  # isort: skip

from typing import Any

import numpy as np
import torch

from hippozoo.zoo.volterra import NLMS, SGD, LowRankReadout, NetworkReadout, PolynomialReadout

__all__ = ["growth", "run"]

ORDER = 64
RATE = 3e-2
SAMPLES = 40_000
# The reference loops are timed on fewer samples and scaled up: they are linear in their number.
LOOP = 2_000
TORCH_LOOP = 500


def data(samples: int, order: int = ORDER) -> tuple[np.ndarray, np.ndarray]:
    """Smooth states of length about 1, and the square of one functional of them."""
    rng = np.random.default_rng(0)
    states = rng.normal(size=(samples, order)) / np.sqrt(order)
    return states, (states @ rng.normal(size=order)) ** 2


def numpy_quadratic(states: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The plain loop: full matrix, outer product, one sample at a time."""
    inputs = states.shape[1]
    constant, linear, quadratic = 0.0, np.zeros(inputs), np.zeros((inputs, inputs))
    predictions = np.empty(len(targets))
    for t, (state, target) in enumerate(zip(states, targets, strict=True)):
        predictions[t] = constant + linear @ state + state @ quadratic @ state
        step = 2 * RATE * (predictions[t] - target)
        constant -= step
        linear -= step * state
        quadratic -= step * np.outer(state, state)
    return predictions


def torch_quadratic(states: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The same by automatic differentiation and torch's SGD."""
    inputs = states.shape[1]
    parameters = [
        torch.zeros(shape, dtype=torch.float64, requires_grad=True) for shape in ((), inputs, (inputs, inputs))
    ]
    constant, linear, quadratic = parameters
    optimiser = torch.optim.SGD(parameters, lr=RATE)
    predictions = np.empty(len(targets))
    for t, (state, target) in enumerate(zip(torch.from_numpy(states), targets, strict=True)):
        optimiser.zero_grad()
        prediction = constant + linear @ state + state @ quadratic @ state
        ((prediction - target) ** 2).backward()
        optimiser.step()
        predictions[t] = prediction.item()
    return predictions


def torch_network(states: np.ndarray, targets: np.ndarray, parameters: np.ndarray, hidden: int) -> np.ndarray:
    """The paper's MLP by automatic differentiation and torch's SGD, from the same start."""
    inputs = states.shape[1]
    network = torch.nn.Sequential(
        torch.nn.Linear(inputs, hidden, dtype=torch.float64),
        torch.nn.Tanh(),
        torch.nn.Linear(hidden, 1, dtype=torch.float64),
    )
    cuts = np.cumsum([hidden * inputs, hidden, hidden])
    with torch.no_grad():
        for parameter, values in zip(network.parameters(), np.split(parameters, cuts), strict=True):
            parameter.copy_(torch.from_numpy(values).reshape(parameter.shape))
    optimiser = torch.optim.SGD(network.parameters(), lr=1e-2)
    predictions = np.empty(len(targets))
    for t, (state, target) in enumerate(zip(torch.from_numpy(states), targets, strict=True)):
        optimiser.zero_grad()
        prediction = network(state)[0]
        ((prediction - target) ** 2).backward()
        optimiser.step()
        predictions[t] = prediction.item()
    return predictions


def run() -> list[dict[str, Any]]:
    """Quadratic SGD and the MLP against the loops in NumPy and torch."""
    torch.set_num_threads(1)
    states, targets = data(SAMPLES)
    readout, learner = PolynomialReadout(ORDER, 2), SGD(RATE)
    begun = learner.initial_state(readout)
    ours = seconds(lambda: learner.learn(readout, states, targets, begun))
    check, _ = learner.learn(readout, states[:LOOP], targets[:LOOP])
    np.testing.assert_allclose(check, numpy_quadratic(states[:LOOP], targets[:LOOP]), atol=1e-9)
    np.testing.assert_allclose(
        check[:TORCH_LOOP], torch_quadratic(states[:TORCH_LOOP], targets[:TORCH_LOOP]), atol=1e-9
    )
    plain = seconds(lambda: numpy_quadratic(states[:LOOP], targets[:LOOP]), repeats=3) * SAMPLES / LOOP
    taped = seconds(lambda: torch_quadratic(states[:TORCH_LOOP], targets[:TORCH_LOOP]), repeats=3)
    rows = [
        row("quadratic SGD, N = 64", ours, plain, against="NumPy loop", target=8, samples=SAMPLES),
        row(
            "quadratic SGD, N = 64",
            ours,
            taped * SAMPLES / TORCH_LOOP,
            against="torch autograd loop",
            target=100,
            samples=SAMPLES,
        ),
    ]
    network, slow = NetworkReadout(ORDER, 128), SGD(1e-2)
    start = slow.initial_state(network)
    expected = torch_network(states[:TORCH_LOOP], targets[:TORCH_LOOP], start.parameters, 128)
    found, _ = slow.learn(network, states[:TORCH_LOOP], targets[:TORCH_LOOP], start)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    few = SAMPLES // 4
    ours = seconds(lambda: slow.learn(network, states[:few], targets[:few], start), repeats=3)
    taped = seconds(lambda: torch_network(states[:TORCH_LOOP], targets[:TORCH_LOOP], start.parameters, 128), repeats=3)
    rows.append(
        row(
            "MLP of 128 tanh, N = 64, SGD",
            ours,
            taped * few / TORCH_LOOP,
            against="torch autograd loop",
            target=20,
            samples=few,
        )
    )
    return rows


def growth() -> list[dict[str, Any]]:
    """The cost of one sample as the order grows: degree 2, degree 3, and rank 1."""
    rows = []
    for order in (16, 32, 64, 128):
        for name, readout, most in (
            ("degree 2", PolynomialReadout(order, 2), 128),
            ("degree 3", PolynomialReadout(order, 3), 64),
            ("degree 2, rank 1", LowRankReadout(order, 2, 1), 128),
            ("degree 3, rank 1", LowRankReadout(order, 3, 1), 128),
        ):
            if order > most:
                continue
            samples = max(200, min(20_000, 40_000_000 // readout.n_parameters))
            states, targets = data(samples, order)
            begun = NLMS().initial_state(readout)
            time = seconds(lambda r=readout, s=states, y=targets, b=begun: NLMS().learn(r, s, y, b), repeats=3)
            rows.append(row(f"NLMS, {name}, N = {order}", time, samples=samples))
    return rows
