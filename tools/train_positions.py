# The position schemes that tools/train.py can train under: one class each, and the list of them.
"""
Adding one: a class with the hooks it needs and the spec string the engine reads, and an entry in SCHEMES. The model
takes the scheme with every call, so one batch can be run under another scheme than the next; JOINT lists those that
`--position joint` draws from.
"""
import math

import torch
import torch.nn.functional as F
from torch import nn


class Position(nn.Module):
    """Where a token stands. The base class is "none": no hook does anything.

    `spec` is what the engine reads, `tensors()` what it needs beside the model's own: {the engine's name: values}.
    """

    spec = "none"

    def __init__(self, shape):
        super().__init__()

    def add_to_embedding(self, x):  # x [batch, T, width]
        return x

    def transform_query_key(self, q, k):  # q, k [batch, heads, T, head_dim]
        return q, k

    def score_bias(self, length):  # added to the scaled scores: [heads, T, T], or None
        return None

    def attention(self, layer, q, k, v, dropout):  # [batch, heads, T, head_dim]
        bias = self.score_bias(q.shape[2])
        if bias is None:
            return F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=dropout)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=(bias + hide_future(q.shape[2]))[None], dropout_p=dropout)

    def tensors(self):
        return {}


def hide_future(length):
    """[T, T]: minus infinity where the key comes after the query."""
    return torch.full((length, length), -math.inf).triu(1)


def distances(length):
    """[T, T]: how far the key stands back from the query; 0 for keys to come, which are hidden anyway."""
    place = torch.arange(length)
    return (place[:, None] - place[None, :]).clamp(min=0)


class Learned(Position):
    spec = "learned"

    def __init__(self, shape):
        super().__init__(shape)
        self.scale = shape.embed_scale
        self.wpe = nn.Parameter(0.02 * torch.randn(shape.ctx, shape.width))

    def add_to_embedding(self, x):
        return x + self.scale * self.wpe[: x.shape[1]]


def angles(ctx, dim, theta=10000.0):
    """[ctx, dim/2]: position times theta^(-2i/dim)."""
    frequency = theta ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)
    return torch.outer(torch.arange(ctx, dtype=torch.float64), frequency)


class Sinusoidal(Position):
    """sin and cos in neighbouring channels (Vaswani et al. 2017, section 3.5)."""

    spec = "sinusoidal"

    def __init__(self, shape):
        super().__init__(shape)
        angle = angles(shape.ctx, shape.width)
        table = torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)
        self.register_buffer("table", table.float(), persistent=False)

    def add_to_embedding(self, x):
        return x + self.table[: x.shape[1]]


class Rope(Position):
    """Channel i of a head turns together with channel i + head_dim/2 (Su et al. 2021, "half" pairing)."""

    spec = "rope:theta=10000,pairing=half"

    def __init__(self, shape):
        super().__init__(shape)
        angle = angles(shape.ctx, shape.width // shape.heads)
        self.register_buffer("cos", angle.cos().float(), persistent=False)
        self.register_buffer("sin", angle.sin().float(), persistent=False)

    def turn(self, x):
        cos, sin = self.cos[: x.shape[2]], self.sin[: x.shape[2]]
        a, b = x.chunk(2, dim=-1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)

    def transform_query_key(self, q, k):
        return self.turn(q), self.turn(k)


class Alibi(Position):
    """A slope of every head times the distance is taken from the score (Press et al. 2022)."""

    spec = "alibi"

    def __init__(self, shape):
        super().__init__(shape)
        if shape.heads & (shape.heads - 1):
            raise SystemExit(f"train_positions.py: alibi is written for 1, 2, 4, 8, ... heads here, not {shape.heads}")
        slopes = 2.0 ** (-8.0 * torch.arange(1, shape.heads + 1) / shape.heads)
        self.register_buffer("bias", -slopes[:, None, None] * distances(shape.ctx), persistent=False)

    def score_bias(self, length):
        return self.bias[:, :length, :length]


class T5Bias(Position):
    """A trained bias for every head and bucket of distances (Raffel et al. 2020); one table for all layers."""

    spec = "t5_bias"
    buckets, max_distance = 32, 128

    def __init__(self, shape):
        super().__init__(shape)
        self.bias = nn.Parameter(torch.zeros(self.buckets, shape.heads))
        exact = self.buckets // 2
        far = distances(shape.ctx)
        log = (far.clamp(min=1) / exact).log() / math.log(self.max_distance / exact) * (self.buckets - exact)
        far = torch.where(far < exact, far, (exact + log.floor().long()).clamp(max=self.buckets - 1))
        self.register_buffer("bucket", far, persistent=False)

    def score_bias(self, length):
        return self.bias[self.bucket[:length, :length]].permute(2, 0, 1)

    def tensors(self):
        return {"attn_rel_b.weight": self.bias}


class Shaw(Position):
    """A trained vector per clipped distance beside every key and every value (Shaw et al. 2018), shared by heads."""

    spec = "shaw"
    clip = 16

    def __init__(self, shape):
        super().__init__(shape)
        rows, size = 2 * self.clip + 1, shape.width // shape.heads
        self.keys = nn.ParameterList(0.02 * torch.randn(rows, size) for _ in range(shape.layers))
        self.values = nn.ParameterList(0.02 * torch.randn(rows, size) for _ in range(shape.layers))
        self.register_buffer("row", self.clip - distances(shape.ctx).clamp(max=self.clip), persistent=False)

    def attention(self, layer, q, k, v, dropout):
        length, scale = q.shape[2], 1 / math.sqrt(q.shape[3])
        row = self.row[:length, :length].expand(*q.shape[:2], length, length)
        by_row = q @ self.keys[layer].t()  # [batch, heads, T, rows]
        scores = scale * (q @ k.mT + by_row.gather(3, row)) + hide_future(length)
        weights = F.dropout(scores.softmax(-1), dropout)
        total = torch.zeros_like(by_row).scatter_add(3, row, weights)  # what each row's distances weigh together
        return weights @ v + total @ self.values[layer]

    def tensors(self):
        keys = {f"blk.{i}.attn_rel_k.weight": t for i, t in enumerate(self.keys)}
        return keys | {f"blk.{i}.attn_rel_v.weight": t for i, t in enumerate(self.values)}


class RopeFraction(Rope):
    """Rope whose slowest quarter of pairs stands still (p-RoPE, Barbero et al. 2024)."""

    spec = "rope:fraction=0.75"

    def __init__(self, shape):
        super().__init__(shape)
        angle = angles(shape.ctx, shape.width // shape.heads)
        angle[:, int(0.75 * angle.shape[1]) :] = 0
        self.cos, self.sin = angle.cos().float(), angle.sin().float()


class Xpos(Rope):
    """Rope, with queries that grow by zeta^(p/512) and keys that shrink by it (Sun et al. 2022)."""

    spec = "xpos:pairing=half"
    gamma, base = 0.4, 512

    def __init__(self, shape):
        super().__init__(shape)
        pairs = self.cos.shape[1]
        zeta = (torch.arange(pairs, dtype=torch.float64) / pairs + self.gamma) / (1 + self.gamma)
        growth = zeta ** (torch.arange(shape.ctx, dtype=torch.float64)[:, None] / self.base)
        self.register_buffer("growth", growth.repeat(1, 2).float(), persistent=False)

    def transform_query_key(self, q, k):
        growth = self.growth[: q.shape[2]]
        return self.turn(q) * growth, self.turn(k) / growth


class Kerple(Position):
    """Each score loses r1 ln(1 + r2 n), two trained rates per head (Chi et al. 2022); one table for all layers."""

    spec = "kerple"

    def __init__(self, shape):
        super().__init__(shape)
        self.rates = nn.Parameter(torch.rand(2, shape.heads) * torch.tensor([[2.0], [1.0]]))
        self.register_buffer("far", distances(shape.ctx).float(), persistent=False)

    def score_bias(self, length):
        with torch.no_grad():
            self.rates.clamp_(min=0.01)  # as the authors' forward pass does; here for good, so that a file holds them
        r1, r2 = self.rates[:, :, None, None]
        return -r1 * torch.log1p(r2 * self.far[:length, :length])

    def tensors(self):
        return {"attn_kerple.weight": self.rates}


class Sandwich(Position):
    """What two sinusoids that far apart have in common, weaker from head to head (Chi et al. 2022)."""

    spec = "sandwich"
    dim = 128

    def __init__(self, shape):
        super().__init__(shape)
        frequency = 10000.0 ** (-torch.arange(0, self.dim, 2, dtype=torch.float64) / self.dim)
        common = (distances(shape.ctx)[..., None] * frequency).cos().sum(-1) - self.dim / 2
        share = shape.heads / (8 * torch.arange(1, shape.heads + 1))
        self.register_buffer("bias", (share[:, None, None] * common).float(), persistent=False)

    def score_bias(self, length):
        return self.bias[:, :length, :length]


class Fire(Position):
    """A small network of the distance as a share of how far the query can look (Li et al. 2023); for all layers."""

    spec = "fire"
    hidden, eps = 32, 1e-6

    def __init__(self, shape):
        super().__init__(shape)
        self.first, self.second = nn.Linear(1, self.hidden), nn.Linear(self.hidden, shape.heads)
        self.scale = nn.Parameter(torch.tensor([0.1, shape.ctx / 4.0]))  # c, and T, which steps of Adam move little
        self.register_buffer("far", distances(shape.ctx).float(), persistent=False)

    def score_bias(self, length):
        c, threshold = self.scale
        reach = torch.arange(length, dtype=self.far.dtype)[:, None].maximum(threshold.abs())
        share = ((c * self.far[:length, :length]).abs() + 1).log() / (((c * reach).abs() + 1).log() + self.eps)
        return self.second(self.first(share[..., None]).relu()).permute(2, 0, 1)

    def tensors(self):
        return {"attn_fire_1.weight": self.first.weight, "attn_fire_1.bias": self.first.bias,
                "attn_fire_2.weight": self.second.weight, "attn_fire_2.bias": self.second.bias,
                "attn_fire_scale.weight": self.scale}


class Cope(Position):
    """A trained vector per place, counted in gates that the scores open (Golovneva et al. 2024), shared by heads."""

    spec = "cope"
    places = 64

    def __init__(self, shape):
        super().__init__(shape)
        size = shape.width // shape.heads
        self.rows = nn.ParameterList(0.02 * torch.randn(self.places, size) for _ in range(shape.layers))

    def attention(self, layer, q, k, v, dropout):
        scores = q @ k.mT / math.sqrt(q.shape[3]) + hide_future(q.shape[2])
        place = scores.sigmoid().flip(-1).cumsum(-1).flip(-1).clamp(max=self.places - 1)
        below = place.floor().long()
        met = q @ self.rows[layer].t()  # [batch, heads, T, places]
        part = place - below
        added = (1 - part) * met.gather(3, below) + part * met.gather(3, place.ceil().long())
        return F.dropout((scores + added).softmax(-1), dropout) @ v

    def tensors(self):
        return {f"blk.{i}.attn_cope.weight": t for i, t in enumerate(self.rows)}


SCHEMES = {
    "learned": Learned,
    "none": Position,
    "sinusoidal": Sinusoidal,
    "rope": Rope,
    "alibi": Alibi,
    "t5_bias": T5Bias,
    "shaw": Shaw,
    "rope_fraction": RopeFraction,
    "xpos": Xpos,
    "kerple": Kerple,
    "sandwich": Sandwich,
    "fire": Fire,
    "cope": Cope,
}
JOINT = ["learned", "sinusoidal", "rope", "alibi", "t5_bias", "none"]
JOINT_NATIVE = "rope"  # what the exported folder names as its own scheme: no end, and the lowest loss
