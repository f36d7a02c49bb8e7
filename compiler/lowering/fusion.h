// The result of compiler/fusion, which lowering carries out: which nodes share a kernel, and which values have storage.
//
// A *group* becomes one kernel (or one control-flow step). It computes its `result` value; every other value its nodes
// define is computed on the fly, in registers, by inlining expressions. A value that several groups need, or that
// leaves the graph, has storage; views (reshape and the like) share the storage of the value that they view.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/support/indexed_vector.h"

namespace gcg {

struct FusionGroup {
  enum class Kind : uint8_t {
    loop,       // pointwise, movement and reduction work
    matmul,     // MatMul or gart.PackedMatMul with its epilogue
    conv,       // gart.BlockedConv or gart.PlainConv with its epilogue
    attention,  // gart.Attention with its epilogue
    program,    // one node, by its OpDef::program or its launches; all results that are read have storage
    control,    // If, Loop, Scan; gart.Fail, gart.Bind
  } kind = Kind::loop;
  bool by_launches = false;  // program: lowered by compiler/ops/launches.h instead
  NodeId anchor;             // contraction, program or control node; none for loop groups
  ValueId result;   // the value whose elements the kernel defines (none for control; the first one of a program)
  ValueId storage;  // the value whose storage receives the elements: `result`, or the value of which it is a slice
  /// A slice of the storage: element i along `axis` of the result is element offset + i * step of the storage (Concat,
  /// gart.Interleave).
  struct StridedSlice {
    size_t axis = 0;
    int64_t step = 1;
    Dim offset;
  };
  std::vector<StridedSlice> slices;
  std::vector<NodeId> epilogue;  // contraction: pointwise nodes computed on the accumulator, in order
  NodeId transpose;              // contraction: a Transpose that keeps the last axis; the store applies it
  int output_copy = -1;          // loop: copies a stored value into the storage of this graph output
};

struct Fusion {
  bool computes_masks = false;                // DeviceTraits
  bool joins_dimensions = false;              // DeviceTraits
  std::vector<FusionGroup> groups;            // not yet ordered
  IndexedVector<ValueId, bool> materialized;  // has storage of its own
  IndexedVector<ValueId, ValueId> view_of;    // the value that it views, through all views (itself if it is not a view)
  /// (contraction node, input position) -> the value whose storage the operand views with strides.
  std::map<std::pair<NodeId, int>, ValueId> operand_sources;

  /// The value whose storage holds v's elements, or none if v is always computed on the fly.
  ValueId storage(ValueId v) const {
    const ValueId base = view_of[v];
    return materialized[base] ? base : ValueId();
  }
};

}  // namespace gcg
