"""What holds: a results folder as one page, ours beside the paper's, with a verdict on every sentence.

``hippozoo report`` writes ``report.html``, one self-contained file, and ``report.md`` beside it.
"""

from hippozoo_studies.report.studies import NoResultsError, Study, read_studies
from hippozoo_studies.report.text import report_text
from hippozoo_studies.report.verdicts import Sentence, sentences
from hippozoo_studies.report.write import Written, write_markdown, write_report

__all__ = [
    "NoResultsError",
    "Sentence",
    "Study",
    "Written",
    "read_studies",
    "report_text",
    "sentences",
    "write_markdown",
    "write_report",
]
