# The position schemes that tools/train.py can train under: one class each, and the list of them.
"""
Adding one: a class with the hooks it needs and the spec string the engine reads, and an entry in SCHEMES. The model
takes the scheme with every call, so one batch can be run under another scheme than the next.
"""
import torch
from torch import nn


class Position(nn.Module):
    """Where a token stands. The base class is "none": no hook does anything. `spec` is what the engine reads."""

    spec = "none"

    def __init__(self, shape):
        super().__init__()

    def add_to_embedding(self, x):  # x [batch, T, width]
        return x

    def transform_query_key(self, q, k):  # q, k [batch, heads, T, head_dim]
        return q, k


class Learned(Position):
    spec = "learned"

    def __init__(self, shape):
        super().__init__(shape)
        self.wpe = nn.Parameter(0.02 * torch.randn(shape.ctx, shape.width))

    def add_to_embedding(self, x):
        return x + self.wpe[: x.shape[1]]


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


SCHEMES = {"learned": Learned, "none": Position, "sinusoidal": Sinusoidal, "rope": Rope}
