"""What the Volterra member says to arguments it cannot take."""

import numpy as np
import pytest
import torch

from hippozoo.memory import Memory
from hippozoo.systems import LegT
from hippozoo.tasks.wray_green import band_limited_noise
from hippozoo.zoo.volterra import (
    NLMS,
    SGD,
    BoundedLoop,
    BoundedPolynomial,
    Cascade,
    CascadeWeights,
    FeedbackLoop,
    FeedbackWeights,
    LowRankReadout,
    NetworkReadout,
    PolynomialReadout,
    RidgeRLS,
    VolterraModel,
    VolterraReadout,
    identify,
    leading_directions,
    pack,
    sample_kernel,
    unpack,
)
from hippozoo.zoo.volterra.plots import plot_kernel

MEMORY = Memory(LegT(order=4, timescale=8.0))
MODEL = VolterraModel(MEMORY)
STATE = MODEL.initial_state()
CASCADE = Cascade(MEMORY, MEMORY, BoundedPolynomial(3))
WEIGHTS = CascadeWeights(np.ones(4), np.ones(4), np.ones(4))
LOOP = FeedbackLoop(MEMORY)
LOOP_WEIGHTS = FeedbackWeights(0.0, np.zeros(4), np.zeros((3, 4)))
PAIRS = ((0, 1), (1, 0))
BOUNDED = BoundedLoop(MEMORY, PAIRS, -2.0, 2.0)
NOISE = np.random.default_rng(0).normal(size=300)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: PolynomialReadout(0), r"inputs=0.*inputs >= 1"),
        (lambda: PolynomialReadout(4, 2.5), r"degree=2.5.*whole number"),
        (lambda: PolynomialReadout(500, 6), r"coefficients; take LowRankReadout"),
        (lambda: PolynomialReadout(2).tensor(np.zeros(6), 3), r"k=3.*degree 0 to 2"),
        (lambda: PolynomialReadout(2).predict(np.zeros(5), np.zeros(2)), r"parameters has shape \(5,\).*6"),
        (lambda: PolynomialReadout(2).predict(np.zeros(6), np.zeros(3)), r"states has shape \(3,\).*reads 2"),
        (lambda: LowRankReadout(4, degree=1), r"degree=1: products begin at degree 2"),
        (lambda: LowRankReadout(4).functionals(np.zeros(13), 1), r"k=1: functionals"),
        (lambda: NetworkReadout(4).tensor(np.zeros(1), 2), r"no polynomial.*PolynomialReadout"),
        (lambda: SGD(rate=0.0), r"rate=0.0.*finite rate > 0"),
        (lambda: NLMS(rate=2.0), r"rate=2.0.*0 < rate < 2"),
        (lambda: NLMS(horizon=0.5), r"horizon=0.5.*horizon >= 1"),
        (lambda: RidgeRLS(ridge=0.0), r"ridge=0.0"),
        (lambda: RidgeRLS(forgetting=1.5), r"forgetting=1.5.*forgetting <= 1"),
        (lambda: RidgeRLS().initial_state(LowRankReadout(4)), r"not linear in its parameters.*NLMS"),
        (lambda: RidgeRLS().initial_state(PolynomialReadout(64, 3)), r"keeps their square.*directions"),
        (lambda: SGD().learn("linear", np.zeros((3, 2)), np.zeros(3)), r"readout='linear'.*PolynomialReadout"),
        (lambda: SGD().learn(PolynomialReadout(2), np.zeros((3, 2)), np.zeros(4)), r"states.*\(3, 2\).*targets \(4,\)"),
        (
            lambda: SGD().learn(
                PolynomialReadout(2), np.zeros((3, 2)), np.zeros(3), RidgeRLS().initial_state(PolynomialReadout(2))
            ),
            r"not a state of SGD",
        ),
        (lambda: VolterraModel(LegT(order=4, timescale=1.0)), r"is not a Memory"),
        (lambda: VolterraModel(MEMORY, learner="sgd"), r"learner='sgd'.*NLMS\(\)"),
        (lambda: VolterraModel(MEMORY, channels=0), r"channels=0"),
        (lambda: VolterraModel(MEMORY, directions=np.zeros((3, 2))), r"directions has shape \(3, 2\).*\(4, count\)"),
        (lambda: VolterraModel(MEMORY, rank=2, learner=RidgeRLS()), r"not linear in its parameters"),
        (
            lambda: MODEL.learn(STATE, np.zeros(5), np.zeros(4)),
            r"targets has shape \(4,\).*one target per sample",
        ),
        (lambda: MODEL.learn(STATE, np.array([0.0, np.nan]), np.zeros(2)), r"signal\[1\] is nan"),
        (lambda: MODEL.learn(STATE, np.zeros(2), np.array([0.0, np.inf])), r"targets\[1\] is inf"),
        (
            lambda: MODEL.learn(STATE, np.zeros(9000), np.zeros(9000), dt=np.ones(5)),
            r"dt has shape \(5,\)",
        ),
        (
            lambda: MODEL.learn_one(STATE, 1.0, np.zeros(2)),
            r"target has shape \(2,\).*use learn for arrays",
        ),
        (lambda: MODEL.kernel(MODEL.initial_state(), 3), r"k=3.*degree 0 to 2"),
        (lambda: MODEL.kernel(MODEL.initial_state(), 2, length=0), r"length=0"),
        (lambda: MODEL.kernel(MODEL.initial_state(), 2, length=50_000), r"pass a smaller length"),
        (lambda: MODEL.kernel_at(MODEL.initial_state(), 1, np.array([-1.0])), r"lags has -1.0.*in the future"),
        (lambda: sample_kernel(MEMORY, np.zeros((4, 5))), r"tensor has shape \(4, 5\).*order = 4"),
        (
            lambda: VolterraModel(MEMORY, channels=2).identification(
                VolterraModel(MEMORY, channels=2).initial_state(), np.zeros((5, 2))
            ),
            r"looks at one input",
        ),
        (
            lambda: MODEL.identification(STATE, np.ones(50), held_out=(np.ones(50), np.ones(49))),
            r"held_out has a signal of shape \(50,\) and a target of shape \(49,\)",
        ),
        (
            lambda: MODEL.identification(STATE, np.ones(50), held_out=(np.ones(50), np.ones(50))),
            r"stands still",
        ),
        (lambda: identify(MEMORY, np.zeros((5, 2))), r"signal has shape \(5, 2\)"),
        (lambda: identify(MEMORY, np.ones(50)).identified(np.zeros(3)), r"tensor has shape \(3,\)"),
        (lambda: leading_directions(MEMORY, np.ones(50), 5), r"count=5.*4 directions"),
        (lambda: leading_directions(MEMORY, [], 2), r"signal has shape \(0,\).*at least one sample"),
        (lambda: leading_directions(MEMORY, np.zeros((9, 0)), 2), r"signal has shape \(9, 0\).*\(time, channels\)"),
        (lambda: leading_directions(MEMORY, np.zeros(50), 2), r"in 0 directions only"),
        (lambda: plot_kernel(np.zeros((2, 2, 2))), r"kernel has shape \(2, 2, 2\).*a slice"),
        (lambda: BoundedPolynomial(0), r"degree=0"),
        (lambda: Cascade(MEMORY, "legs", BoundedPolynomial(3)), r"second='legs' is not a Memory"),
        (lambda: Cascade(MEMORY, MEMORY, 3), r"curve=3: pass BoundedPolynomial"),
        (lambda: CASCADE.fit(np.zeros(10), np.zeros(9)), r"signal has 10 samples and target 9"),
        (lambda: CASCADE.fit(np.ones(10), np.ones(10)), r"leave too few for 12 unknowns"),
        (lambda: CASCADE.fit(np.ones(50), np.ones(50), starts=()), r"starts is empty"),
        (lambda: CASCADE.fit(NOISE, NOISE, iterations=-1), r"iterations=-1.*iterations >= 0"),
        (lambda: CASCADE.fit(NOISE, np.zeros(300)), r"target is 0 in all samples.*an output that varies"),
        (lambda: CASCADE.fit(NOISE, np.full(300, 0.1), warm_up=9), r"target is 0.1 in all samples after warm_up=9"),
        (lambda: CASCADE.fit(np.zeros(300), NOISE), r"signal is 0 in all samples.*an input that varies"),
        (lambda: CASCADE.fit(np.ones(300), NOISE, warm_up=200), r"signal is 1 .*memory stands still.*smaller warm_up"),
        (lambda: CASCADE.fit(1e200 * NOISE, NOISE), r"signal reaches .*e\+200.*scale it down"),
        (lambda: CASCADE.fit(NOISE, 1e200 * NOISE), r"target reaches .*e\+200.*scale it down"),
        (lambda: CASCADE.kernel(WEIGHTS, 4), r"k=4.*degree 1 to 3"),
        (lambda: CASCADE.simulate(WEIGHTS, np.zeros((5, 2))), r"signal has shape \(5, 2\)"),
        (lambda: FeedbackLoop(MEMORY, degree=0), r"degree=0"),
        (lambda: FeedbackLoop(MEMORY).fit(np.zeros(50), np.zeros(49)), r"signal has 50 samples and target 49"),
        (lambda: FeedbackLoop(MEMORY).fit(np.zeros(110), np.zeros(110)), r"leave too few for 17 unknowns"),
        (lambda: LOOP.fit(NOISE, NOISE, iterations=-1), r"iterations=-1.*iterations >= 0"),
        (
            lambda: LOOP.fit(NOISE, np.zeros(300)),
            r"target is 0 in all samples after warm_up=100.*an output that varies",
        ),
        (lambda: LOOP.fit(np.zeros(300), np.ones(300)), r"target is 1 in all samples"),
        (lambda: LOOP.fit(NOISE, 1e31 * NOISE), r"target reaches .*e\+31.*scale it down"),
        (lambda: LOOP.fit(1e200 * NOISE, NOISE), r"signal reaches .*e\+200.*scale it down"),
        (lambda: LOOP.kernel(LOOP_WEIGHTS, 4, 10), r"k=4.*degree 1, 2 and 3"),
        (lambda: LOOP.simulate(WEIGHTS, NOISE), r"weights=CascadeWeights.*pass the FeedbackWeights"),
        (
            lambda: LOOP.simulate(LOOP_WEIGHTS._replace(drive=np.zeros(5)), NOISE),
            r"weights.drive has shape \(5,\).*\(4,\)",
        ),
        (
            lambda: FeedbackLoop(MEMORY, 2).simulate(LOOP_WEIGHTS, NOISE),
            r"feedback has shape \(3, 4\).*degree 2.*\(2, 4\)",
        ),
        (lambda: LOOP.rest(LOOP_WEIGHTS._replace(constant=np.nan)), r"weights.constant is nan"),
        (lambda: LOOP.filters(LOOP_WEIGHTS._replace(feedback=np.zeros((2, 4)))), r"feedback has shape \(2, 4\)"),
        (lambda: CASCADE.fit(1e-200 * NOISE, NOISE), r"signal reaches .*e-200 only, too small .*scale it up"),
        (lambda: CASCADE.fit(NOISE, 1e-200 * NOISE), r"target reaches .*e-200 only, too small .*scale it up"),
        (lambda: LOOP.fit(1e-200 * NOISE, NOISE), r"signal reaches .*e-200 only, too small .*scale it up"),
        (lambda: CASCADE.fit(NOISE, NOISE, starts=0.5), r"starts=0.5: pass shares in a sequence"),
        (lambda: CASCADE.fit(NOISE, NOISE, starts=[np.nan]), r"starts\[0\] is nan"),
        (lambda: CASCADE.fit(NOISE[:, None], NOISE), r"signal has shape \(300, 1\).*here np.ravel\(signal\)"),
        (
            lambda: CASCADE.fit([NOISE, NOISE[:9]], NOISE),
            r"signal is a list of 2 records; pass one record",
        ),
        (lambda: LOOP.fit([1.0, np.nan], [1.0, 2.0]), r"signal\[1\] is nan.* Fill the gap, or cut the record there"),
        (lambda: CASCADE.simulate(None, NOISE), r"weights=None: pass the CascadeWeights that fit returned"),
        (
            lambda: CASCADE.simulate(WEIGHTS._replace(curve=np.ones(3)), NOISE),
            r"weights.curve has shape \(3,\), but this cascade needs \(4,\)",
        ),
        (lambda: CASCADE.simulate(WEIGHTS._replace(curve=np.full(4, np.nan)), NOISE), r"weights.curve\[0\] is nan"),
        (lambda: CASCADE.kernel(WEIGHTS._replace(first=np.ones(3)), 1), r"weights.first has shape \(3,\)"),
        (lambda: CASCADE.kernel(WEIGHTS, 1.5), r"k=1.5: this cascade has kernels of degree 1 to 3"),
        (lambda: BoundedLoop(None, PAIRS, -1, 1), r"memory=None is not a Memory"),
        (lambda: BoundedLoop(MEMORY, (), -1, 1), r"terms is empty; pass pairs of exponents"),
        (lambda: BoundedLoop(MEMORY, (0, 1), -1, 1), r"terms=\(0, 1\): pass pairs of exponents of output and input"),
        (lambda: BoundedLoop(MEMORY, ((0, 1), (1.5, 0)), -1, 1), r"exponent=1.5; pass a whole number"),
        (lambda: BoundedLoop(MEMORY, ((0, 1), (-1, 0)), -1, 1), r"exponent=-1; pass exponent >= 0"),
        (lambda: BoundedLoop(MEMORY, PAIRS, 1, -1), r"low=1.0 and high=-1.0: pass a low below high"),
        (lambda: BoundedLoop(MEMORY, PAIRS, np.nan, 1), r"low=nan and high=1.0"),
        (lambda: BoundedLoop(MEMORY, PAIRS, None, 1), r"low=None: pass one real number"),
        (lambda: BoundedLoop(MEMORY, PAIRS, -1, 1, reach=-1), r"reach=-1.0: pass a reach > 0"),
        (lambda: BOUNDED.simulate(np.zeros(3), NOISE), r"parameters has shape \(3,\), .* 2 terms of 4 .* are 9 param"),
        (lambda: BOUNDED.simulate(np.zeros(9), NOISE[:, None]), r"signal has shape \(300, 1\).*np.ravel"),
        (lambda: BOUNDED.simulate(np.zeros(9), []), r"signal has no samples"),
        (lambda: BOUNDED.simulate(np.zeros(9), NOISE, [np.nan]), r"known\[0\] is nan"),
        (lambda: BOUNDED.equation_fit((NOISE, NOISE), 9, 0.1), r"records\[0\]=array.*pass pairs of input and output"),
        (lambda: BOUNDED.equation_fit([(NOISE, NOISE[:9])], 9, 0.1), r"records\[0\] has 300 inputs and 9 outputs"),
        (lambda: BOUNDED.equation_fit([], 9, 0.1), r"known=9 leaves nothing of records of at most 0 samples"),
        (lambda: BOUNDED.equation_fit([(NOISE, NOISE)], 400, 0.1), r"known=400 leaves nothing of .* at most 300"),
        (lambda: BOUNDED.equation_fit([(NOISE, NOISE)], 9, -1.0), r"ridge=-1.0: pass a finite number >= 0"),
        (lambda: BOUNDED.fit([(NOISE, NOISE)], 9, 0.1, [], np.zeros(9)), r"starts is empty"),
        (lambda: BOUNDED.fit([(NOISE, NOISE)], 9, 0.1, np.zeros(9), np.zeros(9)), r"starts\[0\] has shape \(\)"),
        (lambda: BOUNDED.fit([(NOISE, NOISE)], 9, 0.1, [np.zeros(9)], np.zeros(2)), r"prior has shape \(2,\)"),
        (lambda: VolterraReadout(3)(torch.zeros(2, 4)), r"states has shape \(2, 4\).*\(..., 3\)"),
        (lambda: VolterraReadout(3).set_parameters(np.zeros(4)), r"parameters has shape \(1, 4\)"),
        (lambda: VolterraReadout(1).set_parameters(np.array([0.0, np.nan, 0.0])), r"parameters\[1\] is nan.*finite"),
        (lambda: VolterraReadout(3, outputs=0), r"outputs=0"),
        (lambda: pack(np.zeros((2, 3))), r"equal sides"),
        (lambda: unpack(np.zeros(4), 2, 2), r"packed has shape \(4,\).*3 products"),
        (lambda: band_limited_noise(10, np.random.default_rng(0), cutoff=1.0), r"hold no whole cycle"),
    ],
)
def test_errors_say_what_was_given_and_what_to_do(call, words):
    with pytest.raises((TypeError, ValueError), match=words):
        call()


def test_a_refused_sample_leaves_the_state_as_it_was():
    state = MODEL.initial_state()
    _, state = MODEL.learn_one(state, 1.0, 2.0)
    kept = state.memory.copy(), state.learnt.parameters.copy()
    for sample, target in ((np.nan, 1.0), (1.0, np.nan), (np.zeros(2), 1.0)):
        with pytest.raises(ValueError, match=r"sample|target|state"):
            MODEL.learn_one(state, sample, target)
    np.testing.assert_array_equal(state.memory, kept[0])
    np.testing.assert_array_equal(state.learnt.parameters, kept[1])


def test_one_sample_is_not_an_array(rng):
    model = VolterraModel(Memory(LegT(4, 10.0)))
    state = model.initial_state()
    with pytest.raises(ValueError, match="learn_one"):
        model.learn(state, 0.7, 1.0)
    with pytest.raises(ValueError, match="predict_one"):
        model.predict(state, 0.7)


def test_the_state_comes_first(rng):
    model = VolterraModel(Memory(LegT(4, 10.0)))
    with pytest.raises(TypeError, match="state comes first"):
        model.learn(rng.normal(size=9), rng.normal(size=9), rng.normal(size=9))
