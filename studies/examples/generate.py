"""Text from a trained model of characters: ``python studies/examples/generate.py --help``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hippozoo.apps.command_line import UsageError, complain, debug_is_set, use_one_thread
from hippozoo.apps.command_line import explain as report_error


def generate(
    checkpoint: Annotated[Path, typer.Option(metavar="FILE", help="A trained model of characters.")],
    prompt: Annotated[str, typer.Option(metavar="TEXT", help="What to go on from: printable ASCII and newlines.")],
    length: Annotated[int, typer.Option(metavar="N", min=1, help="Characters to write.")] = 400,
    temperature: Annotated[
        float, typer.Option(metavar="T", help="Below 1 likely characters become likelier: fewer surprises.")
    ] = 0.8,
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, help="Of the draws: the same seed writes the same text.")
    ] = 0,
    explain: Annotated[
        Path | None,
        typer.Option(metavar="PNG", help="Draw there which earlier characters carried the last choice."),
    ] = None,
) -> None:
    """Write text, one character at a time, from a model with one explicit state."""
    use_one_thread()
    from hippozoo_studies.generate import demand_characters, load_characters, what_carried, write_text
    from hippozoo_studies.generate.carriers import draw_carriers

    if explain is not None and explain.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise UsageError(
            f"--explain {explain}: a picture is written there; name a file that ends in .png, .svg or .pdf."
        )
    if not temperature > 0:
        raise UsageError(f"--temperature {temperature}: pass a number above 0; 1 draws as the model believes.")
    demand_characters(prompt)
    model = load_characters(checkpoint)
    written = write_text(model, prompt, length, temperature, seed)  # what it refuses it refuses before any text
    typer.echo(prompt, nl=False)
    text = prompt
    for symbol in written:
        typer.echo(symbol, nl=False)
        text += symbol
    typer.echo()
    if explain is not None:
        draw_carriers(what_carried(model, text[:-1], text[-1]), explain)
        complain(f"wrote {explain}: what carried the last character, {text[-1]!r}.")


def main() -> None:
    """Run the example; what it refuses it explains in one sentence."""
    try:
        typer.run(generate)
    except Exception as error:
        raise SystemExit(report_error(error, debug=debug_is_set())) from None


if __name__ == "__main__":
    main()
