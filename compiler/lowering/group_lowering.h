// Makes the kernel of one group. Internal to group_lowering.cpp and the lower_*.cpp files beside it.
#pragma once

#include <map>
#include <vector>

#include "compiler/lowering/lower_group.h"

namespace gcg {

/// The axes as index expressions.
std::vector<Expr> refs(const std::vector<Axis>& axes);

/// Collects the parts that every kind of group needs: operands by number (the result last), and names for reports.
class GroupLowering {
 public:
  GroupLowering(const Graph& graph, const Fusion& fusion, const FusionGroup& group)
      : g_(graph), f_(fusion), group_(group), values_(graph, [this](ValueId v) { return stored(v); }) {}

  LoweredGroup run();

 private:
  const Value& value(ValueId v) const { return g_.value(v); }

  ValueId stored(ValueId v) const;
  /// Makes operands of the values loaded so far.
  void take_operands();
  /// The type in memory of the elements of v in this storage.
  DType memory_dtype(ValueId v, ValueId storage) const;
  int add_result(Shape shape);
  /// The index, in the written storage, of the result's element `index`. result_shape() is that storage's shape.
  std::vector<Expr> result_index(std::vector<Expr> index) const;
  Shape result_shape() const { return value(group_.storage).memory_shape(); }

  void loop();

  // ---- contractions -------------------------------------------------------------------------------------------------

  const Node& anchor() const { return g_.node(group_.anchor); }
  ValueId computed_value() const;
  Expr epilogue(const std::vector<Axis>& axes);
  /// The index into the result's storage, after the Transpose that the group's store applies.
  std::vector<Expr> contraction_index(const std::vector<Axis>& axes) const;

  // ---- lower_product.cpp -------------------------------------------------------------------------------------------

  struct Strided {
    ValueId value, storage;
    Affine affine;
  };
  /// An operand as base + strides over the given index expressions (one per dimension of the operand's value).
  Strided strided(NodeId product, int input, const std::vector<Expr>& index);
  static Dim stride(const Affine& a, const Axis& axis);
  void matmul();
  /// Adds the scales and offsets of block-quantised weights.
  void lower_blocks(MatMulKernel& kernel);
  /// Chooses the axis m and moves it to the end of `axes`; the others become the batch. m is the longest axis that B
  /// does not depend on. Among equally long ones it is the axis whose rows lie closest together in A. A known axis of
  /// more than `enough` rows wins over a symbolic one, which may be short. If there is no such axis (a batch of single
  /// rows), an axis of extent 1 is added.
  void put_rows_last(std::vector<Axis>& axes, const Affine& a, const Affine& b, double enough);
  static void fill(MatrixView& view, const Affine& affine, const std::vector<Axis>& batch, const Axis& row,
                   const Axis& column);
  /// Index of a matrix operand for the product's axes: its leading dimensions broadcast.
  static std::vector<Expr> operand_index(const Shape& shape, const std::vector<Axis>& axes, const Axis& row,
                                         const Axis& column);
  Expr linear(const Affine& affine, const std::vector<Axis>& axes, const Axis& k) const;
  int add_operand(const Strided& s);

  // ---- lower_attention.cpp -----------------------------------------------------------------------------------------

  void attention();
  /// Lowers the scores and the condition for kept rows, at the point (batch, m, t) of the product's own shape.
  void attention_scores(AttentionKernel& kernel);
  /// The index in shape `to` of the element with index `index_` in shape `from`; both have the same row-major number.
  std::vector<Expr> reshaped(const std::vector<Expr>& index_, const Shape& from, const Shape& to) const;

  // ---- lower_conv.cpp ----------------------------------------------------------------------------------------------

  void conv();
  void conv_geometry(ConvKernel& k) const;
  void plain_conv();
  void plain_conv_geometry(PlainConvKernel& k) const;

  // ---- lower_program.cpp -------------------------------------------------------------------------------------------

  void program();
  /// The operand through which the program reads this value; -1: none.
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
