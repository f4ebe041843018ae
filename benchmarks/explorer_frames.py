"""How many frames a second the explorer paints while it plays, and how soon its first view is there.

Measured in the browser: chromium on this machine; a frame is one painting of the picture of the past, as Bokeh does it.
On a busy machine frames per second say how busy it is. So the processor time of a frame is measured too: that of the
server, and that of the browser's main thread. They work side by side, so the larger one bounds the frames of a free
machine.
Run it by hand; it needs Panel, Playwright and chromium. See README.md.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

SECONDS = 5
# Wraps the painting of every figure, and counts.
COUNT = """async (seconds) => {
  const figures = [];
  const walk = (view) => { if (view.model.type === "Figure") figures.push(view);
                           for (const child of view.child_views || []) walk(child); };
  for (const root of Object.values(Bokeh.index)) walk(root);
  const counts = figures.map(() => 0);
  const before = figures.map((view) => view.paint);
  figures.forEach((view, i) => {
    view.paint = (...given) => { counts[i] += 1; return before[i].apply(view, given); };
  });
  const begun = performance.now();
  await new Promise((done) => setTimeout(done, 1000 * seconds));
  figures.forEach((view, i) => { view.paint = before[i]; });
  return Math.max(...counts) * 1000 / (performance.now() - begun);
}"""


def cpu(process: int) -> float:
    """Seconds of processor time of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def thread_time(tools: Any) -> float:
    """Seconds of processor time of the page's main thread so far."""
    found = {one["name"]: one["value"] for one in tools.send("Performance.getMetrics")["metrics"]}
    return found["TaskDuration"]


def measure() -> dict:
    """First view and frames, in one browser window of 1200 x 1000."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu", "--disable-quic"]
        )
        page = browser.new_page(viewport={"width": 1200, "height": 1000})
        begun = time.perf_counter()
        server = subprocess.Popen(
            [sys.executable, "-c", "from hippozoo.apps.cli import main; main(['explore', '--no-browser'])"],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            address = server.stdout.readline().split()[-1]
            listening = time.perf_counter() - begun
            page.goto(address)
            page.wait_for_selector(":root[data-ready]", state="attached")
            page.wait_for_selector("canvas")
            tools = page.context.new_cdp_session(page)
            tools.send("Performance.enable", {"timeDomain": "threadTicks"})
            first_view = time.perf_counter() - begun
            frames = {}
            for order, key in ((2, "Home"), (256, "End")):
                page.locator(".noUi-handle").first.press(key)
                page.get_by_text(f"{order} numbers stand for").wait_for()
                page.get_by_role("button", name="Play").click()
                page.wait_for_timeout(500)
                before = cpu(server.pid), thread_time(tools)
                rate = page.evaluate(COUNT, SECONDS)
                after = cpu(server.pid), thread_time(tools)
                spent = [1000 * (b - a) / (rate * SECONDS) for a, b in zip(before, after, strict=True)]
                frames[order] = {
                    "frames_per_second": round(rate, 1),
                    "server_ms_per_frame": round(spent[0], 1),
                    "browser_ms_per_frame": round(spent[1], 1),
                }
                page.get_by_role("button", name="Pause").click()
                page.wait_for_timeout(300)
        finally:
            server.terminate()
            server.wait(10)
        browser.close()
    return {
        "seconds_until_listening": round(listening, 2),
        "seconds_until_first_view": round(first_view, 2),
        "by_order": frames,
        "load_average": os.getloadavg()[0],
        "machine": platform.machine(),
        "cores": os.cpu_count(),
    }


if __name__ == "__main__":
    print(json.dumps(measure(), indent=1))
