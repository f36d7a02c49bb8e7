// The tensors of the runtime's API: dense, row-major.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "gart/result.h"

#if defined(__GNUC__)
#define GART_API __attribute__((visibility("default")))
#else
#define GART_API
#endif

namespace gart {

enum class DType : uint8_t {
  undefined,
  f32,
  f64,
  f16,
  bf16,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  boolean,
  f8e4m3fn,
  f8e4m3fnuz,
  f8e5m2,
  f8e5m2fnuz,
  f4e2m1,
  i4,
  u4,
  i2,
  u2,      ///< one byte each: narrower ones are not packed
  string,  ///< for inputs only: a const char* to a NUL-terminated text
};

/// Bytes of one element (a boolean takes one byte, 0 or 1); 0 for `undefined`.
GART_API size_t size_of(DType dtype);
/// "f32", "i64", "bool" ...
GART_API const char* name_of(DType dtype);

inline constexpr size_t kMaxRank = 16;

/// Extents, outermost first; rank 0 is a scalar. Never allocates. A longer list keeps its true rank but only the first
/// kMaxRank extents, so that the function that takes the shape can refuse it.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> extents) : Shape(std::span(extents.begin(), extents.size())) {}
  explicit Shape(std::span<const int64_t> extents) : rank_(extents.size()) {
    for (size_t i = 0; i < rank_ && i < kMaxRank; ++i) extents_[i] = extents[i];
  }
  size_t rank() const { return rank_; }
  int64_t operator[](size_t axis) const { return extents_[axis]; }
  std::span<const int64_t> extents() const { return {extents_, rank_ < kMaxRank ? rank_ : kMaxRank}; }
  /// Product of the extents; -1 if one is negative, the rank is above kMaxRank or the product overflows.
  GART_API int64_t elements() const;
  /// "[1,3,224,224]"
  GART_API std::string text() const;
  GART_API friend bool operator==(const Shape& a, const Shape& b);

 private:
  int64_t extents_[kMaxRank] = {};
  size_t rank_ = 0;
};

/// A tensor that another object owns, for reading. A CPU uses data in place if it is aligned to its elements. A GPU
/// uses data in place if it is in the GPU's memory at a multiple of 64 bytes. The runtime copies other data.
struct TensorView {
  const void* data = nullptr;  ///< may be null if the tensor has no elements
  DType dtype = DType::undefined;
  Shape shape;
  const char* device = "cpu";  ///< where `data` lives: "cpu", "cuda:0"

  template <class T>
  std::span<const T> elements() const {
    return {static_cast<const T*>(data), static_cast<size_t>(shape.elements())};
  }
};

/// Memory that another object owns, for writing.
struct OutputBuffer {
  void* data = nullptr;
  size_t bytes = 0;  ///< capacity; may exceed what the output needs
  DType dtype = DType::undefined;
  const char* device = "cpu";
};

/// An owned tensor, 64-byte aligned.
class GART_API Tensor {
 public:
  Tensor() = default;
  Tensor(Tensor&& other) noexcept;
  Tensor& operator=(Tensor&& other) noexcept;
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;
  ~Tensor();

  /// Uninitialised memory for shape.elements() elements.
  static Result<Tensor> allocate(DType dtype, const Shape& shape, std::string name = {});
  /// Copies the tensor. Fails if view.data is null though there are elements, or if it is on a device other than "cpu".
  static Result<Tensor> copy_of(const TensorView& view, std::string name = {});

  const std::string& name() const { return name_; }  ///< the name of the output that made this tensor; may be empty
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  size_t bytes() const { return bytes_; }
  void* data() { return data_; }
  const void* data() const { return data_; }
  /// The elements as T; the caller must use the T that belongs to dtype().
  template <class T>
  std::span<T> elements() {
    return {static_cast<T*>(data_), bytes_ / sizeof(T)};
  }
  template <class T>
  std::span<const T> elements() const {
    return {static_cast<const T*>(data_), bytes_ / sizeof(T)};
  }
  // NOLINT: implicit, so that an owned tensor can be passed as a view.
  operator TensorView() const { return {data_, dtype_, shape_, "cpu"}; }

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
  DType dtype_ = DType::undefined;
  Shape shape_;
  std::string name_;
};

/// An input by its name.
struct NamedTensor {
  std::string_view name;
  TensorView tensor;
};

}  // namespace gart
