// reference_positions.cpp: see reference_positions.h.
#include "reference/reference_positions.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

namespace reference {

Scheme learned(const std::vector<Row>& table, int64_t offset) {
  Scheme scheme;
  scheme.embed = [table, offset](int64_t position, Row& x) {
    const Row& row = table.at(static_cast<size_t>(position + offset));
    for (size_t c = 0; c < x.size(); ++c) x[c] += row[c];
  };
  return scheme;
}

Scheme sinusoidal(const Sinusoid& options) {
  Scheme scheme;
  scheme.embed = [options](int64_t position, Row& x) {
    const size_t half = x.size() / 2;
    for (size_t i = 0; i < half; ++i) {
      const double step = options.t2t ? static_cast<double>(i) / static_cast<double>(half - 1)
                                      : 2.0 * static_cast<double>(i) / static_cast<double>(x.size());
      const double angle = static_cast<double>(position + options.first) / std::pow(options.base, step);
      x[options.concat ? i : 2 * i] += options.scale * std::sin(angle);
      x[options.concat ? half + i : 2 * i + 1] += options.scale * std::cos(angle);
    }
  };
  return scheme;
}

Scheme rotary(const Rotary& options) {
  Scheme scheme;
  scheme.turn = [options](int64_t position, Row& head) {
    const size_t turned = options.rotary_dim > 0 ? static_cast<size_t>(options.rotary_dim) : head.size();
    for (size_t i = 0; i < turned / 2; ++i) {
      const double frequency =
          1.0 / std::pow(options.theta, 2.0 * static_cast<double>(i) / static_cast<double>(turned));
      const double angle = static_cast<double>(position) / options.factor * frequency;
      double& a = head[options.neighbours ? 2 * i : i];
      double& b = head[options.neighbours ? 2 * i + 1 : i + turned / 2];
      const double before = a;
      a = before * std::cos(angle) - b * std::sin(angle);
      b = before * std::sin(angle) + b * std::cos(angle);
    }
  };
  return scheme;
}

Scheme scheme_of(const std::string& spec, const std::vector<Row>& table) {
  const size_t colon = std::min(spec.find(':'), spec.size());
  const std::string name = spec.substr(0, colon);
  std::map<std::string, std::string> params;
  for (size_t at = colon + 1; at < spec.size();) {
    const size_t end = std::min(spec.find(',', at), spec.size()), equals = spec.find('=', at);
    params[spec.substr(at, equals - at)] = spec.substr(equals + 1, end - equals - 1);
    at = end + 1;
  }
  // Takes a parameter out, so that what is left at the end is what nobody knew.
  const auto take = [&](const std::string& key, const std::string& otherwise) {
    const auto found = params.extract(key);
    return found ? found.mapped() : otherwise;
  };
  const auto choose = [&](const std::string& key, const std::string& first, const std::string& second) {
    const std::string value = take(key, first);
    if (value != first && value != second) throw std::invalid_argument(spec);
    return value == second;
  };

  Scheme scheme;
  if (name == "learned") {
    scheme = learned(table, std::stoll(take("offset", "0")));
  } else if (name == "sinusoidal") {
    scheme = sinusoidal({.concat = choose("layout", "interleaved", "concat"),
                         .t2t = choose("spacing", "paper", "t2t"),
                         .base = std::stod(take("base", "10000")),
                         .scale = std::stod(take("scale", "1")),
                         .first = std::stoll(take("first", "0"))});
  } else if (name == "rope") {
    choose("scaling", "none", "linear");
    scheme = rotary({.neighbours = choose("pairing", "half", "interleaved"),
                     .theta = std::stod(take("theta", "10000")),
                     .rotary_dim = std::stoll(take("rotary_dim", "0")),
                     .factor = std::stod(take("factor", "1"))});
  } else if (name != "none") {
    throw std::invalid_argument(spec);
  }
  if (!params.empty()) throw std::invalid_argument(spec);
  return scheme;
}

}  // namespace reference
