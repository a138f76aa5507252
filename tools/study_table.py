#!/usr/bin/env python3
# The study's tables and chart: one small model per position scheme, inside its trained length and beyond.
"""
    tools/study_table.py build/study [CHART.svg] > build/study/study.md

Reads WORK/*/compare.json, which `ordinal compare` wrote (tools/study.sh).
"""
import json
import math
import sys
from pathlib import Path

ORDER = ["sinusoidal", "learned", "rope", "alibi", "t5_bias", "shaw", "none"]


COLOURS = ["#c2410c", "#1d4ed8", "#15803d", "#9333ea", "#a16207", "#be185d", "#64748b"]
STYLE = """text{font:13px system-ui,sans-serif;fill:#1f2933}.grid{stroke:#d5d9de}.mark{stroke:#66707c;stroke-dasharray:5 4}
@media(prefers-color-scheme:dark){text{fill:#e6e9ed}.grid{stroke:#3a424c}.mark{stroke:#98a2ad}}"""


def chart(found, trained):
    """Perplexity by window length, both axes logarithmic, a panel for each protocol."""
    width, height, left, top, gap = 380, 300, 60, 46, 150
    rows = [(n, r) for n, result in found.items() for r in result["rows"] if r["nll"] is not None]
    lengths = sorted({r["length"] for _, r in rows})
    low, high = min(r["ppl"] for _, r in rows) * 0.95, max(r["ppl"] for _, r in rows) * 1.05
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * (width + gap)} {height + 110}" role="img">',
           "<title>Perplexity of seven models by window length</title>", f"<style>{STYLE}</style>"]
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
        ends = []
        for colour, (name, result) in zip(COLOURS, found.items()):
            points = [(x(r["length"]), y(r["ppl"])) for r in result["rows"] if r["protocol"] == protocol and r["nll"] is not None]
            if not points:
                continue
            path = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
            out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
            out += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3.5" fill="{colour}"/>' for a, b in points]
            ends.append((points[-1][1], points[-1][0], name, colour))
        at = -math.inf
        for b, a, name, colour in sorted(ends):  # labels keep apart
            at = max(b, at + 15)
            out.append(f'<text x="{a + 9:.1f}" y="{at + 4:.1f}" style="fill:{colour}">{name}</text>')
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
