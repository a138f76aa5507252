#!/usr/bin/env python3
"""Compares our ids with those of the `tokenizers` package on random strings.

    tools/tokenizer_parity.py [--strings N] [--seed S] FOLDER...

Each FOLDER holds a tokenizer.json. Strings are made of what breaks tokenizers: pieces of the vocabulary, names of added
tokens with blanks beside them, characters of many kinds, marks that compose, digits, line ends. Compared are the ids
with special tokens found, those with their names as text, and the text that the ids stand for. Needs `tokenizers`.
"""
import argparse
import pathlib
import random
import subprocess
import sys
import time

from tokenizers import Tokenizer

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Without characters whose normal form is younger than the tables of the package (U+32FF, U+1F16C).
RANGES = [(0x20, 0x7e)] * 6 + [
    (0, 0x1f), (0x7f, 0xff), (0x100, 0x24f), (0x300, 0x36f), (0x370, 0x3ff), (0x400, 0x52f), (0x5b0, 0x5ea),
    (0x600, 0x6ff), (0x900, 0x97f), (0xe00, 0xe7f), (0x1100, 0x11ff), (0x1680, 0x1680), (0x180e, 0x180e), (0x1e00, 0x1fff),
    (0x2000, 0x206f), (0x2070, 0x209f), (0x20a0, 0x20c0), (0x2100, 0x218b), (0x2190, 0x23ff), (0x2460, 0x24ff),
    (0x2580, 0x25ff), (0x2e80, 0x2fd5), (0x3000, 0x30ff), (0x3131, 0x318e), (0x3200, 0x32fe), (0x3300, 0x33ff), (0x4e00, 0x9fa5),
    (0xac00, 0xd7a3), (0xf900, 0xfaff), (0xfb00, 0xfb4f), (0xfe30, 0xfeff), (0xff00, 0xffef), (0x10330, 0x1034a),
    (0x1d400, 0x1d7ff), (0x1f130, 0x1f16b), (0x1f300, 0x1f64f), (0x20000, 0x2a6d0), (0xe0100, 0xe01ef)]
BLANKS = " \t\n\r\x0b\x0c\x85\xa0\u1680\u2003\u2028\u202f\u205f\u3000\u2581"
BITS = ["'s", "'S", "'\u017f", "'re", "'LL", "'d", "don't", "123", "1234567", "\u00bd", "\u2167", "\u0660\u0661", "  ",
        "    ", "\n\n", "\r\n", " \n ", ".,!", "???", "...", "e\u0301", "\u00e9", "\u212b", "\uac01", "\u1100\u1161\u11a8", "\ufb01",
        "\u0130", "\u03a3", "<0x41>", "http://a.b/c?d=1", "snake_case", "camelCase", "\u4f60\u597d", "\u3053\u3093",
        "\u0e2a\u0e27\u0e31\u0e2a", "\u0646\u0635", "\U0001f468\u200d\U0001f469", "#$%", "$+<=>^`|~"]


def is_character(code):
    return not 0xd800 <= code <= 0xdfff


def random_text(rng, names, pieces):
    parts = []
    for _ in range(rng.choice([1, 2, 3, 5, 8, 13, 40])):
        kind = rng.random()
        if kind < 0.15 and names:
            name = rng.choice(names)
            parts.append(rng.choice(["", " ", "  ", "a", "\n"]) + name + rng.choice(["", " ", "  ", "b", "\n"]))
        elif kind < 0.3:
            parts.append(rng.choice(pieces))
        elif kind < 0.5:
            parts.append(rng.choice(BITS))
        elif kind < 0.65:
            parts.append(rng.choice(BLANKS) * rng.choice([1, 1, 1, 2, 3, 9]))
        elif kind < 0.8:
            parts.append("".join(rng.choice("abcdefghijklmnopqrstuvwxyzABCDEFGHI") for _ in range(rng.randint(1, 9))))
        else:
            low, high = rng.choice(RANGES)
            parts.append("".join(chr(c) for c in (rng.randint(low, high) for _ in range(rng.randint(1, 5)))
                                 if is_character(c)))
        if rng.random() < 0.3:
            parts.append(" ")
    return "".join(parts)


def program():
    path = ROOT / "build/tokenizer_ids"
    path.parent.mkdir(exist_ok=True)
    library = ROOT / "build/release/libordinal.a"
    subprocess.run(["g++", "-std=c++20", "-O1", f"-I{ROOT}/include", f"-I{ROOT}/src",
                    str(ROOT / "tools/tokenizer_ids.cpp"), str(library), "-fopenmp", "-lpcre2-8", "-lutf8proc",
                    "-o", str(path)], check=True)
    return path


def ours(path, folder, texts):
    lines = "".join(text.encode().hex() + "\n" for text in texts)
    done = subprocess.run([str(path), str(folder)], input=lines, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{folder}: {done.stderr}")
    for line in done.stdout.split("\n")[:-1]:
        ids, as_text, decoded = line.split("\t")
        yield [int(i) for i in ids.split()], [int(i) for i in as_text.split()], bytes.fromhex(decoded)


def compare(path, folder, strings, seed, slice_size=5000):
    rng = random.Random(f"{seed} {folder.name}")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    names = [token.content for token in tokenizer.get_added_tokens_decoder().values()]
    vocab = list(tokenizer.get_vocab())
    pieces = [p.replace("\u0120", " ").replace("\u010a", "\n").replace("\u2581", " ") for p in vocab]
    faults = 0
    start = time.time()
    for begin in range(0, strings, slice_size):
        texts = [random_text(rng, names, pieces) for _ in range(min(slice_size, strings - begin))]
        tokenizer.encode_special_tokens = False
        full = tokenizer.encode_batch(texts)
        plain = [e.ids for e in tokenizer.encode_batch(texts, add_special_tokens=False)]
        tokenizer.encode_special_tokens = True
        as_text = tokenizer.encode_batch(texts, add_special_tokens=False)
        decoded = tokenizer.decode_batch(plain, skip_special_tokens=False)
        for text, a, b, c, (ids, text_ids, out) in zip(texts, full, as_text, decoded, ours(path, folder, texts)):
            for what, wanted, found in [("ids", a.ids, ids), ("as text", b.ids, text_ids),
                                        ("decoded", c, out.decode(errors="replace"))]:
                if wanted != found:
                    faults += 1
                    if faults <= 10:
                        print(f"{folder.name}: {what} of {text!r} differ\n  wanted {wanted}\n  found  {found}")
    print(f"{folder.name}: {strings} strings, {faults} differences, {time.time() - start:.0f} s", flush=True)
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strings", type=int, default=100000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    path = program()
    sys.exit(min(1, sum([compare(path, folder, arguments.strings, arguments.seed) for folder in arguments.folders])))


if __name__ == "__main__":
    main()
