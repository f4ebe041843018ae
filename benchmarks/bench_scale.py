"""Many series on Dask: throughput against series, workers and partition size, beside the plain loop in the same run.

``python -m benchmarks.bench_scale [PART …]`` measures parts (growth, partitions, tasks, memory, fit; all by default)
and keeps the numbers in results/scale/throughput.json; ``python -m benchmarks scale`` is a short form of the first.
Clusters are processes of this machine. Times are of the wall clock, because workers are processes of their own: the
median of three, all of which are kept. A best of three once picked a time that could not be had again (0.12 s for 1e5
series in parts of 1 MB, else 0.9 to 1.2 s), so every repetition reads links of its own, which Dask cannot know from
before, writes a folder of its own, and what it wrote is counted.
"""

from __future__ import annotations

import benchmarks.timing as timing  # first: it sets one thread  # isort: skip

import json
import logging
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from hippozoo.memory import Memory
from hippozoo.scale import fit_forecaster, forecast_panel, states
from hippozoo.systems import LegT
from hippozoo.zoo.forecasting import Forecaster

RESULTS = Path("results/scale/throughput.json")
MEMORY = Memory(LegT(order=16, timescale=25.0))
SAMPLES = 50
FORECASTER = Forecaster(LegT(16, 25.0), horizon=8.0, ridge=(1e-3, 1e-1), anchor="last", future_order=8)
MB = 2**20


def write_series(folder: Path, count: int, samples: int = SAMPLES, rows_per_file: int = 5_000_000) -> None:
    """A folder of Parquet files sorted by series: one number per sample, 16 bytes a row in memory."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    rng = np.random.default_rng(0)
    each = max(1, rows_per_file // samples)
    folder.mkdir(parents=True)
    for begin in range(0, count, each):
        names = np.repeat(np.arange(begin, min(begin + each, count)), samples)
        table = pa.table({"series": names, "value": rng.normal(size=len(names))})
        parquet.write_table(table, folder / f"part-{begin:09d}.parquet", row_group_size=2**17, compression="none")


def plain_loop(folder: Path, out: Path) -> None:
    """What one would write without Dask: file by file, series by series."""
    import pandas

    out.mkdir(exist_ok=True)
    for path in sorted(folder.glob("*.parquet")):
        frame = pandas.read_parquet(path)
        names, found = [], []
        for name, rows in frame.groupby("series", sort=False):
            names.append(name)
            found.append(MEMORY.final(rows["value"].to_numpy()))
        columns = [f"value_{k}" for k in range(MEMORY.system.order)]
        pandas.DataFrame(np.stack(found), index=names, columns=columns).to_parquet(out / path.name)


def by_dask(folder: Path, out: Path, partition_bytes: int) -> None:
    """The same by hippozoo.scale, on the present client."""
    states(MEMORY, folder, id="series", partition_bytes=partition_bytes).to_parquet(out)


@contextmanager
def cluster(workers: int, **settings: Any) -> Iterator[Any]:
    """So many worker processes of one thread, warmed up."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            silence_logs=logging.ERROR,
            **settings,
        ) as made,
        Client(made) as client,
        TemporaryDirectory() as folder,
    ):
        write_series(Path(folder) / "in", 64, rows_per_file=SAMPLES * 16)
        by_dask(Path(folder) / "in", Path(folder) / "out", 4000)  # modules and compiled loops are loaded
        yield client


def wall(work: Callable[[], Any]) -> float:
    """Seconds of the wall clock, once."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def timed(work: Callable[[Path, Path], Any], given: Path, out: Path, count: int, repeats: int = 3) -> dict[str, Any]:
    """Median and all times of ``work(folder, out)``; every repetition sees new paths, and must write every series."""
    import pyarrow.parquet as parquet

    times = []
    for number in range(repeats):
        fresh, written = given.with_name(f"{out.name}-given-{number}"), out.with_name(f"{out.name}-{number}")
        fresh.mkdir()
        for path in given.iterdir():
            os.link(path, fresh / path.name)
        times.append(wall(lambda f=fresh, w=written: work(f, w)))
        rows = sum(parquet.read_metadata(path).num_rows for path in written.glob("*.parquet"))
        assert rows == count, f"{rows} of {count} series were written"
        if number:
            shutil.rmtree(written)
    return {"seconds": float(np.median(times)), "all_seconds": times}


def checked(one: Path, other: Path) -> float:
    """The largest difference between the states of two folders, relative to the largest state."""
    import pandas

    a, b = (pandas.read_parquet(path).sort_index() for path in (one, other))
    assert a.index.tolist() == b.index.tolist(), "a series is lost, or there twice"
    return float(np.abs(a.to_numpy() - b.to_numpy()).max() / np.abs(b.to_numpy()).max())


def by_number_of_series() -> dict[str, Any]:
    """Series a second from 1e3 to 1e6 series, by 1 and 2 workers; the plain loop up to 1e5."""
    rows = []
    with TemporaryDirectory() as place:
        base = Path(place)
        for count in (1_000, 10_000, 100_000, 1_000_000):
            write_series(base / f"{count}", count)
        for count in (1_000, 10_000, 100_000):
            found = timed(plain_loop, base / f"{count}", base / f"{count}-loop", count, 1 if count == 100_000 else 3)
            rows += [{"series": count, "by": "plain loop", **found}]
        for workers in (1, 2):
            with cluster(workers):
                for count in (1_000, 10_000, 100_000, 1_000_000):
                    out = base / f"{count}-by-{workers}"
                    found = timed(_by_dask_8, base / f"{count}", out, count)
                    rows += [{"series": count, "by": f"{workers} workers", **found}]
                    if count <= 10_000:
                        names = (f"{out.name}-0", f"{count}-loop-0")
                        rows[-1]["difference"] = checked(*(base / name for name in names))
    for row in rows:
        row["per_second"] = row["series"] / row["seconds"]
    return {"samples_per_series": SAMPLES, "order": MEMORY.system.order, "partition_bytes": 8 * MB, "rows": rows}


def _by_dask_8(folder: Path, out: Path) -> None:
    by_dask(folder, out, 8 * MB)


def run() -> list[dict[str, Any]]:
    """The short form: 20,000 series by 1 and 2 workers, beside the plain loop."""
    count, rows = 20_000, []
    with TemporaryDirectory() as place:
        base = Path(place)
        write_series(base / "in", count)
        loop = timed(plain_loop, base / "in", base / "loop", count)["seconds"]
        for workers in (1, 2):
            with cluster(workers):
                found = timed(lambda f, o: by_dask(f, o, 2 * MB), base / "in", base / f"by-{workers}", count)
            assert checked(base / f"by-{workers}-0", base / "loop-0") < 1e-12
            name = f"states of {count:,} series of {SAMPLES}, folder to folder, {workers} workers"
            rows += [timing.row(name, found["seconds"], loop, against="a loop over series", samples=count * SAMPLES)]
    return rows


def partitions() -> dict[str, Any]:
    """1e5 series in parts of 1 to 64 MB, by 2 workers."""
    rows = []
    with TemporaryDirectory() as place, cluster(2):
        base = Path(place)
        write_series(base / "in", 100_000)
        for size in (1, 4, 16, 64):
            out = base / f"out-{size}"
            found = timed(lambda f, o, s=size: by_dask(f, o, s * MB), base / "in", out, 100_000)
            parts = len(list((base / f"out-{size}-0").glob("*.parquet")))
            row = {"partition_megabytes": size, "parts": parts, **found, "per_second": 1e5 / found["seconds"]}
            rows += [row]
    return {"series": 100_000, "workers": 2, "rows": rows}


def tasks() -> dict[str, Any]:
    """What a task costs that does nothing: of Dask alone, and with the count of beginnings that reproduce needs."""
    from hippozoo.scale.cluster import each_finished

    with cluster(2) as client:
        bare = [wall(lambda: client.gather(client.map(_nothing, range(1000), pure=False))) for _ in range(3)]
        counted = [wall(lambda: list(each_finished(client, _nothing, list(range(200))))) / 0.2 for _ in range(3)]
    return {
        "dask_milliseconds": float(np.median(bare)),
        "counted_milliseconds": float(np.median(counted)),
        "all_dask_milliseconds": bare,
        "all_counted_milliseconds": counted,
        "workers": 2,
    }


def _nothing(item: int) -> int:
    return item


def memory() -> dict[str, Any]:
    """The peak memory of one worker on a folder of four times its limit."""
    limit = 640 * MB
    with TemporaryDirectory() as place:
        count = 4 * limit // (16 * SAMPLES)
        write_series(Path(place) / "in", count)
        size = sum(path.stat().st_size for path in (Path(place) / "in").glob("*"))
        with cluster(1, memory_limit=limit) as client:
            idle = max(client.run(_peak).values())
            seconds = wall(lambda: by_dask(Path(place) / "in", Path(place) / "out", 8 * MB))
            peak = max(client.run(_peak).values())
        import pyarrow.parquet as parquet

        written = sum(parquet.read_metadata(path).num_rows for path in (Path(place) / "out").glob("*.parquet"))
        assert written == count, "a series is lost"
    return {
        "limit_megabytes": limit / MB,
        "folder_megabytes_in_memory": count * SAMPLES * 16 / MB,
        "folder_megabytes_on_disk": size / MB,
        "worker_idle_megabytes": idle / MB,
        "worker_peak_megabytes": peak / MB,
        "series": count,
        "seconds": seconds,
    }


def _peak() -> int:
    # What getrusage says of a process includes what its parent held when it was started.
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def fit() -> dict[str, Any]:
    """One map for a panel of 20,000 series and its forecasts, by 1 and 2 workers; learning and merging one by one."""
    count, few = 20_000, 300
    rows = []
    with TemporaryDirectory() as place:
        write_series(Path(place) / "in", count)
        rng = np.random.default_rng(0)
        signals = [rng.normal(size=SAMPLES) for _ in range(few)]

        def loop() -> None:
            reduce(FORECASTER.merge, (FORECASTER.learn(FORECASTER.initial_state(), one) for one in signals))

        loop()
        rows.append({"by": "learn and merge in a loop", "fit_microseconds": 1e6 * wall(loop) / few})
        for workers in (1, 2):
            with cluster(workers):
                for validate in ("stretches", "series"):
                    if validate == "stretches" and workers == 1:
                        continue
                    given = Path(place) / "in"
                    found: list[Any] = []
                    seconds = wall(
                        lambda v=validate, g=given, f=found: f.append(
                            fit_forecaster(FORECASTER, g, validate=v, id="series", partition_bytes=MB)
                        )
                    )
                    row = {"by": f"{workers} workers, validate={validate}", "fit_microseconds": 1e6 * seconds / count}
                    if validate == "series":
                        out = Path(place) / f"out-{workers}"
                        seconds = wall(
                            lambda g=given, f=found, o=out: forecast_panel(
                                FORECASTER, f[0], g, o, id="series", partition_bytes=MB
                            )
                        )
                        row["forecast_microseconds"] = 1e6 * seconds / count
                    rows.append(row)
    return {"series": count, "samples_per_series": SAMPLES, "loop_series": few, "rows": rows}


PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "growth": by_number_of_series,
    "partitions": partitions,
    "tasks": tasks,
    "memory": memory,
    "fit": fit,
}


def main() -> None:
    """Measure the parts asked for, print them, and keep them."""
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in sys.argv[1:] or list(PARTS):
        before = os.getloadavg()[0]
        measured = PARTS[name]()
        kept[name] = measured | {
            "date": datetime.now(UTC).date().isoformat(),
            "machine": timing.machine(),
            "load_before": before,
        }
        print(name, json.dumps(measured, indent=1), flush=True)
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
