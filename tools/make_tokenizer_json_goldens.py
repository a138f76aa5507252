#!/usr/bin/env python3
# Writes tests/goldens/tokenizer_json.json: small tokenizers in the styles that families use, and what the `tokenizers`
# package makes of nasty texts. Run: pip install tokenizers; tools/make_tokenizer_json_goldens.py [FOLDER]
# With FOLDER each is also written there as FOLDER/STYLE/tokenizer.json, for tools/tokenizer_parity.py.
import json
import pathlib
import sys

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

GOLDENS = pathlib.Path(__file__).resolve().parent.parent / "tests" / "goldens"
TRAINING = """
The lighthouse keeper counted the ships at night: one, two, three. She didn't sleep when it rained; she'd read to the
cat. "We've time," she said, "they'll be here by seven." In 1987 the lamp was changed. There are 365 days in a year and
12345 steps to the sea. Der Leuchtturm steht auf einem Felsen. Le phare était allumé, l'été fut calme. Маяк светил всю ночь.
灯塔照亮了大海。こんにちは、世界。
    def light(n):
        return n + 1    # two   three    four
\tif (a == b) { a += 1; } ... !!! ???
""" * 4
# Sentences of the training text joined over the places where texts are cut, so that merges across them exist.
TEXTS = [
    "", " ", "  ", "a", " a", "Hello world", "  two  spaces  ", "she's WE'LL didn't 'S x'ſ", "1 12 123 1234 12345 ½ Ⅷ ²³ ½Ж 🅡こ ⑯〇",
    "line\nline\r\n\n  line \t\n end\n", "    def light(n):\n        return n + 1", "!!! ... a==b;{x}#$%", "été e\u0301te\u0301 \u212b \ufb01",
    "Маяк светил 灯塔照亮了大海。こんにちは", "한국어 ᄒ\u1161\u11ab 피\u11a7", "👩\u200d👧 🇫🇷 ❤\ufe0f", "\u00a0\u2003x\u3000y\u2028z\u0085", "▁a▁▁b", "<0x41> <unk> <s>x</s>",
    "a<s>b</s> c", "x <mask>  y", "x <end> \n y", "kw kwx akw kw.", "<tool>\n<tool>", "Ωmega ΩMEGA", "\u0000\u001f\u007f", "ÀÉÎ ĀŁŒ İ ΣΑΣ", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "the the  the   the    the\n\n\nthe", "١٢٣ ४५६ 一二三", "don't!?  \"Yes,\" (no)",
]
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
          r"\s+(?!\S)|\s+")
GPT4O = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
CL100K = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+")
BLOOM = " ?[^(\\s|[.,!?…。，、।۔،])]+"
DEEPSEEK = (r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|"
            r"\s*[\r\n]+|\s+(?!\S)|\s+")
ISOLATED = "isolated"


def split(pattern, behavior=ISOLATED, invert=False):
    return pre_tokenizers.Split(Regex(pattern), behavior, invert)


def plain_bytes(prefix=False):
    return pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=False)


def cut_bytes(prefix=False):
    return pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=True)


def sequence(*steps):
    return pre_tokenizers.Sequence(list(steps))


TAGS = ["<s>", "</s>"]
MARKS = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
BYTE_STYLES = {
    "bloom": dict(pre=sequence(split(BLOOM), plain_bytes())),
    "starcoder": dict(pre=sequence(pre_tokenizers.Digits(individual_digits=True), cut_bytes())),
    "falcon": dict(pre=sequence(pre_tokenizers.Punctuation("contiguous"), cut_bytes(),
                                pre_tokenizers.Digits(individual_digits=False), split("[0-9][0-9][0-9]"))),
    "llama3": dict(pre=sequence(split(LLAMA3), plain_bytes()), model=dict(ignore_merges=True), frame=("<s>", None)),
    "gpt4o": dict(pre=sequence(split(GPT4O), plain_bytes())),
    "cl100k": dict(pre=sequence(split(CL100K, "removed", True), plain_bytes())),
    "deepseek": dict(pre=sequence(split(r"\p{N}{1,3}"), split("[一-龥぀-ゟ゠-ヿ]+"), split(DEEPSEEK), plain_bytes())),
    "behaviours": dict(pre=sequence(split("e", "merged_with_previous"), split("t", "merged_with_next"),
                                    split("[a-d]", "contiguous"), split("n", "removed"),
                                    split(r"\w", "merged_with_next", True), plain_bytes())),
    "flags": dict(pre=cut_bytes(True), normalizer=normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()]),
                  frame=("<s>", "</s>"),
                  added=[AddedToken("<mask>", lstrip=True, special=True), AddedToken("<end>", rstrip=True, special=True),
                         AddedToken("kw", single_word=True), AddedToken("Ωmega", normalized=True), AddedToken("<m"),
                         AddedToken("   ", normalized=True)]),
    "changes": dict(pre=cut_bytes(), normalizer=normalizers.Sequence(
        [normalizers.Strip(), normalizers.NFD(), normalizers.Replace(Regex(r"\s{2,}"), " "),
         normalizers.Replace("ll", "L")]), added=[AddedToken("<tool>", rstrip=True, lstrip=True)]),
}
CHAR_STYLES = {
    "llama2": dict(normalizer=normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]),
                   decoder=decoders.Sequence(MARKS + [decoders.Strip(" ", 1, 0)]), frame=("<s>", None)),
    "mistral": dict(pre=pre_tokenizers.Metaspace(prepend_scheme="first", split=False),
                    decoder=decoders.Sequence(MARKS + [decoders.Strip(" ", 1, 0)]), frame=("<s>", None)),
    "gemma": dict(normalizer=normalizers.Replace(" ", "▁"), pre=pre_tokenizers.Split(" ", "merged_with_previous"),
                  decoder=decoders.Sequence(MARKS), added=[AddedToken("\n\n"), AddedToken("▁▁"), AddedToken("<tool>")]),
    "words": dict(pre=pre_tokenizers.Metaspace(prepend_scheme="always", split=True), fallback=False,
                  decoder=decoders.Metaspace(prepend_scheme="always"), added=[AddedToken("kw", normalized=True)]),
}


def add_all(tokenizer, style):
    tokenizer.add_special_tokens(TAGS)
    for token in style.get("added", []):
        (tokenizer.add_special_tokens if token.special else tokenizer.add_tokens)([token])
    if "frame" in style:
        start, end = style["frame"]
        template = " ".join(part for part in (start, "$A", end) if part)
        used = [(tag, tokenizer.token_to_id(tag)) for tag in (start, end) if tag]
        tokenizer.post_processor = processors.TemplateProcessing(single=template, special_tokens=used)


def trained(cut, normalizer, size, alphabet, specials):
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>" if "<unk>" in specials else None))
    tokenizer.pre_tokenizer = cut
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=specials, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator([TRAINING, TRAINING.replace(" ", "")], trainer)
    return json.loads(tokenizer.to_str())["model"]


def byte_style(style):
    # Without a cut merges cross all places, which tells right cuts from wrong ones.
    model = trained(plain_bytes(), None, 420, sorted(pre_tokenizers.ByteLevel.alphabet()), TAGS)
    vocab, merges = model["vocab"], [tuple(m) for m in model["merges"]]
    if style.get("model", {}).get("ignore_merges"):
        vocab["zzzz"] = len(vocab)  # a word that no merge makes
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges, **style.get("model", {})))
    tokenizer.pre_tokenizer = style["pre"]
    if "normalizer" in style:
        tokenizer.normalizer = style["normalizer"]
    tokenizer.decoder = decoders.ByteLevel()
    add_all(tokenizer, style)
    return tokenizer


def char_style(style):
    fallback = style.get("fallback", True)
    specials = ["<unk>"] + TAGS + ([f"<0x{i:02X}>" for i in range(256)] if fallback else [])
    text_model = trained(pre_tokenizers.Metaspace(split=False), None, len(specials) + 200, [], specials)
    vocab = {piece: i for piece, i in text_model["vocab"].items() if piece not in "灯é"}
    vocab = {piece: i for i, piece in enumerate(sorted(vocab, key=vocab.get))}
    merges = [tuple(m) for m in text_model["merges"] if {m[0], m[1], "".join(m)} <= set(vocab)]
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges, unk_token="<unk>", fuse_unk=True, byte_fallback=fallback))
    for part in ("normalizer", "decoder"):
        if part in style:
            setattr(tokenizer, part, style[part])
    if "pre" in style:
        tokenizer.pre_tokenizer = style["pre"]
    tokenizer.add_special_tokens(["<unk>"])
    add_all(tokenizer, style)
    return tokenizer


def case(tokenizer, text):
    tokenizer.encode_special_tokens = False
    plain = tokenizer.encode(text, add_special_tokens=False).ids
    row = {"text": text, "ids": tokenizer.encode(text).ids, "plain": plain,
           "decoded": tokenizer.decode(plain, skip_special_tokens=False)}
    tokenizer.encode_special_tokens = True
    as_text = tokenizer.encode(text, add_special_tokens=False).ids
    if as_text != plain:
        row["as_text"] = as_text
    return row


def main():
    made = {name: byte_style(style) for name, style in BYTE_STYLES.items()}
    made |= {name: char_style(style) for name, style in CHAR_STYLES.items()}
    rows = []
    for name, tokenizer in made.items():
        if len(sys.argv) > 1:
            folder = pathlib.Path(sys.argv[1]) / name
            folder.mkdir(parents=True, exist_ok=True)
            tokenizer.save(str(folder / "tokenizer.json"))
        cases = [json.dumps(case(tokenizer, text), ensure_ascii=True, separators=(",", ":")) for text in TEXTS]
        tree = json.dumps(json.loads(tokenizer.to_str()), ensure_ascii=True, separators=(",", ":"))
        rows.append(f'{{"name":"{name}","tokenizer":{tree},\n"cases":[\n' + ",\n".join(cases) + "]}")
    path = GOLDENS / "tokenizer_json.json"
    path.write_text(f'{{"made_by":"tools/make_tokenizer_json_goldens.py, tokenizers {tokenizers.__version__}",\n"styles":[\n'
                    + ",\n".join(rows) + "]}\n")
    print(f"{path}: {path.stat().st_size} bytes, {len(rows)} styles of {len(TEXTS)} texts")


main()
