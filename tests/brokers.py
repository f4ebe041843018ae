"""Real MQTT brokers on the loopback: amqtt in a thread, and Debian's mosquitto where it is installed."""

import asyncio
import logging
import shutil
import socket
import subprocess
import threading
import time


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for_port(port, seconds=20):
    until = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


class Amqtt:
    """amqtt in a thread; its sessions are gone when it stops."""

    keeps_sessions = False

    def __init__(self, folder, users=False):
        import pytest

        pytest.importorskip("amqtt", reason="needs amqtt, a broker in Python")
        self.port, self.folder, self.users = free_port(), folder, users
        logging.getLogger("amqtt").setLevel(logging.CRITICAL)
        logging.getLogger("transitions").setLevel(logging.CRITICAL)

    def start(self):
        from amqtt.broker import Broker

        plugin = "amqtt.plugins.authentication.AnonymousAuthPlugin"
        plugins = {plugin: {"allow_anonymous": True}}
        if self.users:
            (self.folder / "users").write_text("")
            plugins = {plugin: {"allow_anonymous": False}}
        config = {
            "listeners": {"default": {"type": "tcp", "bind": f"127.0.0.1:{self.port}"}},
            "timeout_disconnect_delay": 1,
            "plugins": plugins,
        }
        started = threading.Event()

        def run():
            asyncio.set_event_loop(loop)
            broker = self.broker = Broker(config, loop)
            loop.run_until_complete(broker.start())
            started.set()
            loop.run_forever()

        loop = self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()
        assert started.wait(20)

    def stop(self):
        if self.loop.is_closed():
            return
        asyncio.run_coroutine_threadsafe(self.broker.shutdown(), self.loop).result(20)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(20)
        self.loop.close()


class Mosquitto:
    """mosquitto as a process; its sessions are kept on the disk."""

    keeps_sessions = True

    def __init__(self, folder, users=False):
        import pytest

        program = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin")
        if program is None:
            pytest.skip("needs mosquitto (apt-get install mosquitto)")
        self.program, self.port, self.folder = program, free_port(), folder
        lines = [f"listener {self.port} 127.0.0.1", "persistence true", f"persistence_location {folder}/"]
        lines += ["persistent_client_expiration 1d", "user root"]
        if users:
            (folder / "users").write_text("plant:secret\n")
            subprocess.run(["mosquitto_passwd", "-U", str(folder / "users")], check=True)
            (folder / "users").chmod(0o600)
            lines += ["allow_anonymous false", f"password_file {folder / 'users'}"]
        else:
            lines += ["allow_anonymous true"]
        (folder / "mosquitto.conf").write_text("\n".join(lines) + "\n")
        self.process = None

    def start(self):
        self.process = subprocess.Popen(
            [self.program, "-c", str(self.folder / "mosquitto.conf")],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for_port(self.port)

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(20)
