// Exporters compute shapes with tensors: Shape, Gather, Concat, Reshape and so on. Inference must follow such chains as
// expressions over the symbols, and the interpreter compares each inferred shape and content with the computed one.
#include <gtest/gtest.h>

#include "compiler/ops/infer.h"
#include "compiler/reference/interpreter.h"
#include "compiler/support/error.h"
#include "tests/ops/op_test.h"

namespace gcg::test {
namespace {

using Attributes = std::map<std::string, Attribute>;

/// A graph with one f32 input x[batch, seq, 12] that grows node by node.
class Chain {
 public:
  Chain() {
    Value x;
    x.name = "x";
    x.dtype = DType::f32;
    x.shape = Shape{Dim::symbol("batch"), Dim::symbol("seq"), Dim(12)};
    graph_.inputs = {x_ = graph_.add_value(std::move(x))};
  }

  ValueId x() const { return x_; }
  ValueId ints(const std::vector<int64_t>& v) {
    return graph_.add_constant(graph_.unique_name("c"), Tensor::vector_i64(v));
  }
  ValueId constant(Tensor t) { return graph_.add_constant(graph_.unique_name("c"), std::move(t)); }
  ValueId scalar(int64_t v) { return graph_.add_constant(graph_.unique_name("c"), Tensor::scalar_i64(v)); }
  ValueId add(const char* name, std::vector<ValueId> inputs, Attributes attributes = {}) {
    const NodeId n = graph_.add_node(op(name), graph_.unique_name(name), std::move(inputs), 1, std::move(attributes));
    infer_node(graph_, n, graph_);
    return graph_.node(n).outputs[0];
  }
  /// Extent `d` of x, as a scalar or as a vector of one.
  ValueId extent(int64_t d) { return add("Gather", {add("Shape", {x_}), scalar(d)}); }
  ValueId one_extent(int64_t d) { return add("Unsqueeze", {extent(d), ints({0})}); }
  ValueId join(std::vector<ValueId> parts) { return add("Concat", std::move(parts), {{"axis", int64_t{0}}}); }

  std::string shape(ValueId v) const { return str(*graph_.value(v).shape); }
  std::string contents(ValueId v) const {
    const auto& c = graph_.value(v).contents;
    return c ? str(Shape(*c)) : "unknown";
  }
  size_t constraints() const { return graph_.constraints.size(); }

  /// Interprets the graph with `result` as output at several sizes; the interpreter checks everything that was
  /// inferred.
  void check(ValueId result) {
    graph_.outputs = {result};
    for (const std::vector<int64_t>& shape : {std::vector<int64_t>{2, 5, 12}, {1, 1, 12}, {3, 8, 12}, {1, 0, 12}}) {
      SCOPED_TRACE(str(to_shape(shape)));
      EXPECT_NO_THROW(interpret(graph_, {pattern(DType::f32, shape)}));
    }
  }

 private:
  Graph graph_;
  ValueId x_;
};

TEST(ShapeChain, SplitsHeads) {
  Chain c;
  const ValueId target = c.join({c.one_extent(0), c.one_extent(1), c.ints({3, 4})});
  EXPECT_EQ(c.contents(target), "[batch,seq,3,4]");
  const ValueId heads =
      c.add("Transpose", {c.add("Reshape", {c.x(), target})}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  EXPECT_EQ(c.shape(heads), "[batch,3,seq,4]");
  EXPECT_EQ(c.constraints(), 0u);
  c.check(heads);
}

TEST(ShapeChain, OpenExtentIsDividedOut) {
  Chain c;
  const ValueId open = c.add("Reshape", {c.x(), c.join({c.one_extent(0), c.ints({-1, 4})})});
  EXPECT_EQ(c.shape(open), "[batch,3*seq,4]");
  const ValueId rows = c.add("Reshape", {c.x(), c.ints({-1, 12})});
  EXPECT_EQ(c.shape(rows), "[batch*seq,12]");
  EXPECT_EQ(c.constraints(), 0u);
  c.check(open);
  c.check(rows);
}

TEST(ShapeChain, ExpandWithMinusOne) {
  // torch's expand(-1, ...): where(shape == -1, ones, shape)
  Chain c;
  const ValueId shape = c.join({c.one_extent(0), c.ints({-1}), c.ints({1})});
  const ValueId ones =
      c.add("ConstantOfShape", {c.ints({3})}, {{"value", std::make_shared<const Tensor>(i64({1}, {1}))}});
  const ValueId is_open = c.add("Equal", {shape, c.add("Mul", {ones, c.scalar(-1)})});
  EXPECT_EQ(c.contents(is_open), "[0,1,0]");
  const ValueId target = c.add("Where", {is_open, ones, shape});
  EXPECT_EQ(c.contents(target), "[batch,1,1]");
  const ValueId expanded = c.add("Expand", {c.add("ConstantOfShape", {c.ints({1, 7, 1})}), target});
  EXPECT_EQ(c.shape(expanded), "[batch,7,1]");
  c.check(expanded);
}

TEST(ShapeChain, Arithmetic) {
  Chain c;
  const ValueId s = c.extent(1);
  const ValueId half = c.add("Div", {c.add("Sub", {s, c.scalar(1)}), c.scalar(2)});  // towards zero: 0 for seq 0
  EXPECT_NE(c.contents(half), "unknown");
  const ValueId rest = c.add("Mod", {s, c.scalar(3)});
  EXPECT_EQ(c.contents(rest), "[seq%3]");
  const ValueId larger = c.add("Max", {half, rest, c.scalar(1)}),
                smaller = c.add("Min", {larger, c.add("Neg", {c.scalar(-4)})});
  EXPECT_NE(c.contents(smaller), "unknown");
  const ValueId as_i32 = c.add("Cast", {smaller}, {{"to", int64_t{6}}});
  const ValueId ranged = c.add("Range", {c.scalar(0), c.add("Cast", {as_i32}, {{"to", int64_t{7}}}), c.scalar(1)});
  EXPECT_EQ(c.shape(ranged), "[" + c.contents(smaller).substr(1));
  c.check(ranged);
}

TEST(ShapeChain, ComparisonsNeedProof) {
  Chain c;
  EXPECT_EQ(c.contents(c.add("GreaterOrEqual", {c.extent(1), c.scalar(0)})), "[1]");
  EXPECT_EQ(c.contents(c.add("Less", {c.extent(1), c.scalar(0)})), "[0]");
  EXPECT_EQ(c.contents(c.add("Less", {c.extent(1), c.add("Add", {c.extent(1), c.scalar(1)})})), "[1]");
  EXPECT_EQ(c.contents(c.add("LessOrEqual", {c.extent(1), c.extent(0)})), "unknown");
  EXPECT_EQ(c.contents(c.add("Equal", {c.extent(1), c.scalar(3)})), "unknown");
  EXPECT_EQ(c.contents(c.add("Not", {c.add("Equal", {c.extent(1), c.scalar(-1)})})), "[1]");
}

TEST(ShapeChain, SlicesWithSymbolicBounds) {
  Chain c;
  const ValueId mask = c.add("ConstantOfShape", {c.ints({16})});
  const ValueId window = c.add("Slice", {mask, c.ints({0}), c.one_extent(1), c.ints({0})});
  EXPECT_EQ(c.shape(window), "[min(seq,16)]");
  c.check(window);
  const ValueId tail = c.add("Slice", {c.x(), c.ints({-2}), c.ints({INT64_MAX}), c.ints({1})});
  c.check(tail);
  const ValueId all = c.add("Slice", {c.x(), c.ints({0}), c.one_extent(1), c.ints({1})});
  EXPECT_EQ(c.shape(all), "[batch,seq,12]");
  const ValueId shape = c.add("Slice", {c.add("Shape", {c.x()}), c.ints({-2}), c.ints({INT64_MAX})});
  EXPECT_EQ(c.contents(shape), "[seq,12]");
}

TEST(ShapeChain, DataDependentExtents) {
  Chain c;
  const ValueId hits = c.add("NonZero", {c.x()});
  const ValueId first = c.add("Gather", {hits, c.scalar(0)});
  EXPECT_EQ(c.shape(first), "[nonzero]");
  EXPECT_EQ(c.shape(c.add("Range", {c.scalar(0), c.add("Size", {first}), c.scalar(1)})), "[nonzero]");
  c.check(first);
}

TEST(ShapeChain, ShapesOfDataKeepTheNumbersBesideIt) {
  Chain c;
  const ValueId sum = c.add("ReduceSum", {c.add("Gather", {c.add("NonZero", {c.x()}), c.scalar(0)})});
  const ValueId count = c.add("Add", {sum, c.ints({1})});
  const ValueId filled = c.add("ConstantOfShape", {c.join({c.ints({3}), count, c.ints({16})})});
  EXPECT_EQ(c.shape(filled), "[3,filled_1,16]");
  const ValueId lines = c.add("Reshape", {filled, c.join({count, c.ints({48})})});
  EXPECT_EQ(c.shape(lines), "[reshaped,48]");
  const ValueId open = c.add("Reshape", {filled, c.join({count, c.ints({-1})})});
  EXPECT_EQ(c.shape(open), "[reshaped_2,reshaped_3]");
  c.check(c.add("Identity", {lines}));
}

// Contents are signed numbers of any size. Values outside of an element type's range are not inferred, because the run
// wraps and compares in that type. The interpreter compares inferred and computed values.
TEST(ShapeChain, NumbersBeyondATypeAreNotInferred) {
  Chain c;
  const auto of = [&](DType type, int64_t value) {
    Tensor t(type, {1});
    t.set_int(0, value);
    return c.constant(std::move(t));
  };
  const ValueId largest = of(DType::u64, -1), zero = of(DType::u64, 0), half = of(DType::u64, int64_t{1} << 62);
  for (const char* compares : {"Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"})
    for (const auto& [a, b] : {std::pair(largest, zero), std::pair(zero, largest), std::pair(largest, half)})
      c.check(c.add(compares, {a, b}));
  for (const char* chooses : {"Max", "Min"}) c.check(c.add(chooses, {largest, zero}));
  c.check(c.add("Clip", {largest, c.add("Squeeze", {zero}), c.add("Squeeze", {half})}));
  EXPECT_EQ(c.contents(c.add("Less", {zero, half})), "[1]");
  EXPECT_EQ(c.contents(c.add("Less", {largest, zero})), "unknown");
  const ValueId sum = c.add("Add", {of(DType::u8, 200), of(DType::u8, 100)});
  EXPECT_EQ(c.contents(sum), "[44]") << "it wraps around";
  c.check(c.add("Cast", {sum}, {{"to", int64_t{dtype_to_onnx(DType::i64)}}}));
  c.check(c.add("Cast", {of(DType::i64, 300)}, {{"to", int64_t{dtype_to_onnx(DType::u8)}}}));
  c.check(c.add("Cast", {of(DType::i64, -1)}, {{"to", int64_t{dtype_to_onnx(DType::u64)}}}));
  const ValueId narrow = c.add("Cast", {c.one_extent(0)}, {{"to", int64_t{dtype_to_onnx(DType::u8)}}});
  EXPECT_EQ(c.contents(narrow), "unknown") << "an extent may be larger than a byte";
}

}  // namespace
}  // namespace gcg::test
