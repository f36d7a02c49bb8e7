#include "tests/codegen/conv_harness.h"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "artifact_schema/kernel_abi.h"
#include "compiler/ir/tensor.h"
#include "compiler/kernel/winograd.h"
#include "compiler/support/error.h"

namespace gcg::cpu {
namespace {

constexpr float marker = -12345.0f;
constexpr int64_t page = 4096;

Expr epilogue_of(const ConvCase& c, const ConvKernel& k) {
  const Expr zero = constant_float(DType::f32, 0), block = axis_ref(k.cb), lane = axis_ref(k.lane);
  const Expr sum = accumulator(DType::f32);
  const Expr biased = sum + load(2, DType::f32, {block, lane});
  auto clamp = [&](Expr x, double low, double high) {
    return binary(BinaryOp::min, binary(BinaryOp::max, std::move(x), constant_float(DType::f32, low)),
                  constant_float(DType::f32, high));
  };
  switch (c.epilogue) {
    case ConvEpilogueKind::none:
      return sum;
    case ConvEpilogueKind::bias:
      return biased;
    case ConvEpilogueKind::bias_relu:
      return binary(BinaryOp::max, biased, zero);
    case ConvEpilogueKind::residual_relu: {
      std::vector<Expr> here;
      for (const Axis& a : k.axes()) here.push_back(axis_ref(a));
      const Expr residual = load(3, DType::f32, here);
      return binary(BinaryOp::max, biased + residual, zero);
    }
    case ConvEpilogueKind::relu6:
      return clamp(biased, 0, 6);
    case ConvEpilogueKind::hardswish:
      return biased * clamp(biased * constant_float(DType::f32, 1.0 / 6) + constant_float(DType::f32, 0.5), 0, 1);
    case ConvEpilogueKind::sigmoid:
      return unary(UnaryOp::sigmoid, biased);
    case ConvEpilogueKind::snake: {
      const Expr sine = unary(UnaryOp::sin, biased * constant_float(DType::f32, 3));
      return biased + sine * sine;
    }
    case ConvEpilogueKind::row_scale:  // sees rows apart from columns
      return biased * cast(DType::f32, axis_ref(k.h) + index(1));
  }
  return sum;
}

double apply(ConvEpilogueKind kind, double sum, double bias, double residual, int64_t row) {
  const double x = sum + bias;
  switch (kind) {
    case ConvEpilogueKind::none:
      return sum;
    case ConvEpilogueKind::bias:
      return x;
    case ConvEpilogueKind::bias_relu:
      return std::max(x, 0.0);
    case ConvEpilogueKind::residual_relu:
      return std::max(x + residual, 0.0);
    case ConvEpilogueKind::relu6:
      return std::clamp(x, 0.0, 6.0);
    case ConvEpilogueKind::hardswish:
      return x * std::clamp(x / 6 + 0.5, 0.0, 1.0);
    case ConvEpilogueKind::sigmoid:
      return 1 / (1 + std::exp(-x));
    case ConvEpilogueKind::snake:
      return x + std::sin(3 * x) * std::sin(3 * x);
    case ConvEpilogueKind::row_scale:
      return x * static_cast<double>(row + 1);
  }
  return x;
}

/// Channel blocks of the tensor that contains the result as a slice.
int64_t result_blocks(const ConvCase& c) { return c.out_blocks() + 2 * c.result_block_offset; }

int64_t taps(const ConvCase& c) { return c.kernel_d * c.kernel_h * c.kernel_w; }

/// Weights per pair of channels: taps, or products of Winograd's algorithm.
int64_t packed_taps(const ConvCase& c) { return c.winograd > 0 ? winograd_variant(c.winograd).products() : taps(c); }

int64_t weight_elements(const ConvCase& c) { return c.packing().panels() * c.packing().panel_elements(packed_taps(c)); }

/// Element `place` of G w G'.
double transformed(const WinogradVariant& variant, const float* kernel, int64_t place) {
  const std::vector<double>& rows = variant.weights[static_cast<size_t>(place / variant.side())];
  const std::vector<double>& columns = variant.weights[static_cast<size_t>(place % variant.side())];
  double sum = 0;
  for (size_t tap = 0; tap < 9; ++tap) sum += rows[tap / 3] * columns[tap % 3] * static_cast<double>(kernel[tap]);
  return sum;
}

/// Writes weights [O][I of a group][kernel] in the order of the kernel code.
void pack_weights(const ConvCase& c, const std::vector<float>& weights, float* packed) {
  std::fill_n(packed, weight_elements(c), 0.0f);
  const ConvPacking packing = c.packing();
  for (int64_t o = 0; o < c.out_channels; ++o)
    for (int64_t i = 0; i < packing.inputs; ++i)
      for (int64_t tap = 0; tap < packed_taps(c); ++tap) {
        const float* kernel = weights.data() + (o * packing.inputs + i) * taps(c);
        packed[packing.place(o, i, tap, packed_taps(c))] =
            c.winograd > 0 ? static_cast<float>(transformed(winograd_variant(c.winograd), kernel, tap)) : kernel[tap];
      }
}

struct OutputPoint {
  int64_t n, channel, plane, row, column;
};

double reference_sum(const ConvCase& c, const ConvData& d, const OutputPoint& o) {
  const int64_t inputs = c.packing().inputs, first = o.channel / c.packing().group_outputs() * inputs;
  double sum = 0;
  for (int64_t i = 0; i < inputs; ++i)
    for (int64_t tap = 0; tap < taps(c); ++tap) {
      const int64_t kw = tap % c.kernel_w, kh = tap / c.kernel_w % c.kernel_h, kd = tap / c.kernel_w / c.kernel_h;
      const int64_t z = o.plane * c.stride_d - c.pad_front + kd * c.dilation_d;
      const int64_t y = o.row * c.stride_h - c.pad_top + kh * c.dilation_h;
      const int64_t x = o.column * c.stride_w - c.pad_left + kw * c.dilation_w;
      if (z < 0 || z >= c.planes() || y < 0 || y >= c.height || x < 0 || x >= c.width) continue;
      const int64_t place = (((o.n * c.in_channels + first + i) * c.planes() + z) * c.height + y) * c.width + x;
      sum += static_cast<double>(d.input[static_cast<size_t>(place)]) *
             static_cast<double>(d.weights[static_cast<size_t>((o.channel * inputs + i) * taps(c) + tap)]);
    }
  return sum;
}

std::vector<float> random_floats(int64_t count, std::mt19937& random) {
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& v : values) v = uniform(random);
  return values;
}

float rounded(float x, DType to) {
  if (to == DType::f32) return x;
  return to == DType::f16 ? f16_to_float(float_to_f16(x)) : bf16_to_float(float_to_bf16(x));
}

/// Replaces the elements by 16-bit ones of type `to`.
void narrow(std::unique_ptr<GuardedFloats>& floats, DType to) {
  auto half = std::make_unique<GuardedFloats>((floats->size() + 1) / 2);
  for (int64_t i = 0; i < floats->size(); ++i) {
    const uint16_t bits = to == DType::f16 ? float_to_f16((*floats)[i]) : float_to_bf16((*floats)[i]);
    std::memcpy(reinterpret_cast<char*>(half->data()) + 2 * i, &bits, sizeof(bits));
  }
  floats = std::move(half);
}

}  // namespace

int64_t ConvCase::multiply_adds() const {
  return batch * out_channels * out_depth() * out_height() * out_width() * taps(*this) * packing().inputs;
}

std::string ConvCase::text() const {
  return concat(groups > 1 ? concat(groups, " groups ") : "", plain ? "plain " : "", batch, "x", in_channels, "x",
                depth ? concat(depth, "x") : "", height, "x", width, " to ", out_channels, ", kernel ", kernel_d, "x",
                kernel_h, "x", kernel_w, " stride ", stride_d, "x", stride_h, "x", stride_w, " dilation ", dilation_d,
                "x", dilation_h, "x", dilation_w, " pads ", pad_front, ",", pad_top, ",", pad_left, ",", pad_back, ",",
                pad_bottom, ",", pad_right, winograd ? concat(" by Winograd ", winograd) : "",
                symbolic_batch ? " symbolic batch" : "", symbolic_depth ? " symbolic depth" : "",
                symbolic_height ? " symbolic height" : "", symbolic_width ? " symbolic width" : "", " epilogue ",
                static_cast<int>(epilogue), result_block_offset ? " in a slice" : "");
}

ConvCase conv_case(int64_t in_channels, int64_t map, int64_t out_channels, int64_t kernel, int64_t stride,
                   int64_t pad) {
  ConvCase c;
  c.in_channels = in_channels;
  c.height = c.width = map;
  c.out_channels = out_channels;
  c.kernel_h = c.kernel_w = kernel;
  c.stride_h = c.stride_w = stride;
  c.pad_top = c.pad_left = c.pad_bottom = c.pad_right = pad;
  return c;
}

Kernel make_conv_kernel(const ConvCase& c) {
  ConvKernel k;
  auto extent = [](bool symbolic, const char* symbol, int64_t value) {
    return symbolic ? Dim::symbol(symbol) : Dim(value);
  };
  auto out = [](const Dim& in, int64_t pads, int64_t kernel, int64_t dilation, int64_t stride) {
    return floor_div(in + Dim(pads - (kernel - 1) * dilation - 1), stride) + Dim(1);
  };
  k.batch = extent(c.symbolic_batch, "n", c.batch);
  if (c.depth > 0) {
    k.in_depth = extent(c.symbolic_depth, "d", c.depth);
    k.out_depth = out(k.in_depth, c.pad_front + c.pad_back, c.kernel_d, c.dilation_d, c.stride_d);
  }
  k.kernel_d = c.kernel_d, k.stride_d = c.stride_d, k.dilation_d = c.dilation_d, k.pad_front = c.pad_front;
  k.in_height = extent(c.symbolic_height, "h", c.height);
  k.in_width = extent(c.symbolic_width, "w", c.width);
  k.out_height = out(k.in_height, c.pad_top + c.pad_bottom, c.kernel_h, c.dilation_h, c.stride_h);
  k.out_width = out(k.in_width, c.pad_left + c.pad_right, c.kernel_w, c.dilation_w, c.stride_w);
  k.in_channels = c.in_channels, k.out_channels = c.out_channels;
  k.kernel_h = c.kernel_h, k.kernel_w = c.kernel_w, k.stride_h = c.stride_h, k.stride_w = c.stride_w;
  k.dilation_h = c.dilation_h, k.dilation_w = c.dilation_w, k.pad_top = c.pad_top, k.pad_left = c.pad_left;
  k.groups = c.groups, k.input_plain = c.plain, k.winograd = c.winograd;
  k.input = 0, k.weights = 1, k.result = 4;
  k.n = {0, k.batch}, k.cb = {1, c.out_blocks()}, k.h = {2, k.out_height}, k.w = {3, k.out_width}, k.lane = {4, 16};
  if (c.depth > 0) k.d = {5, k.out_depth};
  k.epilogue = epilogue_of(c, k);
  for (const Axis& a : k.axes()) k.index.push_back(axis_ref(a));
  k.index[1] = k.index[1] + index(c.result_block_offset);
  Kernel kernel;
  kernel.name = "conv";
  kernel.sources = {"conv"};
  const auto activation = [&](int64_t blocks, const Dim& depth, const Dim& height, const Dim& width, bool blocked) {
    Shape shape = {k.batch, blocks};
    if (c.depth > 0) shape.push_back(depth);
    shape.insert(shape.end(), {height, width});
    if (blocked) shape.push_back(16);
    return shape;
  };
  const Shape input =
      activation(c.plain ? c.in_channels : c.in_blocks(), k.in_depth, k.in_height, k.in_width, !c.plain);
  kernel.operands = {{DType::f32, input, false},
                     {c.weights, {weight_elements(c)}, false},
                     {DType::f32, {c.out_blocks(), 16}, false},
                     {DType::f32, activation(c.out_blocks(), k.out_depth, k.out_height, k.out_width, true), false},
                     {DType::f32, activation(result_blocks(c), k.out_depth, k.out_height, k.out_width, true), true}};
  kernel.body = std::move(k);
  verify_kernel(kernel);
  return kernel;
}

GuardedFloats::GuardedFloats(int64_t count) : count_(count) {
  const int64_t bytes = (count * 4 + 63) / 64 * 64, pages = (bytes + page - 1) / page;
  mapped_ = static_cast<size_t>((pages + 2) * page);
  map_ = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  GCG_CHECK(map_ != MAP_FAILED, "no memory for ", count, " floats");
  char* begin = static_cast<char*>(map_) + page;
  GCG_CHECK(mprotect(begin, static_cast<size_t>(pages * page), PROT_READ | PROT_WRITE) == 0, "mprotect");
  data_ = reinterpret_cast<float*>(begin + pages * page - bytes);
}

GuardedFloats::~GuardedFloats() { munmap(map_, mapped_); }

ConvData::ConvData(const ConvCase& c) {
  std::mt19937 random(static_cast<unsigned>(c.in_channels * 1000 + c.width));
  const int64_t place = c.planes() * c.height * c.width, points = c.out_depth() * c.out_height() * c.out_width();
  input = random_floats(c.batch * c.in_channels * place, random);
  weights = random_floats(c.out_channels * c.packing().inputs * taps(c), random);
  for (float& w : weights) w = rounded(w, c.weights);
  const int64_t residual = c.batch * c.out_blocks() * points * 16;
  const int64_t counts[] = {c.plain ? c.batch * c.in_channels * place : c.batch * c.in_blocks() * place * 16,
                            weight_elements(c), c.out_blocks() * 16, residual,
                            c.batch * result_blocks(c) * points * 16};
  for (int64_t count : counts) operands.push_back(std::make_unique<GuardedFloats>(count));
  if (c.plain) {
    std::copy(input.begin(), input.end(), operands[0]->data());
  } else {
    std::fill_n(operands[0]->data(), operands[0]->size(), std::numeric_limits<float>::quiet_NaN());
    for (int64_t i = 0; i < static_cast<int64_t>(input.size()); ++i) {
      const int64_t channel = i / place % c.in_channels, n = i / place / c.in_channels;
      (*operands[0])[((n * c.in_blocks() + channel / 16) * place + i % place) * 16 + channel % 16] =
          input[static_cast<size_t>(i)];
    }
  }
  pack_weights(c, weights, operands[1]->data());
  if (c.weights != DType::f32) narrow(operands[1], c.weights);
  for (size_t o : {2u, 3u}) {
    const std::vector<float> values = random_floats(operands[o]->size(), random);
    std::copy(values.begin(), values.end(), operands[o]->data());
  }
  std::fill_n(operands[4]->data(), operands[4]->size(), marker);
}

std::vector<void*> ConvData::buffers() const {
  std::vector<void*> addresses;
  for (const auto& o : operands) addresses.push_back(o->data());
  return addresses;
}

void CompiledConv::run(const ConvData& data, int64_t begin, int64_t end) const {
  GCG_CHECK(code_.call(data.buffers(), symbols_, begin, end) == GART_KERNEL_OK, "the kernel failed");
}

double conv_error(const ConvCase& c, ConvData& data) {
  double worst = 0;
  const int64_t rows = c.out_height(), columns = c.out_width(), planes = c.out_depth(), blocks = result_blocks(c);
  const int64_t points = planes * rows * columns;
  for (int64_t i = 0; i < data.operands[4]->size(); ++i) {
    const int64_t lane = i % 16, point = i / 16 % points;
    const int64_t result_block = i / 16 / points % blocks, n = i / 16 / points / blocks;
    const int64_t b = result_block - c.result_block_offset, channel = b * 16 + lane;
    const double value = static_cast<double>((*data.operands[4])[i]);
    if (b < 0 || b >= c.out_blocks()) {
      if (value != static_cast<double>(marker)) return std::numeric_limits<double>::infinity();
      continue;
    }
    if (channel >= c.out_channels) continue;
    const double bias = static_cast<double>((*data.operands[2])[channel]);
    const int64_t same = ((n * c.out_blocks() + b) * points + point) * 16 + lane;
    const OutputPoint at{n, channel, point / columns / rows, point / columns % rows, point % columns};
    const double residual = static_cast<double>((*data.operands[3])[same]);
    const double expected = apply(c.epilogue, reference_sum(c, data, at), bias, residual, at.row);
    const double error = std::abs(value - expected) / std::max(1.0, std::abs(expected));
    worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(worst, error);
  }
  return worst;
}

}  // namespace gcg::cpu
