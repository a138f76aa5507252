#!/usr/bin/env python3
# Plants one fault at a time in a copy of the position schemes and shows which test notices.
"""
    tools/mutate_schemes.py [--folder DIR] [--only WORD] [--jobs N]

Each fault is a flipped sign, a swapped pairing, an offset, a slope: one edit of one line. The copy's position tests are
built once; then, for every fault, the file it is in is compiled again and the tests run until one fails, the scheme's own
first, then all. A fault that no test notices is reported, and the script fails. With --folder the copy and its objects
stay for a next run.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# file of src/position, what the fault is, the text that goes, the text that comes
FAULTS = [
    ("learned.cpp", "the offset is forgotten", "(row + offset_) * cols", "row * cols"),
    ("learned.cpp", "the table ends a row late", "{\"error\", [](const TableReach& reach) { return reach.rows; }", "{\"error\", [](const TableReach& reach) { return reach.rows + 1; }"),
    ("learned.cpp", "clamp stops a row early", "{.row = std::min(p, reach.rows - 1)}", "{.row = std::min(p, reach.rows - 2)}"),
    ("learned.cpp", "wrap skips row 0", "return {.row = p % reach.rows};", "return {.row = p < reach.rows ? p : (p + 1) % reach.rows};"),
    ("learned.cpp", "resample stretches the wrong way", "static_cast<double>(p) * static_cast<double>(reach.rows) / static_cast<double>(reach.length)", "static_cast<double>(p) * static_cast<double>(reach.length) / static_cast<double>(reach.rows)"),
    ("learned.cpp", "resample takes the nearest row", ".weight = place - static_cast<double>(row)", ".weight = 0"),
    ("learned.cpp", "hierarchical swaps its digits", ".row = p % reach.rows, .weight = reach.alpha / (1 - reach.alpha), .toward = p / reach.rows", ".row = p / reach.rows, .weight = reach.alpha / (1 - reach.alpha), .toward = p % reach.rows"),
    ("learned.cpp", "hierarchical weighs by alpha alone", "reach.alpha / (1 - reach.alpha)", "reach.alpha"),
    ("learned.cpp", "rows replace the embedding", "out[c] += row[c];", "out[c] = row[c];"),
    ("hierarchical.cpp", "alpha is 0.6 by default", 'params.positive("alpha", 0.4)', 'params.positive("alpha", 0.6)'),
    ("hierarchical.cpp", "alpha 0.5 is accepted", "alpha >= 1 || alpha == 0.5", "alpha >= 1"),
    ("sinusoidal.cpp", "sine and cosine trade places", "std::sin(angle)", "std::cos(angle)"),
    ("sinusoidal.cpp", "the exponent loses its minus", "std::pow(base, -exponent)", "std::pow(base, exponent)"),
    ("sinusoidal.cpp", "the exponent is i / d", "static_cast<double>(2 * i) / static_cast<double>(shape.d_model)", "static_cast<double>(i) / static_cast<double>(shape.d_model)"),
    ("sinusoidal.cpp", "t2t spacing divides by d/2", "static_cast<double>(i) / static_cast<double>(pairs - 1)", "static_cast<double>(i) / static_cast<double>(pairs)"),
    ("sinusoidal.cpp", "layouts are swapped", '{"interleaved", "concat"}) == "concat"', '{"interleaved", "concat"}) != "concat"'),
    ("sinusoidal.cpp", "first is ignored", "positions[static_cast<size_t>(r)]) + first_", "positions[static_cast<size_t>(r)]) + 0 * first_"),
    ("sinusoidal.cpp", "cosines are not scaled", "scale_ * std::cos(angle)", "std::cos(angle)"),
    ("rope.cpp", "the rotation turns the other way", "x[0] = a * cosines[i] - b * sines[i];\n        x[apart] = a * sines[i] + b * cosines[i];", "x[0] = a * cosines[i] + b * sines[i];\n        x[apart] = b * cosines[i] - a * sines[i];"),
    ("rope.cpp", "one sign of the rotation is flipped", "x[0] = a * cosines[i] - b * sines[i];", "x[0] = a * cosines[i] + b * sines[i];"),
    ("rope.cpp", "the pairings are swapped", '{"half", "interleaved"}) == "interleaved"', '{"half", "interleaved"}) != "interleaved"'),
    ("rope.cpp", "half pairs reach over head_dim / 2", "apart = interleaved_ ? 1 : angles_.frequencies.size();", "apart = interleaved_ ? 1 : head_dim_ / 2;"),
    ("rope.cpp", "keys are not turned", "      turn_pairs(key, first, cosine, sine);\n", ""),
    ("rope.cpp", "positions count from 1", "p * angles_.frequencies[first + i]", "(p + 1) * angles_.frequencies[first + i]"),
    ("rope.cpp", "the table is read a position late", "static_cast<size_t>(position) * pairs : 0;", "static_cast<size_t>(position > 0 ? position - 1 : 0) * pairs : 0;"),
    ("rope.cpp", "pairs past the first 64 repeat them", "angles_.frequencies[first + i]", "angles_.frequencies[i]"),
    ("rope.cpp", "sines miss the attention factor", "angles_.magnitude * std::sin(angle)", "std::sin(angle)"),
    ("rope.cpp", "rope_freqs.weight multiplies", "angles.frequencies[i] /= divisors[i]", "angles.frequencies[i] *= divisors[i]"),
    ("rope_scaling.cpp", "frequencies fall by i, not 2i", "static_cast<double>(2 * i) / static_cast<double>(rotary_dim)", "static_cast<double>(i) / static_cast<double>(rotary_dim)"),
    ("rope_scaling.cpp", "linear multiplies", "frequency /= s;", "frequency *= s;"),
    ("rope_scaling.cpp", "ntk's exponent is 1", "std::pow(s, r / (r - 2))", "s"),
    ("rope_scaling.cpp", "the ramp is upside down", "std::lerp(w / s, w, std::clamp(place, 0.0, 1.0))", "std::lerp(w, w / s, std::clamp(place, 0.0, 1.0))"),
    ("rope_scaling.cpp", "the ramp begins at the ceiling", "std::floor(pair_turning(fast))", "std::ceil(pair_turning(fast))"),
    ("rope_scaling.cpp", "the ramps are swapped", '{"code", "paper"}) == "code"', '{"code", "paper"}) != "code"'),
    ("rope_scaling.cpp", "beta_fast is 16 by default", '"beta_fast", 32', '"beta_fast", 16'),
    ("rope_scaling.cpp", "yarn's factor takes log10", "0.1 * k * std::log(s) + 1", "0.1 * k * std::log10(s) + 1"),
    ("rope_scaling.cpp", "the mscale ratio is inverted", "m(*mscale) / m(*mscale_all_dim)", "m(*mscale_all_dim) / m(*mscale)"),
    ("rope_scaling.cpp", "a stated attention_factor is ignored", "stated ? *stated : mscale", "mscale"),
    ("rope_scaling.cpp", "dynamic forgets s - 1", "s * n / length - (s - 1)", "s * n / length"),
    ("rope_scaling.cpp", "dynamic scales within the trained length", "if (n <= length) return;", ""),
    ("rope_scaling.cpp", "dynamic has a default factor of 2", 'params.at_least("factor", 1, 1)', 'params.at_least("factor", 1, 2)'),
    ("rope_scaling.cpp", "llama3 blends the wrong way", "(turns - low) / (high - low)", "(high - turns) / (high - low)"),
    ("rope_scaling.cpp", "llama3 is applied on top of rope_freqs.weight", 'if (lookup && lookup("rope_freqs.weight") != nullptr)', "if (false)"),
    ("rope_scaling.cpp", "longrope's tables are swapped", "(n > length ? beyond : within)[i]", "(n > length ? within : beyond)[i]"),
    ("rope_scaling.cpp", "longrope's factor loses its root", "std::sqrt(1 + std::log(s) / std::log(length))", "(1 + std::log(s) / std::log(length))"),
    ("alibi.cpp", "the sign is flipped", "scores[j] -= slope", "scores[j] += slope"),
    ("alibi.cpp", "the exponent counts from 0", "static_cast<double>(h + 1) / first_lot", "static_cast<double>(h) / first_lot"),
    ("alibi.cpp", "the second lot is the even slopes", "static_cast<double>(h - below) + 0.5", "static_cast<double>(h - below) + 1"),
    ("alibi.cpp", "naive slopes for every number of heads", '{"standard", "naive"}) == "naive"', '{"standard", "naive"}) != "naive"'),
    ("alibi.cpp", "distance is counted in cache places", "static_cast<float>(distance_back(site, j))", "static_cast<float>(scores.size() - 1 - j)"),
    ("alibi.cpp", "the penalty is scaled with the scores", "scores[j] -= slope *", "scores[j] -= site.scale * slope *"),
    ("t5_bias.cpp", "the bidirectional half", "const int64_t exact = buckets / 2;", "const int64_t exact = buckets / 4;"),
    ("t5_bias.cpp", "buckets round up", "std::floor(step)", "std::ceil(step)"),
    ("t5_bias.cpp", "the last bucket is never reached", "std::min(buckets - 1, exact", "std::min(buckets - 2, exact"),
    ("t5_bias.cpp", "the table is read across", "bucket * n_heads + head", "bucket + head * static_cast<int64_t>(bias.size()) / n_heads"),
    ("t5_bias.cpp", "all heads read the first column", "site.head * (last_ + 1)", "0 * (last_ + 1)"),
    ("relative_bias.cpp", "the future half is read", "(rows == clip + 1 ? n : clip - n)", "(rows == clip + 1 ? n : clip + n)"),
    ("relative_bias.cpp", "the last row is never reached", "std::min(distance_back(site, j), table.clip)", "std::min(distance_back(site, j), table.clip - 1)"),
    ("relative_bias.cpp", "all layers read the first table", "layers_[static_cast<size_t>(site.layer)]", "layers_[0]"),
    ("shaw.cpp", "rows run the other way", "return clip_ - std::min(distance_back(site, key), clip_);", "return clip_ + std::min(distance_back(site, key), clip_);"),
    ("shaw.cpp", "scores miss the scale", "static_cast<double>(site.scale) * sum", "sum"),
    ("shaw.cpp", "far keys add no value", "    add(0, far);\n", ""),
    ("shaw.cpp", "all heads read the first table", "table.rows.data() + site.head * table.head_stride", "table.rows.data()"),
    ("shaw.cpp", "values come from the keys' table", "table_of(values_, site)", "table_of(keys_, site)"),
    ("shaw.cpp", "values are never added", "if (values_.empty()) return;", "if (!values_.empty()) return;"),
    ("xl.cpp", "u and v trade places", "layer.turn[c] -= layer.u[c];", "layer.turn[c] += layer.u[c];"),
    ("xl.cpp", "q does not gain u", "q[r][c] += u[c];", "q[r][c] += 0 * u[c];"),
    ("xl.cpp", "sines and cosines trade places", "return {std::sin(angle), std::cos(angle)};", "return {std::cos(angle), std::sin(angle)};"),
    ("xl.cpp", "the clamp is ignored", "std::min(distance_back(site, j), clamp_)", "distance_back(site, j)"),
    ("xl.cpp", "scores miss the scale", "static_cast<double>(site.scale) * meeting(", "meeting("),
    ("xl.cpp", "all heads meet the first head's rows", "static_cast<size_t>(site.head) * q.size() + first", "0 * q.size() + first"),
    ("none.cpp", "logit_scale divides", "score *= scale_;", "score /= scale_;"),
    ("index.cpp", "positions count from 1", "static_cast<float>(positions[static_cast<size_t>(r)])", "static_cast<float>(positions[static_cast<size_t>(r)] + 1)"),
    ("normalized.cpp", "the last position is 1", "p / static_cast<double>(length_)", "p / static_cast<double>(length_ - 1)"),
    ("per_layer.cpp", "all layers follow the first scheme", "return *layers_[static_cast<size_t>(layer)];", "return layer >= 0 ? *base_ : *layers_[0];"),
    ("per_layer.cpp", "ranges end a layer early", "layer <= last; ++layer", "layer < last; ++layer"),
    ("params.cpp", "unknown keys pass", "if (!used_[i])", "if (false && !used_[i])"),
    ("params.cpp", "a required factor may be missing", "if (param.value.empty())", "if (false && param.value.empty())"),
    ("params.cpp", "defaults are printed", "stays || param.value != param.otherwise", "stays || !param.value.empty()"),
    ("tables.cpp", "layers never have tables of their own", "has_own ? std::string_view(own) : tensor", "has_own && layer < 0 ? std::string_view(own) : tensor"),
    ("tables.cpp", "the width of a table is not checked", "view->shape[1] != cols || ", ""),
    ("spec.cpp", "a list breaks at every comma", "if (!key_first && !layer_first)", "if (!layer_first)"),
    ("scheme.h", "distances are one too long", "site.query_position - site.key_positions[key];", "site.query_position - site.key_positions[key] + 1;"),
]


def own_test(file):
    stem = Path(file).stem
    return {"learned": "learned", "params": "spec", "tables": "relative_bias", "scheme": "alibi"}.get(stem, stem)


def run(command, folder, **more):
    return subprocess.run(command, cwd=folder, text=True, capture_output=True, errors="replace", **more)


def failing_test(folder, *filters):
    """The first test case that fails, or "" when all pass."""
    try:
        result = run(["build/mutants/tests/run", "--abort-after=1", "--no-colors", *filters], folder, timeout=300,
                     env={"ORDINAL_SHARED": str(ROOT.parent / "shared")} | os.environ)
    except subprocess.TimeoutExpired:
        return "(no end within five minutes)"
    if result.returncode == 0:
        return ""
    for part in result.stdout.split("TEST CASE:")[1:]:  # a case that only says something has a part too
        if "ERROR" in part:
            return part.split("\n")[0].strip()
    return f"(ended with {result.returncode})"


def main():
    parser = argparse.ArgumentParser(description="Plants faults in the position schemes; a test must notice each.")
    parser.add_argument("--folder", type=Path, help="keep the copy and its objects here")
    parser.add_argument("--only", default="", help="faults whose file or description holds this word")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    folder = (options.folder or Path(tempfile.mkdtemp())).resolve()
    for part in ("include", "src", "tests", "tools"):
        shutil.rmtree(folder / part, ignore_errors=True)
        shutil.copytree(ROOT / part, folder / part)
    shutil.copy2(ROOT / "Makefile", folder)
    shutil.rmtree(folder / "build/mutants/src/position", ignore_errors=True)  # the last run's fault may be in there
    for made in ("libordinal.a", "tests/run"):
        (folder / "build/mutants" / made).unlink(missing_ok=True)
    tests = ["tests/main.cpp", "tests/support.cpp"]
    tests += sorted(str(p.relative_to(folder)) for d in ("reference", "position") for p in (folder / "tests" / d).glob("*.cpp"))
    make = ["make", "-s", f"-j{options.jobs}", "B=build/mutants", f"test_sources={' '.join(tests)}", "build/mutants/tests/run"]

    built = run(make, folder)
    fails = built.stderr[-2000:] if built.returncode != 0 else failing_test(folder)
    if fails:
        sys.exit(f"the tests must build and pass before faults are planted:\n{fails}")
    survived, noticed = [], 0
    print("| file | fault | noticed by |\n|---|---|---|")
    for file, fault, old, new in FAULTS:
        if options.only not in file and options.only not in fault:
            continue
        path = folder / "src/position" / file
        text = path.read_text()
        if text.count(old) != 1:
            sys.exit(f"{file}: the text of '{fault}' is there {text.count(old)} times, not once: {old}")
        path.write_text(text.replace(old, new))
        built = run(make + ["WARN=", "flags_release=-O0"], folder)  # of one file: time counts, not its speed
        if built.returncode != 0:
            sys.exit(f"{file}: '{fault}' does not compile:\n{built.stderr[-2000:]}")
        test = failing_test(folder, f"-sf=*/{own_test(file)}_test.cpp") or failing_test(folder)
        print(f"| {file} | {fault} | {test or '**nothing**'} |", flush=True)
        noticed += bool(test)
        if not test:
            survived.append(f"{file}: {fault}")
        path.write_text(text)
    if not options.folder:
        shutil.rmtree(folder)
    print(f"\n{noticed} of {noticed + len(survived)} faults noticed")
    if survived:
        sys.exit("not noticed:\n" + "\n".join(survived))


if __name__ == "__main__":
    main()
