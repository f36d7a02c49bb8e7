// Programs: statements in order, a task per thread. Where tasks have arrays, a bounded number of threads takes tasks in
// turn.
#include "codegen/cuda/text/expr_text.h"
#include "codegen/cuda/text/operator_text.h"
#include "compiler/kernel/loop_planning.h"
#include "compiler/support/error.h"

namespace gcg::cuda {
namespace {

constexpr int kThreads = 64;         // of a block
constexpr int64_t kMostBlocks = 64;  // where each thread has arrays of its own

class ProgramText {
 public:
  ProgramText(const Kernel& kernel, const ProgramKernel& program) : f_(kernel), kernel_(kernel), program_(program) {}

  KernelText emit() {
    const Dim tasks = extent_of(program_.outer);
    const Dim bytes = array_offset(kernel_, kernel_.operands.size());
    const bool has_arrays = !bytes.is(0);
    Dim blocks = ceil_div(tasks, Dim(kThreads));
    if (has_arrays) blocks = min(blocks, Dim(kMostBlocks));
    const Dim threads = blocks * Dim(kThreads);
    f_.line("const long long thread = (long long)blockIdx.x * ", kThreads, " + threadIdx.x;");
    declare_arrays(has_arrays ? bytes : Dim(0));
    f_.open("for (long long task = thread; task < ", f_.dim(tasks).as_wide(), "; task += ", f_.dim(threads).as_wide(),
            ")");
    const std::vector<std::string> names = f_.coordinates(program_.outer, {"task", true});
    for (size_t k = 0; k < names.size(); ++k) place_.axes[program_.outer[k].id] = names[k];
    declare_variables();
    emit(program_.body);
    f_.close();
    KernelText text = f_.finish("program", kThreads);
    text.tasks = blocks;
    if (has_arrays) text.scratch_bytes = threads * bytes;
    text.note = concat("program, tasks ", tasks.str());
    return text;
  }

 private:
  void declare_arrays(const Dim& bytes) {
    for (size_t i = 0; i < kernel_.operands.size(); ++i) {
      const Operand& o = kernel_.operands[i];
      if (!o.array) continue;
      f_.line(stored_type(o.dtype), "* const ", f_.pointer(static_cast<int>(i)), " = (", stored_type(o.dtype),
              "*)((char*)workspace + thread * ", f_.dim(bytes).as_wide(), " + ",
              f_.dim(array_offset(kernel_, i)).as_wide(), ");");
    }
  }

  void declare_variables() {
    for (size_t k = 0; k < program_.locals.size(); ++k) {
      const std::string name = concat("v", k);
      f_.line(type_of(program_.locals[k]), " ", name, " = 0;");
      place_.locals[static_cast<int>(k)] = name;
    }
  }

  void emit(const Statements& block) {
    for (const Statement& s : block) emit(s);
  }

  void emit(const Statement& s) {
    switch (s.kind) {
      case Statement::Kind::assign:
        return f_.line(variable(s), " = ", value(s.value), ";");
      case Statement::Kind::store:
        return emit_store(s);
      case Statement::Kind::reduce:
        return emit_reduce(s);
      case Statement::Kind::loop:
        open_loop(s);
        emit(s.body);
        return f_.close();
      case Statement::Kind::loop_while:
        f_.open("for (;;)");
        f_.line("if (!", value(s.value), ") break;");
        emit(s.body);
        return f_.close();
      case Statement::Kind::branch:
        f_.open("if (", value(s.value), ")");
        emit(s.body);
        f_.close_else();
        emit(s.otherwise);
        return f_.close();
      case Statement::Kind::require:
        f_.open("if (!", value(s.value), ")");
        f_.flag_index_error();
        f_.line("return;");
        return f_.close();
      case Statement::Kind::call:
        GCG_CHECK(false, "a GPU cannot call '", s.function, "'");
    }
  }

  std::string value(const Expr& e) { return ExprText(f_, place_).value(e); }
  std::string variable(const Statement& s) const { return place_.locals.at(s.local); }

  void open_loop(const Statement& s) {
    const std::string i = f_.fresh("i"), begin = value(s.begin), end = value(s.end);
    const std::string type = index_type(f_.ranges().of_axis(s.axis.id));
    f_.open("for (", type, " ", i, " = (", type, ")", begin, "; ", i, " < ", end, "; ++", i, ")");
    place_.axes[s.axis.id] = i;
  }

  void emit_store(const Statement& s) {
    if (s.unless_same >= 0)
      f_.open("if ((const void*)", f_.pointer(s.operand), " != (const void*)", f_.pointer(s.unless_same), ")");
    if (s.begin) open_loop(s);
    ExprText exprs(f_, place_);
    const std::string v = exprs.value(s.value);
    exprs.store(s.operand, s.index, v);
    if (s.begin) f_.close();
    if (s.unless_same >= 0) f_.close();
  }

  void emit_reduce(const Statement& s) {
    f_.line(variable(s), " = ", constant_text(*reduce_identity(s.reduce, s.value->dtype)), ";");
    open_loop(s);
    ExprText(f_, place_).accumulate(s.reduce, s.value, variable(s));
    f_.close();
  }

  FunctionText f_;
  const Kernel& kernel_;
  const ProgramKernel& program_;
  EvaluationPoint place_;
};

}  // namespace

KernelText emit_program(const Kernel& kernel, const Target&) {
  return ProgramText(kernel, std::get<ProgramKernel>(kernel.body)).emit();
}

}  // namespace gcg::cuda
