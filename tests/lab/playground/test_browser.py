"""The page in a real browser."""

import http.client
import os
import shutil
import subprocess
import sys
from urllib.parse import urlsplit

import numpy as np
import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs chromium, as of `apt-get install chromium`"),
]
HARMLESS = ("log", "info", "debug")
DRAWN = """name => {
  const map = Bokeh.documents[0].get_model_by_name(`map ${name}`)
  const data = map.renderers.find(each => each.glyph && each.glyph.type == "Line").data_source.data
  return [Array.from(data.x), Array.from(data.y)]
}"""
FRAME = """name => {
  const map = Bokeh.documents[0].get_model_by_name(`map ${name}`)
  return [map.inner_width, map.inner_height]
}"""
SELECTS = ("landscape", "noise", "on", "conversion", "oracle", "set", "loss", "constants")  # the last five of method A


@pytest.fixture(scope="module")
def address():
    """The address that `o2nc play` prints."""
    command = [sys.executable, "-m", "o2nc", "play", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield process.stdout.readline().split()[0]
        process.terminate()
        assert process.wait(30) == 0


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def opened(browser, address):
    """Opens the page; afterwards nothing may have been complained of, and nothing asked of another machine."""
    contexts, complaints, asked = [], [], []

    def open_page(**options):
        context = browser.new_context(permissions=["clipboard-read", "clipboard-write"], **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(120_000)  # milliseconds, on a machine that has other things to do
        page.on("console", lambda message: message.type in HARMLESS or complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.on("websocket", lambda websocket: asked.append(websocket.url))
        page.goto(address)
        page.wait_for_function(f"window.Bokeh && Bokeh.documents.length && ({DRAWN})('A')[0].length == 200")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not complaints
    assert asked
    assert {urlsplit(url).hostname for url in asked if not url.startswith(("data:", "blob:"))} == {"127.0.0.1"}


def points(page, name="A"):
    return np.asarray(page.evaluate(DRAWN, name)).T


def changed(page, before, name="A"):
    """The points of a method once they are others."""
    last = [float(value) for value in before[-1]] if len(before) else []
    page.wait_for_function(
        f"([name, last, n]) => {{ const [x, y] = ({DRAWN})(name); const i = x.length - 1;"
        " return x.length != n || x[i] != last[0] || y[i] != last[1] }",
        arg=[name, last, len(before)],
    )
    return points(page, name)


def select(page, name, value):
    options = page.locator("select").nth(SELECTS.index(name))
    options.select_option(
        label=next(text for text in options.locator("option").all_inner_texts() if text.startswith(f"{value}:"))
    )


def canvas(page):
    return page.locator("canvas").first.screenshot()


def test_a_page_of_another_site_may_not_connect(address):
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=10)
    upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
    key = {"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Origin": "http://elsewhere.example"}
    connection.request("GET", "/ws", headers=upgrade | key)
    assert connection.getresponse().status == 403  # with an origin of this machine it is 101
    connection.close()


def test_controls_change_the_picture(opened):
    page = opened()
    before, picture = points(page), canvas(page)
    select(page, "landscape", "f4")
    after = changed(page, before)
    page.wait_for_timeout(300)
    assert canvas(page) != picture
    sigma = page.locator(".noUi-handle").first
    sigma.focus()
    sigma.press("ArrowRight")
    dragged = changed(page, after)
    select(page, "oracle", "ogd")
    changed(page, dragged)


def test_a_sentence_says_what_does_not_go_together(opened):
    page = opened()
    before = points(page)
    select(page, "set", "box")
    page.get_by_text("must be a sequence of operators").wait_for()
    assert not len(changed(page, before))
    select(page, "set", "hull")
    np.testing.assert_array_equal(changed(page, np.empty((0, 2))), before)


def test_the_copied_program_gives_the_points_of_the_picture(opened):
    page = opened()
    before = points(page)
    select(page, "landscape", "f3")
    expected = changed(page, before)
    page.get_by_role("button", name="Copy as Python").click()
    page.wait_for_function("navigator.clipboard.readText().then(text => text.includes('f3'))")
    program = page.evaluate("navigator.clipboard.readText()")
    end = "print(*[x.hex() for x in results['A'].trajectory.ravel().tolist()])"
    done = subprocess.run(
        [sys.executable, "-c", program + end], capture_output=True, text=True, check=True,
        env={**os.environ, "MPLBACKEND": "Agg"},
    )  # fmt: skip
    found = [float.fromhex(word) for word in done.stdout.splitlines()[-1].split()]
    np.testing.assert_array_equal(np.reshape(found, (-1, 2)), expected)


def test_the_film_of_a_run(opened):
    page = opened()
    page.get_by_role("button", name="Run").click()
    page.wait_for_function(f"({DRAWN})('A')[0].length < 50")
    early = len(points(page))
    page.wait_for_function(f"n => ({DRAWN})('A')[0].length > n + 20", arg=early)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_disk_is_drawn_as_a_disk(opened, scheme):
    page = opened(color_scheme=scheme)
    assert ("theme=dark" in page.url) == (scheme == "dark")
    select(page, "landscape", "bowl")  # with longer numbers at its axes
    changed(page, points(page))
    for name in "AB":
        width, height = page.evaluate(FRAME, name)
        assert width == height > 200


def test_a_phone_shows_it_in_one_column(opened):
    page = opened(viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
