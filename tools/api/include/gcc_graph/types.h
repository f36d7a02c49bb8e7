// Shared by all headers of libgcc_graph: element types, attributes, errors.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#if defined(__GNUC__)
#define GCC_GRAPH_API __attribute__((visibility("default")))
#else
#define GCC_GRAPH_API
#endif

namespace gcc_graph {

/// The values equal those of gart::DType.
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
  u2,
};

/// Bytes of one element. A boolean, and every type narrower than a byte, takes one byte.
GCC_GRAPH_API int64_t size_of(DType dtype);
/// "f32", "bool"
GCC_GRAPH_API std::string name_of(DType dtype);

/// An operator's attribute, with the types of the ONNX standard. Tensors are operands instead.
using Attribute =
    std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>, std::vector<std::string>>;
using Attributes = std::map<std::string, Attribute>;

/// One sentence that names operator, value and limit. Every failure in this library throws it.
class GCC_GRAPH_API Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  ~Error() override;
};

}  // namespace gcc_graph
