// Convolution kernels in tests: a description of one case, its kernel, its compiled code, and a reference in double.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/codegen/loop_harness.h"

namespace gcg::cpu {

enum class ConvEpilogueKind { none, bias, bias_relu, residual_relu, relu6, hardswish, sigmoid, snake, row_scale };

struct ConvCase {
  int64_t batch = 1, in_channels = 16, depth = 0, height = 7, width = 7, out_channels = 32;  // depth 0: two dimensions
  int64_t kernel_d = 1, kernel_h = 1, kernel_w = 1, stride_d = 1, stride_h = 1, stride_w = 1;
  int64_t dilation_d = 1, dilation_h = 1, dilation_w = 1;
  int64_t pad_front = 0, pad_top = 0, pad_left = 0, pad_back = 0, pad_bottom = 0, pad_right = 0;
  int64_t groups = 1;
  bool plain = false;
  int64_t winograd = 0;  // outputs per side of a tile of Winograd's algorithm
  bool symbolic_batch = false, symbolic_depth = false, symbolic_height = false, symbolic_width = false;
  ConvEpilogueKind epilogue = ConvEpilogueKind::bias;
  DType weights = DType::f32;       // type in memory; the harness rounds the weights to it
  int64_t result_block_offset = 0;  // the result is a slice of a tensor with more channel blocks

  ConvPacking packing() const { return {in_channels / groups, out_channels, groups, plain}; }
  int64_t planes() const { return depth == 0 ? 1 : depth; }
  int64_t out_depth() const {
    return (planes() + pad_front + pad_back - (kernel_d - 1) * dilation_d - 1) / stride_d + 1;
  }
  int64_t out_height() const {
    return (height + pad_top + pad_bottom - (kernel_h - 1) * dilation_h - 1) / stride_h + 1;
  }
  int64_t out_width() const { return (width + pad_left + pad_right - (kernel_w - 1) * dilation_w - 1) / stride_w + 1; }
  int64_t in_blocks() const { return (in_channels + 15) / 16; }
  int64_t out_blocks() const { return (out_channels + 15) / 16; }
  int64_t multiply_adds() const;
  SymbolValues symbols() const { return {{"n", batch}, {"d", depth}, {"h", height}, {"w", width}}; }
  std::string text() const;
};

/// A typical layer: square kernel, stride and padding.
ConvCase conv_case(int64_t in_channels, int64_t map, int64_t out_channels, int64_t kernel, int64_t stride, int64_t pad);

/// Operands: 0 input, 1 weights, 2 bias, 3 residual, 4 result.
Kernel make_conv_kernel(const ConvCase& c);

/// Memory next to inaccessible pages. The last element ends at the page end, up to 64-byte alignment.
class GuardedFloats {
 public:
  explicit GuardedFloats(int64_t count);
  ~GuardedFloats();
  GuardedFloats(const GuardedFloats&) = delete;
  float* data() { return data_; }
  int64_t size() const { return count_; }
  float& operator[](int64_t i) { return data_[i]; }

 private:
  int64_t count_ = 0;
  size_t mapped_ = 0;
  void* map_ = nullptr;
  float* data_ = nullptr;
};

/// Input, weights, bias, residual (random) and result (a marker) of a case, in the kernel's layouts. Lanes past the
/// last channel of activations hold NaN.
struct ConvData {
  explicit ConvData(const ConvCase& c);
  std::vector<float> input, weights;  // N, C, spatial; O, I of a group, kernel
  std::vector<std::unique_ptr<GuardedFloats>> operands;
  std::vector<void*> buffers() const;
};

/// A case's kernel, compiled for a target that runs here.
class CompiledConv {
 public:
  CompiledConv(const ConvCase& c, const std::string& target)
      : kernel_(make_conv_kernel(c)), code_(kernel_, target), symbols_(c.symbols()) {}
  int64_t tasks() const { return code_.tasks(symbols_); }
  const CompiledKernel& info() const { return code_.info(); }
  void run(const ConvData& data, int64_t begin, int64_t end) const;
  void run(const ConvData& data) const { run(data, 0, tasks()); }

 private:
  Kernel kernel_;
  test::RunnableKernel code_;
  SymbolValues symbols_;
};

/// The largest error of the kernel's result against a double reference, relative to max(1, |reference|).
double conv_error(const ConvCase& c, ConvData& data);

}  // namespace gcg::cpu
