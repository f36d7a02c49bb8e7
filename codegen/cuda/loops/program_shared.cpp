// Programs in which the threads of a block share each task. All threads compute every scalar, one thread stores a
// single element, and the threads divide the points of a range among themselves. A barrier is emitted wherever one
// thread may read memory that another writes.
#include <algorithm>

#include "codegen/cuda/loops/program_text.h"
#include "codegen/cuda/text/operator_text.h"
#include "compiler/kernel/loop_planning.h"
#include "compiler/kernel/machine.h"
#include "compiler/support/error.h"

namespace gcg::cuda {
namespace {

constexpr int kThreads = 512, kOrderThreads = 1024;
constexpr int kScanned = 4;  // number of neighbouring elements that a thread scans at once

bool has_order(const Statements& block) {
  bool found = false;
  each_statement(block, [&](const Statement& s) { found = found || s.kind == Statement::Kind::order; });
  return found;
}

}  // namespace

KernelText ProgramText::emit_shared() {
  threads_ = has_order(launch_.body) ? kOrderThreads : kThreads;
  const Dim tasks = extent_of(launch_.tasks);
  declare_arrays("(char*)workspace");
  const std::vector<std::string> names = f_.coordinates(launch_.tasks, {"(int)blockIdx.x", false});
  for (size_t k = 0; k < names.size(); ++k) place_.axes[launch_.tasks[k].id] = names[k];
  declare_variables();
  together_ = true;
  emit(launch_.body);
  // With two blocks of 1024 threads on a multiprocessor, each thread would have only 32 registers and spill.
  KernelText text = f_.finish("program", threads_, threads_ == kOrderThreads ? 1 : 0);
  text.tasks = tasks;
  text.note = concat("program, tasks ", tasks.str(), " shared by ", threads_, " threads");
  return text;
}

void ProgramText::share(const Statement& s) {
  switch (s.kind) {
    case Statement::Kind::store:
      return share_store(s);
    case Statement::Kind::reduce:
      return share_reduce(s);
    case Statement::Kind::scan:
      return share_scan(s);
    case Statement::Kind::order:
      return share_order(s);
    case Statement::Kind::merge:
      GCG_CHECK(false, "merge is a statement of single threads");
      return;
    default:  // as one thread does it; statements inside come back here
      return emit(s);
  }
}

void ProgramText::share_store(const Statement& s) {
  meet();
  if (s.unless_same >= 0)
    f_.open("if ((const void*)", f_.pointer(s.operand), " != (const void*)", f_.pointer(s.unless_same), ")");
  if (s.begin) {
    const std::string i = f_.fresh("i"), begin = value(s.begin), end = value(s.end), type = loop_type(s);
    f_.open("for (", type, " ", i, " = (", type, ")", begin, " + (", type, ")threadIdx.x; ", i, " < ", end, "; ", i,
            " += ", threads_, ")");
    place_.axes[s.axis.id] = i;
  } else {
    f_.open("if (threadIdx.x == 0)");
  }
  ExprText exprs(f_, place_);
  const std::string v = exprs.value(s.value);
  exprs.store(s.operand, s.index, v);
  f_.close();
  if (s.unless_same >= 0) f_.close();
  meet();
}

void ProgramText::share_reduce(const Statement& s) {
  const std::string local = variable(s.local), slots = f_.fresh("s"), i = f_.fresh("i"), type = loop_type(s);
  f_.line("__shared__ ", type_of(s.value->dtype), " ", slots, "[", threads_ / kWarpThreads, "];");
  const std::string begin = value(s.begin), end = value(s.end);
  f_.line(local, " = ", constant_text(*reduce_identity(s.reduce, s.value->dtype)), ";");
  f_.open("for (", type, " ", i, " = (", type, ")", begin, " + (", type, ")threadIdx.x; ", i, " < ", end, "; ", i,
          " += ", threads_, ")");
  place_.axes[s.axis.id] = i;
  ExprText(f_, place_).accumulate(s.reduce, s.value, local);
  f_.close();
  meet();  // all threads must have read the slots of an earlier round
  f_.line(local, " = gart_block_reduce<", threads_, ", ", combine_functor(s.reduce), ">(", local, ", ", slots, ");");
}

/// Each thread takes neighbouring elements. A scan over the block gives each thread the value of the threads before it.
/// The variable holds the value of the rounds before.
void ProgramText::share_scan(const Statement& s) {
  f_.include("gart_scan.cuh");
  const std::string local = variable(s.local), here = variable(s.local + 1), type = type_of(s.value->dtype);
  const std::string op = concat(combine_functor(s.reduce), "::of("), loop = loop_type(s);
  const std::string slots = f_.fresh("s"), carry = f_.fresh("c"), base = f_.fresh("b"), own = f_.fresh("w"),
                    sum = f_.fresh("t"), all = f_.fresh("t"), before = f_.fresh("t"), u = f_.fresh("u"),
                    i = f_.fresh("i"), begin = value(s.begin), end = value(s.end);
  const std::string none = constant_text(*reduce_identity(s.reduce, s.value->dtype));
  f_.line("__shared__ ", type, " ", slots, "[", threads_ / kWarpThreads, "];");
  f_.line(type, " ", carry, " = ", local, ";");
  f_.open("for (", loop, " ", base, " = (", loop, ")", begin, "; ", base, " < ", end, "; ", base,
          " += ", threads_ * kScanned, ")");
  f_.line(type, " ", own, "[", kScanned, "], ", sum, " = ", none, ", ", all, ";");
  const auto each = [&](const auto& body, const std::string& after) {
    f_.line("#pragma unroll");
    f_.open("for (int ", u, " = 0; ", u, " < ", kScanned, "; ++", u, ")");
    f_.line("const ", loop, " ", i, " = ", base, " + (int)threadIdx.x * ", kScanned, " + ", u, ";");
    place_.axes[s.axis.id] = i;
    body();
    f_.line(after);
    f_.close();
  };
  const std::string own_element = concat(own, "[", u, "]");
  const std::string inside = concat(i, " < ", end);
  each(
      [&] {
        f_.line(own_element, " = ", none, ";");
        f_.open("if (", inside, ")");
        f_.line(own_element, " = ", value(s.value), ";");
        f_.close();
      },
      concat(sum, " = ", op, sum, ", ", own_element, ");"));
  f_.line(type, " ", before, " = gart_block_scan<", threads_, ", ", combine_functor(s.reduce), ", ", type, ">(", sum,
          ", ", none, ", ", slots, ", ", all, ");");
  f_.line(before, " = ", op, carry, ", ", before, ");");
  together_ = false;
  each(
      [&] {
        f_.line(local, " = ", before, ";");
        f_.line(here, " = ", own_element, ";");
        f_.open("if (", inside, ")");
        emit(s.body);
        f_.close();
      },
      concat(before, " = ", op, before, ", ", own_element, ");"));
  together_ = true;
  f_.line(carry, " = ", op, carry, ", ", all, ");");
  f_.close();
  f_.line(local, " = ", carry, ";");
  meet();
}

void ProgramText::share_order(const Statement& s) {
  f_.include("gart_order.cuh");
  const std::string key = f_.fresh("k"), room = f_.fresh("s"), i = f_.fresh("i"), type = type_of(s.value->dtype);
  const std::string begin = value(s.begin), end = value(s.end), count = variable(s.local), at = value(s.index[0]);
  f_.line("__shared__ gart_order_room<", threads_, ", ", type, "> ", room, ";");
  f_.open("const auto ", key, " = [&](int ", i, "_) -> ", type);
  f_.line("const ", loop_type(s), " ", i, " = (", loop_type(s), ")(", begin, " + ", i, "_);");
  place_.axes[s.axis.id] = i;
  f_.line("return ", value(s.value), ";");
  f_.close(";");
  meet();
  f_.line("gart_order<", threads_, ", ", type, ">(", key, ", (int)(", end, " - ", begin, "), (int)", count, ", ",
          f_.pointer(s.operand), " + ", at, ", ", f_.pointer(s.workspace), " + ", at, ", ", room, ");");
}

}  // namespace gcg::cuda
