"""The words of the page: stored evidence and tables keep those of their run, and are reworded when shown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from string import ascii_lowercase

from hippozoo_studies import Verdict

__all__ = ["VERDICTS", "reword", "share_clauses", "show_verdict"]

#: Stored verdict -> singular and plural on the page.
VERDICTS: dict[Verdict, tuple[str, str]] = {
    "holds": ("holds", "hold"),
    "holds in part": ("holds in part", "hold in part"),
    "does not hold": ("does not hold", "do not hold"),
    "cannot be told": ("undecided", "undecided"),
}

# Pattern -> replacement, applied in this order; numbers are carried over unchanged.
_EDITS: tuple[tuple[str, str], ...] = (
    ("cannot be told", "undecided"),
    ("(where|five where) (these|three) cannot tell", r"\1 \2 are inconclusive"),
    ("hang on", "depend on"),
    ("hangs on", "depends on"),
    # Initialisation.
    ("begun from a bump", "initialised with a bump"),
    ("from a random start", "from random initialisation"),
    ("a random start", "random initialisation"),
    ("random start", "random initialisation"),
    ("start of the lag functional", "initial lag functional"),
    ("start of the addresses", "initial addresses"),
    ("nearly shut at the start", "nearly closed initially"),
    ("and 1 at the start", "and 1 initially"),
    (r"\| start \|", "| initialisation |"),
    ("^start$", "initialisation"),
    ("each from nothing", "each from a zero state"),
    # Accuracy, averages, evaluations.
    ("in the mean", "on average"),
    (r"has ([\d.]+ %) of the answers right", r"answers \1 correctly"),
    (r"(\d+ % of the answers) \(in the worst\) read most from the very token that is wanted",
     r"\1 (worst episode) read mainly from the required token"),
    ("weights best on validation", "best validation weights"),
    ("the last look stands beside", "the last evaluation is given as well"),
    ("at the last look", "at the last evaluation"),
    ("patience of five looks, two looks a pass", "patience of five evaluations, two evaluations per pass"),
    ("have been looked at", "have been examined"),
    ("leave the level of saying the last B", "exceed the level of always answering with the last B"),
    ("always saying the last B", "always answering with the last B"),
    ("saying the last B", "answering with the last B"),
    ("says the last B", "always answers with the last B"),
    ("a value said at random is right in", "a random value is right in"),
    (r"over seeds \(how many\)", "over seeds (their number)"),
    ("all seeds then learn the clock, and few from", "then all seeds learn the clock; few do from"),
    ("none known", "no known effect"),
    ("aim: ", "stretch target: "),
    ("level or ahead at", "on par or ahead at"),
    # Models and states.
    ("numbers of state", "state size"),
    ("numbers carried", "state size"),
    ("can be read off the state", "can be decoded from the state"),
    ("variance of the pixels can be read back linearly", "variance of the pixels can be reconstructed linearly"),
    ("variance of pixels read back", "variance of pixels reconstructed"),
    ("readable", "decodable"),
    ("no way around", "no skip connection"),
    ("the simulation ran away", "the simulation diverged"),
    ("is shut before", "is closed before"),
    (r"g\(idle\) / g\(wanted\)", "g(uninformative) / g(informative)"),
    ("accuracy is bought with coefficients", "accuracy grows with the number of coefficients"),
    ("tell no more of a long past", "cannot represent a long past any better"),
    ("what decides is the start of the read address, under the present token and not the previous one",
     "the initial read address decides: it must come from the current token, not from the previous one"),
    (r"Read under the previous token it reaches at most ([\d.]+ %), under the present one at least",
     r"Addressed by the previous token it reaches at most \1, by the current one at least"),
    ("read under the previous token", "read address from the previous token"),
    ("addresses of two dimensions do better than as many coefficients along one",
     "two-dimensional addresses outperform one-dimensional ones with as many coefficients"),
    ("what is not linear is read by a product, of a query and a bank or of two gates",
     "the nonlinear part is read by a product: of a query and a bank, or of two gates"),
    (r"Keys asked for anywhere \(ours\)", "Keys queried at any position (our variant)"),
    ("Zoology's task by its definition", "Zoology's task as defined there"),
    ("when it is asked for", "when it is queried"),
    ("the answer is asked for", "the answer is queried"),
    # Systems and kernels.
    ("structure named by hand", "hand-specified structure"),
    ("form found", "identified form"),
    ("; found:", "; identified:"),
    ("no false cycle of a simulated converter, on other records",
     "no spurious limit cycle of a simulated converter on other records"),
    ("products find the third kernel", "products estimate the third kernel"),
    ("two products find it at least", "two products estimate it at least"),
    ("µs a sample", "µs per sample"),
    ("the (time|cost) of a sample", r"the \1 per sample"),
    ("at every turn of the dial", "at every setting"),
    ("at every turn", "at every setting"),
    ("of an endless stream", "on an infinite stream"),
    (r"\(the experiment's own\)", "(the study's default)"),
    ("bands hold what they promise", "bands have their nominal coverage"),
    ("bands hold the exact value in", "bands cover the exact value in"),
    # Alarms and forecasts.
    ("columns that come apart", "columns that decouple"),
    ("columns apart", "columns scored separately"),
    ("share found", "share detected"),
    (r"\| ours ahead: found \| VUS-PR \|", "| lead in share detected | lead in VUS-PR |"),
    (r"\| found \|", "| detected |"),
    (r"least ahead of ([\w -]+?), by", r"smallest lead, over \1:"),
    ("quiet (readings|families)", r"anomaly-free \1"),
    ("intervals hold 95 % where streams are drawn anew", "intervals have 95 % coverage when streams are resampled"),
    (r"\| learning on \|", "| with online updates |"),
    ("Salience beside lags", "Salience with lags"),
    # Protocols.
    ("and the plain one beside it", "and unnormalised as well"),
    ("as rows beside the table", "in a separate table"),
    ("0, 1e-4 and 1e-2 beside it", "0, 1e-4 and 1e-2 as well"),
    ("not tried otherwise", "no alternative tried"),
    ("in place of", "instead of"),
    ("What a change does, at the row's rate unless another is named",
     "Effect of single changes, at the row's rate unless another is given"),
    (r"(Of one and two layers, they have .*?) as they are,", r"\1 in the baseline setting,"),
    ("solves it as it is", "solves it in the baseline setting"),
    (r"\| as it is \|", "| unchanged |"),
    (r"of other readings, at best \(one seed\)", "of other interpretations, the best (one seed) is"),
    (r"as small, at best \(one seed\)", "equally small, at best (one seed)"),
    (r"(\d+) points below 100 % and more count as far", r"\1 points or more below 100 % count as far"),
    (r"No more than ([\d.]+ ± [\d.]+ %) was reached by any of the table's (\d+) settings, "
     "with positions and depth or without",
     r"None of the table's \2 settings, with or without positions and depth, exceeds \1"),
    ("Trials of one pass, one seed, by which rates and depths are chosen",
     "One-pass trials with one seed, used to choose rates and depths"),
    ("One mechanism changed, trained as in the contest, one seed", "Ablations, trained as in the contest, one seed"),
    ("Trained in the same way, though validation chose another form",
     "Trained in the same way, but not the form chosen on validation"),
    (r"\| of the LSTM \| paper \| of its LSTM \|", "| relative to LSTM | paper | paper, relative to LSTM |"),
    ("from half to twice the paper's gap it holds, with less or more in part",
     "a gap of half to twice the paper's counts as *holds*, any other gap of that sign as *holds in part*"),
    (r"the best of the zoo ([\w +.]+?) ([\d.]+); the weaker of the others (\w+) ([\d.]+)",
     r"best member of the zoo: \1, \2; weaker of the others: \3, \4"),
    (r"in the contest of ([\d,]+) parameters, stacks: (\w+) has",
     r"in the contest of stacks with \1 parameters, \2 has"),
    ("as one layer", "with one layer"),
    ("states handed on", "states carried over"),
    ("characters a step", "characters per step"),
    ("what two cores can do in a day; every model would gain from more, and not all alike",
     "the limit of two cores in a day; every model would gain from more, to different degrees"),
    ("becomes one stand-in", "becomes one placeholder"),
    ("as the LSTM validates", "whichever gives the LSTM the better validation"),
    ("decides perhaps the two rows", "may explain the two rows"),
    ("the Euclidean projector says nothing here", "the Euclidean projector is uninformative here"),
    ("so that tied embeddings leave its size", "to keep its size with tied embeddings"),
    ("what a clock per channel buys", "what a clock per channel gains"),
    (r"single episodes throw accuracy back to (\d+ %) now and then",
     r"single episodes occasionally drop accuracy to \1"),
    ("works, too", "works as well"),
    ("takes a squared error and reaches 100 %, too", "uses a squared error and also reaches 100 %"),
    ("none on the end: from random initialisation all five seeds solve the task, too,",
     "no effect on the final result: from random initialisation all five seeds also solve the task,"),
)  # fmt: skip


def _compiled(old: str) -> re.Pattern[str]:
    """A pattern of whole words, in either case."""
    before, after = r"(?<!\w)" * old[0].isalnum(), r"(?!\w)" * old[-1].isalnum()
    return re.compile(f"{before}(?i:{old}){after}", re.MULTILINE)


_COMPILED = tuple((_compiled(old), new) for old, new in _EDITS)


def show_verdict(verdict: Verdict, count: int = 1) -> str:
    """A stored verdict in the words of the page.

    Examples
    --------
    >>> show_verdict("cannot be told"), show_verdict("holds", 3)
    ('undecided', 'hold')
    """
    return VERDICTS[verdict][count != 1]


def reword(text: str) -> str:
    """Stored text in the words of the page; no number changes.

    Examples
    --------
    >>> reword("In the mean LSTM 72.6 %; it may hang on the loss.")
    'On average LSTM 72.6 %; it may depend on the loss.'
    """
    for pattern, words in _COMPILED:
        text = pattern.sub(lambda found, words=words: _like(found[0], found.expand(words)), text)
    return text


def _like(old: str, new: str) -> str:
    return new[:1].upper() + new[1:] if old[:1].isupper() else new


def share_clauses(reasons: Sequence[str], at_least: int = 3) -> tuple[list[str], list[str]]:
    """Take clauses that several reasons repeat out of them, so that a note above the table says each once.

    Parameters
    ----------
    reasons
        One for each row.
    at_least
        How many rows must share a clause.

    Returns
    -------
    The notes, each with its letter, and the reasons, which cite them by letter.

    Examples
    --------
    >>> share_clauses([f"Row {n} has {n} %; measured with one seed on this machine." for n in (1, 2, 3)])[0]
    ['(a) Measured with one seed on this machine.']
    """
    left, cited, notes = list(reasons), [""] * len(reasons), []
    for pattern in (_ENDING, _BRACKETS, _OPENING):
        for clause, rows in _repeated(pattern, left, at_least).items():
            letter = ascii_lowercase[len(notes)]
            notes.append(f"({letter}) {clause[:1].upper()}{clause[1:]}.")
            for row in rows:
                left[row] = pattern.sub(lambda found: found["kept"], left[row], count=1)
                left[row] = left[row][:1].upper() + left[row][1:]
                cited[row] += f", {letter}" if cited[row] else letter
    return notes, [f"{text} ({letters})" if letters else text for text, letters in zip(left, cited, strict=True)]


# The last clause of a text, what brackets at the end of a statement add, and what precedes the statement.
_ENDING = re.compile(r"; (?P<clause>(?:[^;()]|\([^()]*\)){25,})(?P<kept>\.)$")
_BRACKETS = re.compile(r" \((?P<clause>[^()]{25,})\)(?P<kept>)(?=[.;]|$)")
_OPENING = re.compile(r"^(?P<kept>)(?P<clause>On [^.;]{25,}?), (?=(a|the|at|no) )")


def _repeated(pattern: re.Pattern[str], texts: Iterable[str], at_least: int) -> dict[str, list[int]]:
    rows: dict[str, list[int]] = {}
    for row, text in enumerate(texts):
        found = pattern.search(text)
        if found:
            rows.setdefault(found["clause"], []).append(row)
    often = Counter({clause: len(some) for clause, some in rows.items() if len(some) >= at_least})
    return {clause: rows[clause] for clause, _ in often.most_common()}
