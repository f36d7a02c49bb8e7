#include "compiler/kernel/print_kernel.h"

#include <array>
#include <sstream>

#include "compiler/kernel/operator_names.h"

namespace gcg {
namespace {

/// Printed between the two operands.
constexpr std::array kBinary = {"+",  "-", "*",  "/",   "//", "%",   "fmod", "pow", "max", "min", "==", "!=", "<",
                                "<=", ">", ">=", "and", "or", "xor", "&",    "|",   "^",   "<<",  ">>", "in"};
static_assert(kBinary.size() == kBinaryNames.size());
constexpr std::array kReduce = {"sum", "prod", "max", "min", "all", "any"};

std::string list(const std::vector<Expr>& es) {
  std::string out;
  for (const Expr& e : es) out += (out.empty() ? "" : ", ") + print_expr(e);
  return out;
}

std::string axes_text(const std::vector<Axis>& axes) {
  std::string out;
  for (const Axis& a : axes) out += (out.empty() ? "i" : ", i") + std::to_string(a.id) + "<" + a.extent.str();
  return out;
}

void print(std::ostream& out, const LoopKernel& k) {
  out << "  for (" << axes_text(k.outer) << ")\n";
  for (const Stage& s : k.stages) {
    out << "    ";
    if (s.kind == Stage::Kind::reduce)
      out << "l" << s.local << " = " << kReduce[static_cast<size_t>(s.reduce)] << "(" << axes_text(s.axes) << ") "
          << print_expr(s.value);
    else
      out << "for (" << axes_text(s.axes) << ") o" << s.operand << "[" << list(s.index)
          << "] = " << print_expr(s.value);
    out << '\n';
  }
}

void print(std::ostream& out, const char* name, const MatrixView& v) {
  out << "  " << name << " = o" << v.operand << " + " << v.offset.str() << ", strides batch";
  for (const Dim& d : v.batch_strides) out << ' ' << d.str();
  out << ", row " << v.row_stride.str() << ", column " << v.column_stride.str() << '\n';
}

void print(std::ostream& out, const MatMulKernel& k) {
  out << "  matmul batch(" << axes_text(k.batch) << ") m i" << k.m.id << "<" << k.m.extent.str() << " n i" << k.n.id
      << "<" << k.n.extent.str() << " k<" << k.k.extent.str() << (k.packed_columns ? " packed B" : "");
  if (k.blocks)
    out << " of " << k.blocks->bits << " bits in blocks of " << k.blocks->block << (k.blocks->exact ? ", exact" : "");
  out << (k.near ? ", near\n" : "\n");
  print(out, "A", k.a);
  print(out, "B", k.b);
  out << "  o" << k.result << "[" << list(k.index) << "] = " << print_expr(k.epilogue) << '\n';
}

void print(std::ostream& out, const ConvKernel& k) {
  const bool deep = k.d.id >= 0;
  const auto extents = [&](const std::string& depth, const std::string& height, const std::string& width) {
    return (deep ? depth + "x" : "") + height + "x" + width;
  };
  const auto numbers = [&](int64_t depth, int64_t height, int64_t width) {
    return extents(std::to_string(depth), std::to_string(height), std::to_string(width));
  };
  out << "  conv " << (k.depthwise() ? "depthwise " : "") << (k.input_plain ? "plain " : "");
  if (k.winograd > 0) out << "by Winograd " << k.winograd << "x" << k.winograd << " ";
  if (k.groups > 1 && !k.depthwise()) out << k.groups << " groups ";
  out << k.batch.str() << "x" << k.in_channels << "x" << extents(k.in_depth.str(), k.in_height.str(), k.in_width.str())
      << " -> " << k.out_channels << "x" << extents(k.out_depth.str(), k.out_height.str(), k.out_width.str())
      << " kernel " << numbers(k.kernel_d, k.kernel_h, k.kernel_w) << " stride "
      << numbers(k.stride_d, k.stride_h, k.stride_w) << " axes " << axes_text(k.axes()) << "\n  o" << k.result << "["
      << list(k.index) << "] = " << print_expr(k.epilogue) << '\n';
}

void print(std::ostream& out, const PlainConvKernel& k) {
  out << "  conv " << k.batch.str() << "x" << k.in_channels << (k.input_channels_last ? " channels last" : "") << " -> "
      << k.out_channels << " groups " << k.groups;
  for (const PlainConvKernel::Spatial& s : k.spatial)
    out << ", " << s.input.str() << " -> " << s.output.str() << " kernel " << s.kernel << " stride " << s.stride
        << " dilation " << s.dilation << " pad " << s.pad.str();
  out << " axes " << axes_text({k.n, k.channel}) << " " << axes_text(k.position) << "\n  o" << k.result << "["
      << list(k.index) << "] = " << print_expr(k.epilogue) << '\n';
}

void print(std::ostream& out, const AttentionKernel& k) {
  out << "  attention batch(" << axes_text(k.batch) << ") m n t d " << axes_text({k.m, k.n, k.t, k.d}) << '\n';
  print(out, "Q", k.q);
  print(out, "K", k.k);
  print(out, "V", k.v);
  out << "  scores = " << print_expr(k.scores) << (k.is_nan_zero ? ", NaN is 0" : "");
  if (k.row_mask) out << ", kept if " << print_expr(k.row_mask);
  out << "\n  o" << k.result << "[" << list(k.index) << "] = " << print_expr(k.epilogue) << '\n';
}

void print_call(std::ostream& out, const Statement& s) {
  const auto operands = [&](const std::vector<CallArgument>& arguments) {
    for (size_t i = 0; i < arguments.size(); ++i) out << (i == 0 ? "" : ", ") << "o" << arguments[i].operand;
  };
  operands(s.outputs);
  out << " = " << s.function << "(";
  operands(s.inputs);
  out << ") " << s.attributes;
}

void print_for_gpus(std::ostream& out, const Statement& s, const std::string& axis) {
  const std::string reduction = kReduce[static_cast<size_t>(s.reduce)];
  if (is_launch(s))
    out << (s.kind == Statement::Kind::launch ? "launch (" : "shared launch (") << axes_text({s.axis}) << ")";
  else if (s.kind == Statement::Kind::scan)
    out << "scan " << axis << ": l" << s.local + 1 << " = " << print_expr(s.value) << ", l" << s.local << " by "
        << reduction;
  else if (s.kind == Statement::Kind::order)
    out << "o" << s.operand << "[" << list(s.index) << "...] = first l" << s.local << " of " << axis << " by "
        << print_expr(s.value);
  else
    out << "o" << s.operand << "[" << list(s.index) << "] by " << reduction << " " << print_expr(s.value);
}

void print(std::ostream& out, const Statements& block, const std::string& indent) {
  for (const Statement& s : block) {
    out << indent;
    const std::string axis =
        s.begin ? "i" + std::to_string(s.axis.id) + " in [" + print_expr(s.begin) + ", " + print_expr(s.end) + ")" : "";
    switch (s.kind) {
      case Statement::Kind::assign:
        out << "l" << s.local << " = " << print_expr(s.value);
        break;
      case Statement::Kind::store:
        out << (s.begin ? "each " + axis + ": " : "") << "o" << s.operand << "[" << list(s.index)
            << "] = " << print_expr(s.value);
        if (s.unless_same >= 0) out << " unless o" << s.operand << " is o" << s.unless_same;
        break;
      case Statement::Kind::reduce:
        out << "l" << s.local << " = " << kReduce[static_cast<size_t>(s.reduce)] << "(" << axis << ") "
            << print_expr(s.value);
        break;
      case Statement::Kind::loop:
        out << "for " << axis;
        break;
      case Statement::Kind::loop_while:
        out << "while " << print_expr(s.value);
        break;
      case Statement::Kind::branch:
        out << "if " << print_expr(s.value);
        break;
      case Statement::Kind::require:
        out << "require " << print_expr(s.value);
        break;
      case Statement::Kind::call:
        print_call(out, s);
        break;
      default:
        print_for_gpus(out, s, axis);
    }
    out << '\n';
    print(out, s.body, indent + "  ");
    if (!s.otherwise.empty()) out << indent << "else\n";
    print(out, s.otherwise, indent + "  ");
  }
}

void print(std::ostream& out, const ProgramKernel& k) {
  out << "  program (" << axes_text(k.outer) << ")\n";
  print(out, k.body, "    ");
}

}  // namespace

std::string print_expr(const Expr& e) {
  std::ostringstream out;
  const auto arg = [&](size_t i) { return print_expr(e->args[i]); };
  switch (e->kind) {
    case ExprKind::constant:
      if (is_float(e->dtype))
        out << e->number;
      else
        out << e->integer;
      break;
    case ExprKind::axis:
      out << 'i' << e->axis;
      break;
    case ExprKind::extent:
      out << '{' << e->dim.str() << '}';
      break;
    case ExprKind::load:
      out << 'o' << e->operand << '[' << list(e->args) << ']';
      break;
    case ExprKind::local:
      out << 'l' << e->local;
      break;
    case ExprKind::accumulator:
      out << "acc";
      break;
    case ExprKind::unary:
      out << name_of(e->unary) << '(' << arg(0) << ')';
      break;
    case ExprKind::binary:
      out << '(' << arg(0) << ' ' << kBinary[static_cast<size_t>(e->binary)] << ' ' << arg(1) << ')';
      break;
    case ExprKind::select:
      out << "select(" << arg(0) << ", " << arg(1) << ", " << arg(2) << ')';
      break;
    case ExprKind::cast:
      out << name_of(e->dtype) << '(' << arg(0) << ')';
      break;
    case ExprKind::reduce:
      out << kReduce[static_cast<size_t>(e->reduce)] << '(' << axes_text(e->reduce_axes) << ") {" << arg(0) << '}';
      break;
  }
  return out.str();
}

std::string print_kernel(const Kernel& kernel) {
  std::ostringstream out;
  out << kernel.name << " (";
  for (size_t i = 0; i < kernel.operands.size(); ++i)
    out << (i ? ", " : "")
        << (kernel.operands[i].array     ? "array "
            : kernel.operands[i].written ? "out "
                                         : "")
        << name_of(kernel.operands[i].dtype) << str(kernel.operands[i].shape);
  out << ")\n";
  std::visit([&](const auto& body) { print(out, body); }, kernel.body);
  return out.str();
}

}  // namespace gcg
