"""What a section of the tour is, how sections are found, and how the code that is shown gets run."""

from __future__ import annotations

import importlib
import linecache
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from hippozoo.apps.tour.sliders import Sliders

__all__ = ["Section", "Table", "discover_sections", "rms", "run_section"]


@dataclass(frozen=True)
class Table:
    """A small table below the picture: a header and rows of text."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Section:
    """One question, one picture, three lines of code, and a sentence or two with measured numbers.

    ``setup`` and ``code`` are shown and run as they stand, one after the other and in an empty namespace, so
    that a reader can paste them into Python; picture and numbers are made from what they leave behind.

    Examples
    --------
    >>> section = Section(
    ...     order=1, title="Two", question="What is one and one?", setup="one = 1", code="two = one + one",
    ...     draw=lambda names, figure: None, measure=lambda names: {"two": names.two},
    ...     caption="It is {two}.", alt="",
    ... )
    >>> run_section(section).two
    2
    """

    order: int  #: Where the section stands in the tour; the plain memory has 10 to 50, members come after it.
    title: str  #: A few words, for the list of contents and the address of the section.
    question: str  #: The heading.
    setup: str  #: Imports and data.
    code: str  #: The lines that answer the question: at most three statements.
    #: ``draw(names, figure)`` draws into an empty figure; called once for light, once for dark pages.
    draw: Callable[[SimpleNamespace, Figure], None]
    #: ``measure(names)`` gives the numbers that `caption` names.
    measure: Callable[[SimpleNamespace], Mapping[str, float]]
    caption: str  #: What the picture shows, with ``{name:.1f}`` for each measured number.
    alt: str  #: The picture in words, for those who do not see it; may name numbers too.
    height: float = 3.6  #: Of the picture, in inches; its width is the page's.
    #: ``table(names)`` gives a table to stand below the picture.
    table: Callable[[SimpleNamespace], Table] | None = None
    #: ``sliders(names)`` gives a picture with sliders to stand below the drawn one, where Bokeh is installed.
    sliders: Callable[[SimpleNamespace], Sliders] | None = None
    read_on: str | None = None  #: Name of a page in docs/ that tells more.

    @property
    def listing(self) -> str:
        """The code as it is shown and run."""
        return f"{self.setup.strip()}\n\n{self.code.strip()}\n"


def rms(errors: np.ndarray) -> float:
    """Root of the mean square."""
    return float(np.sqrt(np.mean(errors**2)))


def discover_sections() -> list[Section]:
    """All sections, in the order of the tour.

    Examples
    --------
    >>> [section.order for section in discover_sections()] == sorted(s.order for s in discover_sections())
    True
    """
    from hippozoo.apps.tour import sections  # here, because a section module imports this one

    found = [
        importlib.import_module(f"{sections.__name__}.{module.name}").SECTION
        for module in pkgutil.iter_modules(sections.__path__)
    ]
    return sorted(found, key=lambda section: (section.order, section.title))


def run_section(section: Section) -> SimpleNamespace:
    """Run the code that is shown, and hand over the names it leaves behind.

    Examples
    --------
    >>> section = discover_sections()[0]
    >>> names = run_section(section)
    >>> sorted(vars(names))[:2] != []
    True
    """
    file = f"<tour: {section.title}>"
    # A traceback then shows the line that failed, as it would for a file.
    linecache.cache[file] = (len(section.listing), None, section.listing.splitlines(keepends=True), file)
    names: dict[str, object] = {"__name__": "__tour__"}
    exec(compile(section.listing, file, "exec"), names)
    return SimpleNamespace(**names)
