#include "tools/gcc-graph/io/literal_tensor.h"

#include "gcc_graph/values.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {

HostTensor literal_tensor(const gart::TensorInfo& info, const std::vector<int64_t>& shape, const std::string& text) {
  if (info.dtype == gart::DType::string) {
    const int64_t bytes = checked_bytes(shape, info.dtype, "input '" + info.name + "'");
    return string_tensor(shape, std::vector<std::string>(static_cast<size_t>(bytes) / sizeof(char*), text), info.name);
  }
  const auto dtype = static_cast<gcc_graph::DType>(info.dtype);
  std::vector<uint8_t> one(gart::size_of(info.dtype));
  if (!gcc_graph::parse_element(dtype, text, one.data()))
    fail("--input ", info.name, "=", text,
         ": neither a .npy or .pb file, a picture or a sound, nor a number of the input's type, ",
         gcc_graph::name_of(dtype));
  HostTensor out{info.dtype, shape, {}};
  const int64_t bytes = checked_bytes(shape, info.dtype, "input '" + info.name + "'");
  out.bytes.reserve(static_cast<size_t>(bytes));
  while (static_cast<int64_t>(out.bytes.size()) < bytes) out.bytes.insert(out.bytes.end(), one.begin(), one.end());
  return out;
}

}  // namespace gcg::tools
