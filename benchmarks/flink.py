"""What does one sensor per key cost on Flink, and does it survive being killed? Run by `make flink`.

A file of many sensors (spikes, level shifts, gaps, missing values, late rows) is watched by Flink's local cluster at
parallelism 1 and 2, checkpoints every second. The job, or only its Python workers, are killed at random moments
(SIGKILL) and go on from the last checkpoint. Alarms, ends of events and expectations must be those of one process,
each once.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import json
import platform
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from hippozoo.monitor import Clock, Monitor, Plan
from hippozoo.scale.flink.__main__ import last_checkpoint
from hippozoo.scale.flink.lines import first_lines, infer_settings
from hippozoo.scale.flink.sensor import Sensor, pack_row
from hippozoo.tables.records import Line
from hippozoo.tables.schema import Reading

HORIZON, STEP = 6, 60.0
VALUES = ("value", "expected", "lower", "upper", "p")


def write_file(path: Path, keys: int, readings: int, seed: int) -> int:
    """Rows of all sensors in the order of time; how many."""
    rng = np.random.default_rng(seed)
    rows = []
    for k in range(keys):
        values = np.sin(np.arange(readings) * 2 * np.pi / rng.integers(20, 40)) + 0.2 * rng.normal(size=readings)
        for at in rng.integers(readings // 3, readings, size=3):
            values[at] += rng.choice([-6.0, 6.0])
        shift = int(rng.integers(readings // 2, readings))
        values[shift : shift + 40] += 4.0
        values[rng.integers(0, readings, size=readings // 200)] = np.nan
        times = STEP * np.arange(readings) + 7.0 * (k % 8)
        keep = np.ones(readings, bool)
        if k % 3 == 0:  # a gap
            begin = int(rng.integers(readings // 3, readings - 60))
            keep[begin : begin + int(rng.integers(8, 50))] = False
        if k % 10 == 5:  # falls silent for good
            keep[readings - readings // 5 :] = False
        rows += [(t, f"sensor {k}", v) for t, v in zip(times[keep].tolist(), values[keep].tolist(), strict=True)]
    rows.sort()
    late = sorted(rng.integers(len(rows) // 4, len(rows), size=len(rows) // 500).tolist(), reverse=True)
    for at in late:  # rows that come once more, or an hour later
        rows.insert(at, rows[max(at - int(rng.integers(1, keys * 60)), 0)])
    with path.open("w") as file:
        file.write("sensor,time,flow\n")
        file.writelines(f"{name},{t!r},{'' if np.isnan(v) else repr(v)}\n" for t, name, v in rows)
    return len(rows)


def one_process(path: Path) -> dict[str, dict[str, tuple]]:
    """A clock and a monitor for each sensor, by definition."""
    schema, settings = infer_settings(first_lines(path), str(path), ["sensor"], Plan(horizon=HORIZON))
    clocks, monitors, taken, latest = {}, {}, {}, 0.0
    with path.open() as file:
        for number, text in enumerate(file):
            row = schema.read(Line(number + 1, text.rstrip("\n")))
            if isinstance(row, Reading):
                latest = max(latest, row.time)
                clock = clocks.setdefault(row.series, Clock())
                taken.setdefault(row.series, []).extend(clock.take(row, STEP)[0])
    found = {"readings": {}, "alarms": {}, "ends": {}}
    for name, rows in taken.items():
        monitor = monitors[name] = Monitor(settings.plan)
        times, values = np.array([one.time for one in rows]), np.array([one.values for one in rows])
        outcomes = [monitor.push(times, values), monitor.tick(latest - 0.01)]
        for outcome in outcomes:
            parts = np.concatenate(outcome[2:7], axis=1)
            for t, numbers in enumerate(parts.tolist()):
                finite = tuple(one if np.isfinite(one) else None for one in numbers)
                found["readings"][f"{name}:0:{outcome.first + t}"] = finite
            for one in outcome.alerts:
                found["alarms"][one.key(name)] = (one.time, one.kind, one.p, one.value, one.expected)
            for one in outcome.over:
                found["ends"][f"{name}:0:{one.number}:{'data' if one.no_data else 'end'}"] = (one.time,)
    return found


def written(folder: Path) -> tuple[dict[str, dict[str, tuple]], int]:
    """What the sink holds by id, and how many lines came twice."""
    found, twice = {"readings": {}, "alarms": {}, "ends": {}}, 0
    for path in folder.rglob("alarms-*.jsonl"):
        for line in path.read_text().splitlines():
            ((kind, one),) = json.loads(line).items()
            if kind == "trouble":
                continue
            fields = {
                "reading": VALUES, "alarm": ("time", "kind", "p", "value", "expected"), "end": ("ended",),
            }[kind]  # fmt: skip
            home = found[f"{kind}s"]
            twice += one["id"] in home
            home[one["id"]] = tuple(one[name] for name in fields)
    return found, twice


def group(process: subprocess.Popen) -> dict[int, tuple[float, str]]:
    """The processes of a job: their CPU seconds and command lines."""
    tick, found = os.sysconf("SC_CLK_TCK"), {}
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                fields = (path / "stat").read_text().rpartition(")")[2].split()
                if int(fields[3]) == process.pid:  # the session that the job has begun
                    command = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    found[int(path.name)] = ((int(fields[11]) + int(fields[12])) / tick, command)
            except (OSError, IndexError):
                continue
    return found


def run_job(
    path: Path, folder: Path, parallelism: int, kills: int, between: float, rng: np.random.Generator, *more: str
) -> dict:
    """One job from beginning to end, killed on the way."""
    command = [
        sys.executable, "-m", "hippozoo.scale.flink", "--source", str(path), "--sink", str(folder / "out"),
        "--panel", "sensor", "--horizon", str(HORIZON), "--checkpoints", str(folder / "checkpoints"), "--interval", "1",
        "--parallelism", str(parallelism), "--resume", *more,
    ]  # fmt: skip
    cpu, wall, whole, workers, state, starts = 0.0, 0.0, 0, 0, 0, 0
    checkpoints = folder / "checkpoints"
    log = (folder / "log.txt").open("w")
    while True:
        begin, busy, known = time.monotonic(), {}, set(checkpoints.glob("*/chk-*/_metadata"))
        older = set(checkpoints.glob("*"))
        process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        starts += 1
        strike, finished = None, False
        while process.poll() is None:
            time.sleep(0.25)
            members = group(process)
            busy |= {pid: seconds for pid, (seconds, _) in members.items()}
            last = last_checkpoint(checkpoints)
            if last is not None:
                state = max(state, sum(one.stat().st_size for one in last.glob("*") if one.is_file()))
            if whole + workers >= kills:
                continue
            # At a random moment after the next checkpoint: without one there would be no progress.
            if strike is None and set(checkpoints.glob("*/chk-*/_metadata")) - known:
                strike = time.monotonic() + rng.uniform(0.0, between)
            if strike is not None and time.monotonic() > strike:
                strike, known = None, set(checkpoints.glob("*/chk-*/_metadata"))
                python = [pid for pid, (_, text) in members.items() if "fn_execution" in text]
                if python and rng.random() < 0.5:
                    os.kill(int(rng.choice(python)), signal.SIGKILL)  # Flink restores it by itself
                    workers += 1
                else:
                    os.killpg(process.pid, signal.SIGKILL)
                    whole += 1
                    process.wait()
                    # Flink deletes the checkpoints of a job that has finished: this one had, before its driver ended.
                    own = [one for one in checkpoints.glob("*") if one not in older]
                    finished = bool(own) and not any(list(one.glob("chk-*")) for one in own)
        wall += time.monotonic() - begin
        cpu += sum(busy.values())
        for pid in group(process):  # what has outlived its job
            os.kill(pid, signal.SIGKILL)
        if process.returncode == 0 or finished:
            break
        if process.returncode != -signal.SIGKILL:
            raise RuntimeError(f"the job failed; see {log.name}\n{Path(log.name).read_text()[-4000:]}")
    return {
        "seconds": round(wall, 1), "cpu_seconds": round(cpu, 1), "starts": starts, "killed_whole": whole,
        "killed_workers": workers, "checkpoint_bytes": state,
    }  # fmt: skip


def watch_alone(path: Path, folder: Path) -> dict:
    """`hippozoo watch` on the same file."""
    main = "from hippozoo.apps.cli import main; main()"
    command = [sys.executable, "-c", main, "watch", str(path), "--panel", "sensor", "--horizon"]
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run([*command, str(HORIZON), "--out", str(folder / "watch.db")], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": round(time.monotonic() - begin, 1), "cpu_seconds": round(cpu, 1)}


def compare(expected: dict, found: dict, twice: int) -> dict:
    """How many of each kind, lost, surplus or different, and how many came twice."""
    told: dict = {"twice": twice}
    for kind, theirs in expected.items():
        ours = found[kind]
        told[kind] = {
            "expected": len(theirs), "lost": len(theirs.keys() - ours.keys()),
            "surplus": len(ours.keys() - theirs.keys()),
            "different": sum(ours[one] != theirs[one] for one in theirs.keys() & ours.keys()),
        }  # fmt: skip
    return told


def state_bytes() -> int:
    """The snapshot of one key after 1,000 readings."""
    sensor = Sensor(Plan(horizon=HORIZON))
    sensor.take([pack_row(Reading(0, STEP * k, (float(np.sin(k)),))) for k in range(1000)])
    return len(sensor.to_bytes())


def main() -> None:
    """Measure, and write one JSON file for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=100)
    parser.add_argument("--readings", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=6, help="for each parallelism")
    parser.add_argument("--between", type=float, default=15.0, help="seconds after a checkpoint, at most, to a kill")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--parallelism", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--without", nargs="*", default=[], choices=["watch", "speed", "kills"])
    parser.add_argument("--out", type=Path, default=Path("results/flink"))
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    target = asked.out / f"{asked.keys}-keys-{asked.readings}-readings.json"
    rng = np.random.default_rng(asked.seed)
    work = Path(tempfile.mkdtemp(prefix="hippozoo-flink-"))
    path = work / "sensors.csv"
    rows = write_file(path, asked.keys, asked.readings, asked.seed)
    import pyflink.version

    told: dict = {
        "keys": asked.keys, "readings_a_key": asked.readings, "rows": rows, "horizon": HORIZON, "seed": asked.seed,
        "snapshot_bytes": state_bytes(), "machine": {"cores": os.cpu_count(), "load": os.getloadavg()},
        "versions": {
            "python": platform.python_version(), "numpy": np.__version__, "apache-flink": pyflink.version.__version__,
        },
    }  # fmt: skip

    def save() -> None:
        target.write_text(json.dumps(told, indent=1) + "\n")
        print(json.dumps(told), flush=True)

    begin = time.process_time()
    expected = one_process(path)
    told["one_process"] = {"cpu_seconds": round(time.process_time() - begin, 1)}
    if "watch" not in asked.without:
        told["watch"] = watch_alone(path, work)
    save()
    for parallelism in asked.parallelism:
        for what in ("kills", "speed"):
            if what in asked.without:
                continue
            folder = work / f"{what}-{parallelism}"
            folder.mkdir()
            more = ["--all-readings"] if what == "kills" else []
            run = run_job(path, folder, parallelism, asked.kills if what == "kills" else 0, asked.between, rng, *more)
            run["load"] = os.getloadavg()
            found, twice = written(folder / "out")
            if what == "kills":
                run |= compare(expected, found, twice)
            else:
                run |= compare(expected | {"readings": {}}, found, twice)
            told[f"{what}_at_parallelism_{parallelism}"] = run
            save()
    runs = [one for name, one in told.items() if "_at_parallelism_" in name]
    wrong = sum(one["twice"] + sum(sum(list(one[kind].values())[1:]) for kind in expected) for one in runs)
    if wrong:
        raise SystemExit(f"{wrong} lines are lost, surplus, different or there twice; see {work}")
    shutil.rmtree(work)


if __name__ == "__main__":
    main()
