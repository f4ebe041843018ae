"""Databases with many streams, written as a watch would have left them, without the hours that it would take."""

import time

import numpy as np

from hippozoo.apps.watch.records import Alarm, Batch, Channel, Event, Kept, Progress, Sensor
from hippozoo.apps.watch.store import Store


def write_streams(path, streams=500, readings=288, every=300.0, end=None, panel=True):
    """A day of each stream, by default in steps of five minutes; the third one has an open event at its end."""
    end = time.time() // every * every if end is None else end
    names = [f"pump {number:03d}" for number in range(streams)]
    layout = {"kind": "csv", "names": ["time", "pump", "flow"], "columns": ["flow"], "time": "time", "dates": True}
    if panel:
        layout["series"] = ["pump"]
    settings = {
        "source": "plant.csv", "horizon": 6, "season": None, "layout": layout, "every": every, "columns": ["flow"],
        "rate": 1.0, "silence": "150", "no_data": 5.0,
    }  # fmt: skip
    times = end - every * np.arange(readings)[::-1]
    rng, kept = np.random.default_rng(0), []
    for channel in range(streams):
        expected = 50 + channel % 7 + np.sin(np.arange(readings) / 20 + channel)
        values = expected + 0.2 * rng.normal(size=readings)
        if channel == 2:
            values[-3:] = 0.0
        kept += [
            Kept(number, channel, *map(float, row))
            for number, row in enumerate(
                zip(times, values, expected, expected - 0.4, expected + 0.4, rng.uniform(size=readings), strict=True)
            )
        ]
    third = names[min(2, streams - 1)]
    sentence = f"{third} fell to 0; 52.3 expected (51.9 to 52.7)"
    began = float(times[-3])
    alarm = Alarm(
        0, readings - 3, 2, began, 1e-5, 0.0, 52.3, 51.9, 52.7, {"kind": "spike"}, told=1, event=0, lead=0,
        severity="critical", sentence=sentence, key=f"{third}:2:{readings - 3}:value",
    )  # fmt: skip
    event = Event(0, began, began, channels=[2], open={2: readings - 3}, severity="critical")
    with Store(path, settings) as store:
        store.commit(
            Batch(
                Progress(readings=streams * readings, time=float(times[-1])),
                kept,
                [alarm] if streams > 2 else [],
                [event] if streams > 2 else [],
                sensors=[Sensor(number, name, readings, {}) for number, name in enumerate(names)],
                channels=[Channel(number, "flow", number) for number in range(streams)],
            )
        )
    return path
