"""A real browser, where the machine has one: Debian's chromium, driven by Playwright."""

import shutil
from contextlib import contextmanager

import pytest


@pytest.fixture(scope="session")
def chromium():
    """A browser that fetches nothing; skipped where chromium or Playwright is missing."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright's Python package")
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("needs chromium on the PATH")
    flags = [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
    ]
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=flags)
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium):
    """Open a file, or an address of this machine, in a window of this width; what it complains of is collected.

    Pages of hippozoo.apps.pages say when they are ready; for others, pass ready=False.
    """

    @contextmanager
    def open_page(path, width=1200, scheme="light", ready=True):
        context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page = context.new_page()
        page.complaints = []
        page.on("console", lambda message: page.complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        address = path if isinstance(path, str) else path.resolve().as_uri()
        own = ("file:", "data:", "blob:", *([address] if address.startswith("http:") else []))
        page.on(
            "request",
            lambda request: None if request.url.startswith(own) else page.complaints.append(request.url),
        )
        page.goto(address)
        if ready:
            page.wait_for_selector(":root[data-ready]", state="attached")
        yield page
        context.close()

    return open_page


@pytest.fixture
def fits():
    """Whether a page is no wider than its window."""

    def check(page):
        return page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")

    return check
