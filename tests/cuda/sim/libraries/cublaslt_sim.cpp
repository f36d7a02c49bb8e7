// libcublasLt.so: matrix products on the simulated device. Numbers and layouts are written from the library's documentation and
// apart from the runtime's own declarations, so that a mistake in either shows.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>

#include "tests/cuda/sim/libraries/element.h"
#include "tests/cuda/sim/libraries/library_work.h"

namespace {

using gart_sim::Tensor;
using gart_sim::Element;
using gart_sim::Work;

enum Status : int {
  kSuccess = 0,
  kNotInitialized = 1,
  kInvalidValue = 7,
  kExecutionFailed = 13,
  kNotSupported = 15,
};

struct Handle {};
struct MatmulDesc {
  int compute = 0, scale = 0;
  int transposed[2] = {0, 0};
  unsigned epilogue = 1;
  const void* bias = nullptr;
};
struct Layout {
  int type = 0;
  int64_t rows = 0, columns = 0, stride = 0;
  int batch = 1;
  int64_t batch_stride = 0;
};
struct Preference {
  uint64_t workspace = 0;
  unsigned alignment[4] = {256, 256, 256, 256};
};
struct Algorithm {
  uint64_t problem, workspace, alignment, unused[5];
};
struct HeuristicResult {
  Algorithm algorithm;
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
};

// Which objects are alive.
std::mutex mutex;
std::set<const void*>& alive() {
  static auto* objects = new std::set<const void*>;
  return *objects;
}
bool is_alive(const void* object) {
  const std::lock_guard lock(mutex);
  return alive().count(object) != 0;
}
template <class T>
int create(const char* name, T** out, T value) {
  if (const int injected = gart_sim_call(name)) return injected;
  *out = new T(value);
  const std::lock_guard lock(mutex);
  alive().insert(*out);
  return kSuccess;
}
template <class T>
int destroy(const char* name, T* object) {
  const int injected = gart_sim_call(name);  // what fails is gone all the same
  const std::lock_guard lock(mutex);
  if (alive().erase(object) == 0) return kInvalidValue;
  delete object;
  return injected;
}
template <class T>
int set(T& to, const void* from, size_t bytes) {
  if (bytes != sizeof to) return kInvalidValue;
  memcpy(&to, from, bytes);
  return kSuccess;
}

bool has(unsigned epilogue, unsigned flag) { return (epilogue & flag) != 0; }

struct Product {
  MatmulDesc desc;
  Layout a, b, c, d;

  [[nodiscard]] int64_t depth() const { return desc.transposed[0] ? a.rows : a.columns; }
  [[nodiscard]] bool fits() const {
    const int64_t m = desc.transposed[0] ? a.columns : a.rows, n = desc.transposed[1] ? b.rows : b.columns;
    const int64_t k = desc.transposed[1] ? b.columns : b.rows;
    const bool batches = a.batch == d.batch && b.batch == d.batch && c.batch == d.batch;
    const bool types = a.type == b.type && c.type == d.type && (d.type == a.type || d.type == 0) && (a.type == 0 || desc.compute == 68);
    return types && batches && m == d.rows && n == d.columns && k == depth() && c.rows == d.rows && c.columns == d.columns;
  }
  [[nodiscard]] uint64_t checksum() const {
    uint64_t sum = desc.epilogue;
    for (const Layout* l : {&a, &b, &c, &d}) {
      for (const int64_t value : {l->rows, l->columns, l->stride, int64_t{l->batch}, l->batch_stride}) {
        sum = sum * 1099511628211ULL + static_cast<uint64_t>(value);
      }
    }
    return sum;
  }
  [[nodiscard]] uint64_t wanted_workspace() const { return static_cast<uint64_t>(d.rows * d.columns * d.batch) * sizeof(float); }
};

enum Type : int { kF32 = 0, kF16 = 2, kBf16 = 14 };
Element element_of(int type) { return type == kF32 ? Element::f32 : type == kF16 ? Element::f16 : Element::bf16; }
int64_t bytes_of(int type) { return gart_sim::bytes_of(element_of(type)); }
float load(const void* data, int type, int64_t at) { return gart_sim::load_element(data, at, element_of(type)); }
void store(void* data, int type, int64_t at, float value) { gart_sim::store_element(data, at, element_of(type), value); }

bool is_sound(const Layout& l) { return (l.type == kF32 || l.type == kF16 || l.type == kBf16) && l.rows > 0 && l.columns > 0 && l.stride >= l.rows && l.batch > 0; }

Tensor tensor_of(const Layout& l, const void* data) {
  return {reinterpret_cast<uint64_t>(data), bytes_of(l.type), {l.batch, l.columns, l.rows}, {l.batch_stride, l.stride, 1}};
}

float activate(float x, unsigned epilogue) {
  if (has(epilogue, 2)) return x > 0 ? x : 0;
  if (has(epilogue, 32)) return 0.5F * x * (1 + std::tanh(0.7978845608F * (x + 0.044715F * x * x * x)));
  return x;
}

struct Operands {
  const void *a, *b, *c;
  void* d;
  float alpha, beta;
};

void multiply(const Product& p, const Operands& o) {
  const auto at = [](const Layout& l, int batch, int64_t row, int64_t column) { return batch * l.batch_stride + column * l.stride + row; };
  for (int batch = 0; batch < p.d.batch; ++batch) {
    for (int64_t column = 0; column < p.d.columns; ++column) {
      for (int64_t row = 0; row < p.d.rows; ++row) {
        double sum = 0;
        for (int64_t k = 0; k < p.depth(); ++k) {
          const float x = load(o.a, p.a.type, p.desc.transposed[0] ? at(p.a, batch, k, row) : at(p.a, batch, row, k));
          const float y = load(o.b, p.b.type, p.desc.transposed[1] ? at(p.b, batch, column, k) : at(p.b, batch, k, column));
          sum += double{x} * y;
        }
        float value = o.alpha * static_cast<float>(sum);
        if (o.beta != 0) value += o.beta * load(o.c, p.c.type, at(p.c, batch, row, column));
        if (has(p.desc.epilogue, 4)) value += load(p.desc.bias, p.d.type, row);
        store(o.d, p.d.type, at(p.d, batch, row, column), activate(value, p.desc.epilogue));
      }
    }
  }
}

Work reading(Work work, const Product& p, const Operands& o) {
  work.reads(tensor_of(p.a, o.a)).reads(tensor_of(p.b, o.b));
  if (o.beta != 0) work.reads(tensor_of(p.c, o.c));
  if (has(p.desc.epilogue, 4)) work.reads({reinterpret_cast<uint64_t>(p.desc.bias), bytes_of(p.d.type), {p.d.rows}, {1}});
  return work;
}

// In one piece, or by way of the workspace in two: which of them depends on an address, as nobody promises otherwise.
int run(const Product& p, const Operands& o, void* workspace, uint64_t workspace_bytes, void* stream) {
  const bool in_two = workspace_bytes >= p.wanted_workspace() && reinterpret_cast<uint64_t>(o.a) % 256 == 0;
  if (!in_two) {
    Work work = reading(Work("cublasLt product", [p, o] { multiply(p, o); }), p, o);
    return work.writes(tensor_of(p.d, o.d)).enqueue(stream) ? kExecutionFailed : kSuccess;
  }
  Product into = p;
  into.d.stride = p.d.rows;
  into.d.batch_stride = p.d.rows * p.d.columns;
  Operands first = o;
  first.d = workspace;
  Work product = reading(Work("cublasLt product", [into, first] { multiply(into, first); }), p, o);
  Work copy("cublasLt copy", [p, o, workspace] {
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

// How many descriptors and handles are alive.
GART_SIM_API size_t gart_sim_cublaslt_alive() {
  const std::lock_guard lock(mutex);
  return alive().size();
}

GART_SIM_API size_t cublasLtGetVersion() { return gart_sim::setting("GART_SIM_CUBLASLT", 130100); }

GART_SIM_API const char* cublasLtGetStatusName(int status) {
  if (status == kNotSupported) return "CUBLAS_STATUS_NOT_SUPPORTED";
  if (status == kExecutionFailed) return "CUBLAS_STATUS_EXECUTION_FAILED";
  return status == kNotInitialized ? "CUBLAS_STATUS_NOT_INITIALIZED" : "CUBLAS_STATUS_OTHER";
}

GART_SIM_API int cublasLtCreate(Handle** out) { return create("cublasLtCreate", out, Handle{}); }
GART_SIM_API int cublasLtDestroy(Handle* handle) { return destroy("cublasLtDestroy", handle); }

GART_SIM_API int cublasLtMatmulDescCreate(MatmulDesc** out, int compute, int scale) {
  const bool known = compute == 68 || compute == 74 || compute == 75 || compute == 77;
  if (!known || scale != 0) return kInvalidValue;
  return create("cublasLtMatmulDescCreate", out, MatmulDesc{compute, scale});
}
GART_SIM_API int cublasLtMatmulDescDestroy(MatmulDesc* desc) { return destroy("cublasLtMatmulDescDestroy", desc); }
GART_SIM_API int cublasLtMatmulDescSetAttribute(MatmulDesc* desc, int which, const void* value, size_t bytes) {
  if (const int injected = gart_sim_call("cublasLtMatmulDescSetAttribute")) return injected;
  if (!is_alive(desc)) return kInvalidValue;
  switch (which) {
    case 3:
    case 4:
      return set(desc->transposed[which - 3], value, bytes);
    case 7:
      return set(desc->epilogue, value, bytes);
    case 8:
      return set(desc->bias, value, bytes);
    default:
      return kInvalidValue;
  }
}

GART_SIM_API int cublasLtMatrixLayoutCreate(Layout** out, int type, uint64_t rows, uint64_t columns, int64_t stride) {
  return create("cublasLtMatrixLayoutCreate", out,
                Layout{type, static_cast<int64_t>(rows), static_cast<int64_t>(columns), stride});
}
GART_SIM_API int cublasLtMatrixLayoutDestroy(Layout* layout) { return destroy("cublasLtMatrixLayoutDestroy", layout); }
GART_SIM_API int cublasLtMatrixLayoutSetAttribute(Layout* layout, int which, const void* value, size_t bytes) {
  if (const int injected = gart_sim_call("cublasLtMatrixLayoutSetAttribute")) return injected;
  if (!is_alive(layout)) return kInvalidValue;
  if (which == 5) return set(layout->batch, value, bytes);
  return which == 6 ? set(layout->batch_stride, value, bytes) : kInvalidValue;
}

GART_SIM_API int cublasLtMatmulPreferenceCreate(Preference** out) {
  return create("cublasLtMatmulPreferenceCreate", out, Preference{});
}
GART_SIM_API int cublasLtMatmulPreferenceDestroy(Preference* preference) {
  return destroy("cublasLtMatmulPreferenceDestroy", preference);
}
GART_SIM_API int cublasLtMatmulPreferenceSetAttribute(Preference* preference, int which, const void* value, size_t bytes) {
  if (const int injected = gart_sim_call("cublasLtMatmulPreferenceSetAttribute")) return injected;
  if (!is_alive(preference)) return kInvalidValue;
  if (which == 1) return set(preference->workspace, value, bytes);
  return which >= 5 && which <= 8 ? set(preference->alignment[which - 5], value, bytes) : kInvalidValue;
}

GART_SIM_API int cublasLtMatmulAlgoGetHeuristic(Handle* handle, MatmulDesc* desc, Layout* a, Layout* b, Layout* c, Layout* d,
                                                Preference* preference, int wanted, HeuristicResult* results, int* count) {
  if (const int injected = gart_sim_call("cublasLtMatmulAlgoGetHeuristic")) return injected;
  for (const void* object : {static_cast<const void*>(handle), static_cast<const void*>(desc), static_cast<const void*>(a),
                             static_cast<const void*>(b), static_cast<const void*>(c), static_cast<const void*>(d),
                             static_cast<const void*>(preference)}) {
    if (!is_alive(object)) return kInvalidValue;
  }
  const Product product = {*desc, *a, *b, *c, *d};
  if (wanted < 1 || !product.fits()) return kInvalidValue;
  for (const Layout* layout : {a, b, c, d}) {
    if (!is_sound(*layout)) return kInvalidValue;
  }
  if (has(desc->epilogue, 4) && desc->bias == nullptr) return kInvalidValue;
  const uint64_t workspace = (product.wanted_workspace() + 255) / 256 * 256;
  const unsigned alignment = std::min({preference->alignment[0], preference->alignment[1], preference->alignment[3]});
  results[0] = {};
  results[0].workspace = workspace <= preference->workspace ? workspace : 0;
  results[0].algorithm = {product.checksum(), results[0].workspace, alignment, {}};
  *count = 1;
  return kSuccess;
}

GART_SIM_API int cublasLtMatmul(Handle* handle, MatmulDesc* desc, const float* alpha, const void* a, Layout* a_layout,
                                const void* b, Layout* b_layout, const float* beta, const void* c, Layout* c_layout, void* d,
                                Layout* d_layout, const Algorithm* algorithm, void* workspace, size_t workspace_bytes,
                                void* stream) {
  if (const int injected = gart_sim_call("cublasLtMatmul")) return injected;
  if (!is_alive(handle) || !is_alive(desc) || algorithm == nullptr) return kInvalidValue;
  const Product product = {*desc, *a_layout, *b_layout, *c_layout, *d_layout};
  if (algorithm->problem != product.checksum() || workspace_bytes < algorithm->workspace) return kInvalidValue;
  if (algorithm->workspace > 0 && reinterpret_cast<uint64_t>(workspace) % 256 != 0) return kInvalidValue;
  for (const void* operand : {a, b, static_cast<const void*>(d)}) {
    if (reinterpret_cast<uint64_t>(operand) % algorithm->alignment != 0) return kInvalidValue;
  }
  return run(product, {a, b, c, d, *alpha, *beta}, workspace, algorithm->workspace, stream);
}
