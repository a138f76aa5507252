#!/usr/bin/env python3
"""How often the intervals of `ordinal compare` hold a mean that is known, on real texts: from a --per-token file.

    tools/coverage.py FILE.npy [--reference SPEC] [--windows 10]

The known mean is that of all windows of a text. Two ways to draw some of them: any windows, with replacement, which
asks whether Student's t suits means of so few windows; and windows in a row, whose interval is narrower by
sqrt(1 - drawn / all), which also asks whether one part of a text speaks for all of it. The last column is the
correlation of neighbouring windows. The interval is computed here a second time, for windows of one size.
"""

import argparse

import numpy as np

PROTOCOLS = ("whole", "sliding", "recent")
# 97.5 % quantiles of Student's t for 1 to 30 degrees of freedom (any table).
T = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
     2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042]


def window_means(tokens, values):
    """Means of the full windows of one text."""
    starts = np.flatnonzero(np.diff(tokens["place"].astype(int), prepend=10**9) < 0)
    parts = np.split(values, starts[1:])
    most = max(len(part) for part in parts[1:] or parts)
    return np.array([part.mean() for part in parts if len(part) == most])


def covers(means, truth, shrink=1.0):
    """Whether each row of means has an interval that holds the truth."""
    count = means.shape[1]
    half = T[min(count - 2, 29)] * means.std(axis=1, ddof=1) / np.sqrt(count) * shrink
    return np.abs(means.mean(axis=1) - truth) <= half


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--reference", help="a scheme of the file [default: the first]")
    parser.add_argument("--windows", type=int, default=10, help="at most so many are drawn, half of a text's at most")
    parser.add_argument("--draws", type=int, default=4000)
    arguments = parser.parse_args()
    records = np.load(arguments.file)
    facts = ("text", "target", "place", "id", "length", "protocol")
    schemes = [name for name in records.dtype.names if name not in facts]
    reference = arguments.reference or schemes[0]
    random = np.random.default_rng(1)
    print("| length | windows | scheme | texts | any windows | in a row | neighbours |\n|---|---|---|---|---|---|---|")
    for length, protocol in sorted({(int(r["length"]), int(r["protocol"])) for r in records[["length", "protocol"]]}):
        in_pass = records[(records["length"] == length) & (records["protocol"] == protocol)]
        for scheme in schemes:
            values = in_pass[scheme].astype(float) - in_pass[reference].astype(float)
            if scheme == reference or np.isnan(values).any():
                continue
            any_windows, in_a_row, alike = [], [], []
            for text in np.unique(in_pass["text"]):
                means = window_means(in_pass[in_pass["text"] == text], values[in_pass["text"] == text])
                drawn = min(arguments.windows, len(means) // 2)
                if drawn < 3:
                    continue
                picks = random.integers(len(means), size=(arguments.draws, drawn))
                any_windows.append(covers(means[picks], means.mean()).mean())
                rows = np.lib.stride_tricks.sliding_window_view(means, drawn)
                in_a_row.append(covers(rows, means.mean(), np.sqrt(1 - drawn / len(means))).mean())
                alike.append(np.corrcoef(means[:-1], means[1:])[0, 1])
            if any_windows:
                print(f"| {length} | {PROTOCOLS[protocol]} | {scheme} | {len(any_windows)} | "
                      f"{100 * np.mean(any_windows):.1f} % | {100 * np.mean(in_a_row):.1f} % | {np.mean(alike):+.2f} |")


if __name__ == "__main__":
    main()
