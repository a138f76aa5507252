# The share of a training batch that teaches a model to recall: rows to copy, keys to look up, numbers to remember.
"""
The tasks of `ordinal compare` ask whether a model finds again what it was told: random tokens once more (`copy`), four
tokens behind a cue of six (`find`), a number in a text (`passkey`). A text of a few million tokens has too little of
that for a small model to learn it, so tools/train.py --recall puts it in, at all distances within the window. Tokens
that nobody could know (the first time of everything) are not scored.
"""
import math

import numpy as np
import torch

CUE, KEY = 6, 4
UNSCORED = -100  # cross_entropy's ignore_index


class Recall:
    def __init__(self, ids, tokenizer, seed):
        self.ids, self.seed = ids, seed
        self.end = tokenizer.token_to_id("<|endoftext|>")
        self.encode = lambda text: tokenizer.encode(text, add_special_tokens=False).ids

    def random_tokens(self, random, count):
        """As often as the text has them, or, for a third of the rows, each of the vocabulary alike."""
        if random.random() < 1 / 3:
            return random.integers(self.end, size=count)
        drawn = self.ids[random.integers(len(self.ids), size=2 * count)]
        return drawn[drawn != self.end][:count]

    def copied(self, random, length):
        """Tokens, and the same again until the row is full."""
        period = round(math.exp(random.uniform(math.log(4), math.log(length / 2 + 1))))
        tokens = np.resize(self.random_tokens(random, period), length + 1)
        targets = tokens[1:].copy()
        targets[: period - 1] = UNSCORED
        return tokens, targets

    def found(self, random, length, cue, key, after=()):
        """A text in which key stands behind cue twice, the second time at the end or anywhere after the first."""
        first = np.concatenate([cue, key, after]).astype(np.int64)
        again = np.concatenate([cue, key])
        start = random.integers(len(self.ids) - length - 1)
        tokens = self.ids[start : start + length + 1].astype(np.int64)
        latest = length + 1 - len(again)
        second = latest if random.random() < 0.5 else int(random.integers(1 + len(first), latest + 1))
        place = int(random.integers(1, second - len(first) + 1))
        tokens[place : place + len(first)] = first
        tokens[second : second + len(again)] = again
        targets = tokens[1:].copy()
        targets[place - 1 : place - 1 + len(cue) + len(key)] = UNSCORED
        targets[second - 1 : second] = UNSCORED
        return tokens, targets

    def row(self, random, length):
        kind = random.random()
        if kind < 0.5:
            return self.copied(random, length)
        if kind < 0.8:
            return self.found(random, length, self.random_tokens(random, CUE), self.random_tokens(random, KEY))
        number = f" {random.integers(10000, 100000)}"
        return self.found(random, length, self.encode(" The pass key is"), self.encode(number), self.encode("."))

    def put_into(self, ids, targets, share, step):
        """Replaces the first rows of a batch [rows, length]."""
        random = np.random.default_rng([self.seed, 3, step])
        ids, targets = ids.clone(), targets.clone()
        for r in range(round(share * len(ids))):
            tokens, scored = self.row(random, ids.shape[1])
            ids[r], targets[r] = torch.from_numpy(tokens[:-1].astype(np.int64)), torch.from_numpy(scored.astype(np.int64))
        return ids, targets

    @torch.no_grad()
    def accuracy(self, model, length, scheme, rows=16):
        """The share of copied tokens (a period of half the row) and of found keys that the model holds likeliest."""
        random = np.random.default_rng([self.seed, 4])
        half = length // 2
        copies = np.stack([np.resize(self.random_tokens(random, half), length) for _ in range(rows)])
        best = model(torch.from_numpy(copies.astype(np.int64)), scheme=scheme).argmax(-1).numpy()
        copied = (best[:, half:-1] == copies[:, half + 1 :]).mean()
        finds = []
        while len(finds) < rows:
            start = random.integers(len(self.ids) - length)
            tokens = self.ids[start : start + length].astype(np.int64)
            said = np.concatenate([self.random_tokens(random, CUE), self.random_tokens(random, KEY)])
            place = int(random.integers(1, length // 4 - len(said) + 2))
            tokens[place : place + len(said)] = tokens[length - len(said) :] = said
            finds.append(tokens)
        best = model(torch.from_numpy(np.stack(finds)), scheme=scheme).argmax(-1).numpy()
        found = (best[:, -KEY - 1 : -1] == np.stack(finds)[:, -KEY:]).mean()
        return float(copied), float(found)
