#include "compiler/ops/program_builder.h"

#include "compiler/ops/index.h"
#include "compiler/support/error.h"

namespace gcg {

Expr ProgramBuilder::input(int i, const std::vector<Expr>& at) {
  return at.size() == 1 && input_shape(i).size() != 1 ? ctx_.flat_input(i, at[0]) : ctx_.input(i, at);
}

Expr ProgramBuilder::output(int i, const std::vector<Expr>& at) const {
  GCG_CHECK(wants(i), node().name, ": a program reads an output that it does not have");
  return load(kOutputs + i, output_dtype(i), at);
}

Expr ProgramBuilder::parallel(const Dim& extent) {
  GCG_CHECK(block_->empty() && out_.kernel.locals.empty(), node().name, ": tasks come first in a program");
  out_.kernel.outer.push_back(ctx_.fresh_axis(extent));
  return axis_ref(out_.kernel.outer.back());
}

Statement& ProgramBuilder::add(Statement::Kind kind) {
  GCG_CHECK(each_ == nullptr || kind == Statement::Kind::store, node().name, ": `each` consists of stores");
  Statement& s = block_->emplace_back();
  s.kind = kind;
  return s;
}

Expr ProgramBuilder::variable(const Expr& initial) {
  const int local = static_cast<int>(out_.kernel.locals.size());
  out_.kernel.locals.push_back(initial->dtype);
  Expr v = local_ref(local, initial->dtype);
  set(v, initial);
  return v;
}

Expr ProgramBuilder::let(const Expr& value) {
  return value->kind == ExprKind::constant || value->kind == ExprKind::extent ? value : variable(value);
}

void ProgramBuilder::set(const Expr& variable, const Expr& value) {
  GCG_CHECK(variable->kind == ExprKind::local, node().name, ": only variables are set");
  Statement& s = add(Statement::Kind::assign);
  s.local = variable->local;
  s.value = value;
}

ProgramBuilder::Array ProgramBuilder::array(DType dtype, const Dim& elements) {
  Operand o{dtype, {elements}, true};
  o.array = true;
  out_.arrays.push_back(std::move(o));
  return {kArrays + static_cast<int>(out_.arrays.size()) - 1, dtype};
}

void ProgramBuilder::put(const Array& array, const Expr& i, const Expr& value) {
  Statement& s = add(Statement::Kind::store);
  s.operand = array.operand;
  s.index = {i};
  s.value = value;
  if (each_ != nullptr) s.axis = each_axis_, s.begin = each_->begin, s.end = each_->end;
}

void ProgramBuilder::store(int output, const std::vector<Expr>& at, const Expr& value) {
  if (!wants(output)) return;
  Statement& s = add(Statement::Kind::store);
  s.operand = kOutputs + output;
  s.index = at;
  s.value = cast(output_dtype(output), value);
  if (each_ != nullptr) s.axis = each_axis_, s.begin = each_->begin, s.end = each_->end;
}

void ProgramBuilder::copy(int output, int from, const Range& elements) {
  if (!wants(output)) return;
  each(elements, [&](const Expr& i) { store(output, {i}, input(from, {i})); });
  const Expr& value = block_->back().value;
  // Only a load may be in the output's storage already; a constant never is.
  if (value->kind != ExprKind::load) return;
  block_->back().unless_same = value->operand;
  replaces(from);
}

Statements ProgramBuilder::inside(const Body& body) {
  Statements block;
  Statements* around = block_;
  block_ = &block;
  body();
  block_ = around;
  return block;
}

Axis ProgramBuilder::ranged(Statement& s, const Range& range) {
  s.axis = ctx_.fresh_axis(range.most);
  s.begin = range.begin;
  s.end = range.end;
  return s.axis;
}

void ProgramBuilder::loop(const Range& range, const IndexedBody& body) {
  Statement s;
  s.kind = Statement::Kind::loop;
  const Expr i = axis_ref(ranged(s, range));
  s.body = inside([&] { body(i); });
  add(s.kind) = std::move(s);
}

void ProgramBuilder::loop_while(const Expr& condition, const Body& body) {
  Statements inner = inside(body);
  Statement& s = add(Statement::Kind::loop_while);
  s.value = condition;
  s.body = std::move(inner);
}

void ProgramBuilder::branch(const Expr& condition, const Body& then, const Body& otherwise) {
  Statements yes = inside(then), no = otherwise ? inside(otherwise) : Statements{};
  Statement& s = add(Statement::Kind::branch);
  s.value = condition;
  s.body = std::move(yes);
  s.otherwise = std::move(no);
}

void ProgramBuilder::require(const Expr& condition) {
  if (condition->kind == ExprKind::constant && condition->integer != 0) return;
  add(Statement::Kind::require).value = condition;
}

void ProgramBuilder::call(const std::string& function, const std::string& attributes, size_t inputs, size_t outputs,
                          const Dim& workspace_bytes) {
  const auto argument = [](const Value& value, int operand) {
    CallArgument a{operand, value.dtype, {}};
    for (const Dim& d : *value.shape) a.extents.push_back(extent(d));
    return a;
  };
  Statement s;
  s.kind = Statement::Kind::call;
  s.function = function;
  s.attributes = attributes;
  s.inputs.resize(inputs);
  for (size_t i = 0; i < inputs; ++i)
    if (const int k = static_cast<int>(i); has_input(k))
      s.inputs[i] = argument(ctx_.input_value(k), input_in_memory(k));
  s.outputs.resize(outputs);
  for (size_t i = 0; i < is_read_.size(); ++i)
    if (is_read_[i]) s.outputs[i] = argument(ctx_.output_value(static_cast<int>(i)), kOutputs + static_cast<int>(i));
  s.workspace_bytes = extent(workspace_bytes);
  if (!workspace_bytes.is(0)) s.workspace = array(DType::u8, workspace_bytes).operand;
  add(s.kind) = std::move(s);
}

/// The operand with an input's elements in row-major order: the input itself, or an array that they are copied to.
int ProgramBuilder::input_in_memory(int i) {
  const Dim count = product(input_shape(i));
  const Axis axis = ctx_.fresh_axis(count);
  const Expr e = ctx_.flat_input(i, axis_ref(axis));
  if (e->kind == ExprKind::load && e->args.size() == 1 && e->args[0]->kind == ExprKind::axis &&
      e->args[0]->axis == axis.id && e->dtype == input_dtype(i))
    return e->operand;
  const Array copied = array(input_dtype(i), count);
  each(count, [&](const Expr& k) { put(copied, k, input(i, {k})); });
  return copied.operand;
}

void ProgramBuilder::each(const Range& range, const IndexedBody& body) {
  GCG_CHECK(each_ == nullptr, node().name, ": `each` inside of `each`");
  const auto is = [](const Expr& e, int64_t i) { return e->kind == ExprKind::constant && e->integer == i; };
  if (is(range.begin, 0) && is(range.end, 1)) return body(index(0));
  each_ = &range;
  each_axis_ = ctx_.fresh_axis(range.most);
  body(axis_ref(each_axis_));
  each_ = nullptr;
}

Expr ProgramBuilder::fold(ReduceOp op, const Range& range, const std::function<Expr(const Expr&)>& value) {
  Statement s;
  s.kind = Statement::Kind::reduce;
  const Axis axis = ranged(s, range);
  s.value = value(axis_ref(axis));
  s.reduce = op;
  s.local = static_cast<int>(out_.kernel.locals.size());
  out_.kernel.locals.push_back(s.value->dtype);
  Expr result = local_ref(s.local, s.value->dtype);
  add(s.kind) = std::move(s);
  return result;
}

void ProgramBuilder::add_launch(Statement::Kind kind, const Shape& tasks, const TaskBody& body) {
  GCG_CHECK(block_ == &top_ && out_.kernel.outer.empty(), node().name,
            ": launches are a program's outermost statements");
  Statement s;
  s.kind = kind;
  s.axis = ctx_.fresh_axis(product(tasks));
  std::vector<Expr> task = delinearize(axis_ref(s.axis), tasks);
  s.body = inside([&] {
    for (Expr& coordinate : task)
      if (coordinate->kind != ExprKind::axis) coordinate = let(coordinate);
    body(task);
  });
  add(kind) = std::move(s);
}

void ProgramBuilder::merge(const Array& array, const Expr& i, ReduceOp op, const Expr& value) {
  Statement& s = add(Statement::Kind::merge);
  s.operand = array.operand;
  s.index = {i};
  s.reduce = op;
  s.value = value;
}

Expr ProgramBuilder::scan(ReduceOp op, const Range& range, const Expr& initial,
                          const std::function<Expr(const Expr&)>& value, const ScanBody& body) {
  const Expr running = variable(initial);
  Statement s;
  s.kind = Statement::Kind::scan;
  s.reduce = op;
  s.local = running->local;
  const Expr here = local_ref(static_cast<int>(out_.kernel.locals.size()), initial->dtype);
  GCG_CHECK(here->local == running->local + 1, node().name, ": variables of a scan");
  out_.kernel.locals.push_back(initial->dtype);
  const Expr i = axis_ref(ranged(s, range));
  s.value = value(i);
  s.body = inside([&] { body(i, here, running); });
  add(s.kind) = std::move(s);
  return running;
}

void ProgramBuilder::order(const Array& array, const Array& spare, const Expr& at, const Range& range,
                           const Expr& count, const std::function<Expr(const Expr&)>& key) {
  Statement s;
  s.kind = Statement::Kind::order;
  s.local = variable(count)->local;
  s.value = key(axis_ref(ranged(s, range)));
  s.operand = array.operand;
  s.workspace = spare.operand;
  s.index = {at};
  add(s.kind) = std::move(s);
}

ProgramBuilder::Program ProgramBuilder::take() {
  out_.kernel.body = std::move(top_);
  out_.replaced = replaced_;
  return std::move(out_);
}

}  // namespace gcg
