"""Figures on disk: PNG for people, SVG for print, the same bytes for the same picture."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from hippozoo._files import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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

    with mpl.rc_context({"svg.hashsalt": name}):
        for ending, metadata in (("png", {"Software": None}), ("svg", {"Date": None, "Creator": None})):
            content = io.BytesIO()
            figure.savefig(content, format=ending, dpi=150, bbox_inches="tight", metadata=metadata)
            write_whole(folder / f"{name}.{ending}", content.getvalue())
