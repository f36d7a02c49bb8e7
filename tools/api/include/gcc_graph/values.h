// Elements and extents of what artifacts take and give, for tools that print, compare and make them.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "gcc_graph/types.h"

namespace gcc_graph {

/// Element `i` of dense elements, whatever their type; narrow floats are widened exactly.
GCC_GRAPH_API double element_at(DType dtype, const void* elements, int64_t i);
/// Writes the one element that a text says: "2.5", "-3", "true". False if it is no number of the type.
GCC_GRAPH_API bool parse_element(DType dtype, const std::string& text, void* element);
/// The type of an ONNX TensorProto.DataType; undefined where there is none.
GCC_GRAPH_API DType dtype_from_onnx(int32_t onnx_type);

/// The symbols of an extent as an artifact tells it: "2*s+1"; a name that is no expression (with a space in it, say) is
/// a symbol's.
GCC_GRAPH_API std::set<std::string> symbols_of_extent(const std::string& extent);
/// Its value. Throws Error for a symbol without one.
GCC_GRAPH_API int64_t extent_value(const std::string& extent, const std::map<std::string, int64_t>& symbols);

/// The names in lists like "a,b". Names may have commas, too: at each place the longest piece of the list counts that
/// is known, and what begins no known name ends at the next comma.
GCC_GRAPH_API std::vector<std::string> split_names(const std::vector<std::string>& lists,
                                                   const std::set<std::string>& known);

}  // namespace gcc_graph
