// NumPy's .npy format for one array, versions 1 to 3.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tools/gcc-graph/io/host_tensor.h"

namespace gcg::tools {

/// The header of an .npy array.
struct NpyHeader {
  gart::DType dtype = gart::DType::undefined;
  std::vector<int64_t> shape;
  size_t elements_at = 0, element_bytes = 0;  // element_bytes: bytes of all elements together
  int bits = 0;                               // bits of an element, if it does not use its whole byte
  size_t width = 0;                           // bytes of an element, if the elements are strings
  bool swapped = false, by_columns = false;
  bool wide = false;  // characters of strings have four bytes instead of one
};
inline constexpr size_t kMostNpyHeader = 1 << 20;  // upper limit of the header, in bytes

/// `begin`: at least kMostNpyHeader bytes, or the whole file. Throws Error.
NpyHeader read_npy_header(std::span<const uint8_t> begin, const std::string& where);
/// Throws Error unless header and elements together have `size` bytes.
void check_npy_size(const NpyHeader& header, uint64_t size, const std::string& where);
/// `bytes`: header and elements; the caller has checked their size.
HostTensor npy_tensor(const NpyHeader& header, const std::vector<uint8_t>& bytes);

/// Parses an array of either byte order, row-major or column-major. Throws Error with one sentence. `where` names the
/// array.
HostTensor parse_npy(const std::vector<uint8_t>& data, const std::string& where);
/// The header of a row-major .npy array with this tensor's type and shape.
std::string npy_header(const gart::TensorView& t);

}  // namespace gcg::tools
