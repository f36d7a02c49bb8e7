#include "tests/ops/op_test.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "compiler/ops/infer.h"
#include "compiler/support/error.h"
#include "tests/ops/expr_eval.h"
#include "tests/ops/large_rows.h"

namespace gcg::test {
namespace {

/// The node of a row in a graph of its own; extents above 1 may become symbols named after their value.
struct OneNode {
  Graph graph;
  NodeId node;
  SymbolValues symbols;

  OneNode(const OpCase& row, bool symbolic) {
    Node n;
    n.op = &op(row.op, row.domain);
    n.name = "node";
    n.attributes = row.attributes;
    for (const OpInput& in : row.inputs) n.inputs.push_back(in.omitted ? ValueId() : add(in, symbolic));
    for (int i = 0; i < row.outputs; ++i) {
      Value out;
      out.name = concat("out", i);
      n.outputs.push_back(graph.add_value(std::move(out)));
    }
    graph.outputs = n.outputs;
    node = graph.add_node(std::move(n));
  }

  void infer() { infer_node(graph, node, graph); }
  const Value& output(int i) const { return graph.value(graph.node(node).outputs[static_cast<size_t>(i)]); }

 private:
  ValueId add(const OpInput& in, bool symbolic) {
    const std::string name = concat("in", graph.value_count());
    if (in.constant) return graph.add_constant(name, in.tensor);
    Value v;
    v.name = name;
    v.dtype = in.tensor.dtype();
    v.shape = Shape();
    for (int64_t extent : in.tensor.shape()) v.shape->push_back(dim(extent, symbolic));
    const ValueId id = graph.add_value(std::move(v));
    graph.inputs.push_back(id);
    return id;
  }

  Dim dim(int64_t extent, bool symbolic) {
    if (!symbolic || extent == 1) return extent;
    const std::string name = concat("n", extent);
    symbols[name] = extent;
    return Dim::symbol(name);
  }
};

class NodeReference : public ReferenceContext {
 public:
  NodeReference(const OpCase& row, const OneNode& typed) : row_(row), typed_(typed) {}
  const Node& node() const override { return typed_.graph.node(typed_.node); }
  const Tensor* input(int i) const override {
    if (i >= static_cast<int>(row_.inputs.size())) return nullptr;
    const OpInput& in = row_.inputs[static_cast<size_t>(i)];
    return in.omitted ? nullptr : &in.tensor;
  }
  DType output_dtype(int i) const override { return typed_.output(i).dtype; }
  std::vector<Tensor> run_body(int, std::vector<Tensor>) override { fail("no bodies here"); }

 private:
  const OpCase& row_;
  const OneNode& typed_;
};

class NodeLowering : public LowerContext {
 public:
  explicit NodeLowering(const OneNode& typed) : typed_(typed) {}
  const Node& node() const override { return typed_.graph.node(typed_.node); }
  const Value& input_value(int i) const override { return typed_.graph.value(node().inputs[static_cast<size_t>(i)]); }
  const Value& output_value(int i) const override { return typed_.output(i); }
  Expr input(int i, const std::vector<Expr>& index) override {
    return load(i, storage_dtype(input_value(i).dtype), index);
  }
  Axis fresh_axis(const Dim& extent) override { return {next_axis_++, extent}; }

 private:
  const OneNode& typed_;
  int next_axis_ = 100;
};

/// The row's inputs in the form that kernels read; null if omitted.
class StoredInputs {
 public:
  explicit StoredInputs(const OpCase& row) {
    for (const OpInput& in : row.inputs)
      stored_.push_back(Tensor(storage_dtype(in.tensor.dtype()), in.tensor.shape(), in.tensor.data(), nullptr));
    for (size_t i = 0; i < stored_.size(); ++i) operands.push_back(row.inputs[i].omitted ? nullptr : &stored_[i]);
  }
  std::vector<const Tensor*> operands;

 private:
  std::vector<Tensor> stored_;
};

/// Binds symbols that inference created (extents that depend on data) to the values that the operator computes.
void bind_data_extents(const OpCase& row, OneNode& typed) {
  const Node& node = typed.graph.node(typed.node);
  if (!node.op->data_extent) return;
  const StoredInputs inputs(row);
  const std::vector<std::string> names = node.strings_attribute(kSymbolsAttribute);
  for (size_t k = 0; k < names.size(); ++k) {
    NodeLowering lowering(typed);
    const Expr extent = node.op->data_extent(lowering, static_cast<int>(k));
    EXPECT_EQ(name_of(extent->dtype), "i64");
    typed.symbols[names[k]] = ExprEvaluator(inputs.operands, typed.symbols).evaluate(extent).integer;
  }
}

/// Binds the remaining symbols to the extents of the reference's results.
void bind_fresh_symbols(const Shape& shape, const std::vector<int64_t>& extents, SymbolValues& symbols) {
  for (size_t d = 0; d < std::min(shape.size(), extents.size()); ++d)
    if (auto name = shape[d].symbol_name()) symbols.try_emplace(*name, extents[d]);
}

void check_types(const OneNode& typed, const std::vector<Tensor>& want, SymbolValues& symbols) {
  for (size_t o = 0; o < want.size(); ++o) {
    const Value& out = typed.output(static_cast<int>(o));
    EXPECT_EQ(name_of(out.dtype), name_of(want[o].dtype()));
    ASSERT_TRUE(out.shape.has_value());
    bind_fresh_symbols(*out.shape, want[o].shape(), symbols);
    std::vector<int64_t> extents;
    for (const Dim& d : *out.shape) extents.push_back(d.evaluate(symbols));
    EXPECT_EQ(extents, want[o].shape()) << "inferred " << str(*out.shape);
    if (!out.contents) continue;
    std::vector<int64_t> contents;
    for (const Dim& d : *out.contents) contents.push_back(d.evaluate(symbols));
    EXPECT_EQ(contents, want[o].to_ints()) << "inferred contents";
  }
  for (const DimConstraint& c : typed.graph.constraints)
    EXPECT_EQ(c.a.evaluate(symbols), c.b.evaluate(symbols)) << c.a.str() << " == " << c.b.str() << ": " << c.reason;
}

Tensor evaluate_lowering(const OpCase& row, const OneNode& typed, int output, const std::vector<int64_t>& extents,
                         const SymbolValues& symbols) {
  NodeLowering lowering(typed);
  std::vector<Expr> index;
  for (size_t d = 0; d < extents.size(); ++d)
    index.push_back(axis_ref({static_cast<int>(d), (*typed.output(output).shape)[d]}));
  const Expr value = typed.graph.node(typed.node).op->lower(lowering, output, index);
  const DType dtype = typed.output(output).dtype;
  EXPECT_EQ(name_of(value->dtype), name_of(storage_dtype(dtype))) << "dtype of the lowering";
  const StoredInputs inputs(row);
  ExprEvaluator evaluator(inputs.operands, symbols);
  Tensor result(dtype, extents);
  for (int64_t i = 0; i < result.elements(); ++i) {
    int64_t rest = i;
    for (size_t d = extents.size(); d-- > 0; rest /= extents[d])
      evaluator.set_axis(static_cast<int>(d), rest % extents[d]);
    const Scalar s = evaluator.evaluate(value);
    if (is_float(value->dtype))
      result.set_double(i, s.number);
    else if (value->dtype != dtype)
      result.mutable_data()[i] = static_cast<uint8_t>(s.integer);
    else
      result.set_int(i, s.integer);
  }
  return result;
}

std::vector<Tensor> check_form(const OpCase& row, bool symbolic) {
  OneNode typed(row, symbolic);
  typed.infer();
  NodeReference reference(row, typed);
  const std::vector<Tensor> want = typed.graph.node(typed.node).op->reference(reference);
  EXPECT_EQ(static_cast<int>(want.size()), row.outputs);
  bind_data_extents(row, typed);
  check_types(typed, want, typed.symbols);
  if (::testing::Test::HasFatalFailure()) return want;
  for (size_t o = 0; typed.graph.node(typed.node).op->lower && o < want.size(); ++o) {
    const Tensor got = evaluate_lowering(row, typed, static_cast<int>(o), want[o].shape(), typed.symbols);
    expect_near(got, want[o], row.tolerance, "lowering", row.channels);
  }
  if (check_form_further != nullptr) check_form_further({row, typed.graph, want});
  return want;
}

// ---- the same row with elements of other types

constexpr int kRowsOfOtherTypes = 4;  // rows per operator and program that run with other types
// These operators may refuse a declared type because of an attribute or another input.
const std::set<std::string> kNarrowed = {"Attention", "GridSample", "Mod", "QuantizeLinear", "Resize", "Upsample"};

/// True if the type holds the value exactly.
bool is_exact(DType type, double value) {
  Tensor t(type, {});
  if (is_unsigned_int(type) && value < 0) return false;
  t.set_double(0, value);
  return t.at_double(0) == value;
}

/// The values in another type. Integers must not change, because they may be parameters; otherwise nullopt. As
/// integers, floats become positive.
std::optional<Tensor> with_type(const Tensor& from, DType type) {
  const bool exact = is_int(from.dtype()) && is_int(type);
  Tensor to(type, from.shape());
  for (int64_t i = 0; i < from.elements(); ++i) {
    const double value = from.at_double(i);
    if (exact && !is_exact(type, value)) return std::nullopt;
    if (is_float(type) || is_small_float(type))
      to.set_double(i, value);
    else if (!std::isfinite(value))
      return std::nullopt;
    else if (type == DType::boolean)
      to.set_int(i, value != 0);
    else
      to.set_int(i, exact ? from.at_int(i) : std::max<int64_t>(1, std::llround(std::fabs(value))));
  }
  return to;
}

/// The row with another type for input `i`, and for the inputs that must have the same type.
std::optional<OpCase> with_type(const OpCase& row, const DeclaredTypes& types, int i, DType type) {
  const Types follows = i == 0 ? Types::as_first : Types::as_second;
  OpCase other = row;
  other.what += concat(", input ", i, " as ", name_of(type));
  other.expected.clear();
  if (type == DType::f16 || type == DType::bf16) other.tolerance = type == DType::f16 ? 4e-3 : 3e-2;
  for (size_t k = 0; k < row.inputs.size(); ++k) {
    const bool same = i < 2 && types.of(static_cast<int>(k)) == follows;
    if (row.inputs[k].omitted || (static_cast<int>(k) != i && !same)) continue;
    std::optional<Tensor> tensor = with_type(row.inputs[k].tensor, type);
    if (!tensor) return std::nullopt;
    const bool zero_point = is_small_float(type) && static_cast<int>(k) != i;  // must be 0 for some attributes
    other.inputs[k].tensor = zero_point ? Tensor(type, tensor->shape()) : std::move(*tensor);
  }
  return other;
}

/// True if the row multiplies by fractions. Such rows are not run with integers, because results depend slightly on the
/// order of sums.
bool has_fractions(const OpCase& row) {
  for (const auto& [name, value] : row.attributes)
    if (std::holds_alternative<double>(value)) return true;
  for (size_t k = 1; k < row.inputs.size(); ++k)
    for (int64_t i = 0; is_float(row.inputs[k].tensor.dtype()) && i < row.inputs[k].tensor.elements(); ++i)
      if (const double x = row.inputs[k].tensor.at_double(i); x != std::trunc(x)) return true;
  return false;
}

/// True if an expected result is infinite, which integers cannot be.
bool is_infinite(const OpCase& row) {
  return std::any_of(row.expected.begin(), row.expected.end(), [](const Tensor& t) {
    for (int64_t i = 0; is_float(t.dtype()) && i < t.elements(); ++i)
      if (std::isinf(t.at_double(i))) return true;
    return false;
  });
}

/// Checks the types that an operator declares for its inputs: it must compute declared types and refuse all others.
void check_declared_types(const OpCase& row) {
  static std::map<std::string, int> rows;
  if (++rows[row.domain + row.op] > kRowsOfOtherTypes) return;
  const DeclaredTypes& types = op(row.op, row.domain).types;
  for (int i = 0; i < static_cast<int>(row.inputs.size()); ++i) {
    const Types own = types.of(i);
    if (row.inputs[static_cast<size_t>(i)].omitted || model_of(own)) continue;
    for (auto t = static_cast<int>(DType::f32); t <= static_cast<int>(DType::u2); ++t) {
      const auto type = static_cast<DType>(t);
      const std::optional<OpCase> other = with_type(row, types, i, type);
      if (!other || (!is_float(type) && (has_fractions(row) || is_infinite(row)))) continue;
      SCOPED_TRACE(other->what);
      if (is_one_of(type, own) && !(kNarrowed.count(row.op) > 0 && !refusal(*other).empty())) {
        check_form(*other, false);
      } else if (!is_one_of(type, own)) {
        EXPECT_NE(refusal(*other).find(concat("is ", name_of(type), ", it must be ", phrase_of(own))),
                  std::string::npos);
      }
    }
  }
}

}  // namespace

void (*check_form_further)(const RowVariant& variant) = nullptr;

std::vector<Tensor> check_op(const OpCase& row) {
  SCOPED_TRACE(row.op + ": " + row.what);
  std::vector<Tensor> result;
  try {
    result = check_form(row, false);
    for (size_t o = 0; o < std::min(row.expected.size(), result.size()); ++o)
      expect_near(result[o], row.expected[o], row.tolerance, "reference");
    EXPECT_TRUE(row.expected.empty() || row.expected.size() == result.size());
    SCOPED_TRACE("symbolic extents");
    if (row.symbolic) check_form(row, true);
    if (check_form_further == nullptr && row.domain.empty()) check_declared_types(row);
  } catch (const CompileError& e) {
    ADD_FAILURE() << e.what();
  }
  return result;
}

void check_large(const OpCase& row) {
  SCOPED_TRACE(row.op + ": " + row.what);
  for (const bool symbolic : {false, true}) {
    if (symbolic && !row.symbolic) continue;
    OneNode typed(row, symbolic);
    typed.infer();
    NodeReference reference(row, typed);
    const std::vector<Tensor> want = typed.graph.node(typed.node).op->reference(reference);
    bind_data_extents(row, typed);
    check_types(typed, want, typed.symbols);
    if (check_form_further != nullptr) check_form_further({row, typed.graph, want});
  }
}

std::vector<Tensor> run_reference(const OpCase& row) {
  OneNode typed(row, false);
  typed.infer();
  NodeReference reference(row, typed);
  return typed.graph.node(typed.node).op->reference(reference);
}

std::string refusal(const OpCase& row) {
  try {
    run_reference(row);
  } catch (const InternalError& e) {
    ADD_FAILURE() << row.what << " is refused as a bug of ours: " << e.what();
  } catch (const CompileError& e) {
    return e.what();
  }
  return "";
}

namespace {

/// For [N, ceil(C/16), spatial..., 16]: true if the element belongs to one of the channels.
bool is_of_channel(int64_t i, const std::vector<int64_t>& shape, int64_t channels) {
  const int64_t lanes = shape.back();
  int64_t block = lanes;
  for (size_t d = 2; d + 1 < shape.size(); ++d) block *= shape[d];
  return i / block % shape[1] * lanes + i % lanes < channels;
}

}  // namespace

void expect_near(const Tensor& got, const Tensor& want, double tolerance, const std::string& what, int64_t channels) {
  ASSERT_EQ(name_of(got.dtype()), name_of(want.dtype())) << what;
  ASSERT_EQ(got.shape(), want.shape()) << what;
  for (int64_t i = 0; i < want.elements(); ++i) {
    if (channels > 0 && !is_of_channel(i, want.shape(), channels)) continue;
    if (!is_float(want.dtype()) && !is_small_float(want.dtype())) {
      ASSERT_EQ(got.at_int(i), want.at_int(i)) << what << ", element " << i;
      continue;
    }
    const double g = got.at_double(i), w = want.at_double(i);
    const bool same = g == w || (std::isnan(g) && std::isnan(w)) || std::fabs(g - w) <= tolerance * (1 + std::fabs(w));
    ASSERT_TRUE(same) << what << ", element " << i << ": got " << g << ", want " << w;
  }
}

Tensor tensor(DType dtype, std::vector<int64_t> shape, const std::vector<double>& values) {
  Tensor t(dtype, std::move(shape));
  const bool fill = values.size() == 1;
  GCG_CHECK(fill || static_cast<int64_t>(values.size()) == t.elements(), "literal of ", values.size(), " values");
  for (int64_t i = 0; i < t.elements(); ++i) t.set_double(i, values[fill ? 0 : static_cast<size_t>(i)]);
  return t;
}

Tensor pattern(DType dtype, std::vector<int64_t> shape, int seed) {
  Tensor t(dtype, std::move(shape));
  for (int64_t i = 0; i < t.elements(); ++i) {
    const int64_t v = (i * 37 + int64_t{seed} * 11) % 41;
    if (is_float(dtype))
      t.set_double(i, static_cast<double>(v - 20) / 8);
    else if (dtype == DType::boolean)
      t.set_int(i, v % 3 == 0);
    else
      t.set_int(i, is_unsigned_int(dtype) ? v : v - 20);
  }
  return t;
}

}  // namespace gcg::test
