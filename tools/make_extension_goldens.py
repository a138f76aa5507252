#!/usr/bin/env python3
# Writes tests/goldens/extensions.json: attention scores under schemes and modifiers of papers since 2021.
"""
    tools/make_extension_goldens.py [--out tests/goldens]

Needs numpy alone. One head of 8 channels, 40 queries and keys, in doubles, the way public code does it: whole matrices of
scores, one for each rule, and np.where to choose between them. Keys and queries are turned, each to its place; biases are
made from matrices of positions; gates are summed with flip and cumsum. The reference forward of the tests goes another
way, from distances, and the engine a third, run by run.

Before anything is written, numbers that are known from elsewhere are worked out and compared: published examples, and
what two people got from the papers' public listings independently.

Tables are not stored: both sides make the same numbers of a seed and a name (uniform_numbers in tests/reference).
"""
import argparse
import json
import math
from pathlib import Path

import numpy as np

SEED, TOKENS, DIM, HEADS = 11, 40, 8, 4
MASK = (1 << 64) - 1
ROWS = [0, 9, 25, 39]  # those that are stored


def draws(seed, count):
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + np.uint64(0x9E3779B97F4A7C15) * np.arange(1, count + 1, dtype=np.uint64)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(11)).astype(np.float64) * 2.0**-53


def numbers(name, shape, center=0.0, spread=1.0):
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = (value ^ byte) * 0x100000001B3 & MASK
    u = draws(SEED ^ value, math.prod(shape))
    return (center + spread * (2.0 * u - 1.0)).astype(np.float32).astype(np.float64).reshape(shape)


TABLES = {  # name: shape, center, spread
    "attn_kerple.weight": [[2, HEADS], 0.7, 0.6],
    "attn_cope.weight": [[6, DIM], 0.0, 0.5],
    "attn_ssmax.weight": [[HEADS], 0.4, 0.3],
    "attn_fire_1.weight": [[7, 1], 0.0, 3.0],
    "attn_fire_1.bias": [[7], 0.0, 1.5],
    "attn_fire_2.weight": [[HEADS, 7], 0.0, 1.0],
    "attn_fire_2.bias": [[HEADS], 0.0, 1.0],
    "attn_fire_scale.weight": [[2], 12.0, 11.0],
}
T = {name: numbers(name, *about) for name, about in TABLES.items()}
I = np.arange(TOKENS)
FAR = I[:, None] - I[None, :]


# ---- turning --------------------------------------------------------------------------------------------------------


def turn(x, places, theta=10000.0, fraction=1.0, halves=True, grow=None):
    """Rows of x turned to their places; grow: what each pair is multiplied by, [rows, pairs]."""
    pairs = x.shape[-1] // 2
    w = theta ** (-np.arange(0, 2 * pairs, 2) / (2 * pairs))
    w[int(fraction * pairs):] = 0
    angle = np.asarray(places, dtype=np.float64)[:, None] * w
    z = x[:, :pairs] + 1j * x[:, pairs:] if halves else x[:, 0::2] + 1j * x[:, 1::2]
    z = z * np.exp(1j * angle) * (1 if grow is None else grow)
    return np.concatenate([z.real, z.imag], -1) if halves else np.stack([z.real, z.imag], -1).reshape(x.shape)


def scaled(q, k):
    return q @ k.T / math.sqrt(DIM)


def rope(q, k, q_places, k_places, **options):
    return scaled(turn(q, q_places, **options), turn(k, k_places, **options))


def hide(scores, seen):
    return np.where(seen & (FAR >= 0), scores, -np.inf)


def alibi(head, distance):
    return -(2.0 ** (-8 * (head + 1) / HEADS)) * distance


# ---- schemes: spec, head, q, k -> scores ------------------------------------------------------------------------------


def xpos(q, k, theta=10000.0, gamma=0.4, base=512, halves=False):
    zeta = (np.arange(0, DIM, 2) / DIM + gamma) / (1 + gamma)
    grow = zeta ** (I[:, None] / base)
    return scaled(turn(q, I, theta, halves=halves, grow=grow), turn(k, I, theta, halves=halves, grow=1 / grow))


def kerple(head, power):
    r1, r2 = T["attn_kerple.weight"][:, head]
    n = np.maximum(FAR, 0).astype(np.float64)
    return -r1 * n**r2 if power else -r1 * np.log(1 + r2 * n)


def sandwich(head, dim=128, base=10000.0, first=0):
    m = np.arange(first, first + dim // 2)
    return ((np.cos(FAR[..., None] * base ** (-2 * m / dim))).sum(-1) - dim / 2) / (8 * (head + 1) / HEADS)


def fire(head, eps=1e-6):
    c, threshold = T["attn_fire_scale.weight"]
    n = np.maximum(FAR, 0)
    x = np.log(np.abs(c * n) + 1) / (np.log(np.abs(c * np.maximum(I[:, None], threshold)) + 1) + eps)
    hidden = np.maximum(0, x[..., None] * T["attn_fire_1.weight"][:, 0] + T["attn_fire_1.bias"])
    return hidden @ T["attn_fire_2.weight"][head] + T["attn_fire_2.bias"][head]


def cope(q, scores, seen=None, table=None, places=None):
    """The listing of the paper: sigmoid, sums from the right, two gathers; `seen` is the mask, causal by itself."""
    table = T["attn_cope.weight"] if table is None else table
    last = (places or len(table)) - 1
    gates = np.where(np.isfinite(scores), 1 / (1 + np.exp(-np.where(np.isfinite(scores), scores, 0))), 0)
    pos = np.minimum(np.flip(np.cumsum(np.flip(gates, -1), -1), -1), last)
    low, high = np.floor(pos).astype(int), np.ceil(pos).astype(int)
    met = q @ table.T
    part = pos - low
    return scores + np.take_along_axis(met, high, -1) * part + np.take_along_axis(met, low, -1) * (1 - part)


def drawn(range_, count, seed):
    u, taken = draws(seed, range_), []
    for t in range(range_):
        if (range_ - t) * u[t] < count - len(taken):
            taken.append(t)
    return np.array(taken)


def log_n(q, length):
    return q * np.maximum(1, np.log(I + 1) / np.log(length))[:, None]


def steps(q, beta=0.1, every=8192, first=1):
    return q * (1 + beta * np.log(1 + (I + first) // every))[:, None]


def two(near, far, window):
    return hide(np.where(FAR < window, near, far), FAR >= 0)


def rerope(q, k, window):
    return two(rope(q, k, I, I), rope(q, k, np.full(TOKENS, window), 0 * I), window)


def leaky(q, k, window, factor):
    return two(rope(q, k, I, I), rope(q, k, (I + window * (factor - 1)) / factor, I / factor), window)


def self_extend(q, k, window, group):
    return two(rope(q, k, I, I), rope(q, k, I // group + window - window // group, I // group), window)


def dca(q, k, chunk, limit, top=None):
    top = limit - 1 if top is None else top
    intra, succ = rope(q, k, I % chunk, I % chunk), rope(q, k, np.minimum(I % chunk + chunk, top), I % chunk)
    inter = rope(q, k, np.full(TOKENS, top), I % chunk)
    apart = I[:, None] // chunk - I[None, :] // chunk
    return hide(np.where(apart == 0, intra, np.where(apart == 1, succ, inter)), FAR >= 0)


def sinks_seen(first, window):
    return (FAR < window) | (I[None, :] < first)


def sinks_places(first, window):
    """The distance of each key, where it is seen."""
    return np.where(FAR < window, FAR, np.minimum(I, first + window - 1)[:, None] - I[None, :])


def by_places(q, k, places, theta=10000.0):
    """Scores of rope at given distances, each query and key by itself."""
    out = np.zeros(places.shape)
    for i in range(TOKENS):
        for j in range(i + 1):
            out[i, j] = rope(q[i:i + 1], k[j:j + 1], [places[i, j]], [0.0], theta=theta)[0, 0]
    return out


def entries():
    q, k = numbers("q", [TOKENS, DIM], spread=2.0), numbers("k", [TOKENS, DIM], spread=2.0)
    plain, causal = scaled(q, k), FAR >= 0
    head = 2
    sl = sinks_seen(3, 9)
    lam = np.where(FAR < 16, FAR, 16)
    lam_seen = (FAR < 16) | (I[None, :] < 5)
    mapped = drawn(300, 40, 3)
    s = T["attn_ssmax.weight"][head]
    return [
        ("rope:fraction=0.75", rope(q, k, I, I, fraction=0.75)),
        ("rope:theta=100,pairing=interleaved,fraction=0.5",
         rope(q, k, I, I, theta=100.0, fraction=0.5, halves=False)),
        ("xpos", xpos(q, k)),
        ("xpos:theta=50,pairing=half,gamma=0.8,base=16", xpos(q, k, 50.0, 0.8, 16, True)),
        ("kerple", plain + kerple(head, False)),
        ("kerple:kernel=power", plain + kerple(head, True)),
        ("sandwich", plain + sandwich(head)),
        ("sandwich:dim=16,base=100,first=1", plain + sandwich(head, 16, 100.0, 1)),
        ("fire", plain + fire(head)),
        ("cope", cope(q, hide(plain, causal))),
        ("cope:positions=3", cope(q, hide(plain, causal), places=3)),
        ("rope;with=logn:length=20", rope(log_n(q, 20), k, I, I)),
        ("cope;with=logn:length=5", cope(log_n(q, 5), hide(scaled(log_n(q, 5), k), causal))),
        ("none;with=ssmax", scaled(q * (s * np.log(I + 1))[:, None], k)),
        ("none;with=steps:every=8", scaled(steps(q, every=8), k)),
        ("rope;with=random:range=300,seed=3,length=40", rope(q, k, mapped, mapped)),
        ("alibi;with=random:range=300,seed=3,length=40",
         plain + alibi(head, mapped[:, None] - mapped[None, :])),
        ("rope;with=sinks:first=3,window=9", hide(by_places(q, k, sinks_places(3, 9)), sl)),
        ("alibi;with=sinks:first=3,window=9", hide(plain + alibi(head, sinks_places(3, 9)), sl)),
        ("cope;with=sinks:first=3,window=9", cope(q, hide(plain, sl))),
        ("rope;with=lambda:first=5,window=16", hide(by_places(q, k, lam), lam_seen)),
        ("alibi;with=lambda:first=5,window=16", hide(plain + alibi(head, lam), lam_seen)),
        ("rope;with=rerope:window=9", rerope(q, k, 9)),
        ("rope;with=leaky_rerope:window=13,factor=2.5", leaky(q, k, 13, 2.5)),
        ("rope;with=self_extend:window=8", self_extend(q, k, 8, 4)),
        ("rope;with=self_extend:window=7,group=3", self_extend(q, k, 7, 3)),
        ("rope;with=dca:chunk=15,limit=20", dca(q, k, 15, 20)),
        ("rope;with=dca:chunk=9,limit=12,top=limit", dca(q, k, 9, 12, 12)),
        ("rope;with=rerope:window=9;with=logn:length=6", rerope(log_n(q, 6), k, 9)),
    ]


# ---- what is known from elsewhere ---------------------------------------------------------------------------------------


def check(what, found, expected, bound=1e-8):
    worst = float(np.abs(np.asarray(found, dtype=np.float64) - np.asarray(expected, dtype=np.float64)).max())
    print(f"{what:66} differs by {worst:.1e}")
    if not worst <= bound:
        raise SystemExit(f"{what}: {np.asarray(found)} where {np.asarray(expected)} was expected")


def check_known():
    x = np.arange(1.0, 9.0)[None, :]
    check("p-RoPE, interleaved", turn(x, [3], fraction=0.75, halves=False)[0],
          [-1.272232513, -1.838864985, 1.683928641, 4.707906576, 4.817777168, 6.147277704, 7, 8], 1e-9)
    check("p-RoPE, halves", turn(x, [3], fraction=0.75)[0],
          [-1.695592537, .137551738, 2.788681600, 4, -4.808842475, 6.323059348, 7.086836737, 8], 1e-9)
    zeta = (np.arange(0, 8, 2) / 8 + 0.4) / 1.4
    check("xPos, zeta", zeta, [.285714286, .464285714, .642857143, .821428571], 1e-9)
    grow = zeta ** (3 / 512)
    check("xPos, query", turn(x, [3], halves=False, grow=grow)[0],
          [-1.262927998, -1.825416385, 1.676375302, 4.686789048, 4.80532073, 6.131383821, 6.967932671, 8.011724336])
    check("xPos, key", turn(x, [3], halves=False, grow=1 / grow)[0],
          [-1.281605577, -1.852412666, 1.691516013, 4.729119256, 4.830265895, 6.163212786, 6.984013669, 8.030214257])
    for d, n, expected in [(8, 1, 7.062397935), (8, 512, 1.924011077), (128, 4096, 5.358784412)]:
        z = (np.arange(0, d, 2) / d + 0.4) / 1.4
        w = 10000.0 ** (-np.arange(0, d, 2) / d)
        check(f"xPos, ones, D={d}, n={n}", (2 * z ** (n / 512) * np.cos(n * w)).sum(), expected)
    check("KERPLE, log", [-1.5 * math.log(1 + .25 * n) for n in (1, 8, 100, 1000)],
          [-.334715327, -1.647918433, -4.887144807, -8.288179409])
    check("KERPLE, power", [-.1 * n**.5 for n in (1, 8, 100, 1000)], [-.1, -.282842712, -1, -3.162277660])
    for first, expected in [(0, [62.093683806, 42.820022898, 30.543454701, 10.177728132]),
                            (1, [62.553381495, 44.659093928, 30.681085830, 10.610353221])]:
        m = np.arange(first, first + 64)
        check(f"Sandwich, from {first}", [np.cos(n * 10000.0 ** (-2 * m / 128)).sum() for n in (1, 10, 100, 1000)],
              expected)
    for i, n, x_known, known in [(100, 10, .175254753, .275764259), (1023, 10, .149461240, .198383719),
                                 (511, 511, .999514916, 2.249029833), (2047, 1000, .866458276, 1.982916553)]:
        x1 = math.log(.1 * n + 1) / (math.log(.1 * max(i, 512) + 1) + 1e-6)
        check(f"FIRE at {i}, {n} back", [x1, 2 * max(0, x1) - max(0, .5 - x1) + .25], [x_known, known])
    e = np.array([(0, 0), (1, 0), (0, 1), (1, 1), (2, 0)], dtype=np.float64)
    before = np.array([[0.0, 1, -1, 2]])
    after = cope(np.array([[1.0, -1.0]]), before, table=e)
    check("CoPE, biases", after - before, [[-.619202922, -.761594156, .700523001, .880797078]])
    weights = np.exp(after - after.max()) / np.exp(after - after.max()).sum()
    check("CoPE, weights", weights, [[.026420275, .062286237, .036374124, .874919363]])
    check("log-n", [math.log(p + 1) / math.log(2048) for p in (2048, 4095, 8191)], [1.000064024, 12 / 11, 13 / 11])
    for n, expected in [(10, .940101330), (100, .995062744), (1000, .999645667)]:
        f = .43 * math.log(n)
        check(f"SSMax, {n} keys", 1 / (1 + (n - 1) * math.exp(-5 * f)), expected)
    check("Llama 4's steps", [1 + .1 * math.log(1 + (p + 1) // 8192) for p in (8190, 8191, 131071)],
          [1, 1.069314718, 1.283321334])
    check("random, seed 0", drawn(2048, 8, 0), [254, 366, 410, 821, 1264, 1352, 1663, 1720])
    check("random, seed 1", drawn(2048, 8, 1), [98, 160, 389, 565, 725, 1643, 1721, 1915])


def main():
    parser = argparse.ArgumentParser(description="Writes the goldens of newer position schemes and modifiers.")
    parser.add_argument("--out", default=Path(__file__).resolve().parent.parent / "tests" / "goldens", type=Path)
    options = parser.parse_args()
    check_known()
    head = {"script": "tools/make_extension_goldens.py", "numpy": np.__version__, "seed": SEED, "tokens": TOKENS,
            "head_dim": DIM, "heads": HEADS, "head": 2, "spread": 2.0, "rows": ROWS, "tables": TABLES}
    lines = [json.dumps(head)[1:-1]]
    stored = []
    for spec, scores in entries():
        rows = [[None if np.isinf(v) else float(f"{v:.9g}") for v in scores[i, : i + 1]] for i in ROWS]
        stored.append(json.dumps({"spec": spec, "scores": rows}))
    lines.append('"entries": [' + ",\n".join(stored) + "]")
    path = options.out / "extensions.json"
    path.write_text("{" + ",\n".join(lines) + "}\n")
    print(f"{path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
