#!/usr/bin/env python3
# Writes tests/goldens/positions.json and position_models.json: what every position scheme should compute.
"""
    tools/make_position_goldens.py [--out tests/goldens]

Needs torch, transformers, rotary-embedding-torch and mpmath (`pip install rotary-embedding-torch einops mpmath`).

Every number is worked out twice: from the published formula, in mpmath or numpy doubles, and by somebody else's code.
Where the two differ by more than that code's own rounding, the script stops. What is stored is the formula's number;
`second` names the other code and the largest difference that was seen. Tables are not stored: both sides make the same
numbers of a seed and a name (see make_goldens.py).

position_models.json holds whole models that transformers runs under schemes which make_goldens.py does not cover, on
texts longer than the length the model says it was trained at.
"""
import argparse
import json
import math
from pathlib import Path

import mpmath as mp
import numpy as np
import torch
import transformers as hf
import rotary_embedding_torch as ret
from importlib.metadata import version
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.bloom import modeling_bloom
from transformers.models.ctrl.modeling_ctrl import positional_encoding as ctrl_encoding
from transformers.models.gpt_neox import modeling_gpt_neox
from transformers.models.gptj import modeling_gptj
from transformers.models.m2m_100.modeling_m2m_100 import M2M100SinusoidalPositionalEmbedding
from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor
from transformers.models.roformer.modeling_roformer import RoFormerSinusoidalPositionalEmbedding
from transformers.models.seamless_m4t_v2.modeling_seamless_m4t_v2 import SeamlessM4Tv2ConformerSelfAttention
from transformers.models.t5.modeling_t5 import T5Attention
from transformers.models.xlnet.modeling_xlnet import XLNetModel, XLNetRelativeAttention

from make_goldens import Draft, build, draws, hash_of, llama, logits_of, numbers, rounded, stacked

mp.mp.dps = 40
SEED = 7


def check(what, ours, theirs, bound):
    """The largest difference of two answers; stops the script when it is above what the other code's rounding allows."""
    ours, theirs = np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64)
    if ours.shape != theirs.shape:
        raise SystemExit(f"{what}: shapes {ours.shape} and {theirs.shape}")
    worst = float(np.abs(ours - theirs).max())
    print(f"{what:58} differs by {worst:.1e}, allowed {bound:.0e}")
    if not worst <= bound:
        raise SystemExit(f"{what}: formula {ours.ravel()[:8]}, other code {theirs.ravel()[:8]}")
    return float(f"{worst:.2g}")


def digits(values):
    return [float(f"{float(v):.17g}") for v in values]


def second(code, difference):
    return {"second": code, "differs_by": difference}


# ---- sinusoids ------------------------------------------------------------------------------------------------------


def sinusoid(position, d, layout="interleaved", base=10000, t2t=False, scale=1, first=0):
    exponents = [mp.mpf(i) / (d // 2 - 1) if t2t else mp.mpf(2 * i) / d for i in range(d // 2)]
    angles = [(position + first) * mp.power(base, -e) for e in exponents]
    sines, cosines = [scale * mp.sin(a) for a in angles], [scale * mp.cos(a) for a in angles]
    return sines + cosines if layout == "concat" else [v for pair in zip(sines, cosines) for v in pair]


def sinusoidal_goldens():
    def roformer(d, positions):
        return RoFormerSinusoidalPositionalEmbedding(max(positions) + 1, d).create_weight().numpy()[positions]

    def ctrl(d, positions):
        return ctrl_encoding(max(positions) + 1, d, torch.float64).numpy()[positions]

    def m2m(d, positions, first=0):
        table = M2M100SinusoidalPositionalEmbedding.get_embedding(max(positions) + first + 1, d).numpy()
        return table[[p + first for p in positions]]

    def interleaved(rows):
        return np.stack([np.stack([r[: len(r) // 2], r[len(r) // 2 :]], axis=1).ravel() for r in rows])

    near, far = [0, 1, 3, 10, 79], [0, 1, 500, 4097]
    cases = [
        ("sinusoidal:layout=concat", 6, near, {"layout": "concat"}, "RoFormer", roformer(6, near), 1e-6),
        ("sinusoidal:layout=concat", 24, far, {"layout": "concat"}, "CTRL", ctrl(24, far), 1e-9),
        ("sinusoidal", 8, near, {}, "CTRL, its halves interleaved", interleaved(ctrl(8, near)), 1e-12),
        ("sinusoidal:scale=2.5,first=1", 10, near, {"scale": mp.mpf(2.5), "first": 1},
         "CTRL, its halves interleaved", 2.5 * interleaved(ctrl(10, [p + 1 for p in near])), 1e-12),
        ("sinusoidal:layout=concat,spacing=t2t,first=2", 16, near, {"layout": "concat", "t2t": True, "first": 2},
         "M2M100", m2m(16, near, 2), 2e-5),
        ("sinusoidal:spacing=t2t", 64, far, {"t2t": True}, "M2M100, its halves interleaved",
         interleaved(m2m(64, far)), 6e-4),
    ]
    entries = []
    for spec, d, positions, options, code, theirs, bound in cases:
        rows = [digits(sinusoid(p, d, **options)) for p in positions]
        difference = check(f"{spec}, d={d}", rows, theirs, bound)
        entries.append({"spec": spec, "d_model": d, "positions": positions, "rows": rows} | second(code, difference))
    return entries


# ---- rope -----------------------------------------------------------------------------------------------------------


def plain(theta, r):
    return [mp.power(theta, -mp.mpf(2 * i) / r) for i in range(r // 2)]


def stretched(theta, r, s):
    return plain(mp.mpf(theta) * mp.power(s, mp.mpf(r) / (r - 2)), r)


def clamp(x, low, high):
    return min(max(x, low), high)


def by_parts(theta, r, s, length, fast=32, slow=1, ramp="code"):
    def c(b):
        return r * mp.log(length / (2 * mp.pi * b)) / (2 * mp.log(theta))

    low, high = clamp(mp.floor(c(fast)), 0, r - 1), clamp(mp.ceil(c(slow)), 0, r - 1)
    if low == high:
        high += mp.mpf("0.001")
    out = []
    for i, w in enumerate(plain(theta, r)):
        g = 1 - clamp((i - low) / (high - low), 0, 1)
        if ramp == "paper":
            g = clamp((length * w / (2 * mp.pi) - slow) / (fast - slow), 0, 1)
        out.append((1 - g) * w / s + g * w)
    return out


def llama3(theta, r, s, length, low=1, high=4):
    out = []
    for w in plain(theta, r):
        wave = 2 * mp.pi / w
        m = (length / wave - low) / (high - low)
        out.append(w if wave < length / mp.mpf(high) else w / s if wave > length / mp.mpf(low) else
                   (1 - m) * w / s + m * w)
    return out


def yarn_m(s, k=1):
    return 1 + mp.mpf("0.1") * k * mp.log(s) if s > 1 else mp.mpf(1)


def transformers_angles(kind, theta, head_dim, length, seq_len=None, original=None, partial=1.0, **extra):
    parameters = {"rope_type": kind, "rope_theta": float(theta), "partial_rotary_factor": partial} | extra
    if original is not None:
        parameters["original_max_position_embeddings"] = original
    config = hf.LlamaConfig(hidden_size=head_dim, num_attention_heads=1, head_dim=head_dim,
                            max_position_embeddings=length, rope_parameters=parameters)
    frequencies, magnitude = ROPE_INIT_FUNCTIONS[kind](config, "cpu", seq_len=seq_len)
    return frequencies.numpy(), float(magnitude)


def rope_frequency_goldens():
    entries = []

    def one(spec, frequencies, code, theirs, magnitude=1, head_dim=64, trained=1024, length=1024, **tables):
        theirs, their_magnitude = theirs
        ratio = np.asarray(theirs, dtype=np.float64) / np.asarray(digits(frequencies))
        difference = check(spec, np.ones(len(ratio)), ratio, 2e-6)
        check(f"  its magnitude {float(magnitude):.9f}", [float(magnitude)], [their_magnitude], 1e-9)
        entries.append({"spec": spec, "head_dim": head_dim, "trained_length": trained, "length": length,
                        "frequencies": digits(frequencies), "magnitude": float(magnitude)} | tables |
                       second(code, difference))

    def hf_angles(kind, length=1024, **extra):
        return transformers_angles(kind, extra.pop("theta", 10000), extra.pop("head_dim", 64), length, **extra)

    def lucid(r=64, theta=10000, **extra):
        m = ret.RotaryEmbedding(r, theta=theta, **extra)
        return m.freqs.detach().numpy() / m.interpolate_factor, 1.0

    code = "transformers ROPE_INIT_FUNCTIONS"
    one("rope", plain(10000, 64), "rotary-embedding-torch", lucid())
    one("rope:theta=500000,rotary_dim=24", plain(500000, 24), "rotary-embedding-torch", lucid(24, 500000))
    one("rope:scaling=linear,factor=4", [w / 4 for w in plain(10000, 64)], code, hf_angles("linear", factor=4.0))
    one("rope:scaling=linear,factor=3", [w / 3 for w in plain(10000, 64)], "rotary-embedding-torch",
        lucid(interpolate_factor=3.0))
    one("rope:scaling=ntk,factor=4", stretched(10000, 64, 4), "rotary-embedding-torch", lucid(theta_rescale_factor=4.0))
    one("rope:theta=50000,rotary_dim=20,scaling=ntk,factor=2.5", stretched(50000, 20, mp.mpf(2.5)),
        "rotary-embedding-torch", lucid(20, 50000, theta_rescale_factor=2.5))

    one("rope:scaling=ntk_by_parts,factor=4", by_parts(10000, 64, 4, 1024), code,
        hf_angles("yarn", factor=4.0, original=1024, attention_factor=1.0))
    one("rope:scaling=yarn,factor=4", by_parts(10000, 64, 4, 1024), code, hf_angles("yarn", factor=4.0, original=1024),
        magnitude=yarn_m(4))
    one("rope:rotary_dim=32,scaling=yarn,factor=16,original_length=4096,beta_fast=24,beta_slow=2",
        by_parts(10000, 32, 16, 4096, 24, 2), code,
        hf_angles("yarn", head_dim=64, partial=0.5, factor=16.0, original=4096, beta_fast=24, beta_slow=2),
        magnitude=yarn_m(16))
    one("rope:scaling=yarn,factor=40,original_length=4096,mscale=1,mscale_all_dim=0.707",
        by_parts(10000, 64, 40, 4096), code,
        hf_angles("yarn", factor=40.0, original=4096, mscale=1.0, mscale_all_dim=0.707),
        magnitude=yarn_m(40) / yarn_m(40, mp.mpf("0.707")))
    one("rope:scaling=yarn,factor=8,attention_factor=1.5", by_parts(10000, 64, 8, 1024), code,
        hf_angles("yarn", factor=8.0, original=1024, attention_factor=1.5), magnitude=1.5)
    one("rope:theta=1000000,scaling=yarn,factor=4,original_length=256", by_parts(1000000, 64, 4, 256), code,
        hf_angles("yarn", theta=1000000, factor=4.0, original=256), magnitude=yarn_m(4))
    # Nobody ships the paper's own ramp; the second derivation here is its text: r(d) = L / wavelength, gamma(r), eq. 13.
    w, parts = np.array(digits(plain(10000, 64))), by_parts(10000, 64, 4, 1024, ramp="paper")
    gamma = np.clip((1024 / (2 * np.pi / w) - 1) / (32 - 1), 0, 1)
    one("rope:scaling=ntk_by_parts,factor=4,ramp=paper", parts, "the paper's equations 11 to 13 in numpy",
        ((1 - gamma) * w / 4 + gamma * w, 1.0))

    for f, n, theta in [(1, 2048, None), (1, 4096, None), (2, 2048, None), (2, 4096, None), (3, 777, 10000)]:
        inside = n <= 1024
        frequencies = plain(10000, 64) if inside else stretched(10000, 64, mp.mpf(f) * n / 1024 - (f - 1))
        one(f"rope:scaling=dynamic,factor={f},length={n}", frequencies, code,
            hf_angles("dynamic", factor=float(f), seq_len=n))
    one("rope:theta=500000,scaling=llama3,factor=32,original_length=8192", llama3(500000, 64, 32, 8192), code,
        hf_angles("llama3", theta=500000, factor=32.0, original=8192, low_freq_factor=1.0, high_freq_factor=4.0))
    one("rope:scaling=llama3,original_length=512,low_freq_factor=2,high_freq_factor=3",
        llama3(10000, 64, 8, 512, 2, 3), code,
        hf_angles("llama3", factor=8.0, original=512, low_freq_factor=2.0, high_freq_factor=3.0))

    short = numbers(SEED, "rope_factors_short.weight", [16], 1.2, 0.2)
    far = numbers(SEED, "rope_factors_long.weight", [16], 20.0, 18.0)
    m = mp.sqrt(1 + mp.log(32) / mp.log(4096))
    tables = {"tables": {"rope_factors_short.weight": [[16], 1.2, 0.2], "rope_factors_long.weight": [[16], 20.0, 18.0]}}
    for length, factors in [(4096, short), (4097, far)]:
        frequencies = [w / mp.mpf(float(f)) for w, f in zip(plain(10000, 32), factors)]
        one(f"rope:scaling=longrope,original_length=4096,length={length}", frequencies, code,
            hf_angles("longrope", head_dim=32, length=131072, seq_len=length, original=4096, factor=32.0,
                      short_factor=short.tolist(), long_factor=far.tolist()),
            magnitude=m, head_dim=32, trained=131072, length=length, **tables)
    return entries


def turned(x, position, r, theta, interleaved):
    x = [mp.mpf(float(v)) for v in x]
    for i, w in enumerate(plain(theta, r)):
        a, b = (2 * i, 2 * i + 1) if interleaved else (i, i + r // 2)
        c, s = mp.cos(position * w), mp.sin(position * w)
        x[a], x[b] = x[a] * c - x[b] * s, x[a] * s + x[b] * c
    return x


def rope_vector_goldens():
    """Two heads of one row each, so that a head's offset counts."""
    entries = []

    def one(spec, head_dim, r, theta, interleaved, position, code, theirs):
        x = numbers(SEED, f"{spec} {position}", [2, head_dim], 0.0, 2.0)
        y = [digits(turned(head, position, r, theta, interleaved)) for head in x]
        difference = check(f"{spec} at {position}", y, theirs(torch.from_numpy(x).double(), position), 2e-6)
        entries.append({"spec": spec, "head_dim": head_dim, "position": position, "seed": SEED,
                        "x": f"{spec} {position}", "y": y} | second(code, difference))

    def neox(r, theta):
        def apply(x, position):
            frequencies = torch.tensor(digits(plain(theta, r)), dtype=torch.float64)
            angles = torch.cat([position * frequencies] * 2)[None, None]
            q, _ = modeling_gpt_neox.apply_rotary_pos_emb(x[None, :, None], x[None, :, None], angles.cos(), angles.sin())
            return q[0, :, 0].numpy()
        return apply

    def gptj(r):
        def apply(x, position):
            table = modeling_gptj.create_sinusoidal_positions(position + 1, r).double()[position]
            sine, cosine = table[None, None, : r // 2], table[None, None, r // 2 :]
            front = modeling_gptj.apply_rotary_pos_emb(x[None, None, :, :r], sine, cosine)[0, 0]
            return torch.cat([front, x[:, r:]], dim=-1).numpy()
        return apply

    def lucid(r, theta):
        def apply(x, position):
            return ret.RotaryEmbedding(r, theta=theta).double().rotate_queries_or_keys(
                x[:, None], offset=position).detach().numpy()[:, 0]
        return apply

    for position in (1, 3, 77):
        one("rope", 8, 8, 10000, False, position, "transformers GPT-NeoX", neox(8, 10000))
        one("rope:theta=500000,rotary_dim=6", 10, 6, 500000, False, position, "transformers GPT-NeoX", neox(6, 500000))
        one("rope:pairing=interleaved", 8, 8, 10000, True, position, "rotary-embedding-torch", lucid(8, 10000))
        one("rope:pairing=interleaved,rotary_dim=4", 12, 4, 10000, True, position, "transformers GPT-J", gptj(4))
    return entries


# ---- biases ---------------------------------------------------------------------------------------------------------


def alibi_goldens():
    entries = []
    for heads in (1, 2, 3, 5, 6, 7, 8, 12, 14, 16, 20, 25, 32, 40):
        below = 2 ** int(math.log2(heads))
        slopes = [mp.power(2, -mp.mpf(8 * (h + 1)) / below) for h in range(below)]
        slopes += [mp.power(2, -mp.mpf(8 * (2 * h + 1)) / (2 * below)) for h in range(heads - below)]
        bloom = modeling_bloom._get_alibi_slopes(heads, "cpu").numpy()
        mpt = build_mpt_alibi_tensor(heads, 2).numpy()[:, 0, 0] * -1
        check(f"alibi slopes, {heads} heads, MPT", digits(slopes), mpt, 1e-6)
        difference = check(f"alibi slopes, {heads} heads, BLOOM", digits(slopes), bloom, 1e-6)
        entries.append({"heads": heads, "slopes": digits(slopes)} | second("transformers BLOOM and MPT", difference))
    return entries


def bucket(n, buckets, max_distance):
    exact = buckets // 2
    if n < exact:
        return n
    step = mp.log(mp.mpf(n) / exact) / mp.log(mp.mpf(max_distance) / exact) * (buckets - exact)
    return min(buckets - 1, exact + int(mp.floor(step + mp.mpf(10) ** -30)))


def t5_goldens():
    entries = []
    for buckets, max_distance in [(32, 128), (8, 20), (2, 3), (7, 30), (16, 64), (32, 256), (64, 1024)]:
        ours = [bucket(n, buckets, max_distance) for n in range(2 * max_distance)]
        theirs = T5Attention._relative_position_bucket(-torch.arange(len(ours)), False, buckets, max_distance)
        check(f"t5 buckets {buckets}, {max_distance}", ours, theirs.numpy(), 0)
        entries.append({"buckets": buckets, "max_distance": max_distance,
                        "first": [ours.index(b) for b in range(max(ours) + 1) if b in ours],
                        "bucket": sorted(set(ours))} | second("transformers T5", 0))
    return entries


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def shaw_golden():
    """Two heads of 4, clip 3, keys seen from the last of 9 places; scores and values by a loop, then by whole matrices."""
    heads, d, clip, n = 2, 4, 3, 9
    table_k, table_v = (numbers(SEED, f"attn_rel_{x}", [2 * clip + 1, d], 0.0, 1.0).astype(np.float64) for x in "kv")
    q = numbers(SEED, "q", [heads, d], 0.0, 2.0).astype(np.float64)
    weights = softmax(numbers(SEED, "weights", [heads, n], 0.0, 2.0).astype(np.float64))
    scores, values = np.zeros((heads, n)), np.zeros((heads, d))
    for h in range(heads):
        for j in range(n):
            row = max(j - (n - 1), -clip) + clip
            scores[h, j] = sum(q[h, c] * table_k[row, c] for c in range(d)) / math.sqrt(d)
            for c in range(d):
                values[h, c] += weights[h, j] * table_v[row, c]
    # transformers' relative_key attention (keys only): the whole module, with q, k, v as they come.
    config = hf.SeamlessM4Tv2Config(hidden_size=heads * d, speech_encoder_attention_heads=heads,
                                    position_embeddings_type="relative_key", left_max_position_embeddings=clip,
                                    right_max_position_embeddings=clip, speech_encoder_dropout=0.0)
    config._attn_implementation = "eager"
    module = SeamlessM4Tv2ConformerSelfAttention(config).double().eval()
    x = torch.from_numpy(numbers(SEED, "x", [n, heads * d], 0.0, 2.0)).double()
    x[-1] = torch.from_numpy(q.reshape(-1))
    with torch.no_grad():
        for name in ("linear_q", "linear_k", "linear_v"):
            getattr(module, name).weight.copy_(torch.eye(heads * d))
            getattr(module, name).bias.zero_()
        module.distance_embedding.weight.copy_(torch.from_numpy(table_k))
        _, theirs = module(x[None])
    content = (x[-1].reshape(heads, 1, d) * x.reshape(n, heads, d).transpose(0, 1)).sum(-1).numpy() / math.sqrt(d)
    difference = check("shaw scores, after softmax", softmax(content + scores), theirs[0, :, -1].numpy(), 1e-12)
    # Values: the paper's a^V as a tensor over all pairs, contracted at once, as the authors' code does.
    rows = np.clip(np.arange(n)[None] - np.arange(n)[:, None], -clip, clip) + clip
    check("shaw values", values, np.einsum("hj,jd->hd", weights, table_v[rows][-1]), 1e-12)
    return {"heads": heads, "head_dim": d, "clip": clip, "keys": n, "seed": SEED,
            "tables": {"attn_rel_k": [[2 * clip + 1, d], 0.0, 1.0], "attn_rel_v": [[2 * clip + 1, d], 0.0, 1.0]},
            "q": [[heads, d], 0.0, 2.0], "weights": weights.tolist(), "scores": scores.tolist(),
            "values": values.tolist()} | second("transformers SeamlessM4Tv2 (keys); all pairs at once (values)", difference)


def xl_golden(clamp_at=None):
    """Two heads of 4, d_model 6, seen from the last of 8 places; what is added to scale * q·k."""
    heads, d, width, n = 2, 4, 6, 8
    w = numbers(SEED, "attn_xl_r", [heads * d, width], 0.0, 1.0).astype(np.float64)
    u, v = (numbers(SEED, f"attn_xl_{x}", [heads, d], 0.0, 1.0).astype(np.float64) for x in "uv")
    q = numbers(SEED, "q", [heads, d], 0.0, 2.0).astype(np.float64)
    k = numbers(SEED, "k", [n, heads, d], 0.0, 2.0).astype(np.float64)
    scores = np.zeros((heads, n))
    for h in range(heads):
        for j in range(n):
            distance = n - 1 - j if clamp_at is None else min(n - 1 - j, clamp_at)
            r = w @ np.array([float(x) for x in sinusoid(distance, width, "concat")])
            r = r.reshape(heads, d)[h]
            scores[h, j] = (u[h] @ k[j, h] + q[h] @ r + v[h] @ r) / math.sqrt(d)
    config = hf.XLNetConfig(vocab_size=5, d_model=heads * d, n_layer=1, n_head=heads, d_inner=8, attn_type="uni",
                            bi_data=False, clamp_len=-1 if clamp_at is None else clamp_at, dropout=0.0)
    model = XLNetModel(config).double().eval()
    model.d_model = width  # of the sinusoid
    sinusoids = model.relative_positional_encoding(n, n).double()  # distances n .. 0
    attention = XLNetRelativeAttention(config).double().eval()
    with torch.no_grad():
        attention.r_w_bias.copy_(torch.from_numpy(u))
        attention.r_r_bias.copy_(torch.from_numpy(v))
        projected = torch.einsum("ibh,hnd->ibnd", sinusoids, torch.from_numpy(w.reshape(heads, d, width).transpose(2, 0, 1)))
        queries = torch.from_numpy(np.broadcast_to(q, (n, heads, d)).copy())[:, None]
        keys = torch.from_numpy(k)[:, None]
        mask = torch.triu(torch.ones(n, n), 1)[:, :, None, None].double()
        _, theirs = attention.rel_attn_core(queries, keys, keys, projected, attn_mask=mask, output_attentions=True)
    content = np.einsum("hd,jhd->hj", q, k) / math.sqrt(d)
    difference = check(f"xl scores, after softmax, clamp {clamp_at}", softmax(content + scores),
                       theirs[-1, :, 0].numpy().T, 1e-6)
    return {"spec": "xl" if clamp_at is None else f"xl:clamp={clamp_at}", "heads": heads, "head_dim": d, "d_model": width,
            "keys": n, "seed": SEED,
            "tables": {"attn_xl_r": [[heads * d, width], 0.0, 1.0], "attn_xl_u": [[heads, d], 0.0, 1.0],
                       "attn_xl_v": [[heads, d], 0.0, 1.0]},
            "q": [[heads, d], 0.0, 2.0], "k": [[n, heads, d], 0.0, 2.0],
            "scores": scores.tolist()} | second("transformers XLNet", difference)


# ---- tables past their end ------------------------------------------------------------------------------------------


def table_goldens():
    entries = []
    rows, d = 5, 3
    table = numbers(SEED, "position_embd.weight", [rows, d], 0.0, 1.0).astype(np.float64)

    def one(spec, values, code, theirs, bound, length=rows):
        difference = check(spec, values, theirs, bound)
        entries.append({"spec": spec, "length": length, "seed": SEED, "table": [[rows, d], 0.0, 1.0],
                        "rows": [digits(row) for row in values]} | second(code, difference))

    for spec, alpha in [("hierarchical", 0.4), ("hierarchical:alpha=0.3", 0.3), ("learned:beyond=hierarchical", 0.4)]:
        u = (table - alpha * table[:1]) / (1 - alpha)
        ours = [alpha * u[p // rows] + (1 - alpha) * u[p % rows] for p in range(rows * rows)]
        # bert4keras: gather both digits at once from the embedding made free of its first row.
        e = torch.from_numpy(table)
        e = (e - alpha * e[:1]) / (1 - alpha)
        ids = torch.arange(rows * rows)
        theirs = alpha * e[ids // rows] + (1 - alpha) * e[ids % rows]
        one(spec, ours, "bert4keras' PositionEmbedding, line by line in torch", theirs.numpy(), 1e-12)
    for length in (13, 20):
        ours = []
        for p in range(length):
            place = p * rows / length
            low = min(int(place), rows - 1)
            ours.append(table[low] + (place - low) * (table[min(low + 1, rows - 1)] - table[low]))
        theirs = np.stack([np.interp(np.arange(length) * rows / length, np.arange(rows), column) for column in table.T], 1)
        one(f"learned:beyond=resample,length={length}", ours, "numpy.interp", theirs, 1e-12, length)
    return entries


# ---- whole models ---------------------------------------------------------------------------------------------------


def mpt(draft):
    c = draft.config
    config = hf.MptConfig(d_model=c["d_model"], n_heads=c["n_heads"], n_layers=c["n_layers"],
                          max_seq_len=c["max_seq_len"], vocab_size=c["vocab_size"], no_bias=True,
                          layer_norm_epsilon=c["norm_epsilon"], resid_pdrop=0.0, emb_pdrop=0.0)
    names = {"transformer.wte.weight": "token_embd.weight", "transformer.norm_f.weight": "output_norm.weight"}
    for i in range(c["n_layers"]):
        to, of = f"transformer.blocks.{i}.", f"blk.{i}."
        names |= {to + "norm_1.weight": of + "attn_norm.weight", to + "norm_2.weight": of + "ffn_norm.weight",
                  to + "attn.Wqkv.weight": stacked(*[f"{of}attn_{x}.weight" for x in "qkv"]),
                  to + "attn.out_proj.weight": of + "attn_output.weight",
                  to + "ffn.up_proj.weight": of + "ffn_up.weight", to + "ffn.down_proj.weight": of + "ffn_down.weight"}
    return hf.MptForCausalLM, config, names


def phi3(draft, **extra):
    c = draft.config
    config = hf.Phi3Config(vocab_size=c["vocab_size"], max_position_embeddings=c["max_seq_len"],
                           original_max_position_embeddings=extra["rope_parameters"]["original_max_position_embeddings"],
                           hidden_size=c["d_model"], intermediate_size=c["d_ff"], num_hidden_layers=c["n_layers"],
                           num_attention_heads=c["n_heads"], num_key_value_heads=c["n_kv_heads"],
                           rms_norm_eps=c["norm_epsilon"], tie_word_embeddings=c["tied_output"], pad_token_id=None,
                           bos_token_id=None, eos_token_id=None, resid_pdrop=0.0, embd_pdrop=0.0, **extra)
    names = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight",
             "lm_head.weight": "output.weight"}
    for i in range(c["n_layers"]):
        to, of = f"model.layers.{i}.", f"blk.{i}."
        names |= {to + "input_layernorm.weight": of + "attn_norm.weight",
                  to + "post_attention_layernorm.weight": of + "ffn_norm.weight",
                  to + "self_attn.qkv_proj.weight": stacked(*[f"{of}attn_{x}.weight" for x in "qkv"]),
                  to + "self_attn.o_proj.weight": of + "attn_output.weight",
                  to + "mlp.gate_up_proj.weight": stacked(of + "ffn_gate.weight", of + "ffn_up.weight"),
                  to + "mlp.down_proj.weight": of + "ffn_down.weight"}
    return hf.Phi3ForCausalLM, config, names


def model_golden(name, draft, family, tokens, factors=None):
    """Logits of every 7th row of a text of `tokens` tokens, in one uncached pass."""
    weights = draft.weights(SEED)
    model = build(family, weights)
    ids = [int(u * draft.config["vocab_size"]) for u in draws(SEED ^ hash_of("ids"), tokens)]
    logits = logits_of(model, ids)
    rows = sorted(set(range(0, tokens, 7)) | {tokens - 1})
    print(f"{name:40} logits {logits.min():.1f}..{logits.max():.1f}")
    return {"name": name, "made_by": type(model).__name__, "config": draft.config, "position": draft.position,
            "seed": SEED, "tensors": [[n, shape, center, spread] for n, shape, center, spread in draft.tensors],
            "factors": factors or {}, "ids": ids, "rows": rows, "logits": [rounded(logits[row]) for row in rows]}


def model_goldens():
    llama_facts = {"norm": "rms_norm", "norm_epsilon": 1e-5, "activation": "silu", "gated_mlp": True, "norm_bias": False,
                   "attn_bias": False, "attn_output_bias": False, "ffn_bias": False}

    def scaled(name, position, tokens, trained=24, **parameters):
        draft = Draft(position, max_seq_len=trained, vocab_size=50, d_model=48, n_layers=3, n_heads=4, n_kv_heads=2,
                      d_ff=40, **llama_facts)
        extra = {"rope_parameters": {"rope_theta": 10000.0} | parameters}
        return model_golden(name, draft, llama(draft, **extra), tokens)

    def mpt_like(heads, width, tokens):
        draft = Draft("alibi", max_seq_len=tokens, vocab_size=50, d_model=width, n_layers=3, n_heads=heads,
                      d_ff=4 * width, activation="gelu_erf", norm_bias=False, attn_bias=False, attn_output_bias=False,
                      ffn_bias=False)
        return model_golden(f"mpt-alibi-{heads}-heads", draft, mpt(draft), tokens)

    def phi3_like(tokens):
        factors = {"rope_factors_short.weight": [[6], 1.2, 0.2], "rope_factors_long.weight": [[6], 4.0, 2.5]}
        made = {name: numbers(SEED, name, *rest).tolist() for name, rest in factors.items()}
        # dynamic NTK and longrope change with the length of a pass, so the length is part of the spec
        position = f"rope:scaling=longrope,original_length=16,length={tokens}"
        draft = Draft(position, max_seq_len=128, vocab_size=50, d_model=48, n_layers=3, n_heads=4, n_kv_heads=2, d_ff=40,
                      tied_output=False, **llama_facts)
        family = phi3(draft, rope_parameters={
            "rope_type": "longrope", "rope_theta": 10000.0, "original_max_position_embeddings": 16,
            "short_factor": made["rope_factors_short.weight"], "long_factor": made["rope_factors_long.weight"]})
        return model_golden(f"phi3-longrope-{tokens}", draft, family, tokens, factors)

    return [
        mpt_like(6, 36, 60), mpt_like(8, 32, 40), mpt_like(12, 48, 40),
        scaled("llama-linear", "rope:scaling=linear,factor=3", 60, rope_type="linear", factor=3.0),
        scaled("llama-yarn", "rope:scaling=yarn,factor=4,original_length=16", 60, trained=64, rope_type="yarn", factor=4.0,
               original_max_position_embeddings=16),
        scaled("llama-llama3", "rope:scaling=llama3,factor=4,original_length=64", 60, trained=256, rope_type="llama3",
               factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=64),
        scaled("llama-dynamic", "rope:scaling=dynamic,factor=2,length=60", 60, rope_type="dynamic", factor=2.0),
        scaled("llama-dynamic-inside", "rope:scaling=dynamic,factor=2,length=20", 20, rope_type="dynamic", factor=2.0),
        phi3_like(12), phi3_like(60),
    ]


# ---- files ----------------------------------------------------------------------------------------------------------


def write(path, head, sections):
    """One entry a line keeps diffs readable."""
    lines = [json.dumps(head)[1:-1]]
    for name, entries in sections.items():
        if isinstance(entries, list):
            lines.append(f'"{name}": [' + ",\n".join(json.dumps(entry) for entry in entries) + "]")
        else:
            lines.append(f'"{name}": ' + json.dumps(entries))
    path.write_text("{" + ",\n".join(lines) + "}\n")
    print(f"{path}: {path.stat().st_size} bytes")


def main():
    parser = argparse.ArgumentParser(description="Writes the goldens of the position schemes.")
    parser.add_argument("--out", default=Path(__file__).resolve().parent.parent / "tests" / "goldens", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    hf.logging.set_verbosity_error()
    packages = ("transformers", "torch", "numpy", "mpmath", "rotary-embedding-torch")
    head = {"script": "tools/make_position_goldens.py", "versions": {name: version(name) for name in packages}}
    write(options.out / "positions.json", head, {
        "sinusoidal": sinusoidal_goldens(), "rope_frequencies": rope_frequency_goldens(),
        "rope_vectors": rope_vector_goldens(), "alibi": alibi_goldens(), "t5_bias": t5_goldens(),
        "shaw": shaw_golden(), "xl": [xl_golden(), xl_golden(3)], "tables": table_goldens()})
    write(options.out / "position_models.json", head, {"models": model_goldens()})


if __name__ == "__main__":
    main()
