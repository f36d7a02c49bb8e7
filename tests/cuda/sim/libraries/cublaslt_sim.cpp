// libcublasLt.so: matrix products on the simulated device. Numbers and layouts are written from the library's
// documentation, independently of the runtime's declarations, so that a mistake in either is detected.
#include <algorithm>
#include <bit>
#include <cstring>
#include <initializer_list>
#include <mutex>
#include <set>
#include <string>

#include "tests/cuda/sim/libraries/cublaslt_product.h"
#include "tests/cuda/sim/libraries/library_work.h"

namespace {

using namespace gart_sim::cublaslt;

struct Handle {};
struct Preference {
  uint64_t workspace = 0;
  unsigned alignment[4] = {256, 256, 256, 256};
};
struct Algorithm {
  uint64_t problem, workspace, alignment, variant, unused[4];
};
struct HeuristicResult {
  Algorithm algorithm;
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
};

// The live objects.
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
  const int injected = gart_sim_call(name);  // the object is gone even if this fails
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

bool are_alive(std::initializer_list<const void*> objects) {
  return std::all_of(objects.begin(), objects.end(), is_alive);
}

// True if the heuristic could have proposed this algorithm for this product.
bool is_known(const Algorithm& algorithm, const Product& product) {
  const bool in_two = algorithm.workspace == product.wanted_workspace();
  const bool workspace =
      in_two ? algorithm.variant != kInOnePiece : algorithm.workspace == 0 && algorithm.variant != kInTwo;
  return product.fits() && algorithm.problem == product.checksum() && algorithm.variant < kVariants && workspace &&
         std::has_single_bit(algorithm.alignment);
}

}  // namespace

// Number of live descriptors and handles.
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
GART_SIM_API int cublasLtMatmulPreferenceSetAttribute(Preference* preference, int which, const void* value,
                                                      size_t bytes) {
  if (const int injected = gart_sim_call("cublasLtMatmulPreferenceSetAttribute")) return injected;
  if (!is_alive(preference)) return kInvalidValue;
  if (which == 1) return set(preference->workspace, value, bytes);
  return which >= 5 && which <= 8 ? set(preference->alignment[which - 5], value, bytes) : kInvalidValue;
}

// Proposes up to three variants, in the order of the enum.
GART_SIM_API int cublasLtMatmulAlgoGetHeuristic(Handle* handle, MatmulDesc* desc, Layout* a, Layout* b, Layout* c,
                                                Layout* d, Preference* preference, int wanted, HeuristicResult* results,
                                                int* count) {
  if (const int injected = gart_sim_call("cublasLtMatmulAlgoGetHeuristic")) return injected;
  if (!are_alive({handle, desc, a, b, c, d, preference}) || wanted < 1) return kInvalidValue;
  const Product product = {*desc, *a, *b, *c, *d};
  if (!product.fits()) return kInvalidValue;
  const bool in_two = product.wanted_workspace() <= preference->workspace;
  const unsigned alignment = std::min({preference->alignment[0], preference->alignment[1], preference->alignment[3]});
  *count = std::min(wanted, in_two ? 3 : 2);
  for (int i = 0; i < *count; ++i) {
    const auto variant = static_cast<uint64_t>(i);
    results[i] = {};
    results[i].workspace = in_two && variant != kInOnePiece ? product.wanted_workspace() : 0;
    results[i].algorithm = {product.checksum(), results[i].workspace, alignment, variant, {}};
  }
  return kSuccess;
}

GART_SIM_API int cublasLtMatmulAlgoCheck(Handle* handle, MatmulDesc* desc, Layout* a, Layout* b, Layout* c, Layout* d,
                                         const Algorithm* algorithm, HeuristicResult* result) {
  if (const int injected = gart_sim_call("cublasLtMatmulAlgoCheck")) return injected;
  if (!are_alive({handle, desc, a, b, c, d}) || algorithm == nullptr || result == nullptr) return kInvalidValue;
  const Product product = {*desc, *a, *b, *c, *d};
  if (!is_known(*algorithm, product)) return kInvalidValue;
  result->workspace = algorithm->workspace;
  result->state = kSuccess;
  result->waves = 0;
  return kSuccess;
}

// gart_sim_count counts "variant 1 of cublasLtMatmul".
GART_SIM_API int cublasLtMatmul(Handle* handle, MatmulDesc* desc, const float* alpha, const void* a, Layout* a_layout,
                                const void* b, Layout* b_layout, const float* beta, const void* c, Layout* c_layout,
                                void* d, Layout* d_layout, const Algorithm* algorithm, void* workspace,
                                size_t workspace_bytes, void* stream) {
  if (const int injected = gart_sim_call("cublasLtMatmul")) return injected;
  if (!are_alive({handle, desc, a_layout, b_layout, c_layout, d_layout}) || algorithm == nullptr) return kInvalidValue;
  const Product product = {*desc, *a_layout, *b_layout, *c_layout, *d_layout};
  if (!is_known(*algorithm, product) || workspace_bytes < algorithm->workspace) return kInvalidValue;
  if (algorithm->workspace > 0 && reinterpret_cast<uint64_t>(workspace) % 256 != 0) return kInvalidValue;
  for (const void* operand : {a, b, static_cast<const void*>(d)}) {
    if (reinterpret_cast<uint64_t>(operand) % algorithm->alignment != 0) return kInvalidValue;
  }
  gart_sim::count("variant " + std::to_string(algorithm->variant) + " of cublasLtMatmul");
  return run(product, {a, b, c, d, *alpha, *beta}, algorithm->variant, workspace, algorithm->workspace, stream);
}
