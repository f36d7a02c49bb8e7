#include "compiler/ir/tensor.h"

#include <sys/mman.h>

#include <bit>
#include <cmath>
#include <cstdlib>

#include "compiler/ir/small_float.h"

namespace gcg {
namespace {

constexpr size_t kAlignment = 64;

/// Larger tensors get pages of their own: the kernel fills them with zeros, and takes them back at once.
constexpr int64_t kOwnPages = 1 << 20;

std::shared_ptr<uint8_t> allocate_pages(int64_t bytes) {
  const size_t size = static_cast<size_t>(bytes) + kAlignment;
  void* p = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) fail("out of memory: a tensor needs ", bytes, " bytes");
  ::madvise(p, size, MADV_HUGEPAGE);  // fewer page faults; a kernel that refuses is only slower
  return {static_cast<uint8_t*>(p), [size](uint8_t* q) { ::munmap(q, size); }};
}

std::shared_ptr<uint8_t> allocate(int64_t bytes) {
  if (bytes >= kOwnPages) return allocate_pages(bytes);
  const size_t size = (static_cast<size_t>(bytes) + kAlignment) / kAlignment * kAlignment;
  auto* p = static_cast<uint8_t*>(std::aligned_alloc(kAlignment, size));
  if (p == nullptr) fail("out of memory: a tensor needs ", bytes, " bytes");
  std::memset(p, 0, size);
  return {p, [](uint8_t* q) { std::free(q); }};
}

template <class T>
T load(const uint8_t* data, int64_t i) {
  T v;
  std::memcpy(&v, data + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return v;
}

template <class T, class V>
void store(uint8_t* data, int64_t i, V value) {
  const T v = static_cast<T>(value);
  std::memcpy(data + i * static_cast<int64_t>(sizeof(T)), &v, sizeof(T));
}

/// The nearest float. Between two floats it takes the odd one (round to odd), so that the rounding to 16 bits
/// afterwards is the only one that counts.
float rounded_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  if (std::isnan(value) || std::isinf(nearest) || static_cast<double>(nearest) == value) return nearest;
  const bool too_large = std::fabs(static_cast<double>(nearest)) > std::fabs(value);
  return std::bit_cast<float>((std::bit_cast<uint32_t>(nearest) - (too_large ? 1U : 0U)) | 1U);
}

/// Stores the low bits of a value, extended to the byte.
void store_bits(DType t, uint8_t* data, int64_t i, int64_t value) {
  const int64_t values = int64_t{1} << small_int_bits(t);
  int64_t low = ((value % values) + values) % values;
  if (storage_dtype(t) == DType::i8 && low >= values / 2) low -= values;
  data[i] = static_cast<uint8_t>(low);
}

template <class R>
R read(DType t, const uint8_t* d, int64_t i) {
  switch (t) {
    case DType::f32:
      return static_cast<R>(load<float>(d, i));
    case DType::f64:
      return static_cast<R>(load<double>(d, i));
    case DType::f16:
      return static_cast<R>(f16_to_float(load<uint16_t>(d, i)));
    case DType::bf16:
      return static_cast<R>(bf16_to_float(load<uint16_t>(d, i)));
    case DType::i8:
      return static_cast<R>(load<int8_t>(d, i));
    case DType::i16:
      return static_cast<R>(load<int16_t>(d, i));
    case DType::i32:
      return static_cast<R>(load<int32_t>(d, i));
    case DType::i64:
      return static_cast<R>(load<int64_t>(d, i));
    case DType::u8:
    case DType::boolean:
      return static_cast<R>(load<uint8_t>(d, i));
    case DType::u16:
      return static_cast<R>(load<uint16_t>(d, i));
    case DType::u32:
      return static_cast<R>(load<uint32_t>(d, i));
    case DType::u64:
      return static_cast<R>(load<uint64_t>(d, i));
    case DType::i4:
    case DType::i2:
      return static_cast<R>(load<int8_t>(d, i));
    case DType::u4:
    case DType::u2:
      return static_cast<R>(load<uint8_t>(d, i));
    case DType::f8e4m3fn:
    case DType::f8e4m3fnuz:
    case DType::f8e5m2:
    case DType::f8e5m2fnuz:
    case DType::f4e2m1:
      return static_cast<R>(small_float_value(t, load<uint8_t>(d, i)));
    case DType::undefined:
      break;
  }
  GCG_CHECK(false, "read of an undefined dtype");
}

template <class V>
void write(DType t, uint8_t* d, int64_t i, V value) {
  switch (t) {
    case DType::f32:
      return store<float>(d, i, value);
    case DType::f64:
      return store<double>(d, i, value);
    case DType::f16:
      return store<uint16_t>(d, i, float_to_f16(rounded_to_odd(static_cast<double>(value))));
    case DType::bf16:
      return store<uint16_t>(d, i, float_to_bf16(rounded_to_odd(static_cast<double>(value))));
    case DType::i8:
      return store<int8_t>(d, i, value);
    case DType::i16:
      return store<int16_t>(d, i, value);
    case DType::i32:
      return store<int32_t>(d, i, value);
    case DType::i64:
      return store<int64_t>(d, i, value);
    case DType::u8:
      return store<uint8_t>(d, i, value);
    case DType::boolean:
      return store<uint8_t>(d, i, value != 0);
    case DType::u16:
      return store<uint16_t>(d, i, value);
    case DType::u32:
      return store<uint32_t>(d, i, value);
    case DType::u64:
      return store<uint64_t>(d, i, value);
    case DType::i4:
    case DType::i2:
    case DType::u4:
    case DType::u2:
      return store_bits(t, d, i, static_cast<int64_t>(value));
    case DType::f8e4m3fn:
    case DType::f8e4m3fnuz:
    case DType::f8e5m2:
    case DType::f8e5m2fnuz:
    case DType::f4e2m1:
      return store<uint8_t>(d, i, small_float_bits(t, static_cast<double>(value), true));
    case DType::undefined:
      break;
  }
  GCG_CHECK(false, "write of an undefined dtype");
}

}  // namespace

Tensor::Tensor(DType dtype, std::vector<int64_t> shape) : dtype_(dtype), shape_(std::move(shape)) {
  auto owned = allocate(bytes());
  writable_ = owned.get();
  data_ = writable_;
  owner_ = std::move(owned);
}

Tensor::Tensor(DType dtype, std::vector<int64_t> shape, const void* data, std::shared_ptr<const void> owner)
    : dtype_(dtype), shape_(std::move(shape)), data_(static_cast<const uint8_t*>(data)) {
  if (data != nullptr) owner_ = std::move(owner);  // an empty file has no bytes
}

Tensor::Tensor(DType dtype, std::vector<int64_t> shape, std::shared_ptr<const DeferredElements> elements)
    : dtype_(dtype), shape_(std::move(shape)), owner_(std::move(elements)) {}

int64_t Tensor::elements() const {
  int64_t n = 1;
  for (int64_t d : shape_) n *= d;
  return n;
}

uint8_t* Tensor::mutable_data() {
  GCG_CHECK(writable_ != nullptr, "write to a shared tensor");
  return writable_;
}

double Tensor::at_double(int64_t i) const { return read<double>(dtype_, data(), i); }
int64_t Tensor::at_int(int64_t i) const { return read<int64_t>(dtype_, data(), i); }
void Tensor::set_double(int64_t i, double value) { write(dtype_, mutable_data(), i, value); }
void Tensor::set_int(int64_t i, int64_t value) { write(dtype_, mutable_data(), i, value); }

std::vector<int64_t> Tensor::to_ints() const {
  std::vector<int64_t> out(static_cast<size_t>(elements()));
  for (size_t i = 0; i < out.size(); ++i) out[i] = at_int(static_cast<int64_t>(i));
  return out;
}

Tensor Tensor::reshaped(std::vector<int64_t> shape) const {
  Tensor t = *this;
  t.shape_ = std::move(shape);
  GCG_CHECK(t.elements() == elements(), "reshape changes the number of elements");
  return t;
}

float f16_to_float(uint16_t bits) {
  const uint32_t sign = (bits & 0x8000u) << 16, exponent = (bits >> 10) & 31, mantissa = bits & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent == 0) return (sign ? -1.0f : 1.0f) * std::ldexp(static_cast<float>(mantissa), -24);
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

uint16_t float_to_f16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | 0x7e00u;   // NaN
  if (magnitude >= 0x477ff000u) return sign | 0x7c00u;  // rounds to infinity
  if (magnitude < 0x38800000u) {                        // subnormal or zero: units of 2^-24
    const float scaled = std::ldexp(std::bit_cast<float>(magnitude), 24);
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyint(scaled)));
  }
  const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

float bf16_to_float(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t float_to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace gcg
