// reference_schemes.cpp: see reference_schemes.h.
#include "reference/reference_schemes.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <stdexcept>

namespace reference {
namespace {

// "name:key=value,...", asked for key by key.
class Words {
 public:
  explicit Words(const std::string& text) : text_(text) {
    const size_t colon = std::min(text.find(':'), text.size());
    name = text.substr(0, colon);
    for (size_t at = colon + 1; at < text.size();) {
      const size_t end = std::min(text.find(',', at), text.size()), equals = text.find('=', at);
      values_[text.substr(at, equals - at)] = text.substr(equals + 1, end - equals - 1);
      at = end + 1;
    }
  }
  std::string word(const std::string& key, const std::string& otherwise = "") {
    const auto found = values_.extract(key);
    if (!found && otherwise.empty()) throw std::invalid_argument(text_);
    return found ? found.mapped() : otherwise;
  }
  double number(const std::string& key, const std::string& otherwise = "") { return std::stod(word(key, otherwise)); }
  int64_t whole(const std::string& key, const std::string& otherwise = "") { return std::stoll(word(key, otherwise)); }
  void refuse_rest() const {
    if (!values_.empty()) throw std::invalid_argument(text_);
  }

  std::string name;

 private:
  const std::string text_;
  std::map<std::string, std::string> values_;
};

// What the parts of a spec come to.
struct Parts {
  // How far apart query and key stand; none when the key is not seen.
  std::function<std::optional<double>(int64_t i, int64_t j)> distance = [](int64_t i, int64_t j) {
    return std::optional<double>(static_cast<double>(i - j));
  };
  std::function<double(int64_t layer, int64_t head, int64_t i)> factor = [](int64_t, int64_t, int64_t) { return 1.0; };
  std::function<double(const Row& q, const Row& k, double distance)> meet = [](const Row& q, const Row& k, double) {
    double sum = 0;
    for (size_t c = 0; c < q.size(); ++c) sum += q[c] * k[c];
    return sum;
  };
  std::function<double(int64_t layer, int64_t head, int64_t i, double distance)> bias;
};

// q at distance n from k when pair m of both turns by w(m) a position: Re of q times conj k times e^(i n w).
template <class Weight>
auto meet_in_pairs(bool neighbours, double theta, double fraction, Weight weight) {
  return [=](const Row& q, const Row& k, double n) {
    const size_t pairs = q.size() / 2;
    double sum = 0;
    for (size_t m = 0; m < pairs; ++m) {
      const size_t a = neighbours ? 2 * m : m, b = neighbours ? 2 * m + 1 : m + pairs;
      const bool turns = m < static_cast<size_t>(fraction * static_cast<double>(pairs));
      const double angle = turns ? n * std::pow(theta, -static_cast<double>(m) / static_cast<double>(pairs)) : 0;
      const double along = q[a] * k[a] + q[b] * k[b], across = q[a] * k[b] - q[b] * k[a];
      sum += weight(m, pairs, n) * (along * std::cos(angle) + across * std::sin(angle));
    }
    return sum;
  };
}

// A table of a layer, or the one that all layers share.
Matrix table_of(const Model& model, int64_t layer, const std::string& name) {
  const auto own = model.tensors.find("blk." + std::to_string(layer) + "." + name);
  return own != model.tensors.end() ? own->second : model.tensors.at(name);
}

void read_base(Words& words, const Model& model, Parts& parts, Scheme& scheme) {
  const auto heads = static_cast<double>(model.config.n_heads);
  if (words.name == "rope" || words.name == "xpos") {
    const bool xpos = words.name == "xpos";
    const bool neighbours = words.word("pairing", xpos ? "interleaved" : "half") == "interleaved";
    const double theta = words.number("theta", "10000"), fraction = xpos ? 1 : words.number("fraction", "1");
    const double gamma = xpos ? words.number("gamma", "0.4") : 0, base = xpos ? words.number("base", "512") : 0;
    if (xpos) words.word("center", "auto");  // drops out
    parts.meet = meet_in_pairs(neighbours, theta, fraction, [=](size_t m, size_t pairs, double n) {
      const double z = (static_cast<double>(m) / static_cast<double>(pairs) + gamma) / (1 + gamma);
      return xpos ? std::pow(z, n / base) : 1.0;
    });
  } else if (words.name == "alibi") {
    parts.bias = [heads](int64_t, int64_t head, int64_t, double n) {
      if (std::exp2(std::floor(std::log2(heads))) != heads) throw std::invalid_argument("alibi: a power of two heads");
      return -n * std::exp2(-8.0 * static_cast<double>(head + 1) / heads);
    };
  } else if (words.name == "kerple") {
    const bool power = words.word("kernel", "log") == "power";
    parts.bias = [&model, power](int64_t layer, int64_t head, int64_t, double n) {
      const Matrix rates = table_of(model, layer, "attn_kerple.weight");
      return -rates[0][head] * (power ? std::pow(n, rates[1][head]) : std::log(1 + rates[1][head] * n));
    };
  } else if (words.name == "sandwich") {
    const int64_t dim = words.whole("dim", "128"), first = words.whole("first", "0");
    const double base = words.number("base", "10000");
    parts.bias = [=](int64_t, int64_t head, int64_t, double n) {
      double sum = 0;
      for (int64_t m = first; m < first + dim / 2; ++m)
        sum += std::cos(n / std::pow(base, 2.0 * static_cast<double>(m) / static_cast<double>(dim)));
      return (sum - static_cast<double>(dim) / 2) / (8.0 * static_cast<double>(head + 1) / heads);
    };
  } else if (words.name == "fire") {
    const double eps = words.number("eps", "1e-6");
    parts.bias = [&model, eps](int64_t layer, int64_t head, int64_t i, double n) {
      const auto of = [&](const char* name) { return table_of(model, layer, name); };
      const Row scale = of("attn_fire_scale.weight")[0];
      const double x = std::log(std::abs(scale[0] * n) + 1) /
                       (std::log(std::abs(scale[0] * std::max(static_cast<double>(i), scale[1])) + 1) + eps);
      const Matrix w1 = of("attn_fire_1.weight"), w2 = of("attn_fire_2.weight");
      const Row b1 = of("attn_fire_1.bias")[0], b2 = of("attn_fire_2.bias")[0];
      double sum = b2[head];
      for (size_t u = 0; u < b1.size(); ++u) sum += w2[head][u] * std::max(0.0, w1[u][0] * x + b1[u]);
      return sum;
    };
  } else if (words.name == "cope") {
    const int64_t stated = words.whole("positions", "0");
    scheme.add_to_row = [&model, stated](int64_t layer, const Row& q, Row& scores) {
      const Matrix table = table_of(model, layer, "attn_cope.weight");
      const double last = static_cast<double>(stated > 0 ? stated : static_cast<int64_t>(table.size())) - 1;
      const Row before = scores;
      for (size_t j = 0; j < scores.size(); ++j) {
        double place = 0;
        for (size_t t = j; t < scores.size(); ++t) place += 1 / (1 + std::exp(-before[t]));
        place = std::min(place, last);
        const double below = std::floor(place), u = place - below;
        for (size_t c = 0; c < q.size(); ++c)
          scores[j] += q[c] * ((1 - u) * table[static_cast<size_t>(below)][c] +
                               u * table[static_cast<size_t>(std::ceil(place))][c]);
      }
    };
  } else if (words.name != "none") {
    throw std::invalid_argument(words.name);
  }
  words.refuse_rest();
}

// splitmix64's first numbers, as the README of src/position has the draw.
std::vector<int64_t> drawn(int64_t range, int64_t count, uint64_t seed) {
  std::vector<int64_t> places;
  for (int64_t t = 0; t < range; ++t) {
    seed += 0x9e3779b97f4a7c15u;
    uint64_t z = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    const double u = std::ldexp(static_cast<double>((z ^ (z >> 31)) >> 11), -53);
    if (u * static_cast<double>(range - t) < static_cast<double>(count - static_cast<int64_t>(places.size())))
      places.push_back(t);
  }
  return places;
}

void read_modifier(Words& words, const Model& model, Parts& parts) {
  const auto whole = [&](const char* key, const char* otherwise = "") { return words.whole(key, otherwise); };
  const auto before = parts.factor;
  const auto count = [](int64_t i) { return static_cast<double>(i + 1); };
  if (words.name == "logn") {
    const double length = words.number("length");
    parts.factor = [=](int64_t layer, int64_t head, int64_t i) {
      return before(layer, head, i) * std::max(1.0, std::log(count(i)) / std::log(length));
    };
  } else if (words.name == "ssmax") {
    const double s = words.number("s", "0");
    parts.factor = [=, &model](int64_t layer, int64_t head, int64_t i) {
      const double rate = s > 0 ? s : table_of(model, layer, "attn_ssmax.weight")[0][head];
      return before(layer, head, i) * rate * std::log(count(i));
    };
  } else if (words.name == "steps") {
    const double beta = words.number("beta", "0.1");
    const int64_t every = whole("every"), first = whole("first", "1");
    parts.factor = [=](int64_t layer, int64_t head, int64_t i) {
      return before(layer, head, i) * (1 + beta * std::log(1 + static_cast<double>((i + first) / every)));
    };
  } else if (words.name == "random") {
    const std::vector<int64_t> map = drawn(whole("range"), whole("length"), static_cast<uint64_t>(whole("seed", "0")));
    parts.distance = [map](int64_t i, int64_t j) { return static_cast<double>(map.at(i) - map.at(j)); };
  } else if (words.name == "sinks" || words.name == "lambda") {
    const bool lambda = words.name == "lambda";
    const int64_t first = whole("first"), window = whole("window");
    parts.distance = [=](int64_t i, int64_t j) -> std::optional<double> {
      if (i - j < window) return static_cast<double>(i - j);
      if (j >= first) return std::nullopt;
      return static_cast<double>(lambda ? window : std::min(i, first + window - 1) - j);
    };
  } else if (words.name == "rerope" || words.name == "leaky_rerope") {
    const auto window = static_cast<double>(whole("window"));
    const double factor = words.name == "rerope" ? HUGE_VAL : words.number("factor");
    parts.distance = [=](int64_t i, int64_t j) {
      const auto n = static_cast<double>(i - j);
      return n < window ? n : window + (n - window) / factor;
    };
  } else if (words.name == "self_extend") {
    const int64_t window = whole("window"), group = whole("group");
    parts.distance = [=](int64_t i, int64_t j) {
      return static_cast<double>(i - j < window ? i - j : i / group - j / group + window - window / group);
    };
  } else if (words.name == "dca") {
    const int64_t chunk = whole("chunk"), limit = whole("limit");
    const int64_t top = words.word("top", "limit-1") == "limit" ? limit : limit - 1;
    parts.distance = [=](int64_t i, int64_t j) {
      const int64_t apart = i / chunk - j / chunk, place = i % chunk;
      const int64_t query = apart == 0 ? place : apart == 1 ? std::min(place + chunk, top) : top;
      return static_cast<double>(query - j % chunk);
    };
  } else {
    throw std::invalid_argument(words.name);
  }
  words.refuse_rest();
}

}  // namespace

Scheme scheme_by_distance(const std::string& spec, const Model& model) {
  Parts parts;
  Scheme scheme;
  for (size_t at = 0; at <= spec.size();) {
    const size_t end = std::min(spec.find(";with=", at), spec.size());
    Words words(spec.substr(at, end - at));
    if (at == 0)
      read_base(words, model, parts, scheme);
    else
      read_modifier(words, model, parts);
    at = end + 6;
  }
  scheme.factor = parts.factor;
  scheme.meet = [parts](int64_t i, int64_t j, const Row& q, const Row& k) {
    const std::optional<double> n = parts.distance(i, j);
    return n ? parts.meet(q, k, *n) : -INFINITY;
  };
  if (parts.bias)
    scheme.bias = [parts](int64_t layer, int64_t head, int64_t i, int64_t j) {
      const std::optional<double> n = parts.distance(i, j);
      return n ? parts.bias(layer, head, i, *n) : 0.0;
    };
  return scheme;
}

}  // namespace reference
