// NumPy's archives of arrays.
#include "tools/gcc-graph/io/npz.h"

#include "tests/fuzz/targets/input_file.h"
#include "tools/gcc-graph/support/fail.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kMostElements = 1 << 20;
  const auto check = [](const std::string& name, gart::DType, const std::vector<int64_t>& shape) {
    size_t elements = 1;
    for (const int64_t extent : shape) elements *= static_cast<size_t>(extent);
    if (elements > kMostElements) gcg::tools::fail("'", name, "' is larger than the model's input");
  };
  const gcg::fuzz::InputFile file({data, size});
  try {
    gcg::tools::read_npz(file.path(), check);
  } catch (const gcg::tools::Error&) {  // the file is refused
  }
  return 0;
}
