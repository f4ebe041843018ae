"""Minibatch and truncated-backpropagation loops: seeded, clipped, stopped early, resumed after a kill.

How to train something
======================
Three functions and a plan. Everything random depends on a seed and a step, so a run that was killed goes on to the
same numbers, and two runs of one seed on one machine are equal to the last bit::

    from hippozoo.training import Plan, report_to, seeded, train

    def batch(step, rng):                  # fresh data for every step; rng depends on seed and step alone
        return make_episodes(64, rng)

    def loss(model, batch):
        y, _ = model(batch.inputs)
        return cross_entropy(y, batch.targets)

    def validate(model):                   # without gradients, in evaluation mode; lower is better
        return error_on(model, held_out)

    with seeded(seed):                     # random weights depend on the seed alone
        model = Model()
    run = train(model, batch, loss, Plan(steps=4000, rate=1e-3, seed=seed, patience=8), validate=validate)
    run.best_step, run.best_loss, run.ending, run.looks       # the model now holds the best weights

**Along a stream** (the paper's online protocol) the state goes on from chunk to chunk and the gradient does not::

    def loss(model, chunk, state):
        y, state = model(chunk.inputs, state)
        return cross_entropy(y, chunk.targets), state

    run = train_online(model, chunk, loss, Plan(steps=20_000, rate=1e-3))

**Learning rates** are chosen on validation loss: `choose_rate` in one go; in an experiment, one unit per rate and
`best_rate` in ``more_units``.

**In an experiment** a unit hands on its progress and keeps its checkpoint where the framework wants it::

    run = train(model, batch, loss, plan, validate=validate, on_progress=report_to(context.progress),
                checkpoint=context.scratch and context.scratch / "run.safetensors")

Killed, the unit goes on from the last checkpoint (every 20 s); units run side by side with ``--jobs 2``, one torch
thread each, and land as one JSON line each in ``units.jsonl`` (see `hippozoo_studies`).
"""

from hippozoo._internal.extras import needs

needs("torch", extra="torch", feature="hippozoo.training")

from hippozoo.training.loop import detached, train, train_online
from hippozoo.training.plan import Plan, Schedule
from hippozoo.training.progress import Progress, report_to
from hippozoo.training.rates import RateChoice, best_rate, choose_rate
from hippozoo.training.seeds import Epochs, seeded, step_rng
from hippozoo.training.trained import Look, Trained

__all__ = [
    "Plan",
    "Schedule",
    "train",
    "train_online",
    "detached",
    "Trained",
    "Look",
    "Progress",
    "report_to",
    "seeded",
    "step_rng",
    "Epochs",
    "best_rate",
    "choose_rate",
    "RateChoice",
]
