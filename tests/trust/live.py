"""A watch of a broker and a server with its watch: killed again and again while others go on sending and asking."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from typing import Any

import numpy as np

from brokers import Mosquitto, free_port, wait_for_port
from hippozoo.apps.serve.server import make_server, run_server
from hippozoo.apps.watch.run import Settings, Watch
from hippozoo.apps.watch.terminal import Elsewhere
from serving import TOKEN, Asking

_READINGS_A_KILL, _REQUESTS_A_KILL = 10, 3


def _fork(work: Callable[[], Any]) -> int:
    process = os.fork()
    if process:
        return process
    try:
        work()
    finally:
        os._exit(0)


def _kill(process: int) -> None:
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)


def _rows(path: Path, query: str) -> list[Any]:
    database = sqlite3.connect(path, timeout=30)
    found = database.execute(query).fetchall()
    database.close()
    return found


# -- a broker --------------------------------------------------------------------------------------------------------


def _flow(k: int) -> float:
    return round(float(np.sin(k / 5)), 4)


def mqtt(times: int, seed: int = 1) -> dict[str, Any]:
    """Kill a watch of a topic at random moments; every message that was sent is there once, in order."""
    from paho.mqtt.client import Client
    from paho.mqtt.enums import CallbackAPIVersion

    draw, count, mishaps = random.Random(seed), _READINGS_A_KILL * (times + 1), []
    with tempfile.TemporaryDirectory() as name:
        folder, out = Path(name), Path(name) / "a.db"
        broker = Mosquitto(folder)
        broker.start()
        url = f"mqtt://127.0.0.1:{broker.port}/flow"
        sender = Client(CallbackAPIVersion.VERSION2, "sender")
        sender.connect("127.0.0.1", broker.port)
        sender.loop_start()

        def send(start: int) -> None:
            for k in range(start, start + _READINGS_A_KILL):
                content = json.dumps({"time": 60 * k, "flow": _flow(k)})
                sender.publish("flow", content, qos=1).wait_for_publish(10)

        def watch(until: int) -> None:
            asked = Settings(url, horizon=2, every=60.0, no_data="never", batch=3)
            elsewhere = Elsewhere(mqtt=url)
            settings, source = elsewhere.source(asked, out, str)
            made = Watch(settings, out, str, str, source=source)
            made.status = lambda status: setattr(made, "_stop", status.readings >= until)
            made.run()

        def count_there() -> int:
            with suppress(sqlite3.Error):
                return _rows(out, "SELECT count(*) FROM readings")[0][0]
            return 0

        def wait_for(least: int, process: int) -> bool:
            until = time.monotonic() + 60
            while count_there() < least and time.monotonic() < until and not os.waitpid(process, os.WNOHANG)[0]:
                time.sleep(0.02)
            return count_there() >= least

        process = _fork(lambda: watch(count))
        time.sleep(1.0)  # the session has to be there before anything is sent
        for kill in range(times):
            send(_READINGS_A_KILL * kill)
            if kill % 5 == 0:
                wait_for(_READINGS_A_KILL * (kill - 2), process)
            time.sleep(draw.uniform(0.0, 0.6))
            _kill(process)
            process = _fork(lambda: watch(count))
        send(_READINGS_A_KILL * times)
        if not wait_for(count, process):
            mishaps.append(f"{count_there()} of {count} messages are there")
        with suppress(ProcessLookupError, ChildProcessError):
            _kill(process)
        sender.disconnect()
        sender.loop_stop()
        broker.stop()
        found = _rows(out, "SELECT time, value FROM readings ORDER BY number")
        if found != [(60.0 * k, _flow(k)) for k in range(count)]:
            mishaps.append("the readings are not the messages, once each and in order")
        if _rows(out, "PRAGMA integrity_check") != [("ok",)]:
            mishaps.append("the database is damaged")
    return {"kills": times, "messages": count, "mishaps": mishaps}


# -- a server --------------------------------------------------------------------------------------------------------


def _lines(count: int) -> list[str]:
    values = np.sin(np.arange(count) / 6) + 0.1 * np.random.default_rng(0).normal(size=count)
    values[400::400] += 30.0
    return [f"{60 * k},{value:.6f}\n" for k, value in enumerate(values)]


def serve(times: int, seed: int = 0) -> dict[str, Any]:
    """Kill a server, or its watch, at random moments while requests come: what was answered is done once, in order."""
    draw, mishaps, answered = random.Random(seed), [], []
    with tempfile.TemporaryDirectory() as name:
        folder, port = Path(name), free_port()
        source, pump, token = folder / "pump.csv", folder / "pump.db", folder / "token"
        token.write_text(TOKEN)
        token.chmod(0o600)
        first, rows = 500, _lines(500 + 12 * times)
        source.write_text("time,flow\n" + "".join(rows[:first]))

        def watch_once(out: Path) -> None:
            Watch(Settings(str(source), horizon=4), out, str, str).run()

        def run_serve() -> None:
            run_server(*make_server([pump], port=port, token_file=token))

        def follow() -> None:
            Watch(Settings(str(source), horizon=4, follow=True, batch=4), pump, str, str).run()

        def request(rate: float) -> None:
            try:
                ask.change("pump.db", {"rate": rate})
                answered.append(rate)
            except (OSError, AssertionError, HTTPException):
                pass  # the server was killed, or is not there yet

        watch_once(pump)
        ask = Asking("127.0.0.1", port)
        work = {"server": run_serve, "watch": follow}
        processes = {which: _fork(one) for which, one in work.items()}
        wait_for_port(port)
        killed = dict.fromkeys(work, 0)
        for kill in range(times):
            with source.open("a") as file:
                file.writelines(rows[first + 12 * kill : first + 12 * kill + 12])
            base = 0.1 + kill * _REQUESTS_A_KILL / 10_000
            for k in range(_REQUESTS_A_KILL - 1):
                request(round(base + k / 10_000, 4))
            # The last one comes in the middle of the kill.
            last = round(base + (_REQUESTS_A_KILL - 1) / 10_000, 4)
            sender = threading.Thread(target=request, args=[last])
            sender.start()
            time.sleep(draw.uniform(0.0, 0.05))
            which = draw.choice(list(work))
            _kill(processes[which])
            killed[which] += 1
            processes[which] = _fork(work[which])
            wait_for_port(port)
            sender.join()
        for process in processes.values():
            _kill(process)
        watch_once(pump)
        asked = _rows(pump, "SELECT request, applied FROM requests ORDER BY id")
        rates = [json.loads(text)["rate"] for text, _ in asked]
        changes = [what for (what,) in _rows(pump, "SELECT what FROM changes ORDER BY id")]
        watch_once(folder / "once.db")
        readings = "SELECT * FROM readings ORDER BY channel, number"
        for is_wrong, what in (
            (any(applied is None for _, applied in asked), "a request was not done"),
            (rates != sorted(set(rates)), "requests are out of order, or one is there twice"),
            (not set(answered) <= set(rates), "a request that was answered is lost"),
            (changes != [f"--rate to {rate:g}" for rate in rates], "what was done is not what was asked"),
            (_rows(pump, readings) != _rows(folder / "once.db", readings), "the readings are other ones"),
            (_rows(pump, "PRAGMA integrity_check") != [("ok",)], "the database is damaged"),
        ):
            mishaps += [what] if is_wrong else []
    return {"kills": times, "of": killed, "requests_answered": len(answered), "mishaps": mishaps}


LIVE: dict[str, Callable[..., dict[str, Any]]] = {"watch, MQTT": mqtt, "serve": serve}
