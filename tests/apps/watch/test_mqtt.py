"""Readings from a broker are neither lost nor counted twice, and alarms go out to a topic."""

import json
import os
import sqlite3
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from brokers import Amqtt, Mosquitto
from hippozoo.apps.watch.mqtt import Broker, read_credentials
from hippozoo.apps.watch.problem import WatchError
from hippozoo.apps.watch.run import Settings, Watch
from hippozoo.apps.watch.terminal import Elsewhere
from trust.live import mqtt as killed_watch_of_a_broker

pytest.importorskip("paho.mqtt", reason="needs paho-mqtt")


@pytest.fixture(params=[Amqtt, Mosquitto])
def broker(request, tmp_path):
    found = request.param(tmp_path)
    found.start()
    yield found
    found.stop()


@pytest.fixture
def mosquitto(tmp_path):
    """Delivers what was not acknowledged again, which amqtt 0.12 does not."""
    found = Mosquitto(tmp_path)
    found.start()
    yield found
    found.stop()


class Client:
    """Somebody else at the broker."""

    def __init__(self, broker, name="sender", user=None):
        from paho.mqtt.client import Client as Paho
        from paho.mqtt.enums import CallbackAPIVersion

        self.got, ready = [], threading.Event()
        self.client = Paho(CallbackAPIVersion.VERSION2, name)
        self.client.on_connect = lambda *_: ready.set()
        self.client.on_message = lambda client, data, message: self.got.append((message.topic, message.payload))
        if user:
            self.client.username_pw_set(*user)
        self.client.connect("127.0.0.1", broker.port)
        self.client.loop_start()
        assert ready.wait(10)

    def send(self, topic, *payloads, qos=1, retain=False):
        for payload in payloads:
            content = payload if isinstance(payload, str | bytes) else json.dumps(payload)
            self.client.publish(topic, content, qos=qos, retain=retain).wait_for_publish(10)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.disconnect()
        self.client.loop_stop()


def watch_topic(url, out, until, on_connected=lambda: None, credentials=None, alarms=None, **choices):
    """Watch until `until(status)`, or for a minute; once it is connected, `on_connected` runs in a thread."""
    told, warned = [], []
    elsewhere = Elsewhere(mqtt=url, mqtt_credentials=credentials, mqtt_alarms=alarms)
    thread = threading.Thread(target=on_connected)
    begun = time.monotonic()

    def warn(text):
        warned.append(text)
        if text.endswith("connected.") and thread.ident is None:
            thread.start()

    settings = Settings(url, **{"horizon": 2, "every": 1.0, "no_data": "never", **choices})
    settings, source = elsewhere.source(settings, out, warn)
    watch = Watch(settings, out, told.append, warn, source=source, sinks=elsewhere.sinks(out))
    watch.status = lambda status: setattr(watch, "_stop", watch._stop or until(status))
    watch.beat = lambda: setattr(watch, "_stop", watch._stop or time.monotonic() - begun > 60)
    status = watch.run()
    if thread.ident is not None:
        thread.join()
    return status, [json.loads(line) for line in told], warned


def rows(out, query="SELECT time, value FROM readings ORDER BY channel, number"):
    database = sqlite3.connect(out)
    found = database.execute(query).fetchall()
    database.close()
    return found


def reading(number, value=None, **more):
    value = float(np.sin(number / 5)) if value is None else value
    return {
        "time": f"2024-01-01T{number // 3600:02d}:{number // 60 % 60:02d}:{number % 60:02d}Z",
        "flow": value,
        **more,
    }


def test_numbers_become_readings_at_the_time_of_their_arrival(broker, tmp_path):
    began = time.time()
    with Client(broker) as sender:
        status, _, _ = watch_topic(
            f"mqtt://127.0.0.1:{broker.port}/plant/pump/flow", tmp_path / "a.db", lambda status: status.readings >= 20,
            lambda: sender.send("plant/pump/flow", *(f" {k}.5\n" for k in range(20))),
        )  # fmt: skip
    found = rows(tmp_path / "a.db")
    assert [value for _, value in found] == [k + 0.5 for k in range(20)]
    assert began < found[0][0] < found[-1][0] < time.time()
    assert status.dates
    assert rows(tmp_path / "a.db", "SELECT name FROM columns") == [("flow",)]


def test_with_wildcards_every_topic_is_a_sensor(broker, tmp_path):
    def send():
        for k in range(15):
            sender.send("plant/a/now", reading(k, 1.0))
            sender.send("plant/b/now", reading(k, 2.0, mode="auto"))

    with Client(broker) as sender:
        watch_topic(
            f"mqtt://127.0.0.1:{broker.port}/plant/+/now", tmp_path / "a.db", lambda status: status.readings >= 30, send
        )
    found = rows(
        tmp_path / "a.db",
        "SELECT sensors.name, count(*), min(value), max(value) FROM readings JOIN columns USING (channel) "
        "JOIN sensors USING (sensor) GROUP BY 1 ORDER BY 1",
    )
    assert found == [("plant/a/now", 15, 1.0, 1.0), ("plant/b/now", 15, 2.0, 2.0)]


def test_what_was_sent_while_the_watch_was_down_comes_when_it_is_back(mosquitto, tmp_path):
    url, out = f"mqtt://127.0.0.1:{mosquitto.port}/flow", tmp_path / "a.db"
    with Client(mosquitto) as sender:
        watch_topic(
            url, out, lambda status: status.readings >= 10, lambda: sender.send("flow", *map(reading, range(10)))
        )
        sender.send("flow", *map(reading, range(10, 30)))
        watch_topic(url, out, lambda status: status.readings >= 30)
    assert [value for _, value in rows(out)] == [reading(k)["flow"] for k in range(30)]


def test_messages_that_come_twice_are_dropped_by_their_time(broker, tmp_path):
    sent = [reading(k) for k in range(20)]
    with Client(broker) as sender:
        status, _, _ = watch_topic(
            f"mqtt://127.0.0.1:{broker.port}/flow", tmp_path / "a.db", lambda status: status.readings >= 20,
            lambda: sender.send("flow", *sent[:15], *sent[5:15], *sent[15:]),
        )  # fmt: skip
    assert [value for _, value in rows(tmp_path / "a.db")] == [one["flow"] for one in sent]
    assert status.late == 10


def test_a_retained_number_of_some_earlier_time_is_no_reading(broker, tmp_path):
    with Client(broker) as sender:
        sender.send("flow", "99", retain=True)
        watch_topic(
            f"mqtt://127.0.0.1:{broker.port}/flow", tmp_path / "a.db", lambda status: status.readings >= 8,
            lambda: sender.send("flow", *map(str, range(8))),
        )  # fmt: skip
    assert [value for _, value in rows(tmp_path / "a.db")] == list(map(float, range(8)))


def test_payloads_that_do_harm_are_left_out_and_counted(mosquitto, tmp_path):
    deep, long = "[" * 3000 + "]" * 3000, '{"flow": "' + "x" * (2 << 20) + '"}'
    bad = ["hello", b"\xff\xfe", "[1, 2]", deep, '{"time": 1', long, ""]
    sent = [reading(k) for k in range(20)]
    with Client(mosquitto) as sender:
        status, _, warned = watch_topic(
            f"mqtt://127.0.0.1:{mosquitto.port}/flow", tmp_path / "a.db", lambda status: status.readings >= 20,
            lambda: sender.send("flow", "hello first", *sent[:10], *bad, *sent[10:]),
        )  # fmt: skip
    assert [value for _, value in rows(tmp_path / "a.db")] == [one["flow"] for one in sent]
    assert status.left_out == len(bad) - 1  # an empty message is an empty line
    assert any("neither a number nor a JSON object" in line for line in warned)


def test_a_broker_that_is_lost_is_said_once_and_nothing_that_it_keeps_is_lost(mosquitto, tmp_path):
    url, out = f"mqtt://127.0.0.1:{mosquitto.port}/flow", tmp_path / "a.db"

    def trouble():
        with Client(mosquitto) as sender:
            sender.send("flow", *map(reading, range(15)))
        mosquitto.stop()
        time.sleep(3)
        mosquitto.start()
        with Client(mosquitto) as sender:
            sender.send("flow", *map(reading, range(15, 40)))

    status, _, warned = watch_topic(url, out, lambda status: status.readings >= 40, trouble)
    assert [value for _, value in rows(out)] == [reading(k)["flow"] for k in range(40)]
    said = [line for line in warned if line.startswith("mqtt://")]
    assert [line.split(": ")[1] for line in said] == [
        "connected.",
        "the connection to the broker is lost; it is tried again.",
        "connected.",
    ]
    assert status.late == 0


def test_a_broker_that_is_not_there_yet_is_waited_for(tmp_path):
    found = Amqtt(tmp_path)
    url, out = f"mqtt://127.0.0.1:{found.port}/flow", tmp_path / "a.db"
    starter = threading.Timer(1.5, found.start)
    starter.start()

    def send():
        with Client(found) as sender:
            sender.send("flow", *map(reading, range(10)))

    try:
        _, _, warned = watch_topic(url, out, lambda status: status.readings >= 10, send)
    finally:
        starter.join()
        found.stop()
    assert [line for line in warned if line.startswith("mqtt://")] == [
        f"mqtt://127.0.0.1:{found.port}: the broker cannot be reached; it is tried again.",
        f"mqtt://127.0.0.1:{found.port}: connected.",
    ]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_watch_that_is_killed_again_and_again_misses_no_message_and_takes_none_twice(mosquitto):
    assert killed_watch_of_a_broker(5)["mishaps"] == []


def test_credentials_come_from_a_file_and_wrong_ones_are_said_once(tmp_path):
    found = Mosquitto(tmp_path, users=True)
    found.start()
    url, right, wrong = f"mqtt://127.0.0.1:{found.port}/flow", tmp_path / "right", tmp_path / "wrong"
    right.write_text("plant:secret\n")
    wrong.write_text("plant:guess\n")
    try:
        with Client(found, user=("plant", "secret")) as sender:
            watch_topic(
                url, tmp_path / "a.db", lambda status: status.readings >= 6,
                lambda: sender.send("flow", *map(reading, range(6))), right,
            )  # fmt: skip
        began = time.monotonic()
        _, _, warned = watch_topic(url, tmp_path / "a.db", lambda status: time.monotonic() - began > 4, None, wrong)
    finally:
        found.stop()
    assert len(rows(tmp_path / "a.db")) == 6
    assert sum("refuses the connection" in line for line in warned) == 1
    assert not any("guess" in line for line in warned)
    kept = (tmp_path / "a.db").read_bytes()
    assert b"secret" not in kept
    for text in ("", "plant", ":"):
        wrong.write_text(text)
        with pytest.raises(WatchError, match="user:password"):
            read_credentials(wrong)


def test_alarms_are_published_and_wait_while_the_broker_is_away(broker, tmp_path):
    values = np.sin(np.arange(500) / 6) + 0.1 * np.random.default_rng(0).normal(size=500)
    values[[200, 300, 400]] += [9.0, -40.0, 200.0]
    source = tmp_path / "pump.csv"
    source.write_text("time,flow\n" + "".join(f"{60 * k},{value:.6f}\n" for k, value in enumerate(values)))
    url, told = f"mqtt://127.0.0.1:{broker.port}/plant/alarms", []
    sinks = Elsewhere(mqtt_alarms=url).sinks(tmp_path / "a.db")
    settings = Settings(str(source), horizon=4, silence="20")
    broker.stop()
    warned = []
    Watch(settings, tmp_path / "a.db", told.append, warned.append, sinks=sinks).run()
    assert any("did not take an alarm" in line for line in warned)
    broker.start()
    with Client(broker, "listener") as listener:
        listener.client.subscribe("plant/alarms", 1)
        time.sleep(0.5)
        sinks = Elsewhere(mqtt_alarms=url).sinks(tmp_path / "a.db")
        Watch(replace(settings), tmp_path / "a.db", told.append, warned.append, sinks=sinks).run()
        until = time.monotonic() + 10
        while len(listener.got) < len(told) and time.monotonic() < until:
            time.sleep(0.05)
    assert len(told) == 6
    bodies = [json.loads(payload) for _, payload in listener.got]
    assert [{kind: one[kind] for kind in ("alarm", "end") if kind in one} for one in bodies] == list(
        map(json.loads, told)
    )
    assert len({one["id"] for one in bodies}) == 6
    assert rows(tmp_path / "a.db", "SELECT count(*) FROM outbox") == [(0,)]


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("mqtt://host", "pass mqtt://host/topic"),
        ("http://host/topic", "pass mqtt://host/topic"),
        ("mqtt:///topic", "pass mqtt://host/topic"),
        ("mqtt://host:x/topic", "pass mqtt://host/topic"),
        ("mqtt://user:hush@host/topic", "--mqtt-credentials"),
        ("mqtt://host/a#/b", "no topic looks like this"),
        ("mqtt://host/#/b", "no topic looks like this"),
        ("mqtt://host/a+", "no topic looks like this"),
    ],
)
def test_addresses_that_cannot_be_are_refused_with_a_sentence(url, said):
    with pytest.raises(WatchError, match=said) as refused:
        Broker.parse(url)
    assert "hush" not in str(refused.value)


def test_alarms_are_published_to_one_topic():
    assert Broker.parse("mqtts://host/a/#") == Broker(True, "host", 8883, "a/#")
    with pytest.raises(WatchError, match="has no wildcards"):
        Broker.parse("mqtt://host/a/#", publish=True)
