#!/usr/bin/env python3
# Writes tests/goldens/tokenizer_bpe.json and tokenizer_scores.json: small vocabularies, and the ids that other
# implementations give for nasty texts. Run: pip install tokenizers tiktoken sentencepiece; tools/make_tokenizer_goldens.py
#
# Every list of ids comes from two implementations where two exist, and the script fails when they differ:
#   words    tokenizers, and tiktoken with the same ranks; both cut by GPT-2's pattern
#   whole    tokenizers without a cut, and tiktoken's merging of one piece
#   tangled  random merges, some with one result: tokenizers, and the loop of GPT-2's encoder is not defined to agree
#   gaps     a vocabulary without most bytes: tokenizers with an unknown token; with and without a space put first
#   scores   SentencePiece, and the loop of llama2.c's run.c written again below (alone for bytes that are not UTF-8)
import importlib.metadata
import io
import itertools
import json
import pathlib
import random
import re

import sentencepiece
import tiktoken
import tokenizers

GOLDENS = pathlib.Path(__file__).resolve().parent.parent / "tests" / "goldens"
GPT2_PATTERN = r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""

# Written for this file; what the vocabularies learn from.
TRAINING = """
The lighthouse keeper counted the ships at night: one, two, three. She didn't sleep when it rained; she'd read to the
cat, who wasn't listening. "We've time," she said, "they'll be here by seven." In 1987 the lamp was changed, in 2003 the
lens. The keeper's daughter, I'm told, is keeping it now. There are 365 days in a year and 12345 steps to the sea.
Der Leuchtturm steht auf einem Felsen; die Wärterin zählt Schiffe. Le phare était allumé, la mer était calme. El faro
enseñó el camino a los pescadores. Маяк светил всю ночь, и корабли шли домой. Ο φάρος φώτιζε τη θάλασσα. 灯台の光が海を照らす。
灯塔照亮了大海。등대가 바다를 비춘다. المنارة تضيء البحر. המגדלור מאיר את הים. प्रकाशस्तंभ समुद्र को रोशन करता है। ประภาคารส่องแสงสู่ทะเล
    def light(n):
        return n + 1    # two   three    four blanks
\tif (a == b) { a += 1; }  // tabs\t\tand => arrows -> here :: there ... !!! ??? --- === ___
🚢🚢 🌊 👩‍👩‍👧 🇫🇷 ❤️ ½ ² Ⅷ ① café café naïve
""" * 3

# What a tokenizer gets wrong easily.
NASTY = {
    "contractions": "I'm you're he's we've they'll she'd don't I'M YOU'RE HE'S 'tis '' 's 'sx ''ll x'd'm",
    "typographic apostrophes": "I’m don’t ‘quoted’ “said”—yes…",
    "blanks between words": "a b  c   d    e",
    "trailing blanks": "lighthouse   ",
    "leading blanks": "   lighthouse",
    "blank then newline": "one \n two  \n  three\n\n\nfour \n",
    "tabs and returns": "a\tb\t\tc\r\nd\r\n\r\ne\vf\fg",
    "only newlines": "\n\n\n\n",
    "only blanks": "       ",
    "no-break and wide blanks": "a\u00a0b \u00a0 c\u2003d\u2003\u2003e\u3000f\u202fg\u205fh\u1680i",
    "line and paragraph separators": "a\u2028b\u2029\u2029c\u0085d\u0085\u0085e",
    "blanks that are none": "a\u180eb\u180e c\u200bd\u200b\u200be\u2060f\ufeffg",
    "control characters": "\x00\x01a\x00\x00b\x1b[0m\x7f\x1c\x1d\x1e\x1f c\x1c d",
    "digits": "1 12 123 1234567890 3.14159 2,718 1e-9 0x7F v2.0.1 abc123def",
    "other numbers": "½ ² x₂ ٣٤ Ⅷ ① १२३ ４５ 三 ᛮ ⅷa a½b ²³",
    "combining marks": "e\u0301 cafe\u0301 a\u0300\u0301\u0302b \u0301x n\u0303o",
    "devanagari and thai": "प्रकाशस्तंभ नमस्ते दुनिया १ ประภาคาร สวัสดี",
    "arabic and hebrew": "المنارة، تضيء البحر؟ הַמִּגְדַּלּוֹר",
    "chinese and japanese": "灯塔照亮了大海，2003年。灯台の光が海を照らす！カタカナ",
    "korean": "등대가 바다를 비춘다 ㄱㄴㄷ",
    "cyrillic and greek": "Маяк светил, Ёлка; Ο φάρος φώτιζε",
    "emoji": "🚢🌊 👩‍👩‍👧‍👦 🇫🇷🇯🇵 5️⃣ ❤️ 🤚🏾 ok🙂ok",
    "beyond the first plane": "𝔘𝔫𝔦 𐍈 𝟙𝟚 𠜎𠜱 \U0001f0a1 \U000e0041 \U0010ffff \uffff \ue000",
    "marks": "!!! ... --- => -> :: #!/bin/sh \"quoted\" (a) [b] {c} <d> & | \\ ^ ~ ` @ $ €£¥ ¬ ¿¡",
    "marks next to letters": "a.b,c;d e. f ,g .h ...i j... 'k k' \"l\"m n-o-p q_r",
    "code": "    def f(x):\n\tif x == 1:\n\t    return [y for y in x]  # why\n",
    "case": "LIGHTHOUSE Lighthouse lIGHThOUSE ẞß İı ǅ ﬁ ª º",
    "letters that are none": "ʰ ˈa ⓐ ⒜ 々 〇 ー ゛ ー々〆",
    "a name of a special token": "stop<|end|>go <|end|><|end|x|> <|END|>",
    "one letter": "x",
    "a long word": "counting" * 40,
    "a long run of marks": "=" * 150,
    "a long run of blanks": "word" + " " * 150 + "word",
    "a long run of newlines": "word" + "\n" * 100 + "word",
    "long without a blank": "灯塔照亮了大海" * 12 + "등대가바다를" * 12,
    "nothing": "",
}

# Bytes that are not UTF-8, among some that are.
BROKEN = {
    "a lone byte": b"\xff",
    "a byte in a word": b"light\xffhouse",
    "a byte after a blank": b"the \x80 ship \xfe\xff  \xc0",
    "a run": b"a" + bytes(range(0x80, 0x100)) + b"b",
    "a cut character": b"caf\xc3",
    "a cut emoji": b"ok \xf0\x9f\x9a",
    "two cut characters": b"\xe2\x82\xe2\x82 \xf0\x9f\xf0\x9f\x9a\xa2",
    "overlong": b"\xc0\xaf \xe0\x80\xaf \xf0\x80\x80\xaf x",
    "surrogates": b"a\xed\xa0\x80\xed\xb0\x80b",
    "past the last": b"\xf4\x90\x80\x80 \xf5\x80\x80\x80",
    "continuations": b"\x80\x80\x80\x80\x80\x80 a\x80 ab\x80\x80\x80\x80\x80c",
    "good after bad": b"\xff\xe2\x82\xac\xff\xc3\xa9\x80'\xffs",
}


def stand_ins():
    """Byte -> the printable character that byte-level vocabularies write for it."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in printable]
    return {b: chr(b) for b in printable} | {b: chr(256 + i) for i, b in enumerate(others)}


TO_CHAR = stand_ins()
TO_BYTE = {c: b for b, c in TO_CHAR.items()}


def to_bytes(piece):
    return bytes(TO_BYTE[c] for c in piece)


def golden(path, vocabularies, cases):
    packages = {p: importlib.metadata.version(p) for p in ("tokenizers", "tiktoken", "sentencepiece")}

    def rows(items):
        return "[\n" + ",\n".join(json.dumps(item, separators=(",", ":")) for item in items) + "\n]"

    text = f'{{"made_by":"tools/make_tokenizer_goldens.py","packages":{json.dumps(packages)},\n'
    text += f'"vocabularies":{rows(vocabularies)},\n"cases":{rows(cases)}}}\n'
    path.write_text(text)
    print(path.name, len(text), "bytes,", len(cases), "cases")


def vocabulary(name, hf, special, unknown=-1, split="gpt2", prefix_space=False):
    """A vocabulary as the tests read it: pieces in hexadecimal by id, merges as ids."""
    model = json.loads(hf.to_str())["model"]
    ids = model["vocab"] | {t: i for t, i in special.items()}
    pieces = [""] * (max(ids.values()) + 1)
    for piece, i in ids.items():
        pieces[i] = (piece.encode() if piece in special else to_bytes(piece)).hex()
    merges = [[ids[a], ids[b], ids[a + b]] for a, b in (m.split(" ") if isinstance(m, str) else m for m in model["merges"])]
    return {"name": name, "split": split, "prefix_space": prefix_space, "special": sorted(special.values()),
            "unknown": unknown, "pieces": " ".join(pieces), "merges": merges}


def byte_level(size, use_regex, prefix_space=False):
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=prefix_space, use_regex=use_regex)
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=size, show_progress=False, max_token_length=24,
                                             initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator([TRAINING], trainer)
    return tokenizer


def as_tiktoken(hf):
    """The same merges as ranks, and rank -> id."""
    model = json.loads(hf.to_str())["model"]
    order = list(TO_CHAR.values()) + [a + b for a, b in model["merges"]]
    assert len(set(order)) == len(order)
    encoding = tiktoken.Encoding("golden", pat_str=GPT2_PATTERN, special_tokens={},
                                 mergeable_ranks={to_bytes(piece): rank for rank, piece in enumerate(order)})
    return encoding, [model["vocab"][piece] for piece in order]


def words_cases():
    hf = byte_level(620, use_regex=True)
    special = {"<|end|>": 620, "<|end|x|>": 621, "<|pad|>": 622}
    vocabularies = [vocabulary("words", hf, special)]
    encoding, ids_of_rank = as_tiktoken(hf)
    for name, text in NASTY.items():
        ids = hf.encode(text).ids
        assert ids == [ids_of_rank[r] for r in encoding.encode_ordinary(text)], name
        yield vocabularies, {"vocabulary": "words", "name": name, "bytes": text.encode().hex(), "ids": ids}
    # The rule of src/text/README.md: a run of bytes that are no UTF-8 is a piece, and so is what stands between runs.
    for name, data in BROKEN.items():
        ranks = []
        for part in re.findall("[\udc80-\udcff]+|[^\udc80-\udcff]+", data.decode(errors="surrogateescape")):
            if "\udc80" <= part[0] <= "\udcff":
                ranks += encoding._encode_single_piece(part.encode(errors="surrogateescape"))
            else:
                ranks += encoding.encode_ordinary(part)
        yield vocabularies, {"vocabulary": "words", "name": name, "bytes": data.hex(), "ids": [ids_of_rank[r] for r in ranks]}
    hf.add_special_tokens([tokenizers.AddedToken(t, normalized=False) for t in special])
    assert all(hf.token_to_id(t) == i for t, i in special.items())
    for text in ("<|end|>", "a<|end|>b <|end|> c", "<|end|x|><|end|>x|>", "<|pad|>\n<|end<|pad|>", "<|END|>", "x <|pad|"):
        yield vocabularies, {"vocabulary": "words", "name": "special " + text, "bytes": text.encode().hex(),
                             "parse_special": True, "ids": hf.encode(text).ids}


def whole_cases():
    hf = byte_level(320, use_regex=False)
    vocabularies = [vocabulary("whole", hf, {}, split="none")]
    encoding, ids_of_rank = as_tiktoken(hf)
    for name in ("contractions", "trailing blanks", "blank then newline", "digits", "emoji", "code", "a long word"):
        text = NASTY[name]
        ids = hf.encode(text).ids
        assert ids == [ids_of_rank[r] for r in encoding._encode_single_piece(text.encode())], name
        yield vocabularies, {"vocabulary": "whole", "name": name, "bytes": text.encode().hex(), "ids": ids}
    for name, data in BROKEN.items():
        ids = [ids_of_rank[r] for r in encoding._encode_single_piece(data)]
        yield vocabularies, {"vocabulary": "whole", "name": name, "bytes": data.hex(), "ids": ids}


def tangled_cases():
    """Random merges over three letters, where one result may be made in two ways and used before it is made."""
    rng = random.Random(5)
    vocab, merges = {c: i for i, c in enumerate("abc")}, []
    while len(merges) < 60:
        pair = rng.choice(list(vocab)), rng.choice(list(vocab))
        if pair in merges or len(pair[0] + pair[1]) > 9:
            continue
        merges.append(pair)
        vocab.setdefault(pair[0] + pair[1], len(vocab))
    rng.shuffle(merges)
    assert len(vocab) < 3 + len(merges)
    hf = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocab, merges=merges))
    hf.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    vocabularies = [vocabulary("tangled", hf, {}, split="none")]
    for length in (1, 2, 3, 5, 8, 13, 21, 34, 47, 48, 49, 50, 63, 64, 65, 66, 100, 200):
        text = "".join(rng.choices("abc", weights=(3, 2, 1), k=length))
        yield vocabularies, {"vocabulary": "tangled", "name": f"{length} letters", "bytes": text.encode().hex(),
                             "ids": hf.encode(text).ids}


def gaps_cases():
    for prefix_space in (False, True):
        name = "gaps, space first" if prefix_space else "gaps"
        special = {"<unk>": 0, "<|end|>": 1}
        hf = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="<unk>"))
        hf.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=prefix_space)
        trainer = tokenizers.trainers.BpeTrainer(vocab_size=60, show_progress=False, special_tokens=list(special))
        hf.train_from_iterator(["the ship that left the light at the last tide; lost ships, let it light 12 ships"], trainer)
        vocabularies = [vocabulary(name, hf, special, unknown=0, prefix_space=prefix_space)]
        texts = ["the ship", " the ship", "  the", "zebra light", "quiz", "é", "the é ship", "ships<|end|>at <|end|> last",
                 "<unk>", "<|end|>", "a\nb", "123 12", "", " ", "it's the ship's"]
        for text, parse in itertools.product(texts, (False, True)):
            hf.encode_special_tokens = not parse
            yield vocabularies, {"vocabulary": name, "name": f"{text!r}", "bytes": text.encode().hex(),
                                 "parse_special": parse, "ids": hf.encode(text).ids}


def llama2c_encode(pieces, scores, text):
    """`encode` of llama2.c's run.c, with byte tokens as their bytes; for texts without a zero byte."""
    lookup = {}
    for i, piece in enumerate(pieces):
        if not 0 <= i < 259:
            lookup.setdefault(piece, i)
    ids = [1]
    if text:
        ids.append(lookup[b" "])
    character = b""
    for at, byte in enumerate(text):
        if byte & 0xC0 != 0x80:
            character = b""
        character += bytes([byte])
        if at + 1 < len(text) and text[at + 1] & 0xC0 == 0x80 and len(character) < 4:
            continue
        ids += [lookup[character]] if character in lookup else [b + 3 for b in character]
        character = b""
    while True:
        best_score, best_id, best_at = -1e10, -1, -1
        for at in range(len(ids) - 1):
            if ids[at] < 259 or ids[at + 1] < 259:
                continue
            joined = lookup.get(pieces[ids[at]] + pieces[ids[at + 1]], -1)
            if joined >= 0 and scores[joined] > best_score:
                best_score, best_id, best_at = scores[joined], joined, at
        if best_at < 0:
            return ids
        ids[best_at:best_at + 2] = [best_id]


def scores_cases():
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(line for line in TRAINING.split("\n") if line), model_writer=model, model_type="bpe",
        vocab_size=560, byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False,
        character_coverage=0.98, add_dummy_prefix=True, minloglevel=2, split_digits=True, allow_whitespace_only_pieces=True)
    sp = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    pieces, scores = [], []
    for i in range(sp.vocab_size()):
        piece = sp.id_to_piece(i).replace("\u2581", " ").encode()
        assert sp.is_byte(i) == (3 <= i < 259)
        pieces.append(bytes([i - 3]) if sp.is_byte(i) else piece)
        scores.append(sp.get_score(i))
    # Scores in steps of eight: many ties, which the leftmost pair wins.
    tied = [float(-(int(-s) // 8)) for s in scores]
    # And a vocabulary where scores and lengths have nothing to do with each other.
    rng = random.Random(7)
    shuffled = scores[:259] + rng.sample(scores[259:], len(scores) - 259)
    vocabularies = [{"name": name, "scores": values, "bos": 1, "special": [0, 1, 2], "pieces": " ".join(p.hex() for p in pieces)}
                    for name, values in (("trained", scores), ("tied", tied), ("shuffled", shuffled))]
    texts = {n: t for n, t in NASTY.items() if "\0" not in t and "\u2581" not in t}
    for name, text in texts.items():
        ids = llama2c_encode(pieces, scores, text.encode())
        assert ids == [1] + sp.encode(text), name
        yield vocabularies, {"vocabulary": "trained", "name": name, "bytes": text.encode().hex(), "ids": ids}
        if len(text) > 120 and not name.startswith("a long"):
            continue
        for row in vocabularies[1:]:
            ids = llama2c_encode(pieces, row["scores"], text.encode())
            yield vocabularies, {"vocabulary": row["name"], "name": name, "bytes": text.encode().hex(), "ids": ids}
    for name, data in BROKEN.items():
        yield vocabularies, {"vocabulary": "trained", "name": name, "bytes": data.hex(), "ids": llama2c_encode(pieces, scores, data)}


def write(path, *makers):
    vocabularies, cases = {}, []
    for made, case in itertools.chain.from_iterable(make() for make in makers):
        vocabularies |= {v["name"]: v for v in made}
        cases.append(case)
    golden(path, list(vocabularies.values()), cases)


write(GOLDENS / "tokenizer_bpe.json", words_cases, whole_cases, tangled_cases, gaps_cases)
write(GOLDENS / "tokenizer_scores.json", scores_cases)
