// gart.Custom: a node of an application-defined operator. A CPU step calls the application's function.
#include <map>
#include <optional>
#include <string>

#include "compiler/ops/custom_op.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/program_builder.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

CustomOp declaration(const Node& node) { return parse_custom_op(node.string_attribute(kDeclarationAttribute, "")); }

/// Matches a node's inputs with a declaration, and computes the types of its outputs.
class Matcher {
 public:
  Matcher(InferContext& ctx, const CustomOp& op) : ctx_(ctx), op_(op) {}

  void run() {
    if (ctx_.input_count() > static_cast<int>(op_.inputs.size()) ||
        ctx_.output_count() > static_cast<int>(op_.outputs.size()))
      ctx_.fail(concat("it has ", ctx_.input_count(), " inputs and ", ctx_.output_count(),
                       " outputs, but is declared with ", op_.inputs.size(), " and ", op_.outputs.size()));
    for (size_t i = 0; i < op_.inputs.size(); ++i) match(static_cast<int>(i), op_.inputs[i]);
    for (size_t i = 0; i < op_.inputs.size(); ++i) check(static_cast<int>(i), op_.inputs[i]);
    for (int i = 0; i < ctx_.output_count(); ++i) {
      const CustomOp::Tensor& t = op_.outputs[static_cast<size_t>(i)];
      ctx_.set_output(i, dtype(t.dtype, concat("output ", i)), shape(t, concat("output ", i)));
    }
    value(op_.workspace, "the workspace");
  }

  Dim value(const Dim& d, const std::string& what) {
    for (const std::string& name : d.symbols()) {
      if (extents_.count(name) != 0) continue;
      const auto attribute = ctx_.node().attributes.find(name);
      const auto* number =
          attribute == ctx_.node().attributes.end() ? nullptr : std::get_if<int64_t>(&attribute->second);
      if (number == nullptr)
        ctx_.fail(concat("'", name, "' in ", what, " is neither an extent of an input nor an integer attribute"));
      extents_[name] = Dim(*number);
    }
    return d.substitute(extents_);
  }

 private:
  /// The first extent that uses a name defines its value.
  void match(int i, const CustomOp::Tensor& t) {
    if (!ctx_.has_input(i)) {
      if (!t.optional) ctx_.fail(concat("input ", i, " is missing: it is declared as ", t.dtype, " and not optional"));
      return;
    }
    const DType actual = ctx_.dtype(i);
    if (actual == DType::f16 || actual == DType::bf16)
      ctx_.fail(concat("input ", i, " is ", name_of(actual),
                       "; custom operators do not take 16-bit floats, because such models compute in f32"));
    if (!dtype_from_name(t.dtype)) dtypes_.emplace(t.dtype, actual);
    if (dtype(t.dtype, concat("input ", i)) != actual)
      ctx_.fail(concat("input ", i, " is ", name_of(actual), ", but is declared as ", t.dtype, " (",
                       name_of(dtype(t.dtype, "")), ")"));
    const Shape& found = ctx_.shape(i);
    if (t.any_shape) {
      if (!any_) any_ = found;
      return;
    }
    if (found.size() != t.shape.size())
      ctx_.fail(concat("input ", i, " has rank ", found.size(), ", but is declared as ", t.dtype, str(t.shape),
                       " of rank ", t.shape.size()));
    for (size_t k = 0; k < found.size(); ++k)
      if (const auto name = t.shape[k].symbol_name()) extents_.emplace(*name, found[k]);
  }

  void check(int i, const CustomOp::Tensor& t) {
    if (!ctx_.has_input(i)) return;
    const Shape declared = shape(t, concat("input ", i)), &found = ctx_.shape(i);
    if (declared.size() != found.size())
      ctx_.fail(concat("input ", i, " has rank ", found.size(), ", but is declared with rank ", declared.size()));
    for (size_t k = 0; k < found.size(); ++k)
      ctx_.require_equal(found[k], declared[k], concat("axis ", k, " of input ", i, " and its declaration"));
  }

  DType dtype(const std::string& name, const std::string& what) {
    if (const auto known = dtype_from_name(name)) return *known;
    const auto it = dtypes_.find(name);
    if (it == dtypes_.end())
      ctx_.fail(concat("'", name, "' of ", what, " is neither an element type nor a name for that of an input"));
    return it->second;
  }
  Shape shape(const CustomOp::Tensor& t, const std::string& what) {
    if (t.any_shape) {
      if (!any_) ctx_.fail(concat("no input gives the shape [...] of ", what));
      return *any_;
    }
    Shape out;
    for (const Dim& d : t.shape) out.push_back(value(d, what));
    return out;
  }

  InferContext& ctx_;
  const CustomOp& op_;
  std::map<std::string, Dim> extents_;
  std::map<std::string, DType> dtypes_;
  std::optional<Shape> any_;
};

void infer_custom(InferContext& ctx) {
  const CustomOp op = declaration(ctx.node());
  Matcher(ctx, op).run();
}

/// The workspace in bytes, from the inputs' current extents.
Dim workspace_of(ProgramBuilder& p, const CustomOp& op) {
  std::map<std::string, Dim> extents;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const CustomOp::Tensor& t = op.inputs[i];
    for (size_t k = 0; k < t.shape.size() && p.has_input(static_cast<int>(i)); ++k)
      if (const auto name = t.shape[k].symbol_name()) extents.emplace(*name, p.input_shape(static_cast<int>(i))[k]);
  }
  for (const auto& [name, value] : p.node().attributes)
    if (const auto* number = std::get_if<int64_t>(&value)) extents.emplace(name, Dim(*number));
  return op.workspace.substitute(extents);
}

void program_custom(ProgramBuilder& p) {
  const CustomOp op = declaration(p.node());
  p.call("custom:" + op.full_name(), attributes_as_json(p.node()), op.inputs.size(), op.outputs.size(),
         workspace_of(p, op));
}

}  // namespace

constinit const OpDef op_gart_Custom{.name = "Custom",
                                     .domain = "gart",
                                     .max_inputs = -1,
                                     .max_outputs = -1,
                                     .kind = OpKind::program,
                                     .infer = infer_custom,
                                     .program = program_custom};

}  // namespace gcg
