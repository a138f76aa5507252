#!/usr/bin/env python3
# The study's table: one small model per position scheme, inside its trained length and beyond, as Markdown.
"""
    tools/study_table.py build/study > build/study/study.md

Reads WORK/*/compare.json, which `ordinal compare` wrote (tools/study.sh).
"""
import json
import sys
from pathlib import Path

ORDER = ["sinusoidal", "learned", "rope", "alibi", "t5_bias", "shaw", "none"]


def main():
    work = Path(sys.argv[1])
    found = {name: json.loads((work / name / "compare.json").read_text()) for name in ORDER
             if (work / name / "compare.json").exists()}
    trained = next(iter(found.values()))["trained_length"]
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
