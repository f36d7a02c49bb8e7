// The text of one kernel function while it is written: statements, fresh names, parameters.
#pragma once

#include <string>
#include <vector>

#include "codegen/cuda/text/index_range.h"
#include "codegen/cuda/text/kernel_text.h"
#include "compiler/support/error.h"

namespace gcg::cuda {

/// C++ type of a value in a register; f16 and bf16 are the bits of their storage.
std::string type_of(DType dtype);
/// C++ type of an element in memory: as in registers, but boolean is unsigned char.
std::string stored_type(DType dtype);
/// Type of a loop variable: int where it fits.
std::string index_type(const Interval& values);

/// An integer of index arithmetic: `wide` text is a long long, other text an int.
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

  /// One statement or comment, indented.
  template <class... Parts>
  void line(const Parts&... parts) {
    body_ += std::string(2 * depth_, ' ') + concat(parts...) + '\n';
  }
  /// "head {": what follows is inside until close().
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
  /// A name that is used nowhere else: "t17".
  std::string fresh(const char* prefix) { return concat(prefix, next_name_++); }

  /// The value of a Dim: a number, or a parameter.
  IndexText dim(const Dim& dim);
  std::string pointer(int operand) const { return concat("p", operand); }
  /// Declares the coordinates of point number `point` of these axes, row-major; returns their names. `point` is any
  /// number below the product of their extents.
  std::vector<std::string> coordinates(const std::vector<Axis>& axes, IndexText point);
  /// The program includes this header of device/ too.
  void include(const std::string& header) { includes_ += concat("#include \"", header, "\"\n"); }
  /// Instead of at its begin the function waits for the last launch in what this text calls; before that it reads, of
  /// the operands, at most `operand` (a constant; -1: none), `bytes` of it per block.
  void wait_later(int operand, int64_t bytes);
  /// The name of a parameter with the tensor map that the driver makes of this.
  std::string map(TensorMap map) {
    maps_.push_back(std::move(map));
    return concat("m", maps_.size() - 1);
  }
  /// Kernels whose indices are read from data report those out of range.
  void flag_index_error() {
    may_fail_ = true;
    line("*status = 1u;");
  }

  /// The whole program. Its function is called `kind`_<hash of the text>; `min_blocks` of 0 is left out of the bounds.
  /// `cluster`: blocks that run side by side, at most 8; the caller's tasks are a multiple.
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

/// a / b and a % b of values that are not negative, b > 0.
IndexText quotient(const IndexText& a, const IndexText& b);
IndexText remainder(const IndexText& a, const IndexText& b);

/// "17", "(-3)", "5000000000LL"
std::string integer_literal(int64_t value);

}  // namespace gcg::cuda
