// contract_specs.cpp: see contract_specs.h.
#include "contract_specs.h"

#include <set>

#include "position/tables.h"
#include "reference/random_model.h"
#include "scheme_probe.h"

namespace test {

// Every scheme by its bare name, every scaling of rope, and variants that take other ways through the hooks.
std::vector<std::string> contract_specs() {
  std::vector<std::string> all;
  for (const ordinal::SchemeInfo& info : ordinal::position_schemes()) all.emplace_back(info.name);
  for (const ordinal::SchemeInfo& info : ordinal::rope_scalings()) {
    std::string spec = "rope:scaling=" + std::string(info.name);
    for (const auto& param : ordinal::describe_position_scheme(spec, small_shape()).params)
      if (param.value.empty()) spec += "," + param.key + "=2";
    if (spec != "rope:scaling=none") all.push_back(spec);
  }
  for (const char* spec : {"none:logit_scale=1.3",
                           "learned:offset=2",
                           "learned:beyond=clamp",
                           "learned:beyond=wrap",
                           "learned:beyond=resample",
                           "learned:beyond=hierarchical",
                           "sinusoidal:layout=concat,spacing=t2t",
                           "rope:pairing=interleaved,rotary_dim=6",
                           "alibi:slopes=naive",
                           "relative_bias:clip=31",
                           "shaw:values=0",
                           "xl:clamp=3",
                           "rope;layers=1:none",
                           "learned;layers=0,2:alibi",
                           "none;layers=1:shaw;layers=2:xl",
                           "rope:fraction=0.5",
                           "xpos:pairing=half,center=0",
                           "kerple:kernel=power",
                           "sandwich:dim=8,first=1",
                           "cope:positions=4"})
    all.emplace_back(spec);
  // Every modifier in a form that the texts of these tests are long enough for, on schemes that act in every way.
  for (const char* spec : {"rope;with=logn:length=4",
                           "alibi;with=logn:length=4",
                           "none;with=ssmax",
                           "rope;with=ssmax:s=0.4",
                           "learned;with=steps:every=4",
                           "shaw;with=steps:every=4",
                           "rope;with=random:range=128,seed=3",
                           "shaw;with=random:range=128",
                           "sinusoidal;with=random:range=130",
                           "rope;with=sinks:first=2,window=3",
                           "alibi;with=sinks:first=2,window=3",
                           "cope;with=sinks:first=2,window=3",
                           "xl;with=sinks:first=1,window=4",
                           "rope;with=lambda:first=2,window=4",
                           "shaw;with=lambda:first=2,window=4",
                           "xl;with=lambda:first=2,window=4",
                           "rope;with=rerope:window=4",
                           "rope:pairing=interleaved;with=leaky_rerope:window=4,factor=3",
                           "rope;with=self_extend:window=4,group=2",
                           "rope;with=dca:chunk=3,limit=5",
                           "rope;with=dca:chunk=4,limit=6,top=limit;with=logn:length=4",
                           "rope;with=rerope:window=3;with=random:range=128;layers=1:none;with=steps:every=4",
                           "rope;layers=1:rope;with=dca:chunk=3,limit=5;layers=2:rope;with=lambda:first=1,window=5"})
    all.emplace_back(spec);
  return all;
}

// Grouped heads, three layers, and every table that one of the specs declares. The norm keeps the mean over channels,
// which LayerNorm takes away: with it, what `index` and `normalized` add could not be seen.
std::shared_ptr<const ordinal::Model> model_with_everything(int64_t n_heads, int64_t n_kv_heads,
                                                            const std::string& native) {
  RandomModel random;
  random.position = native;
  ordinal::ModelConfig& c = random.config;
  c = small_config();
  c.n_layers = 3;
  c.n_heads = n_heads;
  c.n_kv_heads = n_kv_heads;
  c.head_dim = 8;
  c.d_model = 32;
  c.max_seq_len = kTrained;
  c.norm = ordinal::NormKind::rms_norm;
  random.norm_bias = false;
  scale_by_head_dim(c);
  ordinal::ModelDraft draft = random_model(random);
  std::set<std::string> names;
  for (const std::string& spec : contract_specs())
    for (const ordinal::SchemeTable& table : made_up_tables(spec, attention_shape(c, kTrained))) {
      if (!names.insert(table.name).second) continue;
      draft.tensors.push_back(tensor_of(table.name, table.shape, table.values));
      draft.tensors.back().is_table = true;
    }
  return ordinal::Model::bind(ordinal::write_model_in_memory(draft, "model with everything"));
}

// Runs `check` for every spec, with the spec in the message when it fails.
void for_every_spec(const std::function<void(const std::string&)>& check) {
  for (const std::string& spec : contract_specs()) {
    CAPTURE(spec);
    check(spec);
  }
}

}  // namespace test
