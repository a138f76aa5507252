#!/usr/bin/env python3
# The study's tables and chart: one small model per position scheme, inside its trained length and beyond.
"""
    tools/study_table.py build/study [CHART.svg] > build/study/study.md

Reads WORK/*/compare.json, which `ordinal compare` wrote (tools/study.sh).
"""
import json
import math
import re
import sys
from pathlib import Path

ORDER = ["sinusoidal", "learned", "rope", "alibi", "t5_bias", "shaw", "none"]


STYLE = """text{font:13px system-ui,sans-serif;fill:#1f2933}.grid{stroke:#d5d9de}.mark{stroke:#66707c;stroke-dasharray:5 4}
.line{fill:none;stroke:currentColor;stroke-width:2}.lead{stroke:currentColor;stroke-opacity:.5}.point{fill:currentColor}
@media(prefers-color-scheme:dark){text{fill:#e6e9ed}.grid{stroke:#3a424c}.mark{stroke:#98a2ad}}"""


def palette():
    """Colours, markers and each scheme's own look, of the one table that all pictures share."""
    text = (Path(__file__).parent.parent / "src/draw/palette.cpp").read_text()
    colours = re.findall(r'\{"\w+", "(#\w{6})", "(#\w{6})", Marker::(\w+)\}', text)
    own = {name: int(look) for name, look in re.findall(r'\{"(\w+)", (\d+)\}', text)}
    style = "".join(f".c{i}{{color:{light}}}" for i, (light, _, _) in enumerate(colours))
    style += "@media(prefers-color-scheme:dark){" + "".join(f".c{i}{{color:{dark}}}" for i, (_, dark, _) in enumerate(colours)) + "}"
    return style, [marker for _, _, marker in colours], own


CORNERS = {"square": ((-.88, -.88), (.88, -.88), (.88, .88), (-.88, .88)), "triangle": ((0, -1.15), (1.1, .8), (-1.1, .8)),
           "diamond": ((0, -1.3), (1.05, 0), (0, 1.3), (-1.05, 0)), "wedge": ((0, 1.15), (1.1, -.8), (-1.1, -.8))}


def marker(kind, x, y, r=4):
    if kind in CORNERS:
        return "M" + "L".join(f"{x + a * r:.1f} {y + b * r:.1f}" for a, b in CORNERS[kind]) + "Z"
    if kind in ("plus", "cross"):
        arms = ((1, 0), (0, 1)) if kind == "plus" else ((.75, .75), (.75, -.75))
        path = ""
        for a, b in arms:  # an arm is a stripe 0.7 wide
            n = math.hypot(a, b)
            u, v = -b / n * .36 * r, a / n * .36 * r
            ends = ((a * r + u, b * r + v), (a * r - u, b * r - v), (-a * r - u, -b * r - v), (-a * r + u, -b * r + v))
            path += "M" + "L".join(f"{x + p:.1f} {y + q:.1f}" for p, q in ends) + "Z"
        return path
    circle = lambda q, sweep: f"M{x - q:.1f} {y:.1f}a{q:.1f} {q:.1f} 0 1 {sweep} {2 * q:.1f} 0a{q:.1f} {q:.1f} 0 1 {sweep} {-2 * q:.1f} 0Z"
    return circle(r, 1) + (circle(r / 2, 0) if kind == "ring" else "")


def lines(named, bottom):
    """Each scheme's line with its markers, and the names at their ends, apart from each other."""
    _, markers, own = palette()
    out, ends = [], []
    for name, points in named:
        if not points:
            continue
        look = own[name]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
        dots = "".join(marker(markers[look], a, b) for a, b in points)
        out.append(f'<g class="c{look}"><polyline class="line" points="{path}"/><path class="point" d="{dots}"/></g>')
        ends.append([points[-1][1], points[-1], name, look])
    ends.sort()
    for i in range(1, len(ends)):
        ends[i][0] = max(ends[i][0], ends[i - 1][0] + 15)
    side, limit = max((a for _, (a, _), _, _ in ends), default=0) + 12, bottom + 4
    for end in reversed(ends):
        end[0] = min(end[0], limit)
        limit = end[0] - 15
    for at, (a, b), name, look in ends:
        out.append(f'<g class="c{look}"><path class="lead" d="M{a + 5:.1f} {b:.1f}L{side:.1f} {at:.1f}"/>'
                   f'<path class="point" d="{marker(markers[look], side + 6, at)}"/></g>'
                   f'<text x="{side + 14:.1f}" y="{at + 4:.1f}">{name}</text>')
    return out


def chart(found, trained):
    """Perplexity by window length, both axes logarithmic, a panel for each protocol."""
    width, height, left, top, gap = 380, 300, 60, 46, 150
    rows = [(n, r) for n, result in found.items() for r in result["rows"] if r["nll"] is not None]
    lengths = sorted({r["length"] for _, r in rows})
    low, high = min(r["ppl"] for _, r in rows) * 0.95, max(r["ppl"] for _, r in rows) * 1.05
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * (width + gap)} {height + 110}" role="img">',
           "<title>Perplexity of seven models by window length</title>", f"<style>{STYLE}\n{palette()[0]}</style>"]
    for panel, (protocol, title) in enumerate((("whole", "windows side by side"), ("sliding", "windows that move on by half"))):
        x0 = left + panel * (width + gap)
        x = lambda n: x0 + width * math.log(n / lengths[0]) / math.log(lengths[-1] / lengths[0])
        y = lambda p: top + height * math.log(high / p) / math.log(high / low)
        out.append(f'<text x="{x0}" y="22" font-weight="600">{title}</text>')
        for tick in (30, 40, 60, 80, 120, 180):
            if low < tick < high:
                out.append(f'<line class="grid" x1="{x0}" x2="{x0 + width}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>'
                           f'<text x="{x0 - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick}</text>')
        for n in lengths:
            out.append(f'<text x="{x(n):.1f}" y="{top + height + 20}" text-anchor="middle">{n}</text>')
        out.append(f'<line class="mark" x1="{x(trained):.1f}" x2="{x(trained):.1f}" y1="{top}" y2="{top + height}"/>'
                   f'<text x="{x(trained) - 6:.1f}" y="{top + 12}" text-anchor="end">trained length</text>'
                   f'<text x="{x0 + width / 2}" y="{top + height + 44}" text-anchor="middle">window (tokens)</text>')
        out += lines([(name, [(x(r["length"]), y(r["ppl"])) for r in result["rows"]
                              if r["protocol"] == protocol and r["nll"] is not None]) for name, result in found.items()],
                     top + height)
    out.append(f'<text x="18" y="{top + height / 2}" text-anchor="middle" transform="rotate(-90 18 {top + height / 2})">perplexity</text>')
    return "\n".join(out) + "\n</svg>\n"


def main():
    work = Path(sys.argv[1])
    found = {name: json.loads((work / name / "compare.json").read_text()) for name in ORDER
             if (work / name / "compare.json").exists()}
    trained = next(iter(found.values()))["trained_length"]
    if len(sys.argv) > 2:
        Path(sys.argv[2]).write_text(chart(found, trained), encoding="utf-8")
    for protocol, title in (("whole", "windows side by side"), ("sliding", "windows that move on by half")):
        lengths = sorted({row["length"] for result in found.values() for row in result["rows"] if row["protocol"] == protocol})
        print(f"\nPerplexity, {title}; trained on {trained} tokens:\n")
        print("| scheme | " + " | ".join(map(str, lengths)) + " |")
        print("|---|" + "---|" * len(lengths))
        for name, result in found.items():
            cells = []
            for length in lengths:
                row = next(r for r in result["rows"] if (r["length"], r["protocol"]) == (length, protocol))
                cells.append("-" if row["nll"] is None else f"{row['ppl']:.2f}")
            print(f"| {name} | " + " | ".join(cells) + " |")
    row = next(r for r in next(iter(found.values()))["rows"] if r["nll"] is not None)
    print(f"\n{row['tokens']} tokens scored in each; a standard error of about {row['stderr']:.3f} nats, much less for differences.")
    print("\n| scheme | loss in order | shuffled | copy, trained length | copy, longest |\n|---|---|---|---|---|")
    for name, result in found.items():
        scheme = result["schemes"][0]
        copy = {r["length"]: r["accuracy"] for r in result["recall"] if r["task"] == "copy"}
        longest = max(copy)
        percent = lambda value: "-" if value is None else f"{100 * value:.1f} %"
        print(f"| {name} | {scheme['nll_in_order']:.3f} | {scheme['nll_shuffled']:.3f} | {percent(copy[trained])} | "
              f"{percent(copy[longest])} |")


if __name__ == "__main__":
    main()
