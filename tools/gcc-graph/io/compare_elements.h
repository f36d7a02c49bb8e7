// Compares the elements of two tensors.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace gcg::tools {

struct Tolerance {
  double rtol = 1e-3, atol = 1e-5;
  bool each = false;  // every element is within atol + rtol * its own expected value; else the largest error counts
};

struct Comparison {
  bool ok = true;
  double relative = 0;  // largest error / largest expected element
  double absolute = 0;  // largest error
  int64_t at = -1;      // its element; -1: all agree
};

/// Element `i` of a tensor, as a number.
using Element = std::function<double(int64_t)>;

/// NaNs agree with NaNs.
Comparison compare_elements(int64_t count, const Element& got, const Element& expected, const Tolerance& tolerance);

/// "ok, relative error 1e-7, absolute 2e-6", and where the largest is if it is too large.
std::string describe(const Comparison& comparison, const Element& got, const Element& expected);

}  // namespace gcg::tools
