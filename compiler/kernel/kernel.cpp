#include "compiler/kernel/kernel.h"

#include <sstream>

#include "compiler/support/error.h"

namespace gcg {
namespace {

/// Writes the parts of a kernel in order. Axis ids are renumbered by the fuser, so equal kernels have equal ids.
class KeyText {
 public:
  KeyText& operator<<(const std::string& s) { out_ << s << '|'; return *this; }
  KeyText& operator<<(int64_t v) { out_ << v << '|'; return *this; }
  KeyText& operator<<(const Dim& d) { out_ << d.str() << '|'; return *this; }
  KeyText& operator<<(const Axis& a) { out_ << a.id << '<' << a.extent.str() << '|'; return *this; }
  KeyText& operator<<(const Expr& e) { out_ << (e ? key(e) : std::string("-")) << '|'; return *this; }
  template <class T>
  KeyText& operator<<(const std::vector<T>& v) {
    out_ << '{';
    for (const T& x : v) *this << x;
    out_ << '}';
    return *this;
  }
  std::string str() const { return out_.str(); }

 private:
  std::ostringstream out_;
};

void write(KeyText& t, const LoopKernel& k) {
  t << std::string("loop") << k.outer;
  for (const Stage& s : k.stages)
    t << static_cast<int64_t>(s.kind) << s.axes << s.value << static_cast<int64_t>(s.operand) << s.index
      << static_cast<int64_t>(s.local) << static_cast<int64_t>(s.reduce);
}

void write(KeyText& t, const MatrixView& v) {
  t << static_cast<int64_t>(v.operand) << v.offset << v.batch_strides << v.row_stride << v.column_stride;
}

void write(KeyText& t, const MatMulKernel& k) {
  t << std::string("matmul") << k.batch << k.m << k.n << k.k;
  write(t, k.a);
  write(t, k.b);
  t << k.packed_columns << k.epilogue << static_cast<int64_t>(k.result) << k.index;
}

void write(KeyText& t, const ConvKernel& k) {
  t << std::string("conv") << k.batch << k.in_channels << k.out_channels << k.groups;
  for (const Dim& d : {k.in_depth, k.in_height, k.in_width, k.out_depth, k.out_height, k.out_width}) t << d;
  t << k.kernel_d << k.kernel_h << k.kernel_w << k.stride_d << k.stride_h << k.stride_w << k.dilation_d << k.dilation_h
    << k.dilation_w << k.pad_front << k.pad_top << k.pad_left << static_cast<int64_t>(k.input_plain)
    << static_cast<int64_t>(k.input) << static_cast<int64_t>(k.weights) << k.axes() << k.epilogue
    << static_cast<int64_t>(k.result) << k.index;
}

void write(KeyText& t, const PlainConvKernel& k) {
  t << std::string("plain conv") << k.batch << k.in_channels << k.out_channels << k.groups;
  for (const PlainConvKernel::Spatial& s : k.spatial) t << s.input << s.output << s.pad << s.kernel << s.stride << s.dilation;
  t << static_cast<int64_t>(k.input_channels_last) << static_cast<int64_t>(k.input) << static_cast<int64_t>(k.weights) << k.n
    << k.channel << k.position << k.epilogue << static_cast<int64_t>(k.result) << k.index;
}

void write(KeyText& t, const AttentionKernel& k) {
  t << std::string("attention") << k.batch << k.m << k.n << k.t << k.d;
  for (const MatrixView* view : {&k.q, &k.k, &k.v}) write(t, *view);
  t << k.scores << k.kept << static_cast<int64_t>(k.is_nan_zero) << k.epilogue << static_cast<int64_t>(k.result) << k.index;
}

/// Checks one expression of a kernel: operands exist with that rank and dtype, axes are bound, locals are defined.
void check_expr(const Kernel& kernel, const Expr& e, std::set<int> bound, int locals) {
  GCG_CHECK(e != nullptr, "kernel '", kernel.name, "' has an empty expression");
  for (int a : free_axes(e)) GCG_CHECK(bound.count(a), "kernel '", kernel.name, "': axis ", a, " is not bound");
  visit(e, [&](const ExprNode& n) {
    if (n.kind == ExprKind::load) {
      GCG_CHECK(n.operand >= 0 && n.operand < static_cast<int>(kernel.operands.size()), "kernel '", kernel.name,
                "': load of operand ", n.operand, " of ", kernel.operands.size());
      const Operand& o = kernel.operands[static_cast<size_t>(n.operand)];
      GCG_CHECK(o.shape.size() == n.args.size() && o.dtype == n.dtype, "kernel '", kernel.name, "': operand ", n.operand,
                " is ", name_of(o.dtype), str(o.shape), ", loaded as ", name_of(n.dtype), " with ", n.args.size(), " indices");
      for (const Expr& i : n.args) GCG_CHECK(i->dtype == DType::i64, "kernel '", kernel.name, "': index is not i64");
    }
    if (n.kind == ExprKind::local)
      GCG_CHECK(n.local >= 0 && n.local < locals, "kernel '", kernel.name, "': local ", n.local, " is not defined yet");
  });
}

void check_store(const Kernel& kernel, int operand, const std::vector<Expr>& index, const std::set<int>& bound) {
  GCG_CHECK(operand >= 0 && operand < static_cast<int>(kernel.operands.size()), "kernel '", kernel.name, "': result operand");
  const Operand& o = kernel.operands[static_cast<size_t>(operand)];
  GCG_CHECK(o.written && o.shape.size() == index.size(), "kernel '", kernel.name, "': store to operand ", operand);
  for (const Expr& i : index) check_expr(kernel, i, bound, 0);
}

void check(const Kernel& kernel, const LoopKernel& k) {
  std::set<int> outer;
  for (const Axis& a : k.outer) outer.insert(a.id);
  int locals = 0;
  for (const Stage& s : k.stages) {
    std::set<int> bound = outer;
    for (const Axis& a : s.axes) bound.insert(a.id);
    check_expr(kernel, s.value, bound, locals);
    if (s.kind == Stage::Kind::reduce) {
      GCG_CHECK(s.local == locals, "kernel '", kernel.name, "': locals are numbered in order");
      ++locals;
    } else {
      check_store(kernel, s.operand, s.index, bound);
      GCG_CHECK(s.value->dtype == kernel.operands[static_cast<size_t>(s.operand)].dtype, "kernel '", kernel.name,
                "': stored dtype");
    }
  }
}

void check(const Kernel& kernel, const MatMulKernel& k) {
  std::set<int> bound = {k.m.id, k.n.id};
  for (const Axis& a : k.batch) bound.insert(a.id);
  check_expr(kernel, k.epilogue, bound, 0);
  check_store(kernel, k.result, k.index, bound);
  GCG_CHECK(k.a.batch_strides.size() == k.batch.size(), "kernel '", kernel.name, "': batch strides of A");
  GCG_CHECK(k.packed_columns > 0 || k.b.batch_strides.size() == k.batch.size(), "kernel '", kernel.name, "': batch strides of B");
}

void check(const Kernel& kernel, const ConvKernel& k) {
  std::set<int> bound;
  for (const Axis& a : k.axes()) bound.insert(a.id);
  check_expr(kernel, k.epilogue, bound, 0);
  check_store(kernel, k.result, k.index, bound);
  GCG_CHECK(k.groups > 0 && k.in_channels % k.groups == 0 && k.out_channels % k.groups == 0, "kernel '", kernel.name, "': ",
            k.in_channels, " to ", k.out_channels, " channels in ", k.groups, " groups");
}

void check(const Kernel& kernel, const PlainConvKernel& k) {
  std::set<int> bound = {k.n.id, k.channel.id};
  for (const Axis& a : k.position) bound.insert(a.id);
  check_expr(kernel, k.epilogue, bound, 0);
  check_store(kernel, k.result, k.index, bound);
  GCG_CHECK(!k.spatial.empty() && k.spatial.size() <= 3, "kernel '", kernel.name, "': ", k.spatial.size(), " spatial dimensions");
  Dim outputs(1), points(1);
  for (const PlainConvKernel::Spatial& s : k.spatial) outputs = outputs * s.output;
  for (const Axis& a : k.position) points = points * a.extent;
  GCG_CHECK(outputs == points, "kernel '", kernel.name, "': ", outputs.str(), " output positions, axes for ", points.str());
}

void check(const Kernel& kernel, const AttentionKernel& k) {
  std::set<int> row = {k.m.id};
  for (const Axis& a : k.batch) row.insert(a.id);
  std::set<int> score = row, bound = row;
  score.insert(k.t.id);
  bound.insert(k.n.id);
  check_expr(kernel, k.scores, score, 0);
  if (k.kept) check_expr(kernel, k.kept, row, 0);
  check_expr(kernel, k.epilogue, bound, 0);
  check_store(kernel, k.result, k.index, bound);
  for (const MatrixView* view : {&k.q, &k.k, &k.v})
    GCG_CHECK(view->batch_strides.size() == k.batch.size(), "kernel '", kernel.name, "': batch strides");
}

}  // namespace

std::string key(const Kernel& kernel) {
  KeyText t;
  for (const Operand& o : kernel.operands)
    t << std::string(name_of(o.dtype)) << o.shape << (o.written ? 1 : 0) + (o.constant ? 2 : 0) + (o.of_caller ? 4 : 0);
  std::visit([&](const auto& body) { write(t, body); }, kernel.body);
  return t.str();
}

void verify_kernel(const Kernel& kernel) {
  std::visit([&](const auto& body) { check(kernel, body); }, kernel.body);
}

}  // namespace gcg
