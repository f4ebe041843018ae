"""What holds: a results folder as a report, with a verdict on every claim of the paper.

``hippozoo report`` writes ``report.html``, one self-contained file, and ``report.md`` beside it;
``--markdown FILE`` writes two pages: the verdicts, and ``chapters.md`` with all studies.
"""

from hippozoo_studies.report.studies import NoResultsError, Study, read_studies
from hippozoo_studies.report.text import Pages, report_pages, report_text
from hippozoo_studies.report.verdicts import Sentence, sentences
from hippozoo_studies.report.write import Written, write_markdown, write_report

__all__ = [
    "NoResultsError",
    "Pages",
    "Sentence",
    "Study",
    "Written",
    "read_studies",
    "report_pages",
    "report_text",
    "sentences",
    "write_markdown",
    "write_report",
]
