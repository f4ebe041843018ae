"""Minibatch and truncated-backpropagation loops: seeded, clipped, stopped early, resumed after a kill.

Everything random depends on a seed and a step, so a run that was killed goes on to the same numbers, and two runs of
one seed on one machine are equal to the last bit. See docs/your-own-task.md, `train` and `train_online`.
"""

from hippozoo._internal.extras import needs

needs("torch", extra="torch", feature="hippozoo.training")

from hippozoo.training.loop import detached, train, train_online
from hippozoo.training.plan import Plan, Schedule, best_rate
from hippozoo.training.progress import Progress, report_to
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
]
