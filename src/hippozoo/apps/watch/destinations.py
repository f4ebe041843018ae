"""Where alarms go besides standard output, and where readings come from besides files, as the command line says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from hippozoo.apps.watch.lines import Place
from hippozoo.apps.watch.settings import Settings

__all__ = ["Destinations"]


class Destinations(NamedTuple):
    """What the command line asks for."""

    webhook: str | None = None
    webhook_form: str = "json"
    textfile: Path | None = None
    mqtt: str | None = None
    mqtt_alarms: str | None = None
    mqtt_credentials: Path | None = None

    def sinks(self, out: Path) -> list[Any]:
        """Who is told of alarms."""
        found: list[Any] = []
        if self.textfile is not None:  # the last one to be closed, so that it tells what came of the others
            from hippozoo.apps.watch.metrics import Textfile

            found.append(Textfile(self.textfile))
        if self.webhook is not None:
            from hippozoo.apps.watch.outbox import Outbox
            from hippozoo.apps.watch.webhook import Webhook

            found.append(Outbox(Webhook(self.webhook, self.webhook_form)))
        if self.mqtt_alarms is not None:
            from hippozoo.apps.watch.mqtt import Broker, MqttAlarms, client_name, read_credentials
            from hippozoo.apps.watch.outbox import Outbox

            broker = Broker.parse(self.mqtt_alarms, publish=True)
            found.append(
                Outbox(MqttAlarms(broker, client_name(out, "alarms"), read_credentials(self.mqtt_credentials)))
            )
        return found

    def source(
        self, settings: Settings, out: Path, warn: Callable[[str], Any]
    ) -> tuple[Settings, Callable[[Place | None], Any] | None]:
        """How to open the source, if it is no file; and the settings that go with it."""
        if self.mqtt is None:
            return settings, None
        from hippozoo.apps.watch.mqtt import Broker, client_name, read_credentials
        from hippozoo.apps.watch.mqtt_lines import MqttLines

        url, broker, credentials = self.mqtt, Broker.parse(self.mqtt), read_credentials(self.mqtt_credentials)
        panel = settings.panel or (("topic",) if broker.is_wild else ())
        name = client_name(out, "readings")
        return (
            replace(settings, source=url, follow=True, panel=panel),
            lambda place=None: MqttLines(broker, name, place, credentials, warn, settings.time),
        )
