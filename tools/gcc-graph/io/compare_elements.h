// Compares the elements of two tensors.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace gcg::tools {

struct Tolerance {
  double rtol = 1e-3, atol = 1e-5;
  bool each = false;  // true: every element must be within atol + rtol * its own expected value; false: only the
                      // largest error is checked
};

struct Comparison {
  bool ok = true;
  double relative = 0;  // largest error / largest expected element
  double absolute = 0;  // largest error
  int64_t at = -1;      // index of the element with this error; -1: all agree
};

/// Element `i` of a tensor, as a number.
using Element = std::function<double(int64_t)>;

/// Two NaNs count as equal.
Comparison compare_elements(int64_t count, const Element& got, const Element& expected, const Tolerance& tolerance);

/// "ok, relative error 1e-7, absolute 2e-6"; if the error is too large, also the index of the largest one.
std::string describe(const Comparison& comparison, const Element& got, const Element& expected);

}  // namespace gcg::tools
