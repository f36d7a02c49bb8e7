// Golden vectors: a model's inputs, as a seed, and the outputs that the compiler's machine computed. The artifact's
// metadata holds them, so any runtime can compare its own outputs with them.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "tools/gcc-graph/io/compare_elements.h"
#include "tools/gcc-graph/io/host_tensor.h"

namespace gcg::tools {

/// The name of the metadata entry.
inline constexpr const char* kGoldenKey = "gart.golden";
/// Most elements that are stored of an output. For a larger output, every n-th element is stored.
inline constexpr int64_t kGoldenElements = 4096;
/// Limit for the bytes of all stored elements: a text of the metadata has at most 1 MiB, and a byte takes two letters.
inline constexpr int64_t kGoldenBytes = 400 << 10;

struct GoldenTensor {
  std::string name;
  gart::DType dtype = gart::DType::undefined;
  std::vector<int64_t> shape;
  int64_t step = 1;            // outputs: element 0, `step`, 2 * `step`, ... are stored
  std::vector<uint8_t> bytes;  // empty for inputs, which exact_numbers() makes
};

struct GoldenCase {
  uint64_t seed = 0;
  std::vector<GoldenTensor> inputs, outputs;
};

/// Describes an input by its shape, or an output by some of its elements.
GoldenTensor golden_input(const std::string& name, const gart::TensorView& tensor);
GoldenTensor golden_output(const std::string& name, const gart::TensorView& tensor, int64_t most_bytes);

std::string golden_text(const std::vector<GoldenCase>& cases);
/// Throws Error if the text is not what golden_text() writes.
std::vector<GoldenCase> parse_golden(const std::string& text);

/// Element `i` of a tensor, as a number.
using TensorElement = std::function<double(const gart::TensorView&, int64_t)>;

/// Runs the cases of the first entry point, and prints the error of each output. Returns true if all are within the
/// tolerance. Throws Error if the file has no golden vectors.
bool check_golden(const gart::Program& program, const Tolerance& tolerance, const TensorElement& element,
                  std::ostream& out);

}  // namespace gcg::tools
