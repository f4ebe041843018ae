"""Figures on disk: PNG for people, SVG for print, the same bytes for the same picture."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

from hippozoo._internal.files import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_mark: ContextVar[str] = ContextVar("mark", default="")


@contextmanager
def marked(word: str) -> Iterator[None]:
    """Figures that are saved inside carry this word, so that nobody takes them for a result.

    Examples
    --------
    >>> with marked("quick"):
    ...     _mark.get()
    'quick'
    """
    token = _mark.set(word)
    try:
        yield
    finally:
        _mark.reset(token)


def save_figure(figure: Figure, folder: Path, name: str) -> None:
    """Write ``folder/name.png`` and ``folder/name.svg``.

    Neither holds a date or a random id, so committing an unchanged figure changes nothing. Make figures
    with ``matplotlib.figure.Figure(...)`` rather than pyplot: nothing to close, no backend to choose.

    Parameters
    ----------
    figure
        The figure.
    folder
        The folder that `report` was given.
    name
        File name without ending.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from matplotlib.figure import Figure
    >>> figure = Figure()
    >>> _ = figure.subplots().plot([0, 1], [0, 1])
    >>> with TemporaryDirectory() as folder:
    ...     save_figure(figure, Path(folder), "line")
    ...     sorted(file.name for file in Path(folder).iterdir())
    ['line.png', 'line.svg']
    """
    import matplotlib as mpl

    if word := _mark.get():
        figure.text(0.5, 0.5, word, fontsize=48, color="0.5", alpha=0.35, ha="center", va="center", rotation=20)
    with mpl.rc_context({"svg.hashsalt": name}):
        for ending, metadata in (("png", {"Software": None}), ("svg", {"Date": None, "Creator": None})):
            content = io.BytesIO()
            figure.savefig(content, format=ending, dpi=150, bbox_inches="tight", metadata=metadata)
            write_whole(folder / f"{name}.{ending}", content.getvalue())


@contextmanager
def drawing(folder: Path, name: str, size: tuple[float | int, float | int]) -> Iterator[Figure]:
    """Draw an empty figure of this size, in inches and in the project's look; it is saved at the end of the block."""
    from matplotlib.figure import Figure

    from hippozoo.plotting import style

    with style():
        figure = Figure(figsize=size, layout="constrained")
        yield figure
        save_figure(figure, folder, name)
