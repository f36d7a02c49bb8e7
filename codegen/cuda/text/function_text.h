// Writes the text of one kernel function: statements, fresh names, parameters.
#pragma once

#include <string>
#include <vector>

#include "codegen/cuda/text/index_range.h"
#include "codegen/cuda/text/kernel_text.h"
#include "compiler/support/error.h"

namespace gcg::cuda {

/// The C++ type of a value in a register; f16 and bf16 are held as their bits.
std::string type_of(DType dtype);
/// The C++ type of an element in memory: the same as in registers, except that boolean is unsigned char.
std::string stored_type(DType dtype);
/// The type of a loop variable: int where it fits.
std::string index_type(const Interval& values);

/// An integer in index arithmetic: a long long if `wide`, otherwise an int.
struct IndexText {
  std::string text;
  bool wide = false;

  std::string as_wide() const { return wide ? text : concat("(long long)", text); }
};

class FunctionText {
 public:
  explicit FunctionText(const Kernel& kernel) : kernel_(kernel), ranges_(kernel) {}

  const Kernel& kernel() const { return kernel_; }
  IndexRanges& ranges() { return ranges_; }

  /// Appends one statement or comment, indented.
  template <class... Parts>
  void line(const Parts&... parts) {
    body_ += std::string(2 * depth_, ' ') + concat(parts...) + '\n';
  }
  /// Opens "head {"; the following lines are inside until close().
  template <class... Parts>
  void open(const Parts&... head) {
    line(head..., " {");
    ++depth_;
  }
  void close(const std::string& tail = "") {
    --depth_;
    line("}", tail);
  }
  void close_else() {
    --depth_;
    line("} else {");
    ++depth_;
  }
  /// A name that no other call returns: "t17".
  std::string fresh(const char* prefix) { return concat(prefix, next_name_++); }

  /// The value of a Dim: a literal or a parameter.
  IndexText dim(const Dim& dim);
  std::string pointer(int operand) const { return concat("p", operand); }
  /// Declares the coordinates of point number `point` of these axes, row-major, and returns their names. `point` is
  /// below the product of their extents.
  std::vector<std::string> coordinates(const std::vector<Axis>& axes, IndexText point);
  /// The program also includes this header of device/.
  void include(const std::string& header) { includes_ += concat("#include \"", header, "\"\n"); }
  /// States that the function does not wait for the previous launch at its beginning, because a function that this text
  /// calls waits. Before that, it reads at most `bytes` bytes per block of `operand` (a constant; -1: none), and no
  /// other operand.
  void wait_later(int operand, int64_t bytes);
  /// The name of the parameter that holds the tensor map; the driver encodes it from `map`.
  std::string map(TensorMap map) {
    maps_.push_back(std::move(map));
    return concat("m", maps_.size() - 1);
  }
  /// Marks a kernel that reads indices from data and reports those out of range.
  void flag_index_error() {
    may_fail_ = true;
    line("*status = 1u;");
  }

  /// Returns the whole program. Its function is called `kind`_<hash of the text>. A `min_blocks` of 0 is left out of
  /// the launch bounds. `cluster`: blocks of a cluster, at most 8; the caller's tasks are a multiple of it.
  KernelText finish(const std::string& kind, int threads, int min_blocks = 0, int cluster = 0) const;

 private:
  const Kernel& kernel_;
  IndexRanges ranges_;
  std::vector<Dim> params_;
  std::vector<TensorMap> maps_;
  std::string includes_, body_;
  size_t depth_ = 1;
  int next_name_ = 0;
  bool may_fail_ = false, waits_later_ = false;
  std::vector<int> ahead_;
  int64_t ahead_bytes_ = 0;
};

/// a / b and a % b for a >= 0 and b > 0.
IndexText quotient(const IndexText& a, const IndexText& b);
IndexText remainder(const IndexText& a, const IndexText& b);

/// "17", "(-3)", "5000000000LL"
std::string integer_literal(int64_t value);

}  // namespace gcg::cuda
