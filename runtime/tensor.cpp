#include "gart/tensor.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "runtime/errors.h"
#include "runtime/memory.h"

namespace gart {
namespace {

struct DTypeFacts {
  char name[11];  // an array, because the loader would have to relocate a pointer
  uint8_t size;
};
constexpr DTypeFacts kDTypes[] = {
    {"undefined", 0}, {"f32", 4},  {"f64", 8},      {"f16", 2},        {"bf16", 2},   {"i8", 1},
    {"i16", 2},       {"i32", 4},  {"i64", 8},      {"u8", 1},         {"u16", 2},    {"u32", 4},
    {"u64", 8},       {"bool", 1}, {"f8e4m3fn", 1}, {"f8e4m3fnuz", 1}, {"f8e5m2", 1}, {"f8e5m2fnuz", 1},
    {"f4e2m1", 1},    {"i4", 1},   {"u4", 1},       {"i2", 1},         {"u2", 1},     {"string", sizeof(char*)}};

const DTypeFacts& facts(DType dtype) {
  const size_t index = static_cast<size_t>(dtype);
  return kDTypes[index < std::size(kDTypes) ? index : 0];
}

}  // namespace

size_t size_of(DType dtype) { return facts(dtype).size; }
const char* name_of(DType dtype) { return facts(dtype).name; }

int64_t Shape::elements() const {
  if (rank_ > kMaxRank) return -1;
  int64_t product = 1;
  bool empty = false;
  for (const int64_t extent : extents()) {
    if (extent < 0) return -1;
    if (extent == 0) empty = true;
    if (extent > 0 && __builtin_mul_overflow(product, extent, &product)) return -1;
  }
  return empty ? 0 : product;
}

std::string Shape::text() const {
  std::string out = "[";
  for (const int64_t extent : extents()) out += gart::text(out.size() > 1 ? "," : "", extent);
  return out + (rank_ > kMaxRank ? ",...]" : "]");
}

bool operator==(const Shape& a, const Shape& b) {
  return a.rank_ == b.rank_ && std::equal(a.extents().begin(), a.extents().end(), b.extents().begin());
}

Tensor::Tensor(Tensor&& other) noexcept { *this = std::move(other); }

Tensor& Tensor::operator=(Tensor&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(dtype_, other.dtype_);
  std::swap(shape_, other.shape_);
  std::swap(name_, other.name_);
  return *this;
}

Tensor::~Tensor() { std::free(data_); }

Result<Tensor> Tensor::allocate(DType dtype, const Shape& shape, std::string name) {
  const int64_t elements = shape.elements();
  size_t bytes = 0;
  if (elements < 0 || size_of(dtype) == 0 || __builtin_mul_overflow(size_t(elements), size_of(dtype), &bytes)) {
    return error(ErrorCode::invalid_argument, "there is no tensor ", name_of(dtype), shape.text());
  }
  Tensor tensor;
  tensor.data_ =
      bytes > (SIZE_MAX >> 1) ? nullptr : std::aligned_alloc(kAlignment, (bytes + kAlignment) & ~(kAlignment - 1));
  if (tensor.data_ == nullptr) return error(ErrorCode::out_of_memory, "no memory for a tensor of ", bytes, " bytes");
  tensor.bytes_ = bytes;
  tensor.dtype_ = dtype;
  tensor.shape_ = shape;
  tensor.name_ = std::move(name);
  return tensor;
}

Result<Tensor> Tensor::copy_of(const TensorView& view, std::string name) {
  if (view.device == nullptr || std::string_view(view.device) != "cpu") {
    return error(ErrorCode::invalid_argument, "only tensors on device 'cpu' can be copied");
  }
  Result<Tensor> tensor = allocate(view.dtype, view.shape, std::move(name));
  if (!tensor || tensor->bytes() == 0) return tensor;
  if (view.data == nullptr) return error(ErrorCode::invalid_argument, "the data pointer is null");
  std::memcpy(tensor->data(), view.data, tensor->bytes());
  return tensor;
}

}  // namespace gart
