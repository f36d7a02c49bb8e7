// NumPy's .npy form of one array, versions 1 to 3.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tools/gcc-graph/io/host_tensor.h"

namespace gcg::tools {

/// What a .npy array says of itself before its elements.
struct NpyHeader {
  gart::DType dtype = gart::DType::undefined;
  std::vector<int64_t> shape;
  size_t elements_at = 0, element_bytes = 0;  // of all elements
  int bits = 0;                               // of an element, if fewer than its byte has
  bool swapped = false, by_columns = false;
};
inline constexpr size_t kMostNpyHeader = 1 << 20;  // bytes before the elements

/// `begin`: at least kMostNpyHeader bytes, or all there are. Throws Error.
NpyHeader read_npy_header(std::span<const uint8_t> begin, const std::string& where);
/// Throws Error where the header asks for another number of bytes than `size`, that of header and elements.
void check_npy_size(const NpyHeader& header, uint64_t size, const std::string& where);
/// `bytes`: header and elements, of a size that was checked.
HostTensor npy_tensor(const NpyHeader& header, const std::vector<uint8_t>& bytes);

/// Of either byte order, by rows or by columns. Throws Error with one sentence; `where` names the array.
HostTensor parse_npy(const std::vector<uint8_t>& data, const std::string& where);
/// What stands before the elements, row by row, of such a tensor.
std::string npy_header(const gart::TensorView& t);

}  // namespace gcg::tools
