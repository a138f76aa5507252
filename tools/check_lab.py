#!/usr/bin/env python3
"""Clicks through the lab of a real `ordinal serve` in a headless Chromium and reads what is shown.

    tools/check_lab.py ORDINAL [--pictures FOLDER]

Checks, with the shipped model: every view, lesson, slider and button does what it says; the numbers shown are those of the
server; from 360 to 2560 pixels nothing scrolls sideways, in light and dark every text stands out; every control has a name in
the accessibility tree; keys do what the mouse does; markup in a text, and in what a model writes, stays text; no message on
the console, no request but to the server. Without a Chromium it says so and checks nothing.
"""

import argparse
import base64
import csv
import io
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse
import xml.etree.ElementTree

from check_page import CONTRAST, IDS, OVERFLOW, UNREACHABLE, Browser
from check_server import serving

WIDTHS = (360, 768, 1280, 2560)
CONTROLS = {"textbox", "combobox", "checkbox", "slider", "button", "tab", "spinbutton", "listbox"}
faults = []


def fault(what):
    if what not in faults:
        faults.append(what)
        print(f"check_lab: {what}", file=sys.stderr, flush=True)


def expect(truth, what):
    if not truth:
        fault(what)


class Lab:
    def __init__(self, browser, address):
        self.browser, self.address = browser, address

    def run(self, script):
        return self.browser.run(script)

    def until(self, condition, seconds=30):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.run(condition):
                return True
            time.sleep(0.05)
        fault(f"never came true: {condition}")
        return False

    def open(self, fragment="", ready="document.getElementById('status').textContent.includes('tokens scored')"):
        self.browser.events.clear()
        self.browser.call("Page.navigate", url="about:blank")
        self.browser.wait_for("Page.loadEventFired")
        self.browser.events.clear()
        self.browser.call("Page.navigate", url=self.address + "/" + fragment)
        self.browser.wait_for("Page.loadEventFired")
        self.until(ready)

    def scored(self, change):
        """Does something, and waits until what it led to is shown."""
        self.run("document.getElementById('status').textContent = 'waiting'")
        self.run(change)
        self.until("document.getElementById('status').textContent.includes('tokens scored')")

    def click(self, words):
        self.run(f"[...document.querySelectorAll('button')].find(b => b.textContent === {json.dumps(words)}).click()")

    def key(self, key):
        for kind in ("rawKeyDown", "keyUp"):
            self.browser.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def text(self, element):
        return self.run(f"document.getElementById({json.dumps(element)}).textContent")

    def looks(self, where, pictures):
        for dark in (False, True):
            for width in WIDTHS:
                self.browser.view(width, dark=dark)
                self.browser.settle()
                over = self.run(OVERFLOW)
                expect(over["scroll"] <= over["width"] and not over["wide"], f"{where}, {width} pixels: too wide: {over}")
                if pictures and (width in (360, 1280)):
                    self.browser.screenshot(pictures / f"{where}-{width}{'-dark' if dark else ''}.png")
            for text in self.run(CONTRAST):
                fault(f"{where}, {'dark' if dark else 'light'}: text is too pale: {text}")
        self.browser.view(1280)
        expect(not self.run(IDS), f"{where}: ids that are there twice: {self.run(IDS)}")
        expect(not self.run(UNREACHABLE), f"{where}: a region that scrolls cannot be reached by keyboard")

    def named(self, where):
        nodes = self.browser.call("Accessibility.getFullAXTree")["nodes"]
        found = set()
        for node in nodes:
            role = node.get("role", {}).get("value")
            if role in CONTROLS and not node.get("ignored"):
                found.add(role)
                expect(node.get("name", {}).get("value", "").strip(), f"{where}: a {role} has no name")
        return found


def check_look(lab, pictures):
    lab.open()
    rows = lab.run("document.querySelectorAll('#losses tr').length")
    expect(rows == 2, f"at first the model's own scheme is scored alone, not {rows - 1}")
    lab.scored("[...document.querySelectorAll('#schemes label')].find(l => l.textContent.startsWith('none')).click()")
    shown = lab.run("[...document.querySelectorAll('#losses tr')].map(row => [...row.cells].map(cell => cell.textContent))")
    told = lab.run("""fetch('/v1/score', {method: 'POST', body: JSON.stringify({text: state.text, positions: ['native', 'none'],
        ctx: 1000})}).then(answer => answer.json()).then(answer => answer.scores.map(row => row.token_nats))""")
    for row, nats in zip(shown[1:], told):
        part = nats[1:lab.run("state.length")]
        expect(abs(float(row[1]) - sum(part) / len(part)) < 1e-4, f"the table shows what the server says: {row}")
    expect(lab.run("document.querySelectorAll('#chart polyline').length") == 1, "one curve beside the reference")
    lab.run("document.getElementById('tokens').focus()")
    before = lab.text("token")
    lab.key("ArrowRight")
    expect(lab.text("token") != before, "an arrow key goes to the next token")
    expect(lab.run("document.querySelectorAll('#token ol').length") == 2, "a token's likeliest others under both schemes")
    before = lab.text("token")
    lab.run("document.getElementById('token-40').dispatchEvent(new MouseEvent('mouseenter'))")
    expect(lab.text("token") != before, "the mouse does so too")
    lab.looks("look", pictures)
    roles = lab.named("look")
    expect({"textbox", "combobox", "checkbox", "slider", "button", "tab"} <= roles, f"controls of all kinds are found: {roles}")

    # Past the trained length sines fall apart, rope and alibi read on.
    lab.scored("[...document.querySelectorAll('#lessons button')].find(b => b.textContent === 'Past the table').click()")
    length, trained = lab.run("state.length"), lab.run("model().trained_length")
    expect(length > trained, f"the lesson goes past the trained length: {length} of {trained}")
    losses = lab.run("state.on.map(spec => rowOf(spec).nats_per_token)")
    expect(losses[2] > losses[0] + 0.2 and losses[1] < losses[0] + 0.2, f"sines break, alibi does not: {losses}")
    expect("trained length" in lab.text("chart"), "the chart says where the trained length is")
    if pictures:
        lab.browser.view(1280, 1000)
        lab.browser.settle()
        shot = lab.browser.call("Page.captureScreenshot", format="webp", quality=70, captureBeyondViewport=True)["data"]
        (pictures / "lab.webp").write_bytes(base64.b64decode(shot))
    lab.scored("const l = document.getElementById('length'); l.value = 128; l.dispatchEvent(new Event('input'))")
    within = lab.run("state.on.map(spec => rowOf(spec).nats_per_token)")
    expect(within[2] < within[0] + 0.2, f"within it they are alike: {within}")

    # A state is an address.
    address = lab.run("location.hash")
    table = lab.text("losses")
    lab.open(address)
    expect(lab.text("losses") == table, "the address brings the same numbers back")
    lab.run("document.getElementById('spec').value = 'rope:no_such=1'")
    lab.click("Add")
    lab.until("!document.getElementById('fault').hidden")
    expect("no_such" in lab.text("fault"), "a wrong spec shows the engine's own error")


def check_layers(lab, pictures):
    lab.open()
    layers = lab.run("model().layers")
    expect(lab.run("document.querySelectorAll('#layers button[aria-pressed=true]').length") == layers,
           "a button a layer, all of them on")
    lab.scored("document.getElementById('layer-2').click()")
    lab.run("document.getElementById('layer-3').focus()")
    lab.run("document.getElementById('status').textContent = 'waiting'")
    lab.key(" ")
    lab.until("document.getElementById('status').textContent.includes('tokens scored')")
    spec = "native;layers=2,3:none"
    expect(lab.run("document.activeElement.id") == "layer-3", "a key leaves the focus where it was")
    states = lab.run("[...document.querySelectorAll('#layers button')].map(b => b.getAttribute('aria-pressed'))")
    expect(states == ["true", "true", "false", "false"], f"two layers are off: {states}")
    names = [node["name"]["value"] for node in lab.browser.call("Accessibility.getFullAXTree")["nodes"]
             if node.get("role", {}).get("value") == "button" or "pressed" in str(node.get("properties"))]
    expect(all(f"layer {i}" in names for i in range(layers)), f"a screen reader hears each layer's number: {names}")
    shown = lab.run("[...document.querySelectorAll('#losses tr')].slice(1).map(row => [...row.cells].map(c => c.textContent))")
    expect(len(shown) == 2 and spec in shown[1][0] and shown[1][4] == "not trained for it", f"a row for them: {shown}")
    told = lab.run("""fetch('/v1/score', {method: 'POST', body: JSON.stringify({text: scores.texts[0].ids, ctx: state.length,
        positions: ['%s']})}).then(answer => answer.json()).then(answer => answer.scores[0].nats_per_token)""" % spec)
    expect(shown[1][1] == f"{told:.4f}" and shown[1][1] != shown[0][1], f"with the server's number: {told}")
    expect(shown[0][0].split()[0] != shown[1][0].split()[0], f"and a mark of its own: {shown}")
    command = lab.text("command")
    expect(f"--positions 'native,{spec}' --reference 'native'" in command, f"the command line has it: {command}")
    lab.looks("layers", pictures)
    lab.named("layers")
    table = lab.text("losses")
    lab.open(lab.run("location.hash"))
    expect(lab.text("losses") == table, "so has the address")
    lab.scored("document.getElementById('layer-2').click()")
    lab.scored("document.getElementById('layer-3').click()")
    expect(lab.run("document.querySelectorAll('#losses tr').length") == 2, "all on again, the copy is gone")
    lab.scored("[...document.querySelectorAll('#schemes label')].find(l => l.textContent.startsWith('sinusoidal')).click()")
    lab.scored("const r = document.getElementById('reference'); r.value = 'sinusoidal'; r.dispatchEvent(new Event('change'))")
    expect("changes nothing" in lab.text("layers-told"), "sines act on the embedding, which is said")
    lab.scored("document.getElementById('layer-0').click()")
    losses = lab.run("['sinusoidal', 'sinusoidal;layers=0:none'].map(spec => rowOf(spec).nats)")
    expect(losses[0] == losses[1], f"and so it is: {losses}")


def check_saved(lab, pictures):
    """Every panel saves its numbers as CSV and itself as SVG."""
    lab.open()
    nasty = 'He said "one, <b>two</b> & three\u00a0four" to the king, and the king said nothing.'
    lab.run("window.saved = {}; HTMLAnchorElement.prototype.click = function () { window.saved[this.download] = this.href; }")
    lab.scored("[...document.querySelectorAll('#schemes label')].find(l => l.textContent.startsWith('none')).click()")
    lab.scored(f"const t = document.getElementById('text'); t.value = {json.dumps(nasty)}; t.dispatchEvent(new Event('input'))")
    words = lab.text("tokens")
    saved_in = {"look": ("losses", "text", "token", "difference"), "write": ("columns",), "scheme": ("scheme",)}
    for view, panels in saved_in.items():
        lab.run(f"document.getElementById('tab-{view}').click()")
        if view == "write":
            lab.run("document.getElementById('count').value = 12; document.getElementById('write').click()")
            lab.until("document.getElementById('status').textContent === 'written'")
        if view == "scheme":
            lab.run("const p = document.getElementById('param-0'); p.value = 5000; p.dispatchEvent(new Event('change'))")
            lab.until("document.getElementById('kind-loss').textContent.includes('nats a token')")
        for panel in panels:
            labels = lab.run(f"[...document.querySelectorAll('#view-{view} [data-panel={panel}] button')].map(b => (b.click(), b.ariaLabel))")
            expect(len(labels) == 2 and len(set(labels)) == 2, f"{panel}: two buttons with names: {labels}")
    files = {name: urllib.parse.unquote(href.split(",", 1)[1]) for name, href in lab.run("window.saved").items()}
    names = [panel for panels in saved_in.values() for panel in panels]
    expect(set(files) == {f"{name}.{kind}" for name in names for kind in ("csv", "svg")}, f"all are saved: {sorted(files)}")
    tables = {name: list(csv.reader(io.StringIO(files[name + ".csv"]))) for name in names}
    for name, rows in tables.items():
        expect(len(rows) > 1 and all(len(row) == len(rows[0]) for row in rows), f"{name}.csv: rows of one length: {rows[:3]}")
    told = lab.run("scores.scores.map(row => [row.position, row.nats_per_token, row.token_nats])")
    expect([[row[0], float(row[1])] for row in tables["losses"][1:]] == [row[:2] for row in told], "losses.csv: the server's numbers")
    expect([row[1] for row in tables["text"][1:]] == lab.run("scores.texts[0].pieces"), "text.csv: every token")
    for i, row in enumerate(told):
        expect([float(line[2 + i]) for line in tables["text"][2:]] == row[2][1:], f"text.csv: the losses under {row[0]}")
    expect([row[1] for row in tables["token"][1:]] == ["in the text", *"12345"] * 2, f"token.csv: {tables['token']}")
    each = [b - a for a, b in zip(told[0][2][1:], told[1][2][1:])]
    values = [float(row[1]) for row in tables["difference"][1:]]
    expect(abs(sum(values) / len(values) - sum(each) / len(each)) < 0.3 and len(values) == 16, f"difference.csv: {values}")
    expect(len({row[0] for row in tables["columns"][1:]}) == 2, "columns.csv: both schemes")
    expect(tables["scheme"][0][1] == lab.text("kind-spec"), "scheme.csv: the spec that is shown")
    for name in names:
        root = xml.etree.ElementTree.fromstring(files[name + ".svg"])
        if pictures:
            (pictures / f"saved-{name}.svg").write_text(files[name + ".svg"])
        expect(root.tag.endswith("}svg"), f"{name}.svg is a picture")
        expect("var(" not in files[name + ".svg"] and "currentColor" not in files[name + ".svg"], f"{name}.svg needs no style")
        if name == "text":
            found = "".join(root.itertext())
            expect("<b>two</b>" in found and "".join(found.split()) == "".join(words.split()), f"text.svg has the text: {found}")
            tints = {rect.get("fill") for rect in root.findall(".//{*}rect")}
            expect(len(tints) > 5, f"text.svg has the tints: {tints}")
        if name in ("difference", "scheme"):
            expect(root.find(".//{*}polyline") is not None, f"{name}.svg has its curve")


def check_lessons(lab, pictures):
    """What a lesson says of the shipped model is what it shows."""
    def after(lesson):
        lab.scored(f"document.querySelector('[data-lesson={lesson}]').click()")
        shown = [words for words in lab.run("[...document.querySelectorAll('#lessons p:not([hidden])')].map(p => p.textContent)")]
        expect(len(shown) == 1 and shown[0].count(". ") + shown[0].count(".\n") == 1, f"{lesson}: two sentences: {shown}")
        return losses()

    def losses():
        rows = lab.run("scores.scores.map(row => [row.position, row.token_nats])")
        return {spec: nats[1:] for spec, nats in rows}

    def apart(nats, spec, begin=0):
        each = [a - b for a, b in zip(nats[spec][begin:], nats["native"][begin:])]
        mean = sum(each) / len(each)
        return mean, 2 * (sum((d - mean) ** 2 for d in each) / (len(each) - 1) / len(each)) ** 0.5

    lab.open()
    lab.scored("$('text').value = 'A text of my own, that is short.'; $('text').dispatchEvent(new Event('input'))")
    nats = after("early")
    expect(len(nats["native"]) == 255, f"early: at the trained length, not {len(nats['native']) + 1}")
    (early, error), (late, _) = apart(nats, "native;layers=0,1:none"), apart(nats, "native;layers=2,3:none")
    expect(round(early, 2) == 0.03 and early < error and round(late, 2) == 0.3, f"early: {early} of {error}, {late}")
    lab.looks("lesson", pictures)
    nats = after("table")
    expect(len(nats["native"]) > 400, "table: the whole text")
    expect(apart(nats, "sinusoidal", 3 * len(nats["native"]) // 4)[0] > 1, "table: over a nat in the last quarter")
    lab.scored("$('length').value = 256; $('length').dispatchEvent(new Event('input'))")
    means = [sum(each) / len(each) for each in losses().values()]
    expect(len(means) == 3 and max(means) - min(means) < 0.1, f"table: within 0.1 at 256 tokens: {means}")
    nats = after("scaling")
    linear, dynamic, yarn = (f"rope:scaling={kind},factor=2" for kind in ("linear", "dynamic", "yarn"))
    costs = {spec: apart(nats, spec)[0] for spec in (linear, dynamic, yarn)}
    expect(min(costs.values()) > 0 and max(costs, key=costs.get) == linear, f"scaling: {costs}")
    expect(lab.run("$('losses').textContent.includes('scaling=yarn')"), "scaling: its schemes are shown")
    lab.scored("$('length').value = 256; $('length').dispatchEvent(new Event('input'))")
    nats = losses()
    costs = {spec: apart(nats, spec)[0] for spec in (linear, dynamic, yarn)}
    expect(nats[dynamic] == nats["native"] and max(costs, key=costs.get) == linear, f"scaling: at 256 tokens: {costs}")
    words = lab.text("lessons")
    lab.open(lab.run("location.hash"))
    expect(lab.run("document.querySelectorAll('#lessons p:not([hidden])').length") == 1 and lab.text("lessons") == words,
           "a lesson is in the address")
    lab.open()
    lab.scored("$('text').value = 'A text of my own, that is short.'; $('text').dispatchEvent(new Event('input'))")
    lab.scored("document.querySelector('[data-lesson=table]').click()")
    lab.run("window.left = true; history.back()")
    lab.until("window.left === undefined && document.getElementById('status')?.textContent.includes('tokens scored')")
    expect(lab.run("document.getElementById('text').value") == "A text of my own, that is short.", "Back brings one's text back")


def check_palette(lab, ordinal):
    """Colours and markers are those of the report that the command line makes."""
    for more in (["alibi", "xpos", "none", "normalized"], ["rope:scaling=yarn,factor=2", "xpos", "rope:scaling=linear,factor=2", "none", "t5_bias"]):
        lab.open()
        for spec in more:
            lab.scored(f"addSpec({json.dumps(spec)})")
        lab.scored("document.getElementById('layer-1').click()")
        shown = lab.run("scored()")
        told = lab.run("""[...document.querySelectorAll('#losses th span')].map(span => [span.textContent.trim(), span.style.color])""")
        with tempfile.TemporaryDirectory() as folder:
            text, page = pathlib.Path(folder) / "text.txt", pathlib.Path(folder) / "page.html"
            text.write_text(" ".join(["The king had three daughters, and the youngest was fair."] * 9))
            subprocess.run([ordinal, "compare", "-q", "-f", text, "--lengths", "16", "--tokens", "32", "-n", "1", "--positions",
                            ",".join(shown), "--reference", "native", "--html", page], check=True, stdout=subprocess.DEVNULL)
            marks = re.findall(r'<svg class="marker oc-(\d)"[^>]*><path d="([^"]*)"/></svg><span class="spec">(.*?)</span>', page.read_text())
        report = {re.sub('<[^>]*>', '', name): (colour, outline) for colour, outline, name in marks}
        outlines = {}
        for spec, (glyph, colour) in zip(shown, told):
            own = report.get(spec) or report.get(spec.replace("native", "rope", 1))
            if own is None:
                fault(f"the report has no {spec}, but {sorted(report)}")
                continue
            expect(colour == f"var(--s{own[0]})", f"{spec} is {colour} here and oc-{own[0]} in a report")
            expect(outlines.setdefault(glyph, own[1]) == own[1], f"{spec} is {glyph}, which in a report is another's marker")
        expect(len(set(outlines.values())) == len(outlines), f"markers that a report tells apart are so here: {told}")


def check_markup(lab):
    nasty = "<img src=x onerror=\"document.title='caught'\"><script>document.title='caught'</script><b>bold</b>"
    lab.open()
    lab.scored(f"const t = document.getElementById('text'); t.value = {json.dumps(nasty)}; t.dispatchEvent(new Event('input'))")
    expect(lab.text("tokens") == nasty, "markup in a text is shown as it is")
    expect(lab.run("document.querySelectorAll('main img, main b, main script').length") == 0, "and is no element")
    lab.run("""(() => { const real = window.fetch; window.fetch = (path, options) => path !== '/v1/completions' ? real(path, options)
        : Promise.resolve(new Response('data: ' + JSON.stringify({choices: [{text: %s, logprobs: {token_logprobs: [-1],
          top_logprobs: [{%s: -1}]}}]}) + '\\n\\ndata: [DONE]\\n\\n')); })()""" % (json.dumps(nasty), json.dumps(nasty)))
    lab.run("document.getElementById('write').click()")
    lab.until("document.getElementById('status').textContent === 'written'")
    expect(nasty in lab.text("columns"), "markup that a model writes is shown as it is")
    expect(lab.run("document.querySelectorAll('#columns img, #columns b').length") == 0, "and is no element either")
    expect(lab.run("document.title") == "Ordinal lab", "and runs nothing")


def check_write(lab, pictures):
    lab.open()
    lab.scored("[...document.querySelectorAll('#schemes label')].find(l => l.textContent.startsWith('none')).click()")
    lab.run("document.getElementById('tab-look').focus()")
    lab.key("ArrowRight")
    expect(lab.run("state.view") == "write", "arrow keys change the view")
    lab.run("document.getElementById('count').value = 30")
    lab.run("document.getElementById('write').click()")
    lab.until("document.getElementById('status').textContent === 'written'")
    columns = lab.run("[...document.querySelectorAll('.column')].map(c => [...c.querySelectorAll('span')].slice(1).map(s => s.textContent).join(''))")
    told = lab.run("""Promise.all([{}, {position: 'none'}].map(more => fetch('/v1/completions', {method: 'POST', body: JSON.stringify(
        {prompt: 'Once upon a time', max_tokens: 30, temperature: 0.7, top_p: 1, seed: 8, ...more})}).then(a => a.json())
        .then(a => a.choices[0].text)))""")
    expect(columns == told, "columns are what the server gives for this seed")
    expect(lab.run("document.querySelectorAll('.differs').length") == 1, "the first that differs is marked, once")
    lab.looks("write", pictures)
    lab.named("write")
    lab.run("document.getElementById('count').value = 2000")
    lab.run("document.getElementById('write').click()")
    lab.click("Stop")
    lab.until("document.getElementById('status').textContent === 'stopped'")


def check_scheme(lab, pictures):
    lab.open()
    lab.run("document.getElementById('tab-scheme').click()")
    lab.until("document.getElementById('kind-loss').textContent.includes('nats a token')")
    before = lab.text("kind-loss")
    lab.run("const s = document.querySelector('#params input[type=range]'); s.value = -2; s.dispatchEvent(new Event('change'))")
    lab.until("document.getElementById('kind-spec').textContent.includes('=')")
    lab.until(f"document.getElementById('kind-loss').textContent.includes('nats a token') && document.getElementById('kind-loss').textContent !== {json.dumps(before)}")
    lab.looks("scheme", pictures)
    lab.named("scheme")
    spec = lab.text("kind-spec")
    lab.click("Compare it")
    lab.until("state.view === 'look'")
    lab.until(f"[...document.querySelectorAll('#losses th')].some(cell => cell.textContent.includes({json.dumps(spec)}))")


def check_key(ordinal, browser):
    with serving(ordinal, "-q", "--api-key", "sesame") as address:
        lab = Lab(browser, address)
        lab.open(ready="!document.getElementById('key-form').hidden")
        lab.run("document.getElementById('key').value = 'sesame'; document.querySelector('#key-form button').click()")
        lab.until("document.getElementById('status').textContent.includes('tokens scored')")
        browser.events.clear()  # the refusal is on the console


def check_console(browser, address):
    for event in browser.events:
        method, params = event["method"], event["params"]
        if method == "Runtime.consoleAPICalled":
            fault(f"console: {params['type']} {[arg.get('value') for arg in params['args']]}")
        elif method == "Runtime.exceptionThrown":
            fault(f"uncaught: {params['exceptionDetails'].get('exception', {}).get('description')}")
        elif method == "Log.entryAdded" and "400 (Bad Request)" not in params["entry"]["text"]:
            fault(f"console: {params['entry']['level']} {params['entry']['text']}")
        elif method == "Network.requestWillBeSent":
            asked = params["request"]["url"]
            if not asked.startswith((address + "/", "data:", "about:")):
                fault(f"request: {asked}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ordinal")
    parser.add_argument("--pictures", type=pathlib.Path)
    args = parser.parse_args()
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        print("check_lab: skipped, no chromium here (tools/install_packages.sh page installs one)")
        return 0
    if args.pictures:
        args.pictures.mkdir(parents=True, exist_ok=True)
    browser = Browser(program)
    try:
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility"):
            browser.call(domain + ".enable")
        browser.view(1280)
        with serving(args.ordinal, "-q") as address:
            lab = Lab(browser, address)
            for check in (lambda: check_look(lab, args.pictures), lambda: check_write(lab, args.pictures),
                          lambda: check_scheme(lab, args.pictures), lambda: check_layers(lab, args.pictures),
                          lambda: check_saved(lab, args.pictures), lambda: check_lessons(lab, args.pictures),
                          lambda: check_palette(lab, args.ordinal),
                          lambda: check_markup(lab)):
                check()
                check_console(browser, address)
        check_key(args.ordinal, browser)
    finally:
        browser.close()
    if not faults:
        print("check_lab: the lab is fine: three views, lessons, layers, files saved, looks as in reports, keys, markup, widths, light and dark")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
