// ONNX models, up to the typed graph. A bug of the compiler counts as a crash, and so does any exception but a refusal.
#include <cstdlib>

#include "compiler/import/import.h"
#include "compiler/support/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    gcg::import_onnx(std::span<const uint8_t>(data, size));
  } catch (const gcg::InternalError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::abort();
  } catch (const gcg::CompileError&) {  // the model is refused
  } catch (const gcg::UnsupportedModel&) {
  }
  return 0;
}
