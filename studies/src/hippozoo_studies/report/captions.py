"""Which figure of the paper a picture stands for, and what there is to see."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["CAPTIONS", "CHAPTERS", "Chapter"]


class Chapter(NamedTuple):
    """What an experiment is in the paper.

    Parameters
    ----------
    title
        In words.
    place
        Figure, table or section.
    """

    title: str
    place: str


CHAPTERS: dict[str, Chapter] = {
    "volterra": Chapter("Volterra HiPPO: a kernel learnt online", "figure 1A"),
    "cubic-kernels": Chapter("Volterra HiPPO: cubic kernels of low rank", "beyond the paper"),
    "system-identification": Chapter("Volterra HiPPO on real systems", "beyond the paper"),
    "unnamed-systems": Chapter("Systems whose form nobody names", "beyond the paper"),
    "selective-copying": Chapter("Salience HiPPO: selective copying", "figures 1B and 2"),
    "salience-start": Chapter("When salience learns a clock, and when a comb", "beyond the paper"),
    "associative-recall": Chapter("Associative Memory HiPPO: recall", "figures 3 and 6"),
    "multi-query-recall": Chapter("Associative memory on multi-query recall", "beyond the paper"),
    "memory-tasks": Chapter("Twelve models on two tasks", "Table 1"),
    "recall-scaling": Chapter("What it takes to recall: size, data, steps, positions", "Table 3"),
    "multiscale": Chapter("Multiscale HiPPO: variable horizons", "figures 4 and 7"),
    "forecasting": Chapter("Forecasting HiPPO: what an objective remembers", "figure 5"),
    "long-term-forecasting": Chapter("Forecasts of real series", "beyond the paper"),
    "microscope": Chapter("What sequence models remember", "beyond the paper"),
    "m4": Chapter("Forecasts on the M4 competition", "beyond the paper"),
    "alarms": Chapter("Anomalies injected into quiet streams", "beyond the paper"),
    "nab": Chapter("Alarms on the Numenta benchmark", "beyond the paper"),
    "digits": Chapter("Stacks on digits, pixel by pixel and row by row", "beyond the paper"),
    "wikitext": Chapter("Characters of WikiText-2", "Table 4"),
    "salience-vs-mamba": Chapter("Salience beside Mamba's time steps", "appendix"),
    "hybrids": Chapter("Hybrids of expressive models and explicit memories", "Discussion"),
    "psmnist": Chapter("Permuted sequential MNIST", "beyond the paper"),
    "irregular": Chapter("Samples at uneven times", "beyond the paper"),
    "learnt-windows": Chapter("Windows learnt through the forecast", "beyond the paper"),
}

CAPTIONS: dict[tuple[str, str], str] = {
    ("microscope", "closed-forms"): "Measured profiles of linear memories under white noise, and their closed forms.",
    ("microscope", "speech"): "Spoken digits: how well each lag of the input can be read off the state, by model.",
    ("microscope", "measure"): "What Mamba's time steps and salience make of the past of a log.",
    ("microscope", "tasks"): "Table 1's models: answers given, and answers and tokens that can be read off the state.",
    ("microscope", "characters"): "Bits that can be read of the character k ago, before and after training.",
    ("hybrids", "accuracy"): "Hybrids beside the models they are made of, at equal size, seeds as dots.",
    ("hybrids", "shown-copying"): "What each hybrid still shows of an episode of selective copying.",
    ("hybrids", "shown-recall"): "What each hybrid still shows of an episode of recall.",
    ("irregular", "irregular"): "Errors with gaps as in training, half and twice as long.",
    ("learnt-windows", "windows"): "Forecast error against the window, and the windows that were learnt.",
    ("psmnist", "accuracy"): "Permuted sequential MNIST: accuracy on the test images by model, and against the order.",
    ("volterra", "cumulative-error"): "Figure 1A, left: cumulative error of the readouts, mean over five seeds.",
    ("volterra", "kernels"): "Figure 1A, middle and right: the true kernel and the inferred ones.",
    ("selective-copying", "time-warp"): "Figure 1B: weights that are static in warped time are dynamic in real time.",
    ("selective-copying", "episode-online"): "Figure 2: one episode, trained online as in the appendix.",
    ("selective-copying", "episode-minibatch"): "The same, trained in minibatches.",
    ("selective-copying", "generalisation"): "Beyond the paper: more distractors and delays than were trained on.",
    ("associative-recall", "recall"): "Figure 3: an episode, its addresses, and a bank before and after a write.",
    ("associative-recall", "kernel"): "Figure 6: the kernel at the learnt addresses, plain and normalised.",
    ("associative-recall", "learning"): "Accuracy as training goes on, by protocol.",
    ("associative-recall", "generalisation"): "Beyond the paper: more pairs, and many queries.",
    ("associative-recall", "capacity"): "Beyond the paper: how many pairs a bank holds.",
    ("memory-tasks", "accuracy"): "Table 1 as a picture: our seeds as dots, the paper's figure as a stroke.",
    ("recall-scaling", "factors"): "One layer with none, one, two or all of the three factors, and with more steps.",
    ("recall-scaling", "accuracy"): "The follow-up table as a picture.",
    ("multiscale", "reconstructions"): "Figure 4, one panel per plain system and horizon, beside log-timescale.",
    ("multiscale", "error-against-horizon"): "Figure 4: error against horizon, in both conventions of time.",
    ("multiscale", "constructions"): "Figure 7: the three constructions, in both conventions of time.",
    ("multiscale", "timescales"): "Which timescales each construction has, beside the arcsine law.",
    ("multiscale", "coverage"): "Beyond the paper: expected errors, without a simulation.",
    ("forecasting", "a-schematic"): "Figure 5A: the three systems.",
    ("forecasting", "b-predictive-memory"): "Figure 5B: predictive memories of two horizons, with an exact delay.",
    ("forecasting", "b-predictive-memory-endpoint"): "Figure 5B as printed: System 2 fed by the endpoint of System 1.",
    ("forecasting", "c-geometry"): "Figure 5C: leading eigenfunctions at several ridges, with an exact delay.",
    ("forecasting", "c-geometry-endpoint"): "Figure 5C as printed.",
    ("forecasting", "c-history-kernel"): "The history kernels behind figure 5C.",
    ("forecasting", "d-weighted-horizons"): "Beyond the paper: predictive memories under a nonuniform weight of leads.",
    ("system-identification", "errors"): "Errors of each structure beside published networks.",
    ("system-identification", "silverbox"): "What the loop has learnt of Silverbox: response, curve, third kernel.",
    (
        "system-identification",
        "wiener-hammerstein",
    ): "What the cascade has learnt: two filters, a curve, second kernel.",
    ("unnamed-systems", "held-out"): "A held-out block of each system: measured, and simulated by the form found.",
    ("salience-start", "clock-or-comb"): "Every run: accuracy against the ratio of saliences, clocks on the left.",
    ("multi-query-recall", "accuracy"): "Accuracy of each model at three sizes, seeds as dots.",
    ("long-term-forecasting", "errors"): "Errors by data set and horizon, beside published ones.",
    ("long-term-forecasting", "forecasts"): "One forecast of each data set beside what came.",
    ("m4", "series"): "Our error on every series against that of Naive2; below the line ours is smaller.",
    ("alarms", "kinds"): "Share found and VUS-PR by kind of anomaly, on streams that no setting was chosen on.",
    ("nab", "alarms"): "Labelled windows of every stream, and our alarms.",
    ("nab", "scores"): "Scores, ours and published ones.",
    ("digits", "accuracy"): "Test accuracy against the time of an epoch, by pixels and by rows.",
    ("wikitext", "rows"): "Table 4 as a picture: perplexity over that of the LSTM, ours and the paper's.",
    ("wikitext", "learning"): "How each model learnt: validation perplexity as training goes on.",
    ("wikitext", "kernels-25000"): "What each block of the explicit stack reads of the latest characters.",
    ("wikitext", "bank"): "What the bank of the explicit stack recalls while it reads a text of names that come again.",
    ("wikitext", "kernels-43000"): "The same, of the larger stack.",
    ("salience-vs-mamba", "characters"): "Which characters take much time, with Mamba and with Salience.",
    ("salience-vs-mamba", "kinds"): "The same by kinds of character: more or less time than the mean.",
    ("salience-vs-mamba", "excerpt"): "A stretch of text with both clocks.",
    ("cubic-kernels", "cost-and-kernel"): "Time per sample and error of the third kernel, full and of low rank.",
    ("cubic-kernels", "slices"): "One slice of the third kernel: true, and as each readout has learnt it.",
}
