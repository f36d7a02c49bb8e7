#include "tools/gcc-graph/io/literal_tensor.h"

#include <charconv>

#include "compiler/ir/tensor.h"
#include "compiler/support/error.h"

namespace gcg::tools {
namespace {

template <class T>
bool parse(const std::string& text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

/// Sets the one element of `t`; false if the text is no number of its type.
bool set_element(Tensor& t, const std::string& text) {
  if (is_float(t.dtype())) {
    double number = 0;
    if (!parse(text, number)) return false;
    t.set_double(0, number);
    return true;
  }
  if (t.dtype() == DType::boolean && (text == "true" || text == "false")) {
    t.set_int(0, text == "true");
    return true;
  }
  if (uint64_t large = 0; t.dtype() == DType::u64 && parse(text, large)) {
    t.set_int(0, static_cast<int64_t>(large));
    return true;
  }
  int64_t integer = 0;
  if (!parse(text, integer) || (integer < 0 && is_unsigned_int(t.dtype()))) return false;
  t.set_int(0, integer);
  return t.at_int(0) == integer;
}

}  // namespace

HostTensor literal_tensor(const gart::TensorInfo& info, const std::vector<int64_t>& shape, const std::string& text) {
  const auto dtype = static_cast<DType>(info.dtype);
  Tensor one(dtype, {});
  if (!set_element(one, text))
    fail("--input ", info.name, "=", text, ": neither a .npy nor a .pb file, nor a number of the input's type, ",
         name_of(dtype));
  HostTensor out;
  out.dtype = info.dtype;
  out.shape = shape;
  const Tensor all(dtype, shape);
  out.bytes.reserve(static_cast<size_t>(all.bytes()));
  for (int64_t i = 0; i < all.elements(); ++i) out.bytes.insert(out.bytes.end(), one.data(), one.data() + one.bytes());
  return out;
}

}  // namespace gcg::tools
