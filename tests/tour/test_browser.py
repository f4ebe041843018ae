"""The page in a real browser, at the widths and in the colours that people use."""

import json
import re
import shutil
import subprocess

import pytest

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
]
# A window of a browser has a least width, a frame has not; so the page is shown in a frame. Only the copy that
# the test makes has a script: it tells the page around it what it measured, which becomes that page's title.
PROBE = """<script>addEventListener("load", () => {
  const images = [...document.images], shown = images.filter(image => image.getClientRects().length);
  parent.postMessage(JSON.stringify({
    width: innerWidth,
    needed: document.documentElement.scrollWidth,
    images: images.length,
    broken: images.filter(image => !image.naturalWidth).length,
    shown: shown.length,
    dark: shown.filter(image => image.src.endsWith("-dark.svg")).length,
    paper: getComputedStyle(document.body).backgroundColor,
    scale: Math.min(...shown.map(image => image.width / image.getAttribute("width"))),
  }), "*");
});</script></body>"""
FRAME = """<!doctype html><title>waiting</title>
<script>addEventListener("message", message => {{ document.title = message.data; }});</script>
<iframe src="{page}" style="width: {width}px; height: 900px; border: 0; color-scheme: {scheme}"></iframe>"""

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no chromium here; apt-get install chromium")


def look(tour, tmp_path, width, dark):
    """What the browser measures of the page at a width and in a colour scheme."""
    text = tour.read_text(encoding="utf-8").replace("</body>", PROBE)
    probed = tour.with_name(f"probed-{width}-{dark}.html")
    probed.write_text(text, encoding="utf-8")
    frame = tmp_path / "frame.html"
    frame.write_text(FRAME.format(page=probed.as_uri(), width=width, scheme="dark" if dark else "light"))
    scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    done = subprocess.run(
        [BROWSER, *FLAGS, scheme, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", frame.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    title = re.search(r"<title>(\{.*?\})</title>", done.stdout)
    assert title, f"the page did not report: {done.stdout[:500]} {done.stderr[-1000:]}"
    return json.loads(title[1])


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280], ids=["phone", "desk"])
def test_the_page_fits_the_screen_and_shows_its_pictures(tour, tmp_path, width, dark):
    seen = look(tour, tmp_path, width, dark)
    assert seen["width"] == width
    assert seen["needed"] <= width
    assert seen["images"] > 0
    assert seen["broken"] == 0
    assert seen["shown"] == seen["images"] / 2
    assert seen["dark"] == (seen["shown"] if dark else 0)
    assert seen["paper"] == ("rgb(20, 24, 29)" if dark else "rgb(255, 255, 255)")
    # Text of 9 points is drawn with at least 7.5 pixels.
    assert seen["scale"] > 7.5 / 12
