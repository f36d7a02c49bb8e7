// Elements and extents of artifacts' inputs and outputs, for tools that print, compare and make them.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "gcc_graph/types.h"

namespace gcc_graph {

/// Element `i` of a dense array of any type. Narrow floats are widened exactly.
GCC_GRAPH_API double element_at(DType dtype, const void* elements, int64_t i);
/// Writes one element from text: "2.5", "-3", "true". Returns false if the text is not a number of the type.
GCC_GRAPH_API bool parse_element(DType dtype, const std::string& text, void* element);
/// The element type for an ONNX TensorProto.DataType, or undefined if there is none.
GCC_GRAPH_API DType dtype_from_onnx(int32_t onnx_type);

/// The symbols in an artifact's extent, such as "2*s+1". A name that is not an expression, for example because it has a
/// space, is one symbol.
GCC_GRAPH_API std::set<std::string> symbols_of_extent(const std::string& extent);
/// The expression's value. Throws Error for a symbol without a value.
GCC_GRAPH_API int64_t extent_value(const std::string& extent, const std::map<std::string, int64_t>& symbols);

/// Splits lists of names such as "a,b". Names may contain commas: at each position the longest known name is taken.
/// Text that begins no known name ends at the next comma.
GCC_GRAPH_API std::vector<std::string> split_names(const std::vector<std::string>& lists,
                                                   const std::set<std::string>& known);

/// "; the nearest: 'compile', 'place'", for the end of a message about an unknown word; empty if `known` is empty.
GCC_GRAPH_API std::string nearest(const std::string& word, const std::vector<std::string>& known);

}  // namespace gcc_graph
