// model_file.h: what a model file says, opened and checked. The bytes are described in src/format/README.md.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ordinal/tensor.h"

namespace ordinal {

enum class NormKind : uint8_t { layer_norm, rms_norm };
// Where a sublayer f has its norms: x + f(norm x), norm(x + f(x)), x + norm(f(x)), x + norm(f(norm x)).
enum class NormPlace : uint8_t { pre, post, output, both };
// What the MLP reads: x with attention's output added, or, in parallel with attention, what the block read; then it may
// share attention's norm.
enum class Residual : uint8_t { serial, parallel, parallel_one_norm };
// What a norm of queries and keys takes its statistics from: nothing (there is none), each head, or the row of all
// heads.
enum class QkNorm : uint8_t { none, head, width };
enum class Activation : uint8_t { gelu_tanh, gelu_erf, relu, silu, relu_squared };

// The facts of an architecture that the forward pass needs; families of models are combinations of them.
struct ModelConfig {
  int64_t vocab_size = 0;
  int64_t max_seq_len = 0;  // trained length, in tokens
  int64_t d_model = 0;
  int64_t n_layers = 0;
  int64_t n_heads = 0;
  int64_t n_kv_heads = 0;  // divides n_heads; 1 is multi-query attention
  int64_t head_dim = 0;
  int64_t d_ff = 0;
  NormKind norm = NormKind::layer_norm;
  NormPlace norm_place = NormPlace::pre;
  float norm_epsilon = 1e-5f;
  bool final_norm = true;  // a norm before the output matrix; a post-norm model may lack it either way
  Residual residual = Residual::serial;
  float residual_scale = 1.0f;  // multiplies what a sublayer adds
  Activation activation = Activation::gelu_tanh;
  bool gated_mlp = false;        // down(act(gate x) * up x) in place of down(act(up x))
  bool tied_output = true;       // logits from token_embd.weight; otherwise from output.weight
  float embedding_scale = 1.0f;  // multiplies the token embedding
  bool embedding_norm = false;   // a norm of the token embedding
  int64_t d_embedding = 0;       // width of the tables where matrices lead from it to d_model and back; 0: d_model
  std::vector<float> attention_scale;  // [n_layers]: multiplies q·k
  float attention_softcap = 0.0f;      // c: scores become c tanh(score / c) before positions act on them; 0: none
  std::vector<int64_t> window;         // [n_layers]: a query sees itself and so many - 1 keys before; 0, or empty: all
  float qkv_clip = 0.0f;               // q, k and v are kept within this of 0, before their norm; 0: they are not
  QkNorm qk_norm = QkNorm::none;       // of q and k, before positions turn them
  NormKind qk_norm_kind = NormKind::layer_norm;
  float logit_scale = 1.0f;      // multiplies the logits
  float logit_softcap = 0.0f;    // then c: they become c tanh(logit / c); 0: none
  TokenId bos_id = -1;           // starts a text, -1 for none
  std::vector<TokenId> eos_ids;  // each ends a text; may be empty

  constexpr int64_t embedding_width() const { return d_embedding == 0 ? d_model : d_embedding; }
  int64_t window_of(int64_t layer) const { return window.empty() ? 0 : window[static_cast<size_t>(layer)]; }

  // Throws Error naming the first field that is out of range or does not fit the others.
  void validate() const;
};

// Everything a tokenizer is made of. Which fields count depends on `kind`:
//   none    ids only
//   bpe     byte-level byte pair encoding: pieces, merges, split; unknown_id where single bytes have no piece
//   char_bpe  the same from characters: pieces, merges; characters without a piece become byte_ids, or unknown_id
//   bytes   a token per byte: pieces (256 of them one byte long)
//   chars   a token per character: pieces; unknown_id or an error for others
//   scores  llama2.c's and SentencePiece's: pieces and scores, best-scoring neighbours merged first; byte_ids
// A text goes its way in this order: added tokens are cut out, it is changed, normalized added tokens are cut out, a
// space is put before it, it is cut, and what is left is merged. src/text/README.md has the words for each.
struct TokenizerData {
  struct Merge {
    TokenId left, right, result;
  };
  // A change of a text: nfc, nfd, nfkc, nfkd, lowercase, strip_left, strip_right, prepend, replace, replace_regex.
  struct Change {
    std::string what, pattern, content;
  };
  // A cut of a text at what a pattern matches: isolated, removed, previous, next, contiguous; or by a rule whose name
  // is the pattern (rule).
  struct Cut {
    std::string how, pattern;
    bool literal = false;   // the pattern is a text, not a regular expression
    bool inverted = false;  // what is matched and what is between change places
    bool spelled = false;   // it meets bytes spelled as GPT-2's files spell them
  };
  // How a token is looked for in a text, where that differs from a special token's way.
  struct Added {
    TokenId id = -1;
    std::string name;                     // where it is not the piece
    bool always = false;                  // also when special tokens are not asked for
    bool lstrip = false, rstrip = false;  // with the blanks beside it
    bool single_word = false;             // not within a word
    bool normalized = false;              // in the changed text, by its changed name
    bool named_only = false;              // text becomes it in no other way
  };
  std::string kind = "none";
  std::vector<std::string> pieces;   // bytes of every id; "" for an id that stands for nothing
  std::vector<Merge> merges;         // best first (bpe, char_bpe)
  std::vector<float> scores;         // one a piece (scores)
  std::vector<TokenId> special_ids;  // ids that text never becomes unless asked; pieces hold their names
  std::vector<Added> added;          // of special ids, and of others that are looked for by name
  std::vector<Change> changes;       // of the text before it is cut, in this order
  std::string split = "gpt2";        // how text is cut before merging: gpt2, llama3, qwen2 or none (bpe, char_bpe)
  std::vector<Cut> cuts;             // one after another, in place of split where there are any
  bool add_prefix_space = false;     // a space before each stretch of text that has none (bpe, char_bpe)
  std::string prefix;                // another rule for that space: none, first, every; "": the kind's own
  std::string first_space;           // what decoding does with it: kept, dropped, all_dropped; "": the kind's own
  bool ignore_merges = false;        // a word that is a piece is that piece (bpe, char_bpe)
  bool fuse_unknown = false;         // unknown characters side by side are one token (char_bpe)
  std::vector<TokenId> byte_ids;     // [256] or none: for characters without a piece (char_bpe, scores)
  bool adds_bos = false;             // encoding puts bos_id first
  bool adds_eos = false;             // and eos_id last
  TokenId bos_id = -1;
  TokenId eos_id = -1;
  TokenId unknown_id = -1;
  std::string chat;  // the known template in which the model was taught to talk: chatml, llama3, ...; "": none
};

// Where weights came from and how positions are meant.
struct ModelNotes {
  std::string position = "none";               // native position spec
  std::vector<std::string> trained_positions;  // every spec the weights were trained under, native among them
  std::string provenance_json = "{}";          // a JSON object of strings: source, converter, remarks
};

// A model file mapped read-only. Opening checks every number before it is used and touches no tensor's pages.
// Copies share the mapping. Views stay valid while any copy lives.
class ModelFile {
 public:
  // Throws Error: no such file, not a model file, another version, truncated, overlapping, misaligned, lying.
  static ModelFile open(const std::string& path);

  const std::string& path() const;
  int64_t bytes() const;
  const ModelConfig& config() const;
  const ModelNotes& notes() const;
  std::span<const TensorView> tensors() const;          // in file order
  const TensorView* find(std::string_view name) const;  // nullptr when there is none

  // "none", "bpe", ...: known without reading the tokenizer's data.
  const std::string& tokenizer_kind() const;
  // Reads the tokenizer. Throws Error when its data is damaged.
  TokenizerData tokenizer() const;

  // Reads everything and compares checksums. Throws Error naming the first part that differs.
  void verify() const;

  // The checksum that the file records for a tensor, 16 hexadecimal digits.
  std::string recorded_checksum(std::string_view tensor_name) const;

 private:
  struct Contents;
  std::shared_ptr<const Contents> contents_;
  friend ModelFile open_model_descriptor(int descriptor, const std::string& name);
};

}  // namespace ordinal
