// The text form of a graph, for tests and for --print-after.
//
//     graph mlp(%x: f32[batch,4]) -> (%y) {
//       constant %w: f32[4,2] = {1, 2, 3, 4, 5, 6, 7, 8}
//       constant %big: f32[64,64] = random(1)
//       %h: f32[batch,2] = MatMul(%x, %w)
//       %s: i64[2]{batch,2} = Shape(%h) @"node name"
//       %y = Transpose(%h) {perm = [1,0]}
//       state "name" %x -> %y
//       assume batch == n "why"
//     }
//
// * A value is %name, or %"any name"; a missing input or output is _ .
// * A type is dtype[extents]; f32[?] has no known rank, ? alone is unknown altogether. {..} after it are the known
// elements.
//   "as f16" after the type: elements are rounded to this type when the value is stored in memory.
//   If some result has no written type, the whole graph is inferred (compiler/ops/infer.h) after reading.
// * A node's name defaults to its first output's. Operators of other domains are written with it:
// gart.PackedMatMul(..).
// * Attributes: 1, 1.0, "text", [1,2], [1.0,2.0], ["a","b"], f32[2]{1,2}; empty lists are ints[], floats[], strings[].
// * Constant data: {elements}, hex(bytes, little-endian), fill(number), random(seed): floats uniform in [-1,1), signed
//   integers in [-8,8), unsigned in [0,16), booleans 0 or 1.
// * A state is an input that becomes the output's value for the next run; without "-> %y" it keeps its value. Options:
//   {axis = 2, capacity = 64, in_place = 1, scope = "program", initial = f32[2]{1,2}}.
// * Subgraphs follow their node: %y = If(%c | %captured) graph then(%a: f32[2]) -> (%a) { } graph else(...) ...
// * # starts a comment.
//
// print_graph(parse_graph(t)) is a fixed point of printing and reading. Values, types, attributes and data survive
// exactly. Ids, erased nodes and values that nothing reads do not.
#pragma once

#include <string>
#include <string_view>

#include "compiler/ir/graph.h"

namespace gcg {

enum class GirData {
  full,    // all constant data
  elided,  // "..." for tensors of more than a few elements; only for human readers
};

std::string print_graph(const Graph& graph, GirData data = GirData::full);

/// Throws CompileError "gir: line 3, column 14: ...".
Graph parse_graph(std::string_view text);

}  // namespace gcg
