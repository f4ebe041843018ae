"""Volterra HiPPO: polynomial readouts of a memory that learn online and show their kernels.

The memory keeps the past of the input; the readout is a polynomial of its state, whose coefficients are learnt sample
by sample; and since the state is linear in the past, the coefficients *are* the Volterra kernels of the system that
made the output. See docs/volterra.md.
"""

from typing import TYPE_CHECKING

from hippozoo._internal.lazy import fetched_from
from hippozoo.zoo.volterra.bounded_loop import BoundedLoop
from hippozoo.zoo.volterra.cascade import BoundedPolynomial, Cascade, CascadeWeights
from hippozoo.zoo.volterra.feedback import FeedbackLoop, FeedbackWeights
from hippozoo.zoo.volterra.identification import Identification, identify, leading_directions
from hippozoo.zoo.volterra.kernels import continuous_kernel, sample_kernel, sample_responses
from hippozoo.zoo.volterra.learners import NLMS, SGD, DivergenceError, Learner, LearntState, RidgeRLS
from hippozoo.zoo.volterra.model import VolterraModel, VolterraState
from hippozoo.zoo.volterra.monomials import multi_indices, pack, unpack
from hippozoo.zoo.volterra.readouts import LowRankReadout, NetworkReadout, PolynomialReadout, Readout
from hippozoo.zoo.volterra.system_fit import FittedSystem, Trial, fit_system

if TYPE_CHECKING:
    from hippozoo.zoo.volterra.layer import VolterraLayer as VolterraLayer
    from hippozoo.zoo.volterra.layer import VolterraReadout as VolterraReadout

__all__ = [
    "VolterraModel", "VolterraState", "Readout", "PolynomialReadout", "LowRankReadout", "NetworkReadout",
    "Learner", "NLMS", "SGD", "RidgeRLS", "LearntState", "DivergenceError",
    "sample_kernel", "continuous_kernel", "sample_responses", "Identification", "identify", "leading_directions",
    "fit_system", "FittedSystem", "Trial", "BoundedLoop", "Cascade", "CascadeWeights", "BoundedPolynomial",
    "FeedbackLoop", "FeedbackWeights", "VolterraLayer", "VolterraReadout", "multi_indices", "pack", "unpack",
]  # fmt: skip

# The layers bring torch, which users of the online learners need not load.
__getattr__ = fetched_from(__name__, dict.fromkeys(("VolterraLayer", "VolterraReadout"), "hippozoo.zoo.volterra.layer"))
