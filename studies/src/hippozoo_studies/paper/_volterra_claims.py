"""The paper's sentences about Volterra readouts, as rows: words, numbers, predicate, sentence."""

from __future__ import annotations

from typing import Any

from hippozoo_studies import Claim
from hippozoo_studies.framework.claims import Asked, answers

__all__ = ["volterra_claims"]


CLAIMS = (
    Asked(
        "a linear readout fails to capture the system",
        "a linear Volterra HiPPO (β⁽²⁾ = 0) fails to capture the system dynamics",
        lambda n: n,
        lambda n: n["linear"] > 50.0,
        "The mean squared error of the linear readout is {linear:.0f} % of the variance of the output.",
    ),
    Asked(
        "the quadratic readout models the system accurately (error below 1 % of the variance)",
        "a quadratic Volterra HiPPO accurately models the system",
        lambda n: n,
        lambda n: n["late_quadratic"] < 0.01,
        "In the last nine tenths of the stream the mean squared error of the quadratic readout is {late_quadratic:.2g} "
        "of the variance of the output.",
    ),
    Asked(
        "the quadratic readout reveals the kernel",
        "the correct kernel can be inferred",
        lambda n: n,
        lambda n: n["kernel"] < 5.0,
        "The kernel learnt is off by {kernel:.1f} % of the true one; read at the lags j dt, as printed, by "
        "{printed:.0f} %, since these lie half a sample off.",
    ),
    Asked(
        "the MLP also learns the task (error below 1 % of the variance), and later than the quadratic readout",
        "A single-hidden-layer MLP applied to the HiPPO state also learns the task, but converges more slowly",
        lambda n: n,
        lambda n: [n["late_mlp"] < 0.01, n["faster"]],
        "Late in the stream the MLP's error is {late_mlp:.2g} of the variance; after {last:,} samples its cumulative "
        "error is {mlp:.3g}, and that of the quadratic readout {quadratic:.3g}. The latter is {smaller} at every power "
        "of ten.",
    ),
)


def volterra_claims(metrics: dict[str, Any]) -> list[Claim]:
    """Errors at the end of the stream and late in it, and the kernel."""
    errors = {model: dict(one) for model, one in metrics["cumulative_error"].items()}
    last = max(errors["quadratic"])
    end = {model: one[max(one)]["mean"] for model, one in errors.items()}
    faster = all(one["mean"] < errors["mlp"][n]["mean"] for n, one in errors["quadratic"].items())
    numbers = {
        "linear": 100 * end["linear"] / last / metrics["target_variance"]["mean"],
        "quadratic": end["quadratic"],
        "mlp": end["mlp"],
        "late_quadratic": metrics["late_relative_error"]["quadratic"]["mean"],
        "late_mlp": metrics["late_relative_error"]["mlp"]["mean"],
        "kernel": 100 * metrics["kernel_relative_error"]["mean"],
        "printed": 100 * metrics["printed_kernel_relative_error"]["mean"],
        "last": last,
        "faster": faster,
        "smaller": "smaller" if faster else "not smaller",
    }
    return answers(CLAIMS, numbers)
