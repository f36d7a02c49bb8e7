// Small graphs whose gradients are checked.
#pragma once

#include <map>
#include <ostream>
#include <string>
#include <vector>

namespace gcg::test {

struct GradientCase {
  std::string what;
  /// A graph; its symbols get random extents from 1 to 4, or from `least` to `least` + 3.
  std::string graph;
  double low = -2, high = 2;                  // of float inputs
  int64_t integer_limit = 1;                  // integer inputs are in [0, integer_limit)
  std::map<std::string, int64_t> least = {};  // by symbol
  bool distinct = false;  // elements of float inputs differ by more than the step of the difference quotient
};

inline void PrintTo(const GradientCase& c, std::ostream* out) { *out << c.graph; }

std::vector<GradientCase> elementwise_rows();
std::vector<GradientCase> row_rows();
std::vector<GradientCase> window_rows();
std::vector<GradientCase> movement_rows();
std::vector<GradientCase> control_rows();

}  // namespace gcg::test
