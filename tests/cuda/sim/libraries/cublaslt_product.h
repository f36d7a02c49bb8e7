// Products of the simulated cuBLASLt: their descriptors, and their work on the device.
#ifndef GART_TESTS_CUDA_SIM_LIBRARIES_CUBLASLT_PRODUCT_H
#define GART_TESTS_CUDA_SIM_LIBRARIES_CUBLASLT_PRODUCT_H

#include <cstdint>

namespace gart_sim::cublaslt {

enum Status : int {
  kSuccess = 0,
  kNotInitialized = 1,
  kInvalidValue = 7,
  kExecutionFailed = 13,
  kNotSupported = 15,
};

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

struct Product {
  MatmulDesc desc;
  Layout a, b, c, d;

  [[nodiscard]] int64_t depth() const { return desc.transposed[0] ? a.rows : a.columns; }
  [[nodiscard]] bool has(unsigned epilogue) const { return (desc.epilogue & epilogue) != 0; }
  // True if the product's matrices are valid and fit together.
  [[nodiscard]] bool fits() const;
  // A key that covers everything except addresses.
  [[nodiscard]] uint64_t checksum() const;
  // The workspace, in bytes, that a product in two pieces needs.
  [[nodiscard]] uint64_t wanted_workspace() const;
};

struct Operands {
  const void *a, *b, *c;
  void* d;
  float alpha, beta;
};

// The algorithms for a product. All but the first always use the same number of pieces.
enum Variant : uint64_t {
  kEither,      // in one piece or in two, depending on an address and on the workspace
  kInOnePiece,  // uses no workspace
  kInTwo,       // uses the workspace
  kVariants
};

// Returns a status.
int run(const Product& p, const Operands& o, uint64_t variant, void* workspace, uint64_t workspace_bytes, void* stream);

}  // namespace gart_sim::cublaslt
#endif
