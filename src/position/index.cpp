// index: the position itself, added to every channel. A scheme for the laboratory: the first idea everyone has.
//
//   x[p] += p                             at p = 1000 a thousand, beside token embeddings of a size near 1
// What all channels share is the mean that LayerNorm takes away, so models with it do not notice; those with RMSNorm
// do. Spec     index Acts on  the embedding. Needs no tensors; has no last position.
#include "position/scheme.h"

namespace ordinal {
namespace {

class Index final : public PositionScheme {
 public:
  void add_to_embedding(Positions positions, Rows x) const override {
    for (int64_t r = 0; r < x.rows; ++r) {
      const float p = static_cast<float>(positions[static_cast<size_t>(r)]);
      for (float& value : x[r]) value += p;
    }
  }
};

}  // namespace

SchemePtr make_index(ParamReader& params, const AttentionShape&, TableReader&) {
  params.remark("lab: a position of 1000 drowns any token embedding; LayerNorm takes it away again");
  return std::make_unique<Index>();
}

}  // namespace ordinal
