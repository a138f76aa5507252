// hf_config_test.cpp: config.json of Hugging Face folders: what each setting means, and which are refused.
#include "convert/hugging_face/hf_config.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "support.h"

using namespace ordinal;
using Ids = std::vector<TokenId>;
using ordinal::convert::FamilyFacts;
using test::error_of, test::mentions;

namespace {

constexpr const char* kSizes =
    R"("model_type": "gpt2", "vocab_size": 100, "n_positions": 12, "n_embd": 24, "n_layer": 3, "n_head": 4)";

struct ReadConfig {
  FamilyFacts config;
  std::vector<std::string> notes;
};

ReadConfig read(const std::string& more, const std::string& sizes = kSizes) {
  ReadConfig result;
  result.config = convert::read_hf_config(parse_json("{" + sizes + more + "}", "config.json"), "config.json",
                                          [&](const std::string& note) { result.notes.push_back(note); })
                      .facts;
  return result;
}

std::string config_error(const std::string& more, const std::string& sizes = kSizes) {
  return error_of([&] { read(more, sizes); });
}

}  // namespace

TEST_CASE("gpt2 config: sizes alone mean transformers' defaults") {
  const FamilyFacts config = read("").config;
  CHECK_EQ(config.model.vocab_size, 100);
  CHECK_EQ(config.model.max_seq_len, 12);
  CHECK_EQ(config.model.d_model, 24);
  CHECK_EQ(config.model.n_layers, 3);
  CHECK_EQ(config.model.n_heads, 4);
  CHECK_EQ(config.model.n_kv_heads, 4);
  CHECK_EQ(config.model.head_dim, 6);
  CHECK_EQ(config.model.d_ff, 96);
  CHECK_EQ(config.model.activation, Activation::gelu_tanh);
  CHECK_EQ(config.model.norm, NormKind::layer_norm);
  CHECK_EQ(config.model.norm_epsilon, 1e-5f);
  CHECK_FALSE(config.model.gated_mlp);
  CHECK(config.tie_head);
  CHECK_EQ(config.model.attention_scale.at(2), static_cast<float>(1 / std::sqrt(6.0)));
  CHECK_EQ(config.position, "learned");
}

TEST_CASE("gpt2 config: n_inner is a number or null") {
  CHECK_EQ(read(R"(, "n_inner": 13)").config.model.d_ff, 13);
  CHECK_EQ(read(R"(, "n_inner": null)").config.model.d_ff, 96);
  CHECK(mentions(config_error(R"(, "n_inner": 0)"), {"n_inner"}));
  CHECK(mentions(config_error(R"(, "n_inner": 2.5)"), {"n_inner"}));
}

TEST_CASE("gpt2 config: activation names are those that compute the same") {
  const auto activation = [](const std::string& name) {
    return read(R"(, "activation_function": ")" + name + "\"").config.model.activation;
  };
  for (const char* name : {"gelu_new", "gelu_pytorch_tanh", "gelu_fast", "gelu_accurate", "gelu_python_tanh"})
    CHECK_EQ(activation(name), Activation::gelu_tanh);
  CHECK_EQ(activation("gelu"), Activation::gelu_erf);
  CHECK_EQ(activation("gelu_python"), Activation::gelu_erf);
  CHECK_EQ(activation("relu"), Activation::relu);
  CHECK_EQ(activation("relu2"), Activation::relu_squared);
  CHECK_EQ(activation("silu"), Activation::silu);
  CHECK_EQ(activation("swish"), Activation::silu);
  for (const char* name : {"quick_gelu", "tanh", "gelu_10", ""}) {
    const std::string text = error_of([&] { activation(name); });
    CHECK(mentions(text, {"activation_function"}));
    CHECK(mentions(text, {"gelu_new, gelu_pytorch_tanh"}));
  }
}

TEST_CASE("gpt2 config: scores are scaled by head width, by layer, by both, or not") {
  const double by_head = 1 / std::sqrt(6.0);
  const auto scale = [](const std::string& more, int64_t layer) {
    return read(more).config.model.attention_scale.at(static_cast<size_t>(layer));
  };
  CHECK_EQ(scale(R"(, "scale_attn_weights": true)", 1), static_cast<float>(by_head));
  CHECK_EQ(scale(R"(, "scale_attn_weights": false)", 1), 1.0f);
  CHECK_EQ(scale(R"(, "scale_attn_by_inverse_layer_idx": true)", 0), static_cast<float>(by_head));
  CHECK_EQ(scale(R"(, "scale_attn_by_inverse_layer_idx": true)", 2), static_cast<float>(by_head / 3));
  CHECK_EQ(scale(R"(, "scale_attn_weights": false, "scale_attn_by_inverse_layer_idx": true)", 2), 1.0f / 3);
  CHECK(mentions(config_error(R"(, "scale_attn_weights": 1)"), {"scale_attn_weights"}));
}

TEST_CASE("gpt2 config: epsilon is a positive number") {
  CHECK_EQ(read(R"(, "layer_norm_epsilon": 1e-3)").config.model.norm_epsilon, 1e-3f);
  for (const char* value : {"0", "-1e-5", "2", "\"small\"", "[]"})
    CHECK(mentions(config_error(R"(, "layer_norm_epsilon": )" + std::string(value)), {"layer_norm_epsilon"}));
}

TEST_CASE("gpt2 config: start and end of a text may be a number, a list, nothing, or GPT-2's own") {
  CHECK_EQ(read(R"(, "bos_token_id": 7, "eos_token_id": 9)").config.model.bos_id, 7);
  CHECK_EQ(read(R"(, "eos_token_id": 9)").config.model.eos_ids, Ids{9});
  CHECK_EQ(read(R"(, "eos_token_id": [9, 3, 9])").config.model.eos_ids, Ids{9, 3});
  CHECK_EQ(read(R"(, "eos_token_id": [])").config.model.eos_ids, Ids{});
  CHECK_EQ(read("").config.model.bos_id, -1);
  CHECK_EQ(read("").config.model.eos_ids, Ids{});
  const std::string gpt2 =
      R"("model_type": "gpt2", "vocab_size": 50257, "n_positions": 12, "n_embd": 24, "n_layer": 3, "n_head": 4)";
  CHECK_EQ(read("", gpt2).config.model.bos_id, 50256);
  CHECK_EQ(read("", gpt2).config.model.eos_ids, Ids{50256});
  CHECK_EQ(read(R"(, "bos_token_id": null, "eos_token_id": null)", gpt2).config.model.bos_id, -1);
  CHECK_EQ(read(R"(, "eos_token_id": null)", gpt2).config.model.eos_ids, Ids{});
  const ReadConfig past = read(R"(, "bos_token_id": 50256, "eos_token_id": [100, 5])");
  CHECK_EQ(past.config.model.bos_id, -1);
  CHECK_EQ(past.config.model.eos_ids, Ids{5});
  CHECK_EQ(past.notes.size(), 2);
  CHECK_EQ(read(R"(, "bos_token_id": -1)").config.model.bos_id, -1);
  CHECK(mentions(config_error(R"(, "bos_token_id": "x")"), {"bos_token_id"}));
  CHECK(mentions(config_error(R"(, "eos_token_id": [1.5])"), {"eos_token_id"}));
}

TEST_CASE("gpt2 config: a size that is missing, zero, negative, huge or no whole number is named") {
  const std::string names[] = {"vocab_size", "n_positions", "n_embd", "n_layer", "n_head"};
  for (const std::string& name : names) {
    nlohmann::json config = nlohmann::json::parse("{" + std::string(kSizes) + "}");
    const auto refused = [&] {
      return error_of([&] { convert::read_hf_config(parse_json(config.dump(), "config.json"), "config.json", {}); });
    };
    for (const char* value : {"0", "-1", "2147483648", "9223372036854775807", "18446744073709551615", "1e300", "2.5",
                              "\"12\"", "true", "[12]"}) {
      config[name] = nlohmann::json::parse(value);
      CHECK(mentions(refused(), {name}));
    }
    config.erase(name);
    if (name != "n_positions")  // of which transformers has a default
      CHECK(mentions(refused(), {"does not say", name}));
  }
  CHECK(mentions(config_error(R"(, "num_attention_heads": 5)"), {"contradicts"}));
  CHECK_EQ(read(R"(, "num_attention_heads": 4)").config.model.n_heads, 4);
  CHECK(mentions(
      config_error(
          "", R"("model_type": "gpt2", "vocab_size": 9, "n_positions": 9, "n_embd": 25, "n_layer": 1, "n_head": 4)"),
      {"do not divide"}));
}

TEST_CASE("gpt2 config: another kind of model is refused by name") {
  CHECK(mentions(config_error("", R"("model_type": "openelm", "vocab_size": 9)"), {"'openelm'", "gpt_neox, opt"}));
  CHECK(mentions(config_error("", R"("model_type": "mixtral", "num_local_experts": 8)"), {"a mixture of experts"}));
  CHECK(mentions(config_error("", R"("model_type": "mamba", "state_size": 16)"), {"a state-space model"}));
  CHECK(mentions(config_error("", R"("model_type": "bert", "vocab_size": 9)"), {"encoder", "'bert'"}));
  CHECK(mentions(config_error("", R"("model_type": "t5", "is_encoder_decoder": true)"), {"encoder"}));
  CHECK(mentions(config_error("", R"("vocab_size": 9)"), {"model_type"}));
}

TEST_CASE("gpt2 config: without model_type, GPT-2's sizes make a GPT-2, with a remark") {
  const std::string sizes = R"("vocab_size": 100, "n_positions": 12, "n_embd": 24, "n_layer": 3, "n_head": 4)";
  for (const char* more : {"", R"(, "model_type": null)", R"(, "architectures": ["GPT2LMHeadModel"])"}) {
    const ReadConfig found = read(more, sizes);
    CHECK_EQ(found.config.model.n_heads, 4);
    REQUIRE_EQ(found.notes.size(), 1);
    CHECK(mentions(found.notes.front(), {"model_type", "GPT-2"}));
  }
  for (const char* more : {R"(, "architectures": ["GPTBigCodeForCausalLM"])", R"(, "architectures": "GPT2LMHeadModel")",
                           R"(, "model_type": "mamba2")"})
    CHECK(mentions(config_error(more, sizes), {"model_type"}));
  CHECK(mentions(config_error(R"(, "afn": "gelu")", sizes), {"afn"}));  // GPT-1's
}

TEST_CASE("gpt2 config: descriptions and transformers' own bookkeeping are read over with a remark each") {
  for (const char* setting :
       {R"("author": "A. Writer")", R"("license": "mit")", R"("tags": ["a", "b"])", R"("_flash_attn_2_enabled": true)",
        R"("_attn_implementation_internal": "sdpa")", R"("_some_later_note": {"a": 1})"}) {
    const std::string key = std::string(setting).substr(1, std::string(setting).find("\":") - 1);
    const ReadConfig found = read(", " + std::string(setting));
    REQUIRE_EQ(found.notes.size(), 1);
    CHECK(mentions(found.notes.front(), {key, "changes nothing"}));
    CHECK_EQ(read(", \"" + key + "\": null").notes.size(), 0);
  }
}

TEST_CASE("gpt2 config: generation_config.json says what ends a text, where it says so") {
  const auto ends = [](const std::string& config, const std::string& generation, size_t remarks) {
    ReadConfig found = read(config);
    convert::read_generation_config(parse_json(generation, "generation_config.json"), "generation_config.json",
                                    found.config, [&](const std::string& note) { found.notes.push_back(note); });
    CHECK_EQ(found.notes.size(), remarks);
    return found.config.model.eos_ids;
  };
  const std::string config = R"(, "eos_token_id": 9)";
  CHECK_EQ(ends(config, R"({"eos_token_id": 9, "temperature": 0.7})", 0), Ids{9});
  CHECK_EQ(ends(config, R"({"eos_token_id": 7})", 1), Ids{7});
  CHECK_EQ(ends(config, R"({"eos_token_id": [7, 9, 7]})", 1), Ids{7, 9});
  CHECK_EQ(ends("", R"({"eos_token_id": [7]})", 1), Ids{7});
  CHECK_EQ(ends(config, R"({"do_sample": true})", 0), Ids{9});
  CHECK_EQ(ends(config, R"({"eos_token_id": null})", 0), Ids{9});
  CHECK_EQ(ends(config, R"({"eos_token_id": 100})", 1), Ids{9});  // past the vocabulary
  for (const char* bad : {"[]", R"({"eos_token_id": "x"})", R"({"eos_token_id": [1.5]})"})
    CHECK_FALSE(error_of([&] { ends(config, bad, 0); }).empty());
}

TEST_CASE("gpt2 config: settings that would change the result are errors; harmless ones pass in silence") {
  for (const char* setting :
       {R"("add_cross_attention": true)", R"("is_encoder_decoder": true)", R"("quantization_config": {"bits": 4})",
        R"("pruned_heads": {"0": [1]})", R"("sliding_window": 128)", R"("position_embedding_type": "rotary")",
        R"("rope_scaling": {"factor": 2})", R"("logit_scale": 0.5)", R"("multi_query": true)"}) {
    const std::string key = std::string(setting).substr(1, std::string(setting).find("\":") - 1);
    CHECK(mentions(config_error(", " + std::string(setting)), {key}));
  }
  const ReadConfig harmless = read(R"(, "add_cross_attention": false, "quantization_config": null, "pruned_heads": {},
      "attn_pdrop": 0.1, "resid_pdrop": 0.1, "embd_pdrop": 0.1, "initializer_range": 0.02, "summary_type": "cls_index",
      "summary_use_proj": true, "torch_dtype": "float32", "dtype": "bfloat16", "use_cache": true, "n_ctx": 12,
      "task_specific_params": {"text-generation": {"do_sample": true, "max_length": 50}}, "architectures": ["GPT2Model"],
      "transformers_version": "4.36.2", "reorder_and_upcast_attn": true, "temperature": 0.7, "rope_scaling": null,
      "_name_or_path": "gpt2", "id2label": {"0": "LABEL_0"}, "pad_token_id": 50256, "gradient_checkpointing": false)");
  CHECK(harmless.notes.empty());
  CHECK_EQ(read(R"(, "n_ctx": 1024)").notes.size(), 1);
}
