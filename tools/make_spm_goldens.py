#!/usr/bin/env python3
# Writes tests/goldens/spm_models.json: small tokenizer.model files, in hexadecimal, and the ids and texts that
# SentencePiece makes. Run: pip install sentencepiece; tools/make_spm_goldens.py
import io
import json
import pathlib

import sentencepiece

GOLDENS = pathlib.Path(__file__).resolve().parent.parent / "tests" / "goldens"
TRAINING = ["The keeper counted the ships at night: one, two, three.", "She didn't sleep when it rained; she'd read.",
            "There are 365 days in a year and 12345 steps to the sea.", "a b  c   d", "été, naïve, 灯塔"] * 5
TEXTS = ["", " ", "a", " a", "  the  ships ", "The ships at night", "She didn't\nread\t12", "灯塔 été 🚢", "▁the▁▁x", "<b>the <b> x\n\ny",
         "the the the the the the the the the the the the the the the the the the the", "\u0000\u007f\u00a0"]
STYLES = {
    "llama": dict(byte_fallback=True, vocab_size=320, split_digits=True),
    "gemma": dict(byte_fallback=True, vocab_size=320, add_dummy_prefix=False, user_defined_symbols=["▁▁", "\n\n", "<b>"]),
    "unknown": dict(byte_fallback=False, vocab_size=60),
}


def main():
    rows = []
    for name, options in STYLES.items():
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(TRAINING), model_writer=model, model_type="bpe", normalization_rule_name="identity",
            remove_extra_whitespaces=False, character_coverage=0.985, minloglevel=2, **options)
        processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
        cases = [{"text": text, "ids": processor.encode(text)} for text in TEXTS if name != "llama" or "\0" not in text]
        rows.append({"name": name, "model": model.getvalue().hex(), "cases": cases})
    path = GOLDENS / "spm_models.json"
    path.write_text(json.dumps({"made_by": f"tools/make_spm_goldens.py, sentencepiece {sentencepiece.__version__}",
                                "models": rows}, ensure_ascii=True, separators=(",", ":")).replace('{"name"', '\n{"name"') + "\n")
    print(f"{path}: {path.stat().st_size} bytes")


main()
