"""Pages in a headless browser: what is drawn, how wide things are, which colours there are."""

import html
import json
import re
import shutil
import subprocess

import numpy
import PIL.Image
import pytest

from site_of import LIMIT_S


def browser_of():
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
                None)


needs_browser = pytest.mark.skipif(browser_of() is None, reason="there is no chromium")


class Browser:
    """A headless browser with a folder of its own, that talks to nobody."""

    def __init__(self, folder):
        self.folder = folder
        self.count = 0

    def run(self, page, *args, dark=False):
        self.count += 1
        done = subprocess.run(
            [browser_of(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
             "--no-first-run", "--disable-background-networking", "--disable-component-update",
             "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars",
             "--force-device-scale-factor=1", "--allow-file-access-from-files",
             f"--user-data-dir={self.folder}/profile{self.count}",
             *(["--blink-settings=preferredColorScheme=0"] if dark else []), *args,
             page.as_uri()],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            timeout=LIMIT_S)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def shot(self, page, width, height, dark=False):
        """The page as an array of [y, x, (red, green, blue)]."""
        png = self.folder / f"shot{self.count}.png"
        self.run(page, f"--screenshot={png}", f"--window-size={width},{height}", dark=dark)
        with PIL.Image.open(png) as image:
            return numpy.asarray(image.convert("RGB")).astype(int)

    def framed(self, page, width, height):
        """The page in a frame of that width, which a window cannot always have."""
        frame = self.folder / f"frame{width}.html"
        frame.write_text(
            f'<body style="margin:0;background:#0f0"><iframe id="f" src="{page.as_uri()}" '
            f'style="border:0;width:{width}px;height:{height}px"></iframe><pre id="p"></pre>'
            '<script>onload = () => { const d = f.contentDocument, boxes = (s) => '
            '[...d.querySelectorAll(s)].map((e) => { const b = e.getBoundingClientRect(); '
            'return [b.left, b.top, b.right, b.bottom]; }); p.textContent = JSON.stringify({'
            'wide: d.documentElement.scrollWidth, charts: boxes("svg.chart"), '
            'matrix: boxes("svg.matrix"), bars: boxes("svg.bar"), maps: boxes("svg.map"), '
            'labels: boxes("svg.map text.label"), scripts: d.scripts.length, requests: '
            'f.contentWindow.performance.getEntriesByType("resource").length, titles: '
            '[...d.querySelectorAll("svg.map title")].map((e) => e.textContent), cards: boxes('
            '"h1,h2,figure,.card,.tile,.lead,details,.legend")}); }</script>', encoding="utf-8")
        return frame

    def measure(self, page, width):
        dom = self.run(self.framed(page, width, 800), "--dump-dom", "--virtual-time-budget=5000",
                       "--window-size=1400,900")
        return json.loads(html.unescape(re.search(r'<pre id="p">(.*?)</pre>', dom).group(1)))


@pytest.fixture
def browser(tmp_path):
    folder = tmp_path / "browser"
    folder.mkdir()
    return Browser(folder)


def colours_of(page):
    """What the style calls its colours: light and dark."""
    light, dark = (dict(re.findall(r"--(\w+):(#[0-9a-f]{3,6})", part))
                   for part in re.findall(r":root\{(.*?)\}", page)[:2])
    return light, dark


def rgb(colour):
    digits = colour[1:] if len(colour) == 7 else "".join(c * 2 for c in colour[1:])
    return numpy.array([int(digits[i:i + 2], 16) for i in (0, 2, 4)])


def count(image, colour, box=None):
    """How many pixels are of that colour, nearly."""
    if box is not None:
        left, top, right, bottom = (int(v) for v in box)
        image = image[top:bottom, left:right]
    return int((abs(image - rgb(colour)).max(axis=2) <= 6).sum())


def contrast(a, b):
    """Of two colours, as in WCAG."""
    def light(colour):
        parts = rgb(colour) / 255
        parts = numpy.where(parts <= 0.03928, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return float((parts * [0.2126, 0.7152, 0.0722]).sum())
    high, low = sorted((light(a), light(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)
