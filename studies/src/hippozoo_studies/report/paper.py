"""The paper's testable claims, in its order, and its formulas, which tests of the library check."""

from __future__ import annotations

from typing import NamedTuple

from hippozoo_studies import Departure, Verdict

__all__ = ["EVERYWHERE", "FORMULAS", "SENTENCES", "Formula"]

#: Part of the paper -> its claims, each with the study that tests it; what text and caption both say is here once.
SENTENCES: dict[str, dict[str, str]] = {
    "Volterra HiPPO": {
        "a linear Volterra HiPPO (β⁽²⁾ = 0) fails to capture the system dynamics": "volterra",
        "a quadratic Volterra HiPPO accurately models the system": "volterra",
        "the correct kernel can be inferred": "volterra",
        "A single-hidden-layer MLP applied to the HiPPO state also learns the task, but converges more slowly": (
            "volterra"
        ),
        "low-rank tensor approximations could reduce this to O(kNr) while preserving interpretability": "cubic-kernels",
    },
    "Salience HiPPO": {
        "salience remains low during uninformative inputs and increases sharply for informative tokens": (
            "selective-copying"
        ),
        "the model produces a faithful copy of the informative subsequence": "selective-copying",
        "The measures allocate substantial weight to informative segments of the past while sharply down-weighting "
        "intervals corresponding to uninformative inputs": "selective-copying",
        "pronounced peaks precisely at the locations of the required input tokens": "selective-copying",
        "similar selective copying behavior can be achieved by selective SSMs such as Mamba": "memory-tasks",
        "Salience HiPPO achieves 100.0% test accuracy": "memory-tasks",
        "the scalar salience signal g(t) successfully implements adaptive memory allocation despite being simpler than "
        "the entrywise gating mechanism used in selective SSMs like Mamba": "memory-tasks",
        "Parameter-matched baselines show substantially lower performance": "memory-tasks",
        "Among deeper two-layer variants, only S4D (96.9%) comes close to solving the task": "memory-tasks",
    },
    "Associative Memory HiPPO": {
        "Associative Memory HiPPO solves this task": "associative-recall",
        "outputs at other timesteps are suppressed by the learned gating mechanism": "associative-recall",
        "the model learns consistent write and read addresses for each association": "associative-recall",
        "memory updates correspond to localized modifications of the OP memory functions": "associative-recall",
        "resulting in near-zero interference between stored associations": "associative-recall",
        "Associative Memory HiPPO achieves 100.0% test accuracy": "memory-tasks",
        "S4D, LSTM, and Transformer all remain near chance level (~33%), even with additional depth": "memory-tasks",
        "transformers require specific architectural choices (positional embeddings, depth)": "recall-scaling",
        "LSTMs need 10-fold more parameters to reach only partial performance (68.2%)": "recall-scaling",
        "single-layer transformers cannot solve the task regardless of capacity, data, or steps": "recall-scaling",
        "two-layer transformers can solve the task with more steps or more capacity and positional embeddings": (
            "recall-scaling"
        ),
        "LSTMs only achieve >60% accuracy with 10× capacity, 10× data, and 2× steps": "recall-scaling",
        "Still, the accuracy is far from 100%, unlike high-performing transformer settings": "recall-scaling",
        "S4D is unable to solve AR in any of the tested settings": "recall-scaling",
        "linear recurrence with limited nonlinearities may be unable to bind arbitrary token pairs": "recall-scaling",
        "Associative Memory HiPPO is able to achieve 100% test accuracy in its baseline configuration": (
            "recall-scaling"
        ),
    },
    "Multiscale HiPPO": {
        "Single-timescale HiPPO systems are only accurate near their intrinsic horizon": "multiscale",
        "Multiscale HiPPO produces accurate reconstructions across all queried scales": "multiscale",
        "a single Multiscale HiPPO system matches or improves upon the reconstruction error of all single-scale "
        "baselines across horizons": "multiscale",
        "Multiscale HiPPO learns a parsimonious, explicit representation over a continuum of timescales": "multiscale",
        "The log-timescale Multiscale HiPPO variant consistently outperforms the basic and Jeffreys-style variants": (
            "multiscale"
        ),
        "effective timescales are approximately log-uniformly distributed": "multiscale",
        "allowing substantially more resolution at long horizons for a fixed scale dimension M": "multiscale",
    },
    "Forecasting HiPPO": {
        "both short- and long-horizon forecasters can accurately reconstruct the recent history": "forecasting",
        "the short-horizon forecaster emphasizes fine detail at small lags": "forecasting",
        "the long-horizon forecaster retains smoother structure extending further into the past": "forecasting",
        "the top eigenfunctions of Q, the predictive history metric, show broader features for the long-horizon "
        "objective": "forecasting",
    },
    "Language modelling": {
        "HiPPO variants underperform modern SSMs, as expected given their focus on interpretability": "wikitext",
        "Vanilla HiPPO with MLP readout achieves 6.80 test perplexity versus 5.54 for Mamba (23% gap)": "wikitext",
        "Salience HiPPO achieves 7.52 (36% gap)": "wikitext",
        "Associative Memory HiPPO performs very poorly (20.41 PPL)": "wikitext",
        "Vanilla HiPPO with MLP readout (6.80 PPL) approaches but does not match LSTM performance (5.46 PPL)": (
            "wikitext"
        ),
        "specialized variants (Salience, Associative Memory) show task-specific strengths on synthetic tasks but do "
        "not transfer to language modeling": "wikitext",
        "continuous addressing is fundamentally mismatched to character-level autoregressive prediction": "wikitext",
        "Use modern SSMs (Mamba, S4D) to maximize predictive performance": "wikitext",
        "the first PC explains 79% of variance, suggesting approximate low-rank structure": "salience-vs-mamba",
        "Salience and Mamba identify partially overlapping patterns of input importance": "salience-vs-mamba",
        "Mamba's entrywise parameterization captures additional structure that cannot be reduced to a scalar": (
            "salience-vs-mamba"
        ),
        "Hybrid architectures embedding interpretable components within expressive SSMs offer a middle ground": (
            "hybrids"
        ),
    },
}


class Formula(NamedTuple):
    """A formula or theorem of the paper, which a test decides.

    Parameters
    ----------
    says
        What the paper says.
    verdict, why
        Whether it is right, and what is.
    test
        The test that checks it.
    """

    says: str
    verdict: Verdict
    why: str
    test: str


FORMULAS = (
    Formula(
        "Leg-T in the table of systems: A is lower triangular, with alternating signs",
        "does not hold",
        "The printed matrix cannot represent a constant signal. The correct one is full: -b_n b_k on and below the "
        "diagonal, with alternating signs above it.",
        "tests/identities/test_systems.py::test_dynamics_carry_the_projection_of_a_polynomial_forward",
    ),
    Formula(
        "Leg-S in the table of systems",
        "holds",
        "Its state is the projection of the past under an exponential weight, at every order.",
        "tests/identities/test_systems.py::test_the_state_of_a_fading_memory_is_the_projection_for_any_signal",
    ),
    Formula(
        "The resulting models adapt their memory online and train in streaming settings with efficient updates",
        "holds",
        "Every member updates a state of fixed size sample by sample, so that a sample costs the same however long the "
        "stream is, and equals one long call. Volterra readouts and forecasters learn from each sample; Salience and "
        "Associative Memory learn online, one episode at a time (selective-copying, associative-recall).",
        "tests/test_promises.py::test_the_member_keeps_its_promise",
    ),
    Formula(
        "rescaling time by g corresponds to replacing (A, b) with (gA, gb)",
        "holds",
        "Scaling time and timescale together changes nothing.",
        "tests/identities/test_systems.py::test_time_and_timescale_stretched_together_change_nothing",
    ),
    Formula(
        "the inferred Volterra kernel, p(τ) P_n(τ/α) at τ = j Δt",
        "holds in part",
        "Correct in continuous time; at sample lags it is off by half a sample.",
        "tests/zoo/volterra/test_model.py::test_the_printed_kernel_at_sample_lags_is_half_a_sample_off",
    ),
    Formula(
        "Salience HiPPO is equivalent to applying a conventional HiPPO system to a reparameterized time axis",
        "holds",
        "The state equals that of a plain memory in warped time, to rounding.",
        "tests/zoo/salience/test_layer.py::test_salience_is_a_plain_memory_on_a_warped_clock",
    ),
    Formula(
        "the minimum-norm write, in closed form",
        "holds",
        "A written value is read back, by the smallest possible change of the bank. This is the delta rule.",
        "tests/zoo/associative/test_bank.py::test_a_full_write_is_read_back_and_moves_the_bank_least",
    ),
    Formula(
        "Because the basis is orthonormal, ‖k‖² is well-conditioned",
        "holds in part",
        "‖k‖² = K(x, x) is at least 20 with 32 coefficients, so the write never divides by a small number. But it is "
        "51 times as large at the ends of the address space as in its middle: keys of orthonormal polynomials do not "
        "have equal norms.",
        "tests/polynomials/test_families.py::test_keys_are_never_short_and_much_longer_at_the_ends_of_the_address_space",
    ),
    Formula(
        "Diagonal entries equal 1 by definition (κ(x,x)=1)",
        "does not hold",
        "The kernel φᵀφ is not normalised; divided by √(K(x, x) K(y, y)) it is 1 on the diagonal.",
        "tests/polynomials/test_families.py::test_the_kernel_is_one_on_its_diagonal_only_when_normalised",
    ),
    Formula(
        "they do not introduce fundamentally richer dynamics than a bank of independent HiPPO systems",
        "holds",
        "The coupled system equals a bank of plain memories in other coordinates, to rounding.",
        "tests/zoo/multiscale/test_constructions.py::test_the_coupled_system_of_the_paper_is_this_bank_in_other_coordinates",
    ),
    Formula(
        "costs O(NM²) per update versus O(NM) for tridiagonal coupling",
        "does not hold",
        "Both are banks of M plain memories of the same cost; the coupling matrix is never needed.",
        "tests/zoo/multiscale/test_constructions.py::test_the_coupled_system_of_the_paper_is_this_bank_in_other_coordinates",
    ),
    Formula(
        "r = G e_0",
        "holds in part",
        "Only for polynomials orthonormal under the uniform probability measure, so that the first is 1.",
        "tests/zoo/multiscale/test_constructions.py::test_the_rate_matrix_multiplies_by_the_rate",
    ),
    Formula(
        "reweighting the measure on g does not change the limiting distribution of eigenvalues",
        "holds",
        "The rates of the basic and the Jeffreys construction both follow the arcsine law.",
        "tests/zoo/multiscale/test_constructions.py::test_rates_of_the_other_constructions_follow_the_arcsine_law_in_the_rate",
    ),
    Formula(
        "u = -log H can be queried directly",
        "holds in part",
        "The base timescale is missing: u = log(τ₀ / H). Outside the range of scales a query has no answer.",
        "tests/zoo/multiscale/test_constructions.py::test_enough_scales_make_every_horizon_the_plain_memory_of_it",
    ),
    Formula(
        "u(t) ≈ f(t - H), System 1 at its left endpoint",
        "holds in part",
        "The endpoint of a held signal is the midpoint of a jump, so it smooths the signal; read after the update, it "
        "leaks a target.",
        "tests/zoo/forecasting/test_forecaster.py::test_the_endpoint_is_read_before_the_sample_enters",
    ),
    Formula(
        "T_d by an SVD of the whitened cross-covariance",
        "holds in part",
        "It minimises the printed error only if the past alone is whitened, with a ridge, because Σ_xx is singular to "
        "rounding.",
        "tests/zoo/forecasting/test_regression.py::test_no_map_of_the_same_rank_has_a_smaller_error",
    ),
    Formula(
        "the predictive memory preserves all information used by the rank-d forecasting map",
        "holds",
        "It gives the same forecast as the whole past. Of all such pasts it is the most likely one, not the one of "
        "least norm.",
        "tests/zoo/forecasting/test_forecaster.py::test_the_predictive_memory_forecasts_what_the_whole_past_does",
    ),
    Formula(
        "W = I and hence Q = TᵀT",
        "holds in part",
        "On [0, H] there is a factor H, which changes neither maps nor eigenfunctions.",
        "tests/zoo/forecasting/test_regression.py::test_the_metric_of_a_weight_is_its_integral",
    ),
)

#: Departures of every study.
EVERYWHERE = (
    Departure(
        "Leg-T matrix",
        "lower triangular in the table of systems",
        "the full matrix",
        "with the printed matrix the memory cannot represent a constant signal",
    ),
    Departure(
        "code",
        "a repository is named",
        "reimplemented from the text; the authors' code was not available",
        "details that the text omits may differ; this table lists those we know of",
    ),
)
