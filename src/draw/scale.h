// scale.h: numbers to places on an axis, and ticks at numbers that are easy to read.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ordinal::draw {

struct Tick {
  double at = 0;
  std::string text;
};

// The least and the greatest number seen, of those that an axis can show.
class Range {
 public:
  explicit Range(bool logarithmic) : logarithmic_(logarithmic) {}
  void add(double value);
  bool empty() const { return least_ > greatest_; }
  // Both ends, never equal: a single number gets room on both sides, and no number at all gives 0 to 1 (or 1 to 10).
  std::pair<double, double> ends() const;

 private:
  const bool logarithmic_;
  double least_ = 1, greatest_ = 0;
};

// from .. to onto a .. b.
struct Scale {
  double from = 0, to = 1, a = 0, b = 1;
  bool logarithmic = false;

  bool shows(double value) const;
  double operator()(double value) const;
};

// About `count` multiples of 1, 2 or 5 times a power of ten; on a logarithmic scale powers of ten, with 2 and 5 times
// them where there is room.
std::vector<Tick> ticks(const Scale& scale, int count);

// The step between them; `from` and `to` pulled outwards to multiples of it.
double nice_step(double from, double to, int count);
void widen_to_ticks(double& from, double& to, int count);

// With 6 significant digits, the shortest form; "null" for what is not finite. For a place in the picture: 2 digits
// after the point.
std::string svg_number(double value);
std::string svg_place(double value);

// Text in XML: & < > " as entities, bytes that are no character replaced.
std::string xml_text(std::string_view text);

// An estimate of how wide a text is, in units of its font size times `size`; lines of at most `width`.
double text_width(std::string_view text, double size);
std::vector<std::string> wrap_text(const std::string& text, double width, double size);

}  // namespace ordinal::draw
