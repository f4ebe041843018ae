"""The guided tour: one question, one picture, three lines of code per section, on embedded data.

A section is one module in :mod:`hippozoo.tour.sections`; adding a file there adds it to the tour.
"""

from hippozoo.tour.section import Section, discover_sections, run_section
from hippozoo.tour.write import write_tour

__all__ = ["Section", "discover_sections", "run_section", "write_tour"]
