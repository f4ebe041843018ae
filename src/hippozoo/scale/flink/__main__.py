"""``python -m hippozoo.scale.flink``: a small job that watches files or a socket on Flink."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from hippozoo.monitor import NEVER, Plan, Rules, Silence
from hippozoo.monitor.rules import parse_duration
from hippozoo.scale.flink.keyed import Settings
from hippozoo.scale.flink.lines import first_lines, infer_settings

_KAFKA = (
    "Kafka is read and written by Flink's own connectors, KafkaSource and KafkaSink: put their jar on Flink's class "
    "path and hand their stream of lines to hippozoo.scale.flink.watch_lines, as docs/flink.md shows."
)
# Flink deletes the checkpoints of a job that has finished, but not those that it went on from: without this file they
# would be gone on from once more.
_FINISHED = "finished"
_KEPT = "execution.checkpointing.externalized-checkpoint-retention"


def run(
    source: Annotated[
        str, typer.Option(metavar="PATH|socket://HOST:PORT", help="File or folder of CSV or JSON lines.")
    ],
    sink: Annotated[str, typer.Option(metavar="FOLDER|-", help="Folder for JSON lines, or - for standard output.")],
    panel: Annotated[
        list[str], typer.Option(metavar="NAME", help="Column that names the sensor of a row; repeatable.")
    ],
    column: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Column to watch.", show_default="all numeric columns")
    ] = None,
    time: Annotated[str | None, typer.Option(metavar="NAME", help="Time column.", show_default="detected")] = None,
    like: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File with lines like those of the source; needed for a socket.")
    ] = None,
    horizon: Annotated[int, typer.Option(metavar="N", min=1, help="Number of steps to forecast.")] = 24,
    season: Annotated[int | None, typer.Option(metavar="N", min=2, help="Season length in steps.")] = None,
    every: Annotated[
        float | None, typer.Option(metavar="S", help="Usual step.", show_default="that of each sensor")
    ] = None,
    rate: Annotated[float, typer.Option(metavar="X", help="Expected false alarms per 1,000 normal readings.")] = 1.0,
    silence: Annotated[str, typer.Option(metavar="N|2h", help="After an alarm: readings, or a time.")] = "150",
    no_data: Annotated[
        str, typer.Option(metavar="N|2h|never", help="Alarm after so many usual steps, or so long, without data.")
    ] = "5",
    lateness: Annotated[
        str | None,
        typer.Option(
            metavar="S|5min", help="Sort rows that come at most so late.", show_default="take rows as they come"
        ),
    ] = None,
    batch: Annotated[int, typer.Option(metavar="N", min=1, help="Rows of a sensor taken in together at most.")] = 64,
    wait: Annotated[float, typer.Option(metavar="S", min=0.0, help="Seconds that a row waits for others.")] = 0.2,
    cache: Annotated[int, typer.Option(metavar="N", min=1, help="Sensors held in memory by each subtask.")] = 2000,
    all_readings: Annotated[bool, typer.Option("--all-readings", help="Write every reading, not only alarms.")] = False,
    parallelism: Annotated[int, typer.Option(metavar="N", min=1, help="Subtasks that watch.")] = 1,
    checkpoints: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where Flink keeps checkpoints.", show_default="none")
    ] = None,
    interval: Annotated[float, typer.Option(metavar="S", help="Seconds between checkpoints.")] = 1.0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the last checkpoint, if there is one.")] = False,
    option: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="An option of Flink; repeatable.")
    ] = None,
) -> None:
    """Watch one sensor per key on Flink; prints or writes alarms as JSON lines, each with an id.

    Runs in Flink's local cluster, or where `flink run` sends it. Kafka: see docs/flink.md.
    """
    try:
        if "kafka" in source.partition("://")[0] or "kafka" in sink.partition("://")[0]:
            raise ValueError(_KAFKA)
        plan = Plan(1, horizon, season, every, rules=Rules(rate, Silence.parse(silence), _steps(no_data, every)))
        sample = like or Path(source)
        if like is None and "://" in source:
            raise ValueError(f"--source {source}: nothing shows how its lines are read; pass --like FILE.")
        schema, settings = infer_settings(first_lines(sample), str(sample), panel, plan, column or (), time)
        late = None if lateness is None else parse_duration(lateness)[0]
        settings = replace(
            settings, lateness=late, batch=batch, wait=int(wait * 1000), cache=cache, all_readings=all_readings
        )
        options = _options(parallelism, checkpoints, interval, resume, option or [])
        finished = None if checkpoints is None else checkpoints / _FINISHED
        if resume and finished is not None and finished.exists():
            typer.echo(f"The job of {checkpoints} has finished; omit --resume to watch {source} from its beginning.")
            return
        if finished is not None:
            finished.unlink(missing_ok=True)
        _execute(source, sink, schema, settings, options)
        if finished is not None:
            finished.touch()
    except (ValueError, OSError, ImportError) as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(2) from None


def _steps(no_data: str, every: float | None) -> float:
    """After how many usual steps no data is an alarm."""
    if no_data == "never":
        return NEVER
    length, seconds = parse_duration(no_data)
    if seconds and every is None:
        raise ValueError(
            f"--no-data {no_data}: each sensor has its own usual step; pass --every, or a number of steps."
        )
    return length / every if seconds and every is not None else length


def _options(
    parallelism: int, checkpoints: Path | None, interval: float, resume: bool, given: list[str]
) -> dict[str, str]:
    """Options of Flink by their own names."""
    options = {
        "parallelism.default": str(parallelism),
        "python.executable": sys.executable,
        "python.client.executable": sys.executable,
    }
    if checkpoints is not None:
        checkpoints.mkdir(parents=True, exist_ok=True)
        options |= {
            "execution.checkpointing.interval": f"{int(interval * 1000)} ms",
            "execution.checkpointing.dir": checkpoints.resolve().as_uri(),
            _KEPT: "RETAIN_ON_CANCELLATION",
            "execution.checkpointing.num-retained": "2",
        }
        last = last_checkpoint(checkpoints)
        if resume and last is not None:
            options["execution.state-recovery.path"] = last.resolve().as_uri()
    elif resume:
        raise ValueError("--resume needs the folder of the checkpoints; pass --checkpoints FOLDER.")
    for one in given:
        name, mark, value = one.partition("=")
        if not mark:
            raise ValueError(f"--set {one}: pass KEY=VALUE, such as state.backend.type=rocksdb.")
        options[name] = value
    return options


def last_checkpoint(folder: Path) -> Path | None:
    """The newest checkpoint below a folder that was written to its end; None if there is none."""
    whole = list(folder.glob("*/chk-*/_metadata"))
    return max(whole, key=lambda one: one.stat().st_mtime_ns).parent if whole else None


def _execute(source: str, sink: str, schema: Any, settings: Settings, options: dict[str, str]) -> None:
    from hippozoo.scale.flink.job import pyflink, watch_lines

    common, datastream, files = map(pyflink, ("common", "datastream", "datastream.connectors.file_system"))
    configuration = common.Configuration()
    for name, value in options.items():
        configuration.set_string(name, value)
    env = datastream.StreamExecutionEnvironment.get_execution_environment(configuration)
    if source.startswith("socket://"):
        host, _, port = source.removeprefix("socket://").rpartition(":")
        if not host or not port.isdigit():
            raise ValueError(f"--source {source}: pass socket://HOST:PORT.")
        lines = datastream.DataStream(env._j_stream_execution_environment.socketTextStream(host, int(port)))
    else:
        form = files.StreamFormat.text_line_format()
        builder = files.FileSource.for_record_stream_format(form, str(Path(source).resolve()))
        none = common.WatermarkStrategy.no_watermarks()
        # One reader keeps the order of rows.
        lines = env.from_source(builder.build(), none, "lines").uid("lines").set_parallelism(1)
    alarms = watch_lines(lines, schema, settings)
    if sink == "-":
        alarms.print()
    else:
        encoder = pyflink("common.serialization").Encoder.simple_string_encoder()
        policy = files.RollingPolicy.on_checkpoint_rolling_policy()
        target = files.FileSink.for_row_format(str(Path(sink).resolve()), encoder).with_rolling_policy(policy)
        named = files.OutputFileConfig.builder().with_part_prefix("alarms").with_part_suffix(".jsonl").build()
        alarms.sink_to(target.with_output_file_config(named).build()).uid("alarms")
    env.execute("hippozoo watch")


if __name__ == "__main__":
    typer.run(run)
