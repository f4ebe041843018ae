"""The commands that the studies add to `hippozoo`: ``reproduce`` and ``report``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from hippozoo.apps.command_line import (
    Debug,
    Scheduler,
    StoppedError,
    UsageError,
    command,
    complain,
    debug_is_set,
    explain,
    flag,
)
from hippozoo_studies.framework.costs import cost_lines


@command(epilog=f"Core time: {cost_lines()}. Example: [bold]hippozoo reproduce multiscale --quick[/bold]")
def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Experiments, or [bold]all[/bold].", show_default=False),
    ] = None,
    show_list: Annotated[
        bool, flag("--list", help="List the experiments, with core time and what is computed.")
    ] = False,
    quick: Annotated[
        bool, flag("--quick", help="Small sizes: a check that it runs, in a minute at most; not a result.")
    ] = False,
    seeds: Annotated[
        str | None,
        typer.Option(metavar="0,1,2", help="Seeds, instead of the experiment's own.", show_default=False),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder with data sets of your own.", show_default="HIPPOZOO_DATA"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Results go to DIR/NAME: metrics.json, config.json, figures.",
            show_default="results; with --quick results-quick",
        ),
    ] = None,
    jobs: Annotated[int, typer.Option(metavar="N", min=1, help="Parallel processes, one thread each.")] = 1,
    scheduler: Scheduler = None,
    so_far: Annotated[
        bool, flag("--so-far", help="Run nothing; write metrics and figures of the finished units.")
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PART=VALUE,…",
            help="Run only units of this kind: model=salience,task=copying; model=lstm,model=s4d runs both.",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=MODULE:FUNCTION",
            help="Enter a model of your own, made by FUNCTION(inputs, outputs, length), or with params too.",
            show_default=False,
        ),
    ] = None,
    check: Annotated[
        bool,
        flag("--check", help="Recompute one finished unit of each model and compare numbers and claims."),
    ] = False,
    as_json: Annotated[
        bool,
        flag("--json", help="Print only metrics.json on stdout (a list for several experiments)."),
    ] = False,
    debug: Debug = False,
) -> None:
    """Run experiments and compare with the paper's figures.

    A long run can be stopped with Ctrl-C at any time: finished units are
    kept in OUT/NAME/units.jsonl, and the same command goes on from there.
    Progress is shown on stderr.

    With --model, your model is trained in the protocol of memory-tasks,
    recall-scaling, multi-query-recall, digits or psmnist, and drawn beside
    what ./results holds; results go to results-contest. The function makes
    a torch.nn.Module that returns outputs and a state.
    """
    if show_list:
        _list_experiments(as_json=as_json, folder=out)
        return
    import hippozoo_studies as experiments

    chosen, is_all = _chosen(names or [])
    if scheduler is not None and jobs != 1:
        raise UsageError(f"--jobs {jobs} and --scheduler {scheduler} exclude each other; pass one of them.")
    if data is not None and not data.is_dir():
        raise UsageError(f"--data {data}: there is no such folder; pass the one that holds your data sets.")
    if check:
        if seeds is not None or so_far or as_json or jobs != 1 or only or model:
            raise UsageError("--check accepts only --quick, --data and --out.")
        _check_units(chosen, is_all=is_all, quick=quick, data=data, out=out)
        return
    makers = _makers(model or [], so_far=so_far, scheduler=scheduler)
    if makers and is_all:
        from hippozoo_studies.framework.entrants import contests

        chosen, is_all = contests(), False
    options: dict[str, Any] = {"quick": quick, "data": data, "jobs": jobs}
    options["seeds"] = None if seeds is None else _seeds(seeds)
    options["only"] = _parts(",".join(only)) if only else None
    folder = experiments.CONTEST_FOLDER if makers else experiments.QUICK_FOLDER if quick else experiments.FULL_FOLDER
    options["out"] = out or Path(folder)
    options |= {"models": makers} if makers else {"so_far": so_far, "scheduler": scheduler}
    failed, documents = [], []
    for name in chosen:
        try:
            documents.append(_reproduce_one(name, options, is_all=is_all, as_json=as_json))
        except Exception as error:
            if len(chosen) == 1 or isinstance(error, (UsageError, StoppedError)):
                raise
            explain(error, debug=debug or debug_is_set(), prefix=f"{name}: ")
            failed.append(name)
    if as_json:
        import json

        one = documents[0] if len(chosen) == 1 else documents
        typer.echo(json.dumps(one, indent=1, ensure_ascii=False, allow_nan=False))
    if is_all and documents:
        from hippozoo_studies.report import write_report

        default = experiments.QUICK_FOLDER if quick else experiments.FULL_FOLDER
        typer.echo(f"wrote {write_report(out or default).page}", err=as_json)
    if failed:
        complain(f"{len(failed)} of {len(chosen)} experiments failed: {', '.join(failed)}.")
        raise typer.Exit(1)


@command(epilog="Example: [bold]hippozoo report results --open[/bold]")
def report(
    results: Annotated[
        Path, typer.Argument(metavar="RESULTS", help="The folder that hippozoo reproduce wrote.")
    ] = Path("results"),
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder for report.html and report.md.", show_default="RESULTS"),
    ] = None,
    markdown: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write Markdown pages instead: verdicts to FILE, chapters.md beside it.",
            show_default=False,
        ),
    ] = None,
    open_page: Annotated[bool, flag("--open/--no-open", help="Open the page in a browser.")] = False,
    debug: Debug = False,
) -> None:
    """Write a report of all results, with a verdict on every claim of the paper."""
    from hippozoo_studies.report import NoResultsError, write_markdown, write_report

    if markdown is not None and (out is not None or open_page):
        raise UsageError("--markdown writes no HTML page; omit --out and --open.")
    try:
        if markdown is not None:
            typer.echo("wrote {} and {}".format(*write_markdown(results, markdown)))
            return
        written = write_report(results, out)
    except NoResultsError as error:
        raise UsageError(str(error)) from None
    typer.echo(f"wrote {written.page} and {written.markdown}")
    if open_page:
        import webbrowser

        webbrowser.open(written.page.resolve().as_uri())


def _list_experiments(*, as_json: bool, folder: Path | None) -> None:
    from hippozoo_studies import FULL_FOLDER, describe
    from hippozoo_studies.framework.costs import cost_text, there_text

    if as_json:
        import json

        typer.echo(json.dumps(describe(), indent=1, ensure_ascii=False))
        return
    from rich.console import Console

    results, described = folder or Path(FULL_FOLDER), describe()
    # Two lines each: beside three other columns a sentence would take eight.
    rows = [("study", "core time", f"computed in {results}")]
    rows += [(name, cost_text(name), there_text(results / name)) for name in described]
    first, second = (max(len(row[place]) for row in rows) for place in (0, 1))
    lines = [f"{name:<{first}}  {cost:<{second}}  {there}" for name, cost, there in rows]
    told = [line for name, text in zip(lines[1:], described.values(), strict=True) for line in (name, f"  {text}")]
    console = Console()
    for line in (lines[0], *told):
        console.print(line, markup=False, highlight=False, no_wrap=True, overflow="ellipsis")
    typer.echo(f"all: {cost_text()} of one core. --jobs N divides it; --only runs a part.")


def _chosen(names: list[str]) -> tuple[list[str], bool]:
    """The experiments to run, and whether that is all of them."""
    import hippozoo_studies as experiments

    if not names:
        raise UsageError("no experiment named; pass names or 'all' (hippozoo reproduce --list shows them).")
    if "all" in names:
        return experiments.names(), True
    try:
        return [experiments.check_name(name) for name in dict.fromkeys(names)], False
    except experiments.UnknownExperimentError as error:
        raise UsageError(str(error)) from None


def _seeds(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise UsageError(f"--seeds {text}: seeds are whole numbers from 0 on; separate them by commas, as in 0,1,2.")
    seeds = [int(part) for part in parts]
    if len(set(seeds)) < len(seeds):
        raise UsageError(f"--seeds {text}: a seed stands there twice; name each once.")
    return seeds


def _parts(text: str) -> dict[str, list[str]]:
    parts = [part.partition("=") for part in text.split(",")]
    if not all(name.strip() and value.strip() for name, _, value in parts):
        raise UsageError(f"--only {text}: write what to run as PART=VALUE, as in model=salience,task=copying.")
    values: dict[str, list[str]] = {}
    for name, _, value in parts:
        values.setdefault(name.strip(), []).append(value.strip())
    return values


def _makers(texts: list[str], *, so_far: bool, scheduler: str | None) -> dict[str, Any]:
    from hippozoo_studies.framework.entrants import imported

    if texts and (so_far or scheduler is not None):
        raise UsageError("--model trains here; leave --so-far and --scheduler out.")
    try:
        makers = dict(map(imported, texts))
    except ValueError as error:
        raise UsageError(f"--model {error}") from None
    if len(makers) < len(texts):
        raise UsageError("--model names a model twice; give each a name of its own.")
    return makers


def _check_units(names: list[str], *, is_all: bool, quick: bool, data: Path | None, out: Path | None) -> None:
    """Check experiment by experiment, and say which models no longer come out the same."""
    from contextlib import redirect_stdout

    from rich.console import Console

    import hippozoo_studies as experiments
    from hippozoo_studies import Terminal
    from hippozoo_studies.framework.progress import unit_text

    folder = out or (experiments.QUICK_FOLDER if quick else experiments.FULL_FOLDER)
    differing = []
    for name in names:
        if is_all and not (Path(folder) / name / "units.jsonl").exists():
            continue
        try:
            with redirect_stdout(sys.stderr):
                checks, whole = experiments.check_study(
                    name, quick=quick, data=data, out=folder, progress=Terminal(Console(stderr=True))
                )
        except KeyboardInterrupt:
            raise StoppedError(f"stopped while checking {name}; the same command goes on from there.") from None
        if not checks and experiments.load(name).has_units:
            typer.echo(f"{name}: every unit agrees with this code already.")
        for model, one in checks.items():
            verdict = "the same" if one.equal else "the same but for rounding" if one.near else "differs"
            typer.echo(f"{name}: {model}: {verdict} ({unit_text(one.unit)}, {one.seconds:.1f} s)")
            for place, old, new in one.differences:
                typer.echo(f"    {place}: {old} was written, {new} comes out")
        _tell_comparison(name, whole)
        if not whole.agrees:
            differing.append(name)
    if differing:
        raise RuntimeError(
            f"{', '.join(differing)}: claims or numbers of metrics.json no longer come out as written. Another machine "
            "may round otherwise; if the code is the reason, delete those lines of units.jsonl and run the experiment "
            "again. Where every unit is the same, --so-far writes metrics.json anew."
        )


def _tell_comparison(name: str, whole: Any, shown: int = 5) -> None:
    """Which claims turn, which numbers are apart, and how many digits the others share."""
    for claim, old, new in whole.claims:
        typer.echo(f"{name}: claim {claim!r}: {old} was written, {new} comes out")
    for place, old, new in whole.others[:shown]:
        typer.echo(f"{name}: {place}: {old} was written, {new} comes out")
    for place, old, new, digits in whole.apart[:shown]:
        typer.echo(f"{name}: {place}: {old:.6g} was written, {new:.6g} comes out ({digits} digits the same)")
    if len(whole.apart) > shown:
        typer.echo(f"{name}: … and {len(whole.apart) - shown} more numbers are apart")
    near = [one for one in whole.numbers if one not in whole.apart]
    if near:
        place, old, new, digits = near[0]
        typer.echo(
            f"{name}: {len(near)} numbers differ within the tolerance, most {place}: {old:.6g} and {new:.6g} "
            f"({digits} digits the same)"
        )
    if whole.agrees:
        typer.echo(f"{name}: metrics.json: all claims come out the same, and all numbers within 1 %")


def _reproduce_one(name: str, options: dict[str, Any], *, is_all: bool, as_json: bool) -> dict[str, Any]:
    """Run one experiment, or a contest if there are models to enter, and print its summary."""
    from contextlib import redirect_stdout

    from rich.console import Console

    import hippozoo_studies as experiments
    from hippozoo_studies import Terminal, summary

    if options["seeds"] is not None and not hasattr(experiments.load(name).config(quick=options["quick"]), "seeds"):
        if not is_all:
            raise UsageError(f"experiment {name!r} has no randomness, so it takes no seeds; leave --seeds out.")
        options = options | {"seeds": None}
    run = experiments.contest if "models" in options else experiments.reproduce
    try:
        with redirect_stdout(sys.stderr):  # stdout belongs to the result
            document = run(name, progress=Terminal(Console(stderr=True)), **options)
    except experiments.Interrupted as interrupt:
        raise StoppedError(str(interrupt)) from None
    except experiments.FullResultInTheWayError as error:
        raise UsageError(str(error)) from None
    if not as_json:
        Console().print(summary(document, options["out"] / name))
    return document
