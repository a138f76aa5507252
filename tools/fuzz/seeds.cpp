// seeds.cpp: writes small good inputs for each harness, in a folder of its name: seeds FOLDER.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <filesystem>

#include "convert/training_files.h"
#include "fuzz.h"
#include "ordinal/position.h"

namespace {
namespace fs = std::filesystem;

void put(const fs::path& folder, const std::string& harness, const std::string& name, const std::string& bytes) {
  fs::create_directories(folder / harness);
  test::write_file((folder / harness / name).string(), bytes);
}

std::string model_file(const ordinal::ModelDraft& draft, ordinal::Dtype dtype) {
  const test::Scratch scratch;
  ordinal::WriteOptions options;
  options.keep_dtype = false;
  options.dtype = dtype;
  ordinal::write_model_file(draft, scratch.path("m.ordinal"), options);
  return test::read_file(scratch.path("m.ordinal"));
}

void write_seeds(const fs::path& folder) {
  const ordinal::ModelDraft gpt2 = foreign::small_gpt2(), llama = foreign::small_llama();

  for (const ordinal::Dtype dtype : {ordinal::Dtype::f32, ordinal::Dtype::f16, ordinal::Dtype::bf16}) {
    const std::string kind(ordinal::dtype_info(dtype).name);
    put(folder, "fuzz_model", "gpt2-" + kind, model_file(gpt2, dtype));
    put(folder, "fuzz_model", "llama-" + kind, model_file(llama, dtype));
  }
  for (const ordinal::Dtype dtype : {ordinal::Dtype::f32, ordinal::Dtype::bf16})
    put(folder, "fuzz_gpt2_folder", std::string(ordinal::dtype_info(dtype).name),
        fuzz::joined({foreign::gpt2_config(gpt2), foreign::safetensors(foreign::gpt2_tensors(gpt2, {"", dtype}))}));
  for (const int version : {3, 5}) put(folder, "fuzz_llmc", std::to_string(version), foreign::llmc_file(gpt2, version));
  for (const int version : {0, 1})
    put(folder, "fuzz_llama2c", std::to_string(version), foreign::llama2c_file(llama, version));

  ordinal::ModelDraft rounded = llama;
  put(folder, "fuzz_llama2c", "2", foreign::llama2c_8bit_file(rounded, 12));
  for (const bool legacy : {false, true})
    put(folder, "fuzz_pytorch", legacy ? "legacy" : "zip", foreign::torch_file(foreign::nanogpt_tensors(gpt2), legacy));
  for (const char* name : {"nano.pt", "min.pt"})
    put(folder, "fuzz_pytorch", name, test::read_file(test::repository("tests/goldens/torch/") + name));
  const foreign::TfFiles tf = foreign::tf_files(gpt2);
  put(folder, "fuzz_tf_gpt2", "good", fuzz::joined({tf.sizes, tf.index, tf.data}));
  put(folder, "fuzz_gguf", "llama", foreign::gguf_file(llama));
  put(folder, "fuzz_gguf", "kinds", test::read_file(test::repository("tests/goldens/gguf/kinds.gguf")));

  put(folder, "fuzz_request", "completion",
      R"({"model":"m","prompt":["a",[1,2]],"max_tokens":9,"temperature":0.5,"top_p":0.25,"n":2,"stream":true,)"
      R"("stream_options":{"include_usage":true},"logprobs":3,"echo":true,"stop":["x"],"presence_penalty":1,)"
      R"("frequency_penalty":-1,"logit_bias":{"5":2.5},"seed":-1,"user":"u","top_k":4,"min_p":0.1,"typical_p":0.7,)"
      R"("repetition_penalty":1.5,"position":"none","ctx":50,"special":true,"ignore_eos":true,"draft":"lookup",)"
      R"("draft_tokens":3,"best_of":null,"suffix":""})");
  put(folder, "fuzz_request", "chat",
      R"({"messages":[{"role":"system","content":"b"},{"role":"user","content":[{"type":"text","text":"a"}],"name":"n"}],)"
      R"("logprobs":true,"top_logprobs":4,"response_format":{"type":"text"},"tools":[],"max_completion_tokens":7})");
  put(folder, "fuzz_request", "score", R"({"text":["a",[1]],"positions":["native","none"],"ctx":9,"top":2})");
  put(folder, "fuzz_request", "tokens", R"({"ids":[1,2],"special":false})");
  const std::string vocab = R"({"a":0,"b":1,"ab":2,"Ġ":3,"Ġa":4,"<s>":5})", merges = "#version: 0.2\na b\nĠ a\n";
  put(folder, "fuzz_tokenizer_files", "tokenizer_json",
      std::string(1, '\0') + R"({"model":{"type":"BPE","vocab":)" + vocab +
          R"(,"merges":["a b","Ġ a"]},"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"use_regex":true},)"
          R"("decoder":{"type":"ByteLevel"},"added_tokens":[{"id":5,"content":"<s>","special":true}]})");
  put(folder, "fuzz_tokenizer_files", "tokenizer_json_steps",
      std::string(1, '\5') + R"({"model":{"type":"BPE","vocab":)" + vocab +
          R"(,"merges":["a b","Ġ a"],"ignore_merges":true},"normalizer":{"type":"Sequence","normalizers":[{"type":"NFKC"},)"
          R"({"type":"Replace","pattern":{"Regex":"a{2,}"},"content":"a"},{"type":"Strip"},{"type":"Lowercase"}]},)"
          R"("pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"[^(\\s|[.,])]+"},)"
          R"("behavior":"MergedWithNext","invert":true},{"type":"ByteLevel","add_prefix_space":false,"use_regex":true},)"
          R"({"type":"Digits"}]},"decoder":{"type":"ByteLevel"},"added_tokens":[{"id":5,"content":"<s>","special":false,)"
          R"("lstrip":true,"rstrip":true,"single_word":true,"normalized":true}]})");
  put(folder, "fuzz_tokenizer_files", "tokenizer_json_characters",
      std::string(1, '\5') + R"({"model":{"type":"BPE","vocab":{"<unk>":0,"▁":1,"a":2,"b":3,"▁a":4,"<0x21>":5},)"
                             R"("merges":[["▁","a"]],"byte_fallback":true,"fuse_unk":true,"unk_token":"<unk>"},)"
                             R"("pre_tokenizer":{"type":"Metaspace","prepend_scheme":"first","split":true},)"
                             R"("decoder":{"type":"Metaspace","prepend_scheme":"first"},)"
                             R"("added_tokens":[{"id":0,"content":"<unk>","special":true}]})");
  put(folder, "fuzz_tokenizer_files", "spm_model",
      std::string(1, '\4') + std::string("\x0a\x08\x0a\x01"
                                         "a\x15\0\0\0\0\x0a\x07\x0a\x03<s>\x18\x03\x0a\x08\x0a\x04</s>\x18\x03"
                                         "\x12\x02\x18\x02\x1a\x02\x20\0",
                                         37));
  put(folder, "fuzz_tokenizer_files", "bpe", std::string(1, '\1') + fuzz::joined({vocab, merges}));
  put(folder, "fuzz_tokenizer_files", "llmc", std::string(1, '\2') + foreign::llmc_tokenizer_file({"a", "b", "ab"}, 2));
  put(folder, "fuzz_tokenizer_files", "llama2c",
      std::string(1, '\3') + foreign::llama2c_tokenizer_file(foreign::small_scored_pieces(263)));

  put(folder, "fuzz_tokenizer_files", "meta",
      std::string(1, '\4') + test::read_file(test::repository("tests/goldens/torch/meta.pkl")));

  put(folder, "fuzz_text", "plain", "I'll say it's 12 o'clock,  she said.\n\n\tcaf\u00e9 \u4e2d\u6587 \u0e01\u0e33");
  put(folder, "fuzz_text", "bytes", "\xff\xfe a\xc3 \xf0\x9f\x98\x80 <|end|> \xed\xa0\x80");
  for (const ordinal::SchemeInfo& scheme : ordinal::position_schemes())
    put(folder, "fuzz_position", std::string(scheme.name), std::string(scheme.name));
  put(folder, "fuzz_position", "spec", "rope:theta=500000,pairing=half,rotary_dim=8");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: seeds FOLDER\n");
    return 2;
  }
  doctest::Context context;
  context.setAsDefaultForAssertsOutOfTestCases();
  write_seeds(argv[1]);
}
