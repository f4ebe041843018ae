"""How many frames a second the explorer paints while it plays, and how soon its first view is there.

Measured in the browser: chromium on this machine; a frame is one painting of the picture of the past, as Bokeh does it.
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
            [sys.executable, "-c", "from hippozoo.cli import main; main(['explore', '--no-browser'])"],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            address = server.stdout.readline().split()[-1]
            listening = time.perf_counter() - begun
            page.goto(address)
            page.wait_for_selector(":root[data-ready]", state="attached")
            page.wait_for_selector("canvas")
            first_view = time.perf_counter() - begun
            frames = {}
            for order, key in ((2, "Home"), (256, "End")):
                page.locator(".noUi-handle").first.press(key)
                page.get_by_text(f"{order} numbers stand for").wait_for()
                page.get_by_role("button", name="Play").click()
                page.wait_for_timeout(500)
                frames[order] = round(page.evaluate(COUNT, SECONDS), 1)
                page.get_by_role("button", name="Pause").click()
                page.wait_for_timeout(300)
        finally:
            server.terminate()
            server.wait(10)
        browser.close()
    return {
        "seconds_until_listening": round(listening, 2),
        "seconds_until_first_view": round(first_view, 2),
        "frames_per_second_by_order": frames,
        "load_average": os.getloadavg()[0],
        "machine": platform.machine(),
        "cores": os.cpu_count(),
    }


if __name__ == "__main__":
    print(json.dumps(measure(), indent=1))
