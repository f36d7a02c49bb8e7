#include "tests/cuda/sim/libraries/cublaslt_product.h"

#include <cmath>
#include <cstring>

#include "tests/cuda/sim/libraries/element.h"
#include "tests/cuda/sim/libraries/library_work.h"

namespace gart_sim::cublaslt {
namespace {

constexpr unsigned kRelu = 2, kBias = 4, kGelu = 32;

enum Type : int { kF32 = 0, kF16 = 2, kBf16 = 14 };
Element element_of(int type) { return type == kF32 ? Element::f32 : type == kF16 ? Element::f16 : Element::bf16; }
int64_t bytes_of(int type) { return gart_sim::bytes_of(element_of(type)); }
float load(const void* data, int type, int64_t at) { return load_element(data, at, element_of(type)); }
void store(void* data, int type, int64_t at, float value) { store_element(data, at, element_of(type), value); }

bool is_sound(const Layout& l) {
  const bool known = l.type == kF32 || l.type == kF16 || l.type == kBf16;
  return known && l.rows > 0 && l.columns > 0 && l.stride >= l.rows && l.batch > 0;
}

Tensor tensor_of(const Layout& l, const void* data) {
  return {
      reinterpret_cast<uint64_t>(data), bytes_of(l.type), {l.batch, l.columns, l.rows}, {l.batch_stride, l.stride, 1}};
}

float activate(float x, const Product& p) {
  if (p.has(kRelu)) return x > 0 ? x : 0;
  if (p.has(kGelu)) return 0.5F * x * (1 + std::tanh(0.7978845608F * (x + 0.044715F * x * x * x)));
  return x;
}

void multiply(const Product& p, const Operands& o) {
  const auto at = [](const Layout& l, int batch, int64_t row, int64_t column) {
    return batch * l.batch_stride + column * l.stride + row;
  };
  for (int batch = 0; batch < p.d.batch; ++batch) {
    for (int64_t column = 0; column < p.d.columns; ++column) {
      for (int64_t row = 0; row < p.d.rows; ++row) {
        double sum = 0;
        for (int64_t k = 0; k < p.depth(); ++k) {
          const int64_t of_a = p.desc.transposed[0] ? at(p.a, batch, k, row) : at(p.a, batch, row, k);
          const int64_t of_b = p.desc.transposed[1] ? at(p.b, batch, column, k) : at(p.b, batch, k, column);
          sum += double{load(o.a, p.a.type, of_a)} * load(o.b, p.b.type, of_b);
        }
        float value = o.alpha * static_cast<float>(sum);
        if (o.beta != 0) value += o.beta * load(o.c, p.c.type, at(p.c, batch, row, column));
        if (p.has(kBias)) value += load(p.desc.bias, p.d.type, row);
        store(o.d, p.d.type, at(p.d, batch, row, column), activate(value, p));
      }
    }
  }
}

LibraryWork reading(LibraryWork work, const Product& p, const Operands& o) {
  work.reads(tensor_of(p.a, o.a)).reads(tensor_of(p.b, o.b));
  if (o.beta != 0) work.reads(tensor_of(p.c, o.c));
  if (p.has(kBias)) work.reads({reinterpret_cast<uint64_t>(p.desc.bias), bytes_of(p.d.type), {p.d.rows}, {1}});
  return work;
}

int run_in_two(const Product& p, const Operands& o, void* workspace, void* stream) {
  Product into = p;
  into.d.stride = p.d.rows;
  into.d.batch_stride = p.d.rows * p.d.columns;
  Operands first = o;
  first.d = workspace;
  LibraryWork product = reading(LibraryWork("cublasLt product", [into, first] { multiply(into, first); }), p, o);
  LibraryWork copy("cublasLt copy", [p, o, workspace] {
    const int64_t size = bytes_of(p.d.type), line = p.d.rows * size;
    const auto* from = static_cast<const char*>(workspace);
    auto* to = static_cast<char*>(o.d);
    for (int batch = 0; batch < p.d.batch; ++batch) {
      for (int64_t column = 0; column < p.d.columns; ++column, from += line) {
        memcpy(to + (batch * p.d.batch_stride + column * p.d.stride) * size, from, static_cast<size_t>(line));
      }
    }
  });
  const Tensor staged = tensor_of(into.d, workspace);
  const int error = product.writes(staged).enqueue(stream);
  return error || copy.reads(staged).writes(tensor_of(p.d, o.d)).enqueue(stream) ? kExecutionFailed : kSuccess;
}

}  // namespace

bool Product::fits() const {
  for (const Layout* layout : {&a, &b, &c, &d}) {
    if (!is_sound(*layout)) return false;
  }
  const int64_t m = desc.transposed[0] ? a.columns : a.rows, n = desc.transposed[1] ? b.rows : b.columns;
  const int64_t k = desc.transposed[1] ? b.columns : b.rows;
  const bool batches = a.batch == d.batch && b.batch == d.batch && c.batch == d.batch;
  const bool types = a.type == b.type && c.type == d.type && (d.type == a.type || d.type == kF32) &&
                     (a.type == kF32 || desc.compute == 68);
  const bool extents = m == d.rows && n == d.columns && k == depth() && c.rows == d.rows && c.columns == d.columns;
  return types && batches && extents && !(has(kBias) && desc.bias == nullptr);
}

uint64_t Product::checksum() const {
  uint64_t sum = desc.epilogue;
  const auto add = [&sum](int64_t value) { sum = sum * 1099511628211ULL + static_cast<uint64_t>(value); };
  for (const int value : {desc.compute, desc.transposed[0], desc.transposed[1]}) add(value);
  for (const Layout* l : {&a, &b, &c, &d}) {
    for (const int64_t value : {int64_t{l->type}, l->rows, l->columns, l->stride, int64_t{l->batch}, l->batch_stride})
      add(value);
  }
  return sum;
}

uint64_t Product::wanted_workspace() const {
  return (static_cast<uint64_t>(d.rows * d.columns * d.batch) * sizeof(float) + 255) / 256 * 256;
}

int run(const Product& p, const Operands& o, uint64_t variant, void* workspace, uint64_t workspace_bytes,
        void* stream) {
  const bool by_address = variant == kEither && reinterpret_cast<uint64_t>(o.a) % 256 == 0;
  if (workspace_bytes >= p.wanted_workspace() && (by_address || variant == kInTwo))
    return run_in_two(p, o, workspace, stream);
  LibraryWork work = reading(LibraryWork("cublasLt product", [p, o] { multiply(p, o); }), p, o);
  return work.writes(tensor_of(p.d, o.d)).enqueue(stream) ? kExecutionFailed : kSuccess;
}

}  // namespace gart_sim::cublaslt
