#include "compiler/schedule/lower_group.h"

#include <algorithm>

#include "compiler/kernel/drop_operands.h"
#include "compiler/ops/attention_pattern.h"
#include "compiler/ops/op_def.h"
#include "compiler/ops/sliding_window.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

std::vector<Expr> refs(const std::vector<Axis>& axes) {
  std::vector<Expr> out;
  for (const Axis& a : axes) out.push_back(axis_ref(a));
  return out;
}

/// Collects what every kind of group needs: operands by number, the result last, names for reports.
class GroupLowering {
 public:
  GroupLowering(const Graph& graph, const Fusion& fusion, const Group& group)
      : g_(graph), f_(fusion), group_(group), values_(graph, [this](ValueId v) { return stored(v); }) {}

  LoweredGroup run() {
    switch (group_.kind) {
      case Group::Kind::loop: loop(); break;
      case Group::Kind::matmul: matmul(); break;
      case Group::Kind::conv:
        if (std::string_view(anchor().op->name) == "PlainConv") plain_conv();
        else conv();
        break;
      case Group::Kind::attention: attention(); break;
      case Group::Kind::control: GCG_CHECK(false, "control flow has no kernel");
    }
    finish();
    return std::move(out_);
  }

 private:
  const Value& value(ValueId v) const { return g_.value(v); }

  ValueId stored(ValueId v) const {
    if (value(v).is_constant()) return v;
    const ValueId base = f_.view_of[static_cast<size_t>(v.index)];
    if (value(base).is_constant() || !value(base).producer.valid()) return base;  // constants and graph inputs
    const ValueId storage = f_.storage(v);
    if (!storage.valid()) check_device(g_.node(value(v).producer));
    return storage;
  }

  /// What is computed on the fly runs where the group runs.
  void check_device(const Node& n) const {
    GCG_CHECK(n.op->kind == OpKind::view || n.on_host == group_.on_host, n.op->name, " '", n.name,
              "' would be fused across devices");
  }

  /// Operands so far, from the values loaded.
  void take_operands() {
    for (const auto& o : values_.operands()) {
      out_.kernel.operands.push_back(Operand{memory_dtype(o.value, o.storage), *value(o.value).shape, false, -1});
      out_.storages.push_back(o.storage);
    }
    next_axis_ = values_.fresh_axis(Dim(0)).id;
  }

  /// The type in memory of elements of v, read from or written to this storage.
  DType memory_dtype(ValueId v, ValueId storage) const {
    const DType stored = value(storage).stored;
    return stored == DType::undefined ? storage_dtype(value(v).dtype) : stored;
  }

  int add_result(Shape shape) {
    out_.kernel.operands.push_back(Operand{memory_dtype(group_.result, group_.storage), std::move(shape), true, -1});
    out_.storages.push_back(group_.storage);
    return static_cast<int>(out_.kernel.operands.size()) - 1;
  }

  /// Where element `index` of the result goes in the storage written, and that storage's shape.
  std::vector<Expr> result_index(std::vector<Expr> index) const {
    if (group_.concat_axis >= 0) {
      auto& i = index[static_cast<size_t>(group_.concat_axis)];
      i = i + extent(group_.concat_offset);
    }
    return index;
  }
  const Shape& result_shape() const { return *value(group_.storage).shape; }

  void loop() {
    const Value& result = value(group_.result);
    const auto axes = values_.axes_for(*result.shape);
    const bool own = group_.storage == group_.result && group_.output_copy < 0 && !result.contents && !result.is_constant();
    Expr e = own ? values_.computed(group_.result, refs(axes)) : values_.element(group_.result, refs(axes));
    take_operands();
    const int r = add_result(result_shape());
    e = cast(out_.kernel.operands.back().dtype, e);
    out_.kernel.body = schedule_loops(axes, e, r, result_index(refs(axes)), out_.kernel.operands, next_axis_);
  }

  // ---- contractions ---------------------------------------------------------------------------------------------------

  const Node& anchor() const { return g_.node(group_.anchor); }
  ValueId computed_value() const {
    return group_.epilogue.empty() ? anchor().outputs[0] : g_.node(group_.epilogue.back()).outputs[0];
  }

  Expr epilogue(const std::vector<Axis>& axes) {
    values_.bind(anchor().outputs[0], accumulator(DType::f32));
    return group_.epilogue.empty() ? accumulator(DType::f32) : values_.computed(computed_value(), refs(axes));
  }

  /// The index into the result's storage, through the Transpose the group applies by storing.
  std::vector<Expr> contraction_index(const std::vector<Axis>& axes) const {
    std::vector<Expr> index = refs(axes);
    if (group_.transpose.valid()) {
      std::vector<Expr> permuted;
      for (int64_t p : g_.node(group_.transpose).ints_attribute("perm")) permuted.push_back(index[static_cast<size_t>(p)]);
      index = std::move(permuted);
    }
    return result_index(std::move(index));
  }

  struct Strided {
    ValueId value, storage;
    Affine form;
  };

  /// An operand as base + strides over the given index expressions (one per dimension of the operand's value).
  Strided strided(NodeId product, int input, const std::vector<Expr>& index) {
    const ValueId v = g_.node(product).inputs[static_cast<size_t>(input)];
    auto it = f_.operand_sources.find({product, input});
    const ValueId source = it == f_.operand_sources.end() ? v : it->second;
    ValueLowering lowering(g_, [&](ValueId x) { return x == source ? source : ValueId(); });
    const Expr e = v == source ? nullptr : lowering.element(v, index);
    const std::vector<Expr> args = e ? e->args : index;
    auto form = as_affine(linear_index(args, *value(source).shape, all_extents_));
    GCG_CHECK(form, "operand ", input, " of '", g_.node(product).name, "' is not a strided view");
    return {source, stored(source), *form};
  }

  static Dim stride(const Affine& a, const Axis& axis) {
    auto it = a.strides.find(axis.id);
    return it == a.strides.end() ? Dim(0) : it->second;
  }

  void matmul() {
    const bool packed = std::string_view(anchor().op->name) == "PackedMatMul";
    const Shape& shape = *value(anchor().outputs[0]).shape;
    std::vector<Axis> axes = values_.axes_for(shape);
    const Shape& a_shape = *value(anchor().inputs[0]).shape;
    const Axis k = values_.fresh_axis(a_shape.back());
    all_extents_ = values_.extents();
    all_extents_[k.id] = k.extent;

    Strided a = strided(group_.anchor, 0, operand_index(a_shape, axes, axes[axes.size() - 2], k));
    Strided b;
    if (packed) b = {anchor().inputs[1], anchor().inputs[1], {}};
    else b = strided(group_.anchor, 1, operand_index(*value(anchor().inputs[1]).shape, axes, k, axes.back()));

    Expr e = epilogue(axes);
    std::vector<Expr> index = contraction_index(axes);
    take_operands();
    MatMulKernel kernel;
    kernel.a.operand = add_operand(a);
    kernel.b.operand = add_operand(b);
    kernel.result = add_result(result_shape());
    FlatIndices flat(out_.kernel.operands, next_axis_);
    e = flat.flatten(e);
    index = flat.flatten_store(kernel.result, index);

    // The operands' own strides take part in the merging, as index expressions.
    Expr a_index = linear(a.form, axes, k), b_index = linear(b.form, axes, k);
    const Axis n = axes.back();
    std::vector<Axis> rows(axes.begin(), axes.end() - 1);
    std::vector<Expr*> all = {&e, &a_index, &b_index};
    for (Expr& i : index) all.push_back(&i);
    flat.merge(rows, all);
    // m is an axis that B does not depend on; a batch of single rows has none and gets one of extent 1.
    if (rows.empty() || as_affine(b_index)->strides.count(rows.back().id)) rows.push_back(Axis{next_axis_++, Dim(1)});

    kernel.m = rows.back();
    kernel.batch.assign(rows.begin(), rows.end() - 1);
    kernel.n = n;
    kernel.k = k;
    kernel.packed_columns = packed ? anchor().int_attribute("columns", 48) : 0;
    const Affine fa = *as_affine(a_index), fb = *as_affine(b_index);
    fill(kernel.a, fa, kernel.batch, kernel.m, k);
    if (!packed) fill(kernel.b, fb, kernel.batch, k, n);
    kernel.epilogue = e;
    kernel.index = index;
    out_.kernel.body = std::move(kernel);
  }

  static void fill(MatrixView& view, const Affine& form, const std::vector<Axis>& batch, const Axis& row, const Axis& column) {
    view.offset = form.base;
    for (const Axis& b : batch) view.batch_strides.push_back(stride(form, b));
    view.row_stride = stride(form, row);
    view.column_stride = stride(form, column);
  }

  /// Index of a matrix operand for the product's axes: its leading dimensions broadcast.
  static std::vector<Expr> operand_index(const Shape& shape, const std::vector<Axis>& axes, const Axis& row, const Axis& column) {
    std::vector<Expr> index_;
    const size_t leading = shape.size() - 2, batch = axes.size() - 2;
    for (size_t i = 0; i < leading; ++i) {
      const Axis& axis = axes[batch - leading + i];
      index_.push_back(shape[i].is(1) ? index(0) : axis_ref(axis));
    }
    index_.push_back(axis_ref(row));
    index_.push_back(axis_ref(column));
    return index_;
  }

  Expr linear(const Affine& form, const std::vector<Axis>& axes, const Axis& k) const {
    Expr e = extent(form.base);
    for (const Axis& a : axes) e = axis_ref(a) * extent(stride(form, a)) + e;
    return axis_ref(k) * extent(stride(form, k)) + e;
  }

  int add_operand(const Strided& s) {
    out_.kernel.operands.push_back(Operand{memory_dtype(s.value, s.storage), *value(s.value).shape, false, -1});
    out_.storages.push_back(s.storage);
    return static_cast<int>(out_.kernel.operands.size()) - 1;
  }

  void attention() {
    const Attention pattern = *find_attention(g_, group_.anchor, g_.users());
    const Node& first = g_.node(pattern.scores);
    const std::vector<Axis> axes = values_.axes_for(*value(anchor().outputs[0]).shape);
    AttentionKernel kernel;
    kernel.batch.assign(axes.begin(), axes.end() - 2);
    kernel.m = axes[axes.size() - 2];
    kernel.n = axes.back();
    kernel.t = values_.axes_for({value(anchor().inputs[0]).shape->back()})[0];
    kernel.d = values_.axes_for({value(first.inputs[0]).shape->back()})[0];
    all_extents_ = values_.extents();
    const auto operand = [&](NodeId product, int input, const Axis& row, const Axis& column) {
      const Shape& shape = *value(g_.node(product).inputs[static_cast<size_t>(input)]).shape;
      return strided(product, input, operand_index(shape, axes, row, column));
    };
    const Strided q = operand(pattern.scores, 0, kernel.m, kernel.d), k = operand(pattern.scores, 1, kernel.d, kernel.t),
                  v = operand(group_.anchor, 1, kernel.t, kernel.n);
    attention_scores(kernel, pattern);
    kernel.epilogue = epilogue(axes);
    kernel.index = contraction_index(axes);
    take_operands();
    kernel.q.operand = add_operand(q);
    kernel.k.operand = add_operand(k);
    kernel.v.operand = add_operand(v);
    kernel.result = add_result(result_shape());
    FlatIndices flat(out_.kernel.operands, next_axis_);
    kernel.scores = flat.flatten(kernel.scores);
    if (kernel.kept) kernel.kept = flat.flatten(kernel.kept);
    kernel.epilogue = flat.flatten(kernel.epilogue);
    kernel.index = flat.flatten_store(kernel.result, kernel.index);
    std::erase_if(kernel.batch, [](const Axis& a) { return a.extent.is(1); });
    fill(kernel.q, q.form, kernel.batch, kernel.m, kernel.d);
    fill(kernel.k, k.form, kernel.batch, kernel.d, kernel.t);
    fill(kernel.v, v.form, kernel.batch, kernel.t, kernel.n);
    out_.kernel.body = std::move(kernel);
  }

  /// Scores, and which rows are kept, at the point (batch, m, t) of the products' own shape.
  void attention_scores(AttentionKernel& kernel, const Attention& pattern) {
    std::vector<Axis> point = kernel.batch;
    point.insert(point.end(), {kernel.m, kernel.t});
    const Shape& shape = *value(g_.node(pattern.scores).outputs[0]).shape;
    const auto at = [&](ValueId v) { return *value(v).shape == shape ? refs(point) : reshaped(refs(point), shape, *value(v).shape); };
    const ValueId scores = g_.node(pattern.softmax).inputs[0];
    values_.bind(g_.node(pattern.scores).outputs[0], accumulator(DType::f32));
    kernel.scores = scores == g_.node(pattern.scores).outputs[0] ? accumulator(DType::f32) : values_.computed(scores, at(scores));
    kernel.is_nan_zero = pattern.is_nan_zero;
    if (!pattern.kept.valid()) return;
    const Node& kept = g_.node(pattern.kept);
    values_.bind(kept.inputs[1], accumulator(DType::f32));
    const Expr choice = values_.computed(kept.outputs[0], at(kept.outputs[0]));
    GCG_CHECK(choice->kind == ExprKind::select, "'", kept.name, "' is no choice between values");
    kernel.kept = choice->args[0];
  }

  /// The index in `to` of the element that has `index` in `from`: the same one in row-major order.
  std::vector<Expr> reshaped(const std::vector<Expr>& index_, const Shape& from, const Shape& to) const {
    Expr rest = linear_index(index_, from, all_extents_);
    std::vector<Expr> out(to.size());
    for (size_t d = to.size(); d-- > 0;) {
      out[d] = simplify_index(d == 0 ? rest : binary(BinaryOp::mod, rest, extent(to[d])), all_extents_);
      rest = simplify_index(binary(BinaryOp::floor_div, rest, extent(to[d])), all_extents_);
    }
    return out;
  }

  void conv() {
    const Node& n = anchor();
    const std::vector<Axis> axes = values_.axes_for(*value(n.outputs[0]).shape);
    Expr e = epilogue(axes);
    std::vector<Expr> index = contraction_index(axes);
    take_operands();
    ConvKernel kernel;
    conv_geometry(kernel);
    kernel.input = add_operand({n.inputs[0], stored(n.inputs[0]), {}});
    kernel.weights = add_operand({n.inputs[1], n.inputs[1], {}});
    kernel.result = add_result(result_shape());
    kernel.n = axes[0];
    kernel.cb = axes[1];
    kernel.h = axes[2];
    kernel.w = axes[3];
    kernel.lane = axes[4];
    FlatIndices flat(out_.kernel.operands, next_axis_);
    kernel.epilogue = flat.flatten(e);
    kernel.index = flat.flatten_store(kernel.result, index);
    out_.kernel.body = std::move(kernel);
  }

  void conv_geometry(ConvKernel& k) const {
    const Node& n = anchor();
    const Shape &in = *value(n.inputs[0]).shape, &out = *value(n.outputs[0]).shape;
    const auto kernel = n.ints_attribute("kernel_shape"), strides = n.ints_attribute("strides", {1, 1}),
               pads = n.ints_attribute("pads", {0, 0, 0, 0}), dilations = n.ints_attribute("dilations", {1, 1});
    k.batch = in[0];
    k.in_channels = n.int_attribute("in_channels", 0);
    k.out_channels = n.int_attribute("out_channels", 0);
    k.in_height = in[2];
    k.in_width = in[3];
    k.out_height = out[2];
    k.out_width = out[3];
    k.kernel_h = kernel[0];
    k.kernel_w = kernel[1];
    k.stride_h = strides[0];
    k.stride_w = strides[1];
    k.dilation_h = dilations[0];
    k.dilation_w = dilations[1];
    k.pad_top = pads[0];
    k.pad_left = pads[1];
    k.depthwise = n.int_attribute("depthwise", 0) != 0;
    k.input_plain = n.int_attribute("plain", 0) != 0;
  }

  void plain_conv() {
    const Node& n = anchor();
    std::vector<Axis> axes = values_.axes_for(*value(n.outputs[0]).shape);
    Expr sum = accumulator(DType::f32);
    if (n.inputs.size() > 2 && n.inputs[2].valid()) sum = sum + values_.element(n.inputs[2], {axis_ref(axes[1])});
    values_.bind(n.outputs[0], sum);
    Expr e = group_.epilogue.empty() ? sum : values_.computed(computed_value(), refs(axes));
    std::vector<Expr> index = contraction_index(axes);
    take_operands();
    PlainConvKernel kernel;
    plain_conv_geometry(kernel);
    kernel.input = add_operand({n.inputs[0], stored(n.inputs[0]), {}});
    kernel.weights = add_operand({n.inputs[1], stored(n.inputs[1]), {}});
    kernel.result = add_result(result_shape());
    kernel.n = axes[0];
    kernel.channel = axes[1];
    FlatIndices flat(out_.kernel.operands, next_axis_);
    kernel.epilogue = flat.flatten(e);
    kernel.index = flat.flatten_store(kernel.result, index);
    kernel.position.assign(axes.begin() + 2, axes.end());
    std::vector<Expr*> all = {&kernel.epilogue};
    for (Expr& i : kernel.index) all.push_back(&i);
    flat.merge(kernel.position, all);
    out_.kernel.body = std::move(kernel);
  }

  void plain_conv_geometry(PlainConvKernel& k) const {
    const Node& n = anchor();
    const Shape &x = *value(n.inputs[0]).shape, &w = *value(n.inputs[1]).shape;
    k.batch = x[0];
    k.groups = n.int_attribute("group", 1);
    k.in_channels = w.back().constant() * k.groups;
    k.out_channels = w[0].constant();
    for (const WindowDim& d : window_of(n, x, Shape(w.begin() + 1, w.end() - 1)))
      k.spatial.push_back({d.input, d.output, d.pad_begin, d.kernel.constant(), d.stride, d.dilation});
  }

  // ---- closing --------------------------------------------------------------------------------------------------------

  void finish() {
    Kernel& k = out_.kernel;
    // Operands that flattening added are the storage of the operand they are a view of.
    for (size_t i = out_.storages.size(); i < k.operands.size(); ++i)
      out_.storages.push_back(out_.storages[static_cast<size_t>(k.operands[i].flat_of)]);
    name();
    std::vector<ValueId> kept;
    for (size_t o : drop_unused_operands(k)) kept.push_back(out_.storages[o]);
    out_.storages = std::move(kept);
    out_.in_place = in_place_operands(k, out_.storages);
    verify_kernel(k);
  }

  void name() {
    Kernel& k = out_.kernel;
    auto add = [&](const Node& n) {
      std::string op = n.op->name;
      std::transform(op.begin(), op.end(), op.begin(), [](unsigned char c) { return std::tolower(c); });
      k.name += (k.name.empty() ? "" : "_") + op;
      if (k.sources.size() < 4) k.sources.push_back(n.name);
    };
    if (group_.anchor.valid()) add(anchor());
    for (NodeId n : group_.epilogue) add(g_.node(n));
    if (!group_.anchor.valid()) {
      const NodeId p = value(group_.result).producer;
      if (p.valid() && group_.output_copy < 0) add(g_.node(p));
    }
    if (group_.concat_axis >= 0 || k.name.empty()) k.name += k.name.empty() ? "copy" : "_into";
    if (k.name.size() > 60) k.name.resize(60);
  }

  const Graph& g_;
  const Fusion& f_;
  const Group& group_;
  ValueLowering values_;
  std::map<int, Dim> all_extents_;
  int next_axis_ = 0;
  LoweredGroup out_;
};

}  // namespace

LoweredGroup lower_group(const Graph& graph, const Fusion& fusion, const Group& group) {
  return GroupLowering(graph, fusion, group).run();
}

LoweredGroup lower_row_store(const Graph& body, ValueId value, ValueId iteration, const Shape& out_shape) {
  const Value &v = body.value(value), &i = body.value(iteration);
  LoweredGroup out;
  Kernel& k = out.kernel;
  k.name = "store_row";
  k.operands = {Operand{i.dtype, *i.shape, false, -1}, Operand{storage_dtype(v.dtype), *v.shape, false, -1}, Operand{storage_dtype(v.dtype), out_shape, true, -1}};
  out.storages = {iteration, value, value};
  LoopKernel loop;
  Stage store;
  int next = 0;
  std::vector<Expr> from, to = {load(0, i.dtype, std::vector<Expr>(i.shape->size(), index(0)))};
  for (const Dim& d : *v.shape) {
    store.axes.push_back(Axis{next++, d});
    from.push_back(axis_ref(store.axes.back()));
    to.push_back(from.back());
  }
  store.value = load(1, storage_dtype(v.dtype), from);
  store.operand = 2;
  store.index = to;
  loop.stages = {store};
  k.body = loop;
  verify_kernel(k);
  return out;
}

}  // namespace gcg
