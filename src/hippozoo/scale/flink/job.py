"""The keyed function as Flink runs it, and a stream of alarms from any stream of lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from types import SimpleNamespace
from typing import Any

from hippozoo._internal.extras import is_installed
from hippozoo.scale.flink.keyed import KeyedWatch, Settings
from hippozoo.scale.flink.lines import LineReader
from hippozoo.tables.schema import Schema

__all__ = ["WatchSensor", "pyflink", "watch_lines"]


def pyflink(module: str) -> Any:
    """A module of PyFlink, or a sentence on how to get it."""
    try:
        return import_module(f"pyflink.{module}")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "pyflink":
            raise
        raise ImportError(
            "hippozoo.scale.flink.watch_lines needs PyFlink, which wants an environment of its own (older NumPy, "
            "Java 17): `make flink` builds .venv-flink, or pip install hippozoo apache-flink into a fresh one.",
            name="pyflink",
        ) from None


# Flink's workers find the functions below by their names, so they are defined where PyFlink is missing, too.
_functions = pyflink("datastream.functions") if is_installed("pyflink") else SimpleNamespace()
_stamps = pyflink("common.watermark_strategy") if is_installed("pyflink") else SimpleNamespace()
_KeyedProcessFunction: Any = getattr(_functions, "KeyedProcessFunction", object)
_FlatMapFunction: Any = getattr(_functions, "FlatMapFunction", object)
_TimestampAssigner: Any = getattr(_stamps, "TimestampAssigner", object)


class _FlinkState:
    """The `KeyState` of the key at work, in Flink's state and timers."""

    def __init__(self, runtime_context: Any) -> None:
        state, common = pyflink("datastream.state"), pyflink("common")
        of_bytes = common.Types.PRIMITIVE_ARRAY(common.Types.BYTE())
        self._snapshot = runtime_context.get_state(state.ValueStateDescriptor("snapshot", of_bytes))
        self._log = runtime_context.get_list_state(state.ListStateDescriptor("log", of_bytes))
        self._buffer = runtime_context.get_list_state(state.ListStateDescriptor("buffer", of_bytes))
        self.timers: Any = None

    def snapshot(self) -> bytes | None:
        found = self._snapshot.value()
        return None if found is None else bytes(found)

    def log(self) -> list[bytes]:
        return [bytes(row) for row in self._log.get() or ()]

    def buffer(self) -> list[bytes]:
        return [bytes(row) for row in self._buffer.get() or ()]

    def save(self, snapshot: bytes) -> None:
        self._snapshot.update(snapshot)
        self._log.clear()

    def add_to_log(self, rows: Sequence[bytes]) -> None:
        self._log.add_all(list(rows))

    def add_to_buffer(self, row: bytes) -> None:
        self._buffer.add(row)

    def replace_buffer(self, rows: Sequence[bytes]) -> None:
        self._buffer.update(list(rows)) if rows else self._buffer.clear()

    def wake_at(self, milliseconds: int) -> None:
        self.timers.register_event_time_timer(milliseconds)

    def wake_in(self, milliseconds: int) -> None:
        self.timers.register_processing_time_timer(self.timers.current_processing_time() + milliseconds)


class WatchSensor(_KeyedProcessFunction):
    """Watches the sensor of each key; see `KeyedWatch`, which it lends Flink's state and timers."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def open(self, runtime_context: Any) -> None:
        """Begin, or go on from a checkpoint: memory is empty, and everything is in the state."""
        self._state, self._watch = _FlinkState(runtime_context), KeyedWatch(self.settings)
        self._event_time = pyflink("datastream").TimeDomain.EVENT_TIME

    def process_element(self, value: Any, ctx: Any) -> Iterator[str]:
        """A line: its sensor, event time, row, and what is to be said of it."""
        self._state.timers = ctx.timer_service()
        sensor, _, row, said = value
        if said:
            yield said
        else:
            yield from self._watch.take(sensor, bytes(row), self._state)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[str]:
        """A timer of the key at work."""
        self._state.timers = ctx.timer_service()
        if ctx.time_domain() == self._event_time:
            watermark = self._state.timers.current_watermark()
            yield from self._watch.on_watermark(ctx.get_current_key(), timestamp, watermark, self._state)
        else:
            yield from self._watch.on_clock(ctx.get_current_key(), self._state)


class _Read(_FlatMapFunction):
    """Reads lines; one reader in each subtask."""

    def __init__(self, reader: LineReader) -> None:
        self.reader = reader

    def flat_map(self, value: str) -> Iterator[Any]:
        for row in self.reader.read(value):
            yield tuple(row)


class _Stamp(_TimestampAssigner):
    """The event time that the reader gave."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return value[1]


def watch_lines(lines: Any, schema: Schema, settings: Settings) -> Any:
    """A stream of JSON lines (alarms, ends of events, troubles) from a Flink stream of lines of text.

    Parameters
    ----------
    lines
        A `DataStream` of strings, from any source: files, a socket, Kafka.
    schema, settings
        How lines are read and sensors watched, as of `hippozoo.scale.flink.lines.infer_settings`.

    Examples
    --------
    In an environment with PyFlink, the last line is
    ``watch_lines(env.from_source(kafka_source, no_watermarks, "readings"), schema, settings).sink_to(kafka_sink)``.

    >>> from hippozoo.monitor import Plan
    >>> from hippozoo.scale.flink import infer_settings, watch_lines
    >>> first = ['{"sensor": "a", "time": 0, "flow": 1.5}', '{"sensor": "a", "time": 60, "flow": 2.5}']
    >>> schema, settings = infer_settings(first, "readings", ["sensor"], Plan(horizon=6))
    >>> try:
    ...     watch_lines(None, schema, settings)
    ... except (ImportError, AttributeError) as error:  # no PyFlink, or no stream
    ...     print(type(error).__name__ in ("ImportError", "AttributeError"))
    True
    """
    common = pyflink("common")
    types = common.Types
    row = types.TUPLE([types.STRING(), types.LONG(), types.PRIMITIVE_ARRAY(types.BYTE()), types.STRING()])
    lateness = common.Duration.of_millis(settings.milliseconds(settings.lateness or 0.0))
    watermarks = common.WatermarkStrategy.for_bounded_out_of_orderness(lateness).with_timestamp_assigner(_Stamp())
    # Up to the keys as many subtasks as the source has: dealt out, the rows of a sensor would overtake each other.
    env, readers = lines.get_execution_environment(), lines._j_data_stream.getParallelism()
    parallelism = env.get_parallelism()
    env.set_parallelism(readers)
    rows = lines.flat_map(_Read(LineReader(schema, settings)), row).name("read lines").uid("read-lines")
    keyed = rows.assign_timestamps_and_watermarks(watermarks).key_by(_sensor_of, types.STRING())
    env.set_parallelism(parallelism)
    return keyed.process(WatchSensor(settings), types.STRING()).name("watch sensors").uid("watch-sensors")


def _sensor_of(row: Any) -> str:
    return row[0]
