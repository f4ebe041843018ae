"""The page: valid, complete, and alone in the world."""

import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

import numpy as np
import pytest

from hippozoo._internal.colours import PAPER
from hippozoo.apps.tour import Section, discover_sections, write_tour
from hippozoo.apps.tour.measured import CODE
from hippozoo.apps.tour.sliders import remembered
from hippozoo.memory import Memory
from hippozoo.systems import LegT

VOID = {"meta", "img", "link", "input"}
XLINK = "{http://www.w3.org/1999/xlink}href"


class PageReader(HTMLParser):
    """Reads strictly: every tag is closed, in order. Keeps the tags, and the text of the listings."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.listings = [], [], []
        self.feed(page)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "pre":
            self.listings.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data):
        if "pre" in self.open:
            self.listings[-1] += data

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="session")
def page(tour):
    return PageReader(tour.read_text(encoding="utf-8"))


def a_section(**changes):
    defaults = {
        "order": 1,
        "title": "A <test>",
        "question": "Is 1 < 2 & so on?",
        "setup": "small = 1",
        "code": "large = small + 1",
        "draw": lambda names, figure: figure.subplots().plot([names.small, names.large]),
        "measure": lambda names: {"large": names.large},
        "caption": "It is {large:.1f} > 1.",
        "alt": 'A line that "rises"',
        "height": 2.0,
    }
    return Section(**(defaults | changes))


def test_the_page_shows_every_section_and_the_code_that_ran(page):
    sections = discover_sections()
    assert [listing.strip() for listing in page.listings] == [*(one.listing.strip() for one in sections), CODE.strip()]
    anchors = {attributes["id"] for attributes in page.all("section")}
    links = [link["href"] for link in page.all("a")]
    assert {link for link in links if link.startswith("#")} == {f"#{anchor}" for anchor in anchors}
    assert len(anchors) == len(sections) + 1
    assert len(page.all("button")) >= len(page.listings)


def test_every_section_leads_on_to_a_page_of_the_docs(page, tour):
    links = [link["href"] for link in page.all("a") if not link["href"].startswith("#")]
    assert len(links) == len(discover_sections())
    assert all((tour.parent / link).is_file() for link in links)


def test_the_last_section_is_measured_on_this_machine(tour):
    text = tour.read_text(encoding="utf-8").split('id="this-machine"')[1].split("</section>")[0]
    assert re.search(r"×\xa010<sup>−1\d</sup> of the largest coefficient", text)
    assert len(re.findall(r"<td>\d+ (?:ns|µs)</td>", text)) == 4


def test_two_pictures_have_sliders(page, tour):
    sliders = [one["id"] for one in page.all("input") if one.get("type") == "range"]
    names = ("a-readable-past", "two-ways-to-forget")
    assert sliders == [f"{name}-{what}" for name in names for what in ("order", "timescale")]
    assert tour.stat().st_size < 3_000_000


def test_a_slider_knows_what_the_memory_would_answer():
    signal, lags = np.sin(np.arange(600) / 15), np.linspace(0, 60, 31)
    curve = remembered(LegT, signal, lags, (8, 16), (30.0, 60.0), dt=1.0)
    memory = Memory(LegT(16, 30.0))
    inside = lags <= 30.0
    np.testing.assert_allclose(curve[1, 0, inside], memory.reconstruct(memory.final(signal), lags[inside]))
    assert np.isnan(curve[1, 0, ~inside]).all()


def test_every_picture_exists_in_light_and_dark_and_is_described(page, tour):
    images = page.all("img")
    assert [image["class"] for image in images] == ["light", "dark"] * len(discover_sections())
    for image in images:
        picture = tour.parent / image["src"]
        assert len(list(ElementTree.parse(picture).iter("{http://www.w3.org/2000/svg}path"))) > 10
        assert f"fill: {PAPER[image['class']]}" in picture.read_text()
        assert len(image["alt"]) > 40


def test_nothing_is_fetched_from_elsewhere(page, tour):
    assert not page.all("iframe")
    assert not any("src" in script for script in page.all("script"))
    before_the_scripts = tour.read_text().split("<script>")[0]
    assert "url(" not in before_the_scripts
    assert "@import" not in before_the_scripts
    for _, attributes in page.tags:
        for name in ("src", "href"):
            assert not re.match(r"(?!data:)\w+:|//", attributes.get(name) or "")
    for picture in tour.parent.glob("pictures/*.svg"):
        links = [element.get(XLINK) or "" for element in ElementTree.parse(picture).iter()]
        assert all(re.match(r"#|data:|$", link) for link in links)


def test_captions_hold_numbers_and_no_braces(tour):
    captions = re.findall(r"<figcaption>(.*?)</figcaption>", tour.read_text(encoding="utf-8"))
    assert len(captions) == len(discover_sections())
    for caption in captions:
        assert re.search(r"\d", caption)
        assert not re.search(r"[{}]|nan|inf\b", caption)


def test_text_is_escaped(tmp_path):
    text = write_tour(tmp_path, sections=[a_section()]).read_text(encoding="utf-8")
    assert "Is 1 &lt; 2 &amp; so on?" in text
    assert "It is 2.0 &gt; 1." in text
    assert "A line that &quot;rises&quot;" in text
    PageReader(text)


def test_two_runs_give_the_same_bytes(tmp_path):
    for folder in ("one", "two"):
        write_tour(tmp_path / folder, sections=[a_section()])
    one, two = (
        {file.relative_to(tmp_path / folder): file.read_bytes() for file in (tmp_path / folder).rglob("*.*")}
        for folder in ("one", "two")
    )
    assert len(one) == 3
    assert one == two


def test_one_line_is_reported_per_section(tmp_path):
    lines = []
    write_tour(tmp_path, report=lines.append, sections=[a_section(), a_section(title="Another")])
    assert re.fullmatch(r"1/2  A <test>: \d+\.\d s", lines[0])
    assert re.fullmatch(r"2/2  Another: \d+\.\d s", lines[1])
    assert len(lines) == 2


def test_a_section_that_fails_is_named_and_the_old_page_stays(tmp_path):
    page = write_tour(tmp_path, sections=[a_section()])
    before = page.read_bytes()
    with pytest.raises(RuntimeError, match="section 1 of the tour, 'Broken', failed: ZeroDivisionError"):
        write_tour(tmp_path, sections=[a_section(title="Broken", code="1 / 0")])
    assert page.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == ["index.html"]


def test_a_file_in_the_way_is_left_alone(tmp_path):
    precious = tmp_path / "tour"
    precious.write_text("mine")
    with pytest.raises(OSError, match="is a file, and a folder is wanted"):
        write_tour(precious)
    assert precious.read_text() == "mine"
