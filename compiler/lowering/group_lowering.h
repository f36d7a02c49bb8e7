// Makes the kernel of one group: internal to group_lowering.cpp and the lower_*.cpp beside it.
#pragma once

#include <map>
#include <vector>

#include "compiler/lowering/lower_group.h"

namespace gcg {

/// References to the axes, as indices.
std::vector<Expr> refs(const std::vector<Axis>& axes);

/// Collects what every kind of group needs: operands by number, the result last, names for reports.
class GroupLowering {
 public:
  GroupLowering(const Graph& graph, const Fusion& fusion, const FusionGroup& group)
      : g_(graph), f_(fusion), group_(group), values_(graph, [this](ValueId v) { return stored(v); }) {}

  LoweredGroup run();

 private:
  const Value& value(ValueId v) const { return g_.value(v); }

  ValueId stored(ValueId v) const;
  /// Operands so far, from the values loaded.
  void take_operands();
  /// The type in memory of elements of v, read from or written to this storage.
  DType memory_dtype(ValueId v, ValueId storage) const;
  int add_result(Shape shape);
  /// Where element `index` of the result goes in the storage written, and that storage's shape.
  std::vector<Expr> result_index(std::vector<Expr> index) const;
  Shape result_shape() const { return value(group_.storage).memory_shape(); }

  void loop();

  // ---- contractions -------------------------------------------------------------------------------------------------

  const Node& anchor() const { return g_.node(group_.anchor); }
  ValueId computed_value() const;
  Expr epilogue(const std::vector<Axis>& axes);
  /// The index into the result's storage, through the Transpose the group applies by storing.
  std::vector<Expr> contraction_index(const std::vector<Axis>& axes) const;

  // ---- lower_product.cpp -------------------------------------------------------------------------------------------

  struct Strided {
    ValueId value, storage;
    Affine form;
  };
  /// An operand as base + strides over the given index expressions (one per dimension of the operand's value).
  Strided strided(NodeId product, int input, const std::vector<Expr>& index);
  static Dim stride(const Affine& a, const Axis& axis);
  void matmul();
  /// Scales and offsets of packed weights of few bits.
  void lower_blocks(MatMulKernel& kernel);
  /// Moves to the end of `axes` the longest of those that B does not depend on, of equally long ones that whose rows
  /// lie closest together in A: it becomes m, the others the batch. An open one, which may be short, is no match for
  /// one of more than `enough` rows. A batch of single rows has none and gets one of extent 1.
  void put_rows_last(std::vector<Axis>& axes, const Affine& a, const Affine& b, double enough);
  static void fill(MatrixView& view, const Affine& form, const std::vector<Axis>& batch, const Axis& row,
                   const Axis& column);
  /// Index of a matrix operand for the product's axes: its leading dimensions broadcast.
  static std::vector<Expr> operand_index(const Shape& shape, const std::vector<Axis>& axes, const Axis& row,
                                         const Axis& column);
  Expr linear(const Affine& form, const std::vector<Axis>& axes, const Axis& k) const;
  int add_operand(const Strided& s);

  // ---- lower_attention.cpp -----------------------------------------------------------------------------------------

  void attention();
  /// Scores, and which rows are kept, at the point (batch, m, t) of the product's own shape.
  void attention_scores(AttentionKernel& kernel);
  /// The index in `to` of the element that has `index` in `from`: the same one in row-major order.
  std::vector<Expr> reshaped(const std::vector<Expr>& index_, const Shape& from, const Shape& to) const;

  // ---- lower_conv.cpp ----------------------------------------------------------------------------------------------

  void conv();
  void conv_geometry(ConvKernel& k) const;
  void plain_conv();
  void plain_conv_geometry(PlainConvKernel& k) const;

  // ---- lower_program.cpp -------------------------------------------------------------------------------------------

  void program();
  /// The operand that is this value, as the program reads it; -1: none.
  int input_operand(ValueId v) const;

  // ---- closing ------------------------------------------------------------------------------------------------------

  void finish();
  void name();

  const Graph& g_;
  const Fusion& f_;
  const FusionGroup& group_;
  ValueLowering values_;
  std::map<int, Dim> all_extents_;
  int next_axis_ = 0;
  LoweredGroup out_;
};

}  // namespace gcg
