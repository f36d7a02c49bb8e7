// NumPy's files of one array.
#include "tools/gcc-graph/io/npy.h"

#include "tools/gcc-graph/support/fail.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    gcg::tools::parse_npy({data, data + size}, "input");
  } catch (const gcg::tools::Error&) {  // the file is refused
  }
  return 0;
}
