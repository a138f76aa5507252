// scale.cpp: see scale.h.
#include "draw/scale.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/number_text.h"
#include "base/utf8.h"

namespace ordinal::draw {
namespace {

// 10^n in raised digits.
std::string power_of_ten(int n) {
  static constexpr std::array<const char*, 10> kRaised = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text = n < 0 ? "10⁻" : "10";
  for (const char digit : std::to_string(std::abs(n))) text += kRaised[digit - '0'];
  return text;
}

std::string minus_sign(std::string text) {
  if (text.starts_with('-')) text.replace(0, 1, "−");
  return text;
}

std::string tick_text(double value, double step) {
  const double size = std::abs(value);
  if (value == 0) return "0";
  if (size >= 1e6 || step < 1e-5) return minus_sign(svg_number(value));
  const int digits = std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9)));
  return minus_sign(fixed(value, digits));
}

std::vector<Tick> powers_of_ten(const Scale& scale, int count) {
  std::vector<Tick> list;
  const int first = static_cast<int>(std::ceil(std::log10(scale.from) - 1e-9));
  const int last = static_cast<int>(std::floor(std::log10(scale.to) + 1e-9));
  if (last - first < 1) {  // not even a decade: the readable numbers between
    const double step = nice_step(scale.from, scale.to, count);
    for (double at = std::ceil(scale.from / step) * step; at <= scale.to * (1 + 1e-9); at += step)
      if (at > 0) list.push_back({at, tick_text(at, step)});
    return list;
  }
  const int stride = std::max(1, (last - first + count) / std::max(1, count));
  const auto add = [&](int power, double times) {
    const double at = times * std::pow(10, power);
    if (at < scale.from * (1 - 1e-9) || at > scale.to * (1 + 1e-9)) return;
    list.push_back({at, power >= -3 && power <= 3 ? tick_text(at, std::pow(10, std::min(power, 0)))
                                                  : (times == 1 ? "" : svg_number(times) + "·") + power_of_ten(power)});
  };
  const bool between = (last - first + 1) * 3 <= count;
  for (int power = first - 1; power <= last; ++power) {
    if ((power - first) % stride != 0) continue;
    add(power, 1);
    if (between) add(power, 2), add(power, 5);
  }
  return list;
}

}  // namespace

void Range::add(double value) {
  if (!std::isfinite(value) || (logarithmic_ && value <= 0)) return;
  if (empty()) least_ = greatest_ = value;
  least_ = std::min(least_, value);
  greatest_ = std::max(greatest_, value);
}

std::pair<double, double> Range::ends() const {
  if (empty()) return {logarithmic_ ? 1 : 0, logarithmic_ ? 10 : 1};
  if (least_ < greatest_) return {least_, greatest_};
  if (logarithmic_) return {least_ / 2, least_ * 2};
  const double room = least_ == 0 ? 1 : std::abs(least_) / 2;
  return {least_ - room, least_ + room};
}

bool Scale::shows(double value) const { return std::isfinite(value) && (!logarithmic || value > 0); }

double Scale::operator()(double value) const {
  const double part = logarithmic ? std::log(value / from) / std::log(to / from) : (value - from) / (to - from);
  return a + (b - a) * part;
}

double nice_step(double from, double to, int count) {
  const double rough = (to - from) / std::max(1, count);
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double times : {1.0, 2.0, 5.0})
    if (rough <= times * power * (1 + 1e-9)) return times * power;
  return 10 * power;
}

void widen_to_ticks(double& from, double& to, int count) {
  const double step = nice_step(from, to, count);
  from = std::floor(from / step + 1e-4) * step;
  to = std::ceil(to / step - 1e-4) * step;
}

std::vector<Tick> ticks(const Scale& scale, int count) {
  if (scale.logarithmic) return powers_of_ten(scale, count);
  std::vector<Tick> list;
  const double step = nice_step(scale.from, scale.to, count);
  const double first = std::ceil(scale.from / step - 1e-9);
  // By number, not by adding up: 0.1 ten times is not 1. Steps too small for a double would never arrive.
  for (int i = 0; i <= 2 * std::max(1, count) + 1; ++i) {
    const double at = (first + i) * step;
    if (at > scale.to + step * 1e-6) break;
    list.push_back({at, tick_text(at, step)});
  }
  return list;
}

std::string svg_number(double value) {
  if (!std::isfinite(value)) return "null";
  if (value == 0) return "0";
  return significant(value, 6);
}

std::string svg_place(double value) {
  if (!std::isfinite(value)) return "0";
  std::string text = fixed(std::clamp(value, -1e6, 1e6), 2);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string xml_text(std::string_view text) {
  std::string xml;
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    const std::string_view character = text.substr(0, std::max<size_t>(1, length));
    text.remove_prefix(character.size());
    const auto first = static_cast<unsigned char>(character[0]);
    if (length == 0 || first < 0x20 || first == 0x7f || character == "\xef\xbf\xbe" || character == "\xef\xbf\xbf")
      xml += character == "\n" || character == "\t" ? " " : "\xef\xbf\xbd";
    else if (character == "&")
      xml += "&amp;";
    else if (character == "<")
      xml += "&lt;";
    else if (character == ">")
      xml += "&gt;";
    else if (character == "\"")
      xml += "&quot;";
    else
      xml += character;
  }
  return xml;
}

double text_width(std::string_view text, double size) {
  double width = 0;
  for (const char c : text) {
    if (continues_character(c)) continue;
    const bool narrow = std::string_view(" .,:;'|!ijlft()[]").find(c) != std::string_view::npos;
    width += narrow ? 0.36 : c >= 'A' && c <= 'Z' ? 0.7 : 0.61;  // as in DejaVu, which is wide
  }
  return width * size;
}

std::vector<std::string> wrap_text(const std::string& text, double width, double size) {
  std::vector<std::string> lines;
  std::string line;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (!line.empty() && text_width(line + " " + word, size) > width) lines.push_back(std::exchange(line, ""));
    line += (line.empty() ? "" : " ") + word;
    at = end + 1;
  }
  if (!line.empty()) lines.push_back(line);
  return lines;
}

}  // namespace ordinal::draw
