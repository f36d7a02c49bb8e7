// Constant tensor data on the compiling host.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "compiler/ir/dtype.h"
#include "compiler/support/error.h"

namespace gcg {

struct Rearrangement;    // compiler/ir/graph.h
class DeferredElements;  // compiler/ir/deferred.h

/// Dense, row-major, little-endian. The bytes are shared, and immutable once published as `shared_ptr<const Tensor>`.
/// They are owned, or point into a mapped file that `owner` keeps alive, or are computed when they are read.
class Tensor {
 public:
  Tensor() = default;
  /// Zero-filled; owns its bytes.
  Tensor(DType dtype, std::vector<int64_t> shape);
  /// A view of bytes that `owner` keeps alive.
  Tensor(DType dtype, std::vector<int64_t> shape, const void* data, std::shared_ptr<const void> owner);
  /// Elements that the first read computes. They have this type, and as many bytes as the shape needs.
  Tensor(DType dtype, std::vector<int64_t> shape, std::shared_ptr<const DeferredElements> elements);

  template <class T>
  static Tensor from(DType dtype, std::vector<int64_t> shape, const std::vector<T>& values) {
    Tensor t(dtype, std::move(shape));
    GCG_CHECK(static_cast<int64_t>(values.size() * sizeof(T)) == t.bytes(), "tensor data size");
    if (!values.empty()) std::memcpy(t.mutable_data(), values.data(), values.size() * sizeof(T));
    return t;
  }
  static Tensor scalar_i64(int64_t value) { return from<int64_t>(DType::i64, {}, {value}); }
  static Tensor vector_i64(const std::vector<int64_t>& v) {
    return from(DType::i64, {static_cast<int64_t>(v.size())}, v);
  }

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t rank() const { return static_cast<int64_t>(shape_.size()); }
  int64_t elements() const;
  int64_t bytes() const { return elements() * size_of(dtype_); }
  const uint8_t* data() const { return data_ == nullptr && owner_ ? deferred_data() : data_; }
  /// Only for owned tensors before they are published.
  uint8_t* mutable_data();

  template <class T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(data()), static_cast<size_t>(elements())};
  }
  template <class T>
  std::span<T> as_mutable() {
    return {reinterpret_cast<T*>(mutable_data()), static_cast<size_t>(elements())};
  }

  /// Element `i` (row-major) of any dtype, converted; f16 and bf16 are widened exactly.
  double at_double(int64_t i) const;
  int64_t at_int(int64_t i) const;
  /// Stores with the dtype's own conversion (C++ cast for integers, round-to-nearest-even for f16/bf16).
  void set_double(int64_t i, double value);
  void set_int(int64_t i, int64_t value);
  std::vector<int64_t> to_ints() const;

  /// The same bytes under another shape of equal size.
  Tensor reshaped(std::vector<int64_t> shape) const;

  /// The computation of the elements; null if they are in memory or in a mapped file.
  std::shared_ptr<const DeferredElements> deferred() const {
    return data_ == nullptr ? std::static_pointer_cast<const DeferredElements>(owner_) : nullptr;
  }
  /// This tensor, for a reader that needs it once: deferred elements are freed with the result.
  Tensor computed() const;

  /// The operator that rearranged another constant into this one; null if none did.
  const std::shared_ptr<const Rearrangement>& rearrangement() const { return rearrangement_; }
  void set_rearrangement(std::shared_ptr<const Rearrangement> r) { rearrangement_ = std::move(r); }

 private:
  const uint8_t* deferred_data() const;  // defined in compiler/ir/deferred.cpp, like computed

  DType dtype_ = DType::undefined;
  std::vector<int64_t> shape_;
  const uint8_t* data_ = nullptr;      // null if the elements are deferred, or if there are none
  std::shared_ptr<const void> owner_;  // owner of the bytes, or the DeferredElements
  uint8_t* writable_ = nullptr;
  std::shared_ptr<const Rearrangement> rearrangement_;
};

using TensorRef = std::shared_ptr<const Tensor>;

float f16_to_float(uint16_t bits);
uint16_t float_to_f16(float value);
float bf16_to_float(uint16_t bits);
uint16_t float_to_bf16(float value);

}  // namespace gcg
