"""Report, watch page and documentation in a real browser: whole at every width, in both themes, names as they are."""

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("bokeh", reason="interactive pages need Bokeh")

from hippozoo.apps.watch.run import Settings, Watch
from hippozoo.apps.watch.show import write_page
from hippozoo_studies.report import write_report

NASTY = '<img src=x onerror=alert(1)> $$x$$ "it"'
SITE = Path(__file__).parents[2] / "site"
LOOKS = [(1200, "light"), (1200, "dark"), (390, "light"), (390, "dark")]


@pytest.fixture(scope="module")
def report(chromium, tmp_path_factory):
    """A study with a claim that is HTML, a long table and a picture."""
    from matplotlib.figure import Figure

    folder = tmp_path_factory.mktemp("results")
    claim = {"claim": NASTY, "evidence": "It is so. " * 30, "quote": NASTY, "holds": True, "verdict": "holds"}
    document = {
        "name": "one",
        "quick": False,
        "seeds": [0],
        "metrics": {},
        "paper": {},
        "seconds": 61.0,
        "versions": {},
    }
    (folder / "one").mkdir()
    (folder / "one" / "metrics.json").write_text(json.dumps(document | {"claims": [claim]}))
    Figure(figsize=(12, 2)).savefig(folder / "one" / "wide.png")
    return write_report(folder).page


@pytest.fixture(scope="module")
def watched(chromium, tmp_path_factory):
    folder = tmp_path_factory.mktemp("watch")
    values = np.sin(np.arange(400) / 6) + 0.1 * np.random.default_rng(0).normal(size=400)
    values[350] += 9.0
    rows = "".join(f"{60 * k},{value:.6f}\n" for k, value in enumerate(values))
    (folder / "pump.csv").write_text(f"time,{NASTY.replace(chr(34), '')}\n" + rows)
    Watch(Settings(str(folder / "pump.csv"), horizon=6), folder / "pump.db", str, str).run()
    return write_page(folder / "pump.db", folder / "pump.html")


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_the_report_is_whole(opened, fits, report, width, scheme):
    with opened(report, width, scheme) as page:
        assert page.complaints == []
        assert fits(page)
        assert NASTY in page.inner_text("main").replace("“", '"').replace("”", '"')
        assert page.locator("img").first.evaluate("one => one.naturalWidth > 0 && one.clientWidth <= innerWidth")
        colour = page.locator("strong.holds").first.evaluate("one => getComputedStyle(one).color")
        page.click("button.theme")
        assert page.locator("strong.holds").first.evaluate("one => getComputedStyle(one).color") != colour


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_the_watch_page_is_whole(opened, fits, watched, width, scheme):
    with opened(watched, width, scheme) as page:
        assert page.complaints == []
        assert fits(page)
        assert NASTY.replace('"', "") in page.inner_text("body")
        assert page.locator(".picture canvas").count() > 0


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (390, "dark")])
@pytest.mark.parametrize("name", ["index", "start", "order-and-timescale", "performance"])
def test_a_page_of_the_docs_is_whole(opened, fits, name, width, scheme):
    if not (SITE / f"{name}.html").is_file():
        pytest.skip("the documentation is not built; make docs")
    with opened(SITE / f"{name}.html", width, scheme, ready=False) as page:
        assert page.complaints == []
        assert fits(page)
        assert page.locator("h1").count() == 1
