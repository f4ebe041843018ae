"""Titles of the chapters, and captions of the figures."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["CAPTIONS", "CHAPTERS", "Chapter"]


class Chapter(NamedTuple):
    """The place of a study in the paper.

    Parameters
    ----------
    title
        Heading of its chapter.
    place
        Figure, table or section.
    """

    title: str
    place: str


CHAPTERS: dict[str, Chapter] = {
    "volterra": Chapter("Volterra HiPPO: a kernel learnt online", "figure 1A"),
    "cubic-kernels": Chapter("Volterra HiPPO: low-rank cubic kernels", "beyond the paper"),
    "system-identification": Chapter("Volterra HiPPO: benchmarks of system identification", "beyond the paper"),
    "unnamed-systems": Chapter("Systems of unknown structure", "beyond the paper"),
    "selective-copying": Chapter("Salience HiPPO: selective copying", "figures 1B and 2"),
    "salience-start": Chapter("Initialising salience: clock or comb", "beyond the paper"),
    "associative-recall": Chapter("Associative Memory HiPPO: recall", "figures 3 and 6"),
    "multi-query-recall": Chapter("Associative memory on multi-query recall", "beyond the paper"),
    "memory-tasks": Chapter("Twelve models on two tasks", "Table 1"),
    "recall-scaling": Chapter("Scaling associative recall: capacity, data, steps, positions", "Table 3"),
    "multiscale": Chapter("Multiscale HiPPO: variable horizons", "figures 4 and 7"),
    "forecasting": Chapter("Forecasting HiPPO: predictive memory", "figure 5"),
    "long-term-forecasting": Chapter("Long-term forecasts of real series", "beyond the paper"),
    "microscope": Chapter("What sequence models remember", "beyond the paper"),
    "m4": Chapter("Forecasts of the M4 competition", "beyond the paper"),
    "alarms": Chapter("Detecting injected anomalies", "beyond the paper"),
    "nab": Chapter("Anomaly detection on the Numenta benchmark", "beyond the paper"),
    "digits": Chapter("Small stacks on digits", "beyond the paper"),
    "wikitext": Chapter("Character-level language modelling on WikiText-2", "Table 4"),
    "salience-vs-mamba": Chapter("Salience compared with Mamba's time steps", "appendix"),
    "hybrids": Chapter("Hybrids of expressive models and explicit memory", "Discussion"),
    "psmnist": Chapter("Permuted sequential MNIST", "beyond the paper"),
    "irregular": Chapter("Irregularly sampled series", "beyond the paper"),
    "learnt-windows": Chapter("Learnt memory windows", "beyond the paper"),
}

CAPTIONS: dict[tuple[str, str], str] = {
    ("microscope", "closed-forms"): "Measured profiles of linear memories under white noise, and their closed forms.",
    ("microscope", "speech"): "Spoken digits: how well each lag of the input can be decoded from the state, by model.",
    ("microscope", "measure"): "How Mamba's time steps and salience weight the past of a log.",
    ("microscope", "tasks"): "Models of Table 1: answers given, and answers and tokens decodable from the state.",
    (
        "microscope",
        "characters",
    ): "Bits about the character k steps ago decodable from the state, before and after training.",
    (
        "hybrids",
        "accuracy",
    ): "Hybrids, their component models and Mamba ablations, at equal size; small dots are seeds. "
    "The hybrid of windows has no short convolution, which Mamba needs on recall.",
    (
        "hybrids",
        "shown-copying",
    ): "One episode of selective copying: which stored token (row) each hybrid reads at each sample (column). For "
    "the clock: the share of each token in the history measure of a memory that decays at Mamba's mean rate before "
    "training; for windows: the size of the readout of each.",
    (
        "hybrids",
        "shown-recall",
    ): "One episode of recall: which stored token (row) each hybrid reads at each sample (column); clock and windows "
    "as in the figure before.",
    ("irregular", "irregular"): "Errors with gaps as in training, halved and doubled.",
    ("learnt-windows", "windows"): "Forecast error against the window, and the learnt windows.",
    ("psmnist", "accuracy"): "Permuted sequential MNIST: test accuracy by model, and against the order.",
    ("volterra", "cumulative-error"): "Figure 1A, left: cumulative error of the readouts, mean over five seeds.",
    ("volterra", "kernels"): "Figure 1A, middle and right: the true kernel and the inferred ones.",
    ("selective-copying", "time-warp"): "Figure 1B: weights that are static in warped time are dynamic in real time.",
    ("selective-copying", "episode-online"): "Figure 2: one episode, trained online as in the appendix.",
    ("selective-copying", "episode-minibatch"): "As figure 2, trained in minibatches.",
    ("selective-copying", "generalisation"): "Beyond the paper: more distractors and longer delays than in training.",
    ("associative-recall", "recall"): "Figure 3: an episode, its addresses, and the bank before and after a write.",
    ("associative-recall", "kernel"): "Figure 6: the kernel at the learnt addresses, plain and normalised.",
    ("associative-recall", "learning"): "Accuracy during training, by protocol.",
    ("associative-recall", "generalisation"): "Beyond the paper: more pairs, and many queries.",
    ("associative-recall", "capacity"): "Beyond the paper: capacity of the bank, in pairs.",
    ("memory-tasks", "accuracy"): "Table 1 as a figure: dots are our seeds, strokes the paper's accuracies.",
    ("recall-scaling", "factors"): "One layer with none, one, two or all three factors, and with more steps.",
    ("recall-scaling", "accuracy"): "Table 3 as a figure.",
    ("multiscale", "reconstructions"): "Figure 4: one panel per plain system and horizon, with log-timescale.",
    ("multiscale", "error-against-horizon"): "Figure 4: error against horizon, in both time conventions.",
    ("multiscale", "constructions"): "Figure 7: the three constructions, in both time conventions.",
    ("multiscale", "timescales"): "Timescales of each construction, and the arcsine law.",
    ("multiscale", "coverage"): "Beyond the paper: expected errors, computed without simulation.",
    ("forecasting", "a-schematic"): "Figure 5A: the three systems.",
    ("forecasting", "b-predictive-memory"): "Figure 5B: predictive memories for two horizons, with an exact delay.",
    ("forecasting", "b-predictive-memory-endpoint"): "Figure 5B as printed: System 2 fed by the endpoint of System 1.",
    ("forecasting", "c-geometry"): "Figure 5C: leading eigenfunctions at several ridges, with an exact delay.",
    ("forecasting", "c-geometry-endpoint"): "Figure 5C as printed.",
    ("forecasting", "c-history-kernel"): "The history kernels behind figure 5C.",
    (
        "forecasting",
        "d-weighted-horizons",
    ): "Beyond the paper: predictive memories with non-uniform weights over lead times.",
    ("system-identification", "errors"): "Errors of each structure and of published networks.",
    (
        "system-identification",
        "silverbox",
    ): "Silverbox, as identified by the loop: response, nonlinearity, third kernel.",
    (
        "system-identification",
        "wiener-hammerstein",
    ): "Wiener-Hammerstein, as identified by the cascade: filters, nonlinearity, kernel.",
    ("unnamed-systems", "held-out"): "A held-out block of each system: measured, and simulated by the identified form.",
    ("salience-start", "clock-or-comb"): "Every run: accuracy against the salience ratio; clocks are on the left.",
    ("multi-query-recall", "accuracy"): "Accuracy of each model at three sizes; dots are seeds.",
    ("long-term-forecasting", "errors"): "Errors by data set and horizon, ours and published.",
    ("long-term-forecasting", "forecasts"): "One forecast of each data set, and the observed values.",
    ("m4", "series"): "Our error on every series against that of Naive2; below the line ours is smaller.",
    ("alarms", "kinds"): "Share detected and VUS-PR by kind of anomaly, on streams not used for any choice.",
    ("nab", "alarms"): "Labelled windows of every stream, and our alarms.",
    ("nab", "scores"): "Scores, ours and published.",
    ("digits", "accuracy"): "Test accuracy against time per epoch, by pixels and by rows.",
    ("wikitext", "rows"): "Table 4 as a figure: perplexity relative to the LSTM, ours and the paper's.",
    ("wikitext", "learning"): "Validation perplexity during training.",
    ("wikitext", "kernels-25000"): "Kernels over the latest characters, by block of the explicit stack.",
    ("wikitext", "bank"): "What the bank of the explicit stack recalls on a text in which names recur.",
    (
        "wikitext",
        "bank-lstm_bank",
    ): "The same for LSTM + bank.",
    ("wikitext", "bank-lstm_recent_bank"): "The same for LSTM + bank addressed by four characters.",
    ("wikitext", "bank-lstm_skip_bank"): "The same for LSTM with skip connections + bank.",
    ("wikitext", "bank-mamba_bank"): "The same for Mamba + bank.",
    (
        "wikitext",
        "clock-mamba_clock",
    ): "Time that each block of Mamba with one clock gives to each character of a text.",
    ("wikitext", "addresses"): "Overlap of two addresses of a bank, by the latest characters that both moments share.",
    ("wikitext", "kernels-43000"): "The same for the larger stack.",
    ("salience-vs-mamba", "characters"): "Time per character, with Mamba and with Salience.",
    ("salience-vs-mamba", "kinds"): "Time by kind of character, relative to the mean.",
    ("salience-vs-mamba", "excerpt"): "An excerpt of text with both clocks.",
    ("cubic-kernels", "cost-and-kernel"): "Time per sample and error of the third kernel, full and low-rank.",
    ("cubic-kernels", "slices"): "A slice of the third kernel: true, and as learnt by each readout.",
}
