# model_file.py: a model file read and changed in Python, after src/format/README.md.
"""
Knows what scripts here need: f32 and bf16 tensors in either layout, and the tokenizer's pieces. Needs numpy.
"""
import json

import numpy as np

LANES = 32


class ModelFile:
    """A model file in memory, whose tensors can be replaced; their checksums are not, so such a file is only good to be
    run."""

    def __init__(self, path):
        self.bytes = bytearray(open(path, "rb").read())
        length = int.from_bytes(self.bytes[16:24], "little")
        self.start = -(-(64 + length) // 64) * 64
        self.header = json.loads(self.bytes[64 : 64 + length])
        self.tensors = {t["name"]: t for t in self.header["tensors"]}

    def numbers(self, part, kind):
        first = self.start + part["offset"]
        return np.frombuffer(self.bytes, kind, part["bytes"] // np.dtype(kind).itemsize, first)

    def rows(self, tensor):
        """float32 [N, K], or [K]; a copy."""
        if tensor["dtype"] == "bf16":
            values = (self.numbers(tensor, "<u2").astype("<u4") << 16).view("<f4")
        elif tensor["dtype"] == "f32":
            values = self.numbers(tensor, "<f4")
        else:
            raise ValueError(f"{tensor['name']} is {tensor['dtype']}; f32 and bf16 are read, `ordinal convert --dtype f32` makes them")
        if tensor["layout"] == "rows":
            return values.reshape(tensor["shape"]).copy()
        n, k = tensor["shape"]
        return values.reshape(-1, k, LANES).transpose(0, 2, 1).reshape(-1, k)[:n].copy()

    def pieces(self):
        """The bytes of every token, by id."""
        data = self.numbers(self.header["tokenizer"]["pieces"], "u1").tobytes()
        count = int.from_bytes(data[:4], "little")
        lengths = np.frombuffer(data, "<u4", count, 4)
        ends = np.cumsum(lengths) + 4 + 4 * count
        return [data[end - length : end] for end, length in zip(ends.tolist(), lengths.tolist())]

    def write(self, tensor, data):
        first = self.start + tensor["offset"]
        assert len(data) == tensor["bytes"]
        self.bytes[first : first + len(data)] = data

    def save(self, path):
        with open(path, "wb") as file:
            file.write(self.bytes)


def panels_f32(rows):
    """The bytes of [N, K] in panels."""
    rows = np.pad(rows, ((0, -len(rows) % LANES), (0, 0)))
    return rows.reshape(-1, LANES, rows.shape[1]).transpose(0, 2, 1).astype("<f4").tobytes()
