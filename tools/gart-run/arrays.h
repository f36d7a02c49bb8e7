// Arrays of gart-run: .npy files, random numbers, and elements as numbers.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tools/gcc-graph/io/host_tensor.h"

namespace gcg::tools {

using Arrays = std::map<std::string, HostTensor>;

/// `files`: "NAME=F.npy". `dims`: "NAME=VALUE", for the symbolic extents of inputs that `files` does not list. Other
/// inputs get random numbers if `seed` is at least 0. Throws Error with one sentence.
Arrays inputs_of(const gart::Program& program, const std::string& entry, const std::vector<std::string>& files,
                 const std::vector<std::string>& dims, int64_t seed);

/// All F.npy of a folder by their names without the ending.
Arrays read_folder(const std::string& folder);
/// Writes NAME.npy for each tensor. A slash in a name becomes "_".
void write_folder(const std::string& folder, const std::vector<gart::Tensor>& tensors);
std::string file_of(const std::string& name);

/// Throws Error for types that are neither integers nor floats of at least 16 bits.
double element_at(const gart::TensorView& tensor, int64_t i);

}  // namespace gcg::tools
