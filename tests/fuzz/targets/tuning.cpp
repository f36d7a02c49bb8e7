// Files of measurements. An accepted one is written and read again.
#include <cstdlib>

#include "compiler/support/error.h"
#include "tools/api/tuning_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<uint8_t> written;
  try {
    written = gcg::TuningFile::parse({data, data + size}, "input").bytes();
  } catch (const gcg::InternalError&) {
    std::abort();
  } catch (const gcg::CompileError&) {  // the file is refused
    return 0;
  }
  if (gcg::TuningFile::parse(written, "written").bytes() != written) std::abort();
  return 0;
}
