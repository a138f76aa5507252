#!/usr/bin/env python3
"""Opens an HTML page in a headless Chromium and checks that it is whole: no errors, nothing clipped, nothing loaded.

    tools/check_page.py FILE.html [--pictures FOLDER] [--expect KEY...]

Checks: no console message and no uncaught error; a title; every element with data-chart holds pictures of a size; ids
are there once; no sideways scrolling of the page at 360, 390, 1280 and 2560 pixels; on a phone nothing before the list
of contents scrolls sideways, and letters of pictures there are not under 9 pixels; regions that scroll can be reached
by keyboard; text stands out enough in light and in dark; dark surroundings make a dark page; printing opens every
<details>; no request but the file itself. Leaves screenshots and the print as PDF in FOLDER. Without a Chromium it says
so and checks nothing. Speaks the browser's debugging protocol over a websocket of its own, this machine only.
"""

import argparse
import base64
import json
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request

WIDTHS = {"small": 360, "phone": 390, "desktop": 1280, "wide": 2560}


class WebSocket:
    """A client for text messages, RFC 6455, without extensions."""

    def __init__(self, url):
        host, path = url.removeprefix("ws://").split("/", 1)
        name, port = host.split(":")
        self.stream = socket.create_connection((name, int(port)), timeout=60)
        key = base64.b64encode(os.urandom(16)).decode()
        self.stream.sendall(
            f"GET /{path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        self.buffer = b""
        while b"\r\n\r\n" not in self.buffer:
            self._more()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise RuntimeError(f"no websocket at {url}: {head[:80]}")

    def _more(self):
        data = self.stream.recv(1 << 16)
        if not data:
            raise RuntimeError("the browser closed the connection")
        self.buffer += data

    def _take(self, count):
        while len(self.buffer) < count:
            self._more()
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data

    def send(self, text, opcode=1):
        data = text.encode() if isinstance(text, str) else text
        mask = os.urandom(4)
        size = len(data)
        if size < 126:
            head = struct.pack("!BB", 0x80 | opcode, 0x80 | size)
        elif size < 1 << 16:
            head = struct.pack("!BBH", 0x80 | opcode, 0x80 | 126, size)
        else:
            head = struct.pack("!BBQ", 0x80 | opcode, 0x80 | 127, size)
        self.stream.sendall(head + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(data)))

    def receive(self):
        message = b""
        while True:
            first, second = self._take(2)
            size = second & 127
            if size == 126:
                (size,) = struct.unpack("!H", self._take(2))
            elif size == 127:
                (size,) = struct.unpack("!Q", self._take(8))
            data = self._take(size)
            opcode = first & 15
            if opcode == 9:
                self.send(data, opcode=10)
            elif opcode == 8:
                raise RuntimeError("the browser closed the connection")
            elif opcode in (0, 1, 2):
                message += data
                if first & 0x80:
                    return message.decode()


class Browser:
    def __init__(self, program):
        self.folder = tempfile.TemporaryDirectory(prefix="check_page.", ignore_cleanup_errors=True)
        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--hide-scrollbars", "--remote-debugging-port=0",
             "--remote-debugging-address=127.0.0.1", f"--user-data-dir={self.folder.name}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        port_file = pathlib.Path(self.folder.name, "DevToolsActivePort")
        deadline = time.monotonic() + 90
        while not (port_file.exists() and "\n" in port_file.read_text()):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("the browser did not start")
            time.sleep(0.1)
        port = int(port_file.read_text().split()[0])
        local = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        targets = json.load(local.open(f"http://127.0.0.1:{port}/json/list", timeout=30))
        page = next(target for target in targets if target["type"] == "page")
        self.socket = WebSocket(page["webSocketDebuggerUrl"])
        self.events = []
        self.last = 0

    def call(self, method, **params):
        self.last += 1
        self.socket.send(json.dumps({"id": self.last, "method": method, "params": params}))
        while True:
            message = json.loads(self.socket.receive())
            if message.get("id") == self.last:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]
            if "method" in message:
                self.events.append(message)

    def wait_for(self, method):
        while not any(event["method"] == method for event in self.events):
            message = json.loads(self.socket.receive())
            if "method" in message:
                self.events.append(message)

    def run(self, script):
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["exception"].get("description", "script failed"))
        return result["result"].get("value")

    def view(self, width, height=900, dark=False, media=""):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 600)
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)

    def settle(self):
        """Two frames, after which sizes are those of what the page shows now."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def screenshot(self, path):
        self.settle()
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self):
        try:
            self.socket.send(json.dumps({"id": self.last + 1, "method": "Browser.close"}))
            self.process.wait(20)
        except Exception:  # whatever is wrong with it, it must go
            self.process.kill()
            self.process.wait()
        self.folder.cleanup()


CHARTS = """[...document.querySelectorAll('[data-chart]')].map(chart => ({
  key: chart.dataset.chart,
  closed: !!chart.closest('details:not([open])'),
  hidden: getComputedStyle(chart).display === 'none',
  sizes: [...chart.querySelectorAll('svg.oc')].map(svg => svg.getBoundingClientRect()).map(r => [r.width, r.height])}))"""

OVERFLOW = """(() => {
  const width = document.documentElement.clientWidth;
  const wide = [...document.querySelectorAll('body *')].filter(e => !e.closest('.scroll, svg, .skip') || e.matches('.scroll'))
    .filter(e => e.getClientRects().length && e.getBoundingClientRect().right > width + 1)
    .map(e => e.tagName.toLowerCase() + '.' + e.className).slice(0, 5);
  return {width, scroll: document.documentElement.scrollWidth, wide};
})()"""

UNREACHABLE = """[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1)
  .filter(e => e.tabIndex !== 0 || !e.getAttribute('aria-label')).length"""

IDS = """(() => {
  const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
  return ids.filter((id, i) => ids.indexOf(id) !== i).slice(0, 5);
})()"""

# WCAG contrast of every text that stands by itself against the nearest background of an element around it; signs that
# are no text, hidden from screen readers, need less.
CONTRAST = """(() => {
  const parse = text => { const m = text.match(/[\\d.]+/g).map(Number); return {c: m.slice(0, 3), a: m[3] ?? 1}; };
  const light = c => { const [r, g, b] = c.map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b; };
  const behind = e => { for (; e; e = e.parentElement) { const b = parse(getComputedStyle(e).backgroundColor);
    if (b.a > .99) return b.c; } return [255, 255, 255]; };
  const bad = new Set();
  for (const e of document.querySelectorAll('body *')) {
    if (e.closest('svg') || ![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
    const style = getComputedStyle(e);
    const ink = light(parse(style.color).c), paper = light(behind(e));
    const ratio = (Math.max(ink, paper) + .05) / (Math.min(ink, paper) + .05);
    if (ratio < (e.closest('[aria-hidden=true]') ? 3 : 4.5) && +style.opacity === 1) bad.add(e.tagName.toLowerCase() + '.' + e.className + ' ' + ratio.toFixed(1));
  }
  return [...bad].slice(0, 5);
})()"""

# On a phone the main answer, before the list of contents, is seen without scrolling sideways, in letters of a size.
ANSWER = """(() => {
  const nav = document.querySelector('nav');
  const before = e => e.compareDocumentPosition(nav) & Node.DOCUMENT_POSITION_FOLLOWING && e.getClientRects().length;
  const sideways = [...document.querySelectorAll('.scroll')].filter(e => before(e) && !e.closest('details') && e.scrollWidth > e.clientWidth + 1);
  const small = [...document.querySelectorAll('svg.oc text')].filter(e => before(e) && !e.closest('details')
    && parseFloat(getComputedStyle(e).fontSize) * Math.hypot(e.getScreenCTM().a, e.getScreenCTM().b) < 9);
  return sideways.map(e => e.getAttribute('aria-label') + ' scrolls sideways').concat(
    small.length ? ['letters of a picture are under 9 pixels: ' + small[0].textContent] : []);
})()"""

HIDDEN = """[...document.querySelectorAll('details')].filter(d => [...d.children]
  .some(c => c.tagName !== 'SUMMARY' && !c.checkVisibility({contentVisibilityAuto: true}))).length"""

PAPER = """(() => { const c = getComputedStyle(document.body).backgroundColor.match(/[\\d.]+/g).map(Number);
  return (c[0] + c[1] + c[2]) / 3; })()"""


def check(browser, page, pictures, expect):
    """Returns the faults found, as sentences."""
    faults = []
    for domain in ("Page", "Runtime", "Log", "Network"):
        browser.call(domain + ".enable")
    browser.view(WIDTHS["desktop"])
    url = page.resolve().as_uri()
    browser.events.clear()
    browser.call("Page.navigate", url=url)
    browser.wait_for("Page.loadEventFired")

    if not browser.run("document.title").strip():
        faults.append("the page has no title")
    if not browser.run("document.documentElement.lang"):
        faults.append("the page names no language")
    twice = browser.run(IDS)
    if twice:
        faults.append(f"ids that are there twice: {', '.join(twice)}")

    for dark in (False, True):
        for name, width in WIDTHS.items():
            browser.view(width, dark=dark)
            where = f"at {width} pixels, {'dark' if dark else 'light'}"
            browser.run("document.querySelectorAll('details').forEach(d => d.open = false)")
            pictures and browser.screenshot(pictures / f"{name}{'-dark' if dark else ''}.png")
            browser.run("document.querySelectorAll('details').forEach(d => d.open = true)")
            over = browser.run(OVERFLOW)
            if over["scroll"] > over["width"] or over["wide"]:
                faults.append(f"{where} the page is {over['scroll']} pixels wide: {', '.join(over['wide'])}")
            if browser.run(UNREACHABLE):
                faults.append(f"{where} a region that scrolls has no tabindex or no label")
            if width < 600:
                faults += [f"{where} {fault}" for fault in browser.run(ANSWER)]
            charts = browser.run(CHARTS)
            for chart in charts:
                if chart["hidden"]:
                    continue
                if not chart["sizes"] or any(min(size) < 20 for size in chart["sizes"]):
                    faults.append(f"{where} chart {chart['key']} has no picture or an empty one: {chart['sizes']}")
            missing = set(expect) - {chart["key"] for chart in charts}
            if missing:
                faults.append(f"{where} these charts are missing: {', '.join(sorted(missing))}")
            for text in browser.run(CONTRAST):
                faults.append(f"{where} text is too pale (under 4.5): {text}")
        paper = browser.run(PAPER)
        if (paper > 128) == dark:
            faults.append(f"{'dark' if dark else 'light'} surroundings give a background of lightness {paper:.0f}")

    browser.run("document.querySelectorAll('details').forEach(d => d.open = false)")
    browser.view(WIDTHS["desktop"], media="print")
    browser.settle()
    if browser.run(HIDDEN):
        faults.append("in print a <details> stays closed")
    browser.view(WIDTHS["desktop"])
    if pictures:
        pdf = browser.call("Page.printToPDF", printBackground=True)["data"]
        (pictures / "print.pdf").write_bytes(base64.b64decode(pdf))

    for event in browser.events:
        method, params = event["method"], event["params"]
        if method == "Runtime.consoleAPICalled":
            faults.append(f"console: {params['type']} {[arg.get('value') for arg in params['args']]}")
        elif method == "Runtime.exceptionThrown":
            faults.append(f"uncaught: {params['exceptionDetails']['text']}")
        elif method == "Log.entryAdded":
            faults.append(f"console: {params['entry']['level']} {params['entry']['text']}")
        elif method == "Network.requestWillBeSent":
            asked = params["request"]["url"]
            if asked != url and not asked.startswith("data:"):
                faults.append(f"request: {asked}")
    return faults, len(browser.run(CHARTS))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--pictures", type=pathlib.Path, help="folder for screenshots and the PDF")
    parser.add_argument("--expect", nargs="*", default=[], help="data-chart of charts that must be there")
    args = parser.parse_args()
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        print("check_page: skipped, no chromium here (tools/install_packages.sh page installs one)")
        return 0
    if not args.page.is_file():
        print(f"check_page: no file {args.page}", file=sys.stderr)
        return 1
    if args.pictures:
        args.pictures.mkdir(parents=True, exist_ok=True)
    browser = Browser(program)
    try:
        faults, charts = check(browser, args.page, args.pictures, args.expect)
    finally:
        browser.close()
    for fault in dict.fromkeys(faults):
        print(f"check_page: {args.page}: {fault}", file=sys.stderr)
    if not faults:
        print(f"check_page: {args.page} is fine: {charts} charts, widths {', '.join(map(str, WIDTHS.values()))}, "
              "light, dark and print")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
