// Files of states: gart::Session::load and checkpoints read them.
#include "runtime/safetensors.h"

#include <cstdlib>

#include "runtime/errors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    for (const gart::StoredTensor& tensor : gart::read_safetensors({data, size})) {
      const bool is_empty = tensor.bytes.empty();
      if (!is_empty && (tensor.bytes.data() < data || tensor.bytes.data() + tensor.bytes.size() > data + size))
        std::abort();
      if (static_cast<size_t>(tensor.shape.elements()) * gart::size_of(tensor.dtype) != tensor.bytes.size())
        std::abort();
    }
  } catch (const gart::Failure&) {  // the file is refused
  }
  return 0;
}
