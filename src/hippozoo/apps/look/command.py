"""``hippozoo look``."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from hippozoo.apps.command_line import Debug, UsageError, command, flag, use_one_thread


@command(epilog="Example: [bold]hippozoo look model.py:make --data inputs.npy --out memory.html[/bold]")
def look(
    models: Annotated[
        list[str],
        typer.Argument(metavar="MODEL.py:make...", help="A file and a function in it that returns the model."),
    ],
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Sequences: .npy of (batch, time, channels) or of tokens (batch, time); .csv of columns over time, "
            "cut into pieces. Noise without it.",
            show_default=False,
        ),
    ] = None,
    lags: Annotated[int | None, typer.Option(help="How far back to look, in samples.", show_default=False)] = None,
    piece: Annotated[int, typer.Option(help="Length of the pieces of a .csv file, in samples.")] = 256,
    out: Annotated[Path, typer.Option(metavar="FILE", help="Output page.")] = Path("memory.html"),
    open_page: Annotated[bool, flag("--open/--no-open", help="Open the page in a browser.")] = False,
    debug: Debug = False,
) -> None:
    """Write a page that shows what your sequence model remembers.

    It draws the memory profile by lag, the capacity and the effective history.
    """
    use_one_thread()
    from hippozoo.microscope import compare

    made = {}
    for given in models:
        name, model = load_model(given)
        made[name if name not in made else given] = model
    x: Any = "noise" if data is None else load_data(data, piece)
    try:
        comparison = compare(made, x, lags)
    except TypeError as error:  # a model without a state to look at
        raise UsageError(str(error)) from None
    typer.echo(comparison.table())
    page = comparison.page(out)
    typer.echo(f"wrote {page}")
    if open_page:
        import webbrowser

        webbrowser.open(page.resolve().as_uri())


def load_model(given: str) -> tuple[str, Any]:
    """Name and model of ``FILE.py:function``; the file is run as a module of its own."""
    path, _, function = given.rpartition(":")
    if not path or not function:
        raise UsageError(
            f"{given!r} names no function; pass MODEL.py:make, a file and a function that gives the model."
        )
    file = Path(path)
    if not file.is_file():
        raise UsageError(f"there is no file {path}; pass MODEL.py:make.")
    spec = importlib.util.spec_from_file_location(f"looked_at_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is no Python file; pass MODEL.py:make.")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(file.parent.resolve()))  # what the file imports from beside it
    try:
        spec.loader.exec_module(module)
        if not callable(getattr(module, function, None)):
            known = [name for name in vars(module) if callable(getattr(module, name)) and not name.startswith("_")]
            raise UsageError(f"{path} has no function {function!r}; it has {', '.join(known) or 'none'}.")
        return (file.stem if function == "make" else function), getattr(module, function)()
    finally:
        sys.path.remove(str(file.parent.resolve()))


def load_data(path: Path, piece: int) -> Any:
    """Sequences from a .npy file, or from the columns of a .csv file, cut into pieces."""
    import numpy as np

    if not path.is_file():
        raise UsageError(f"there is no file {path}; pass --data FILE.npy or FILE.csv.")
    if path.suffix == ".npy":
        try:
            return np.load(path, allow_pickle=False)
        except (ValueError, EOFError) as error:
            raise UsageError(f"{path} is no readable .npy file of numbers ({error}).") from None
    if path.suffix != ".csv":
        raise UsageError(f"{path.name} ends with {path.suffix or 'nothing'}; pass --data FILE.npy or FILE.csv.")
    try:
        values = np.genfromtxt(path, delimiter=",", ndmin=2, encoding="utf-8")
    except ValueError as error:
        raise UsageError(f"{path} has rows of different length ({error}).") from None
    if len(values) and np.isnan(values[0]).all():
        values = values[1:]  # names of columns
    kept = ~np.isnan(values).all(0)  # times and labels are no numbers
    values = values[:, kept]
    if not values.size or np.isnan(values).any():
        raise UsageError(f"{path} has cells that are no numbers; fill or cut out rows with missing values.")
    if piece < 2 or len(values) < piece:
        raise UsageError(f"--piece {piece}: {path} has {len(values)} rows; pass --piece from 2 to an eighth of them.")
    pieces = len(values) // piece
    return values[: pieces * piece].reshape(pieces, piece, -1)
