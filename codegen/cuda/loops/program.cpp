// Programs: statements in order, one thread per task. If each task has arrays of its own, a bounded number of threads
// iterates over the tasks.
#include "codegen/cuda/loops/program_text.h"
#include "codegen/cuda/text/operator_text.h"
#include "compiler/kernel/loop_planning.h"
#include "compiler/support/error.h"

namespace gcg::cuda {
namespace {

constexpr int kThreads = 64;         // of a block
constexpr int64_t kMostBlocks = 64;  // the most blocks if each thread has arrays of its own

}  // namespace

ProgramText::ProgramText(const Kernel& kernel, const ProgramKernel& program, const ProgramLaunch& launch)
    : f_(kernel), kernel_(kernel), program_(program), launch_(launch) {}

KernelText ProgramText::emit() {
  const Dim bytes = array_offset(kernel_, kernel_.operands.size());
  KernelText text = launch_.shared ? emit_shared() : emit_threads(bytes);
  if (!launch_.arrays_per_task) text.scratch_bytes = bytes;
  return text;
}

KernelText ProgramText::emit_threads(const Dim& bytes) {
  const Dim tasks = extent_of(launch_.tasks);
  const bool has_arrays = launch_.arrays_per_task && !bytes.is(0);
  Dim blocks = ceil_div(tasks, Dim(kThreads));
  if (has_arrays) blocks = min(blocks, Dim(kMostBlocks));
  const Dim threads = blocks * Dim(kThreads);
  f_.line("const long long thread = (long long)blockIdx.x * ", kThreads, " + threadIdx.x;");
  const std::string own = has_arrays ? concat(" + thread * ", f_.dim(bytes).as_wide()) : "";
  declare_arrays(concat("(char*)workspace", own));
  f_.open("for (long long task = thread; task < ", f_.dim(tasks).as_wide(), "; task += ", f_.dim(threads).as_wide(),
          ")");
  const std::vector<std::string> names = f_.coordinates(launch_.tasks, {"task", true});
  for (size_t k = 0; k < names.size(); ++k) place_.axes[launch_.tasks[k].id] = names[k];
  declare_variables();
  emit(launch_.body);
  f_.close();
  KernelText text = f_.finish("program", kThreads);
  text.tasks = blocks;
  if (has_arrays) text.scratch_bytes = threads * bytes;
  text.note = concat("program, tasks ", tasks.str());
  return text;
}

void ProgramText::declare_arrays(const std::string& base) {
  for (size_t i = 0; i < kernel_.operands.size(); ++i) {
    const Operand& o = kernel_.operands[i];
    if (!o.array) continue;
    f_.line(stored_type(o.dtype), "* const ", f_.pointer(static_cast<int>(i)), " = (", stored_type(o.dtype), "*)(",
            base, " + ", f_.dim(array_offset(kernel_, i)).as_wide(), ");");
  }
}

void ProgramText::declare_variables() {
  for (size_t k = 0; k < program_.locals.size(); ++k) {
    const std::string name = concat("v", k);
    f_.line(type_of(program_.locals[k]), " ", name, " = 0;");
    place_.locals[static_cast<int>(k)] = name;
  }
}

void ProgramText::emit(const Statements& block) {
  for (const Statement& s : block) together_ ? share(s) : emit(s);
}

void ProgramText::emit(const Statement& s) {
  switch (s.kind) {
    case Statement::Kind::assign:
      return f_.line(variable(s.local), " = ", value(s.value), ";");
    case Statement::Kind::store:
      return emit_store(s);
    case Statement::Kind::reduce:
      return emit_reduce(s);
    case Statement::Kind::merge:
      return emit_merge(s);
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
    case Statement::Kind::launch:
    case Statement::Kind::shared_launch:
    case Statement::Kind::scan:
    case Statement::Kind::order:
      GCG_CHECK(false, "a thread of a GPU has no such statement", s.function);
  }
}

void ProgramText::open_loop(const Statement& s) {
  const std::string i = f_.fresh("i"), begin = value(s.begin), end = value(s.end);
  const std::string type = loop_type(s);
  f_.open("for (", type, " ", i, " = (", type, ")", begin, "; ", i, " < ", end, "; ++", i, ")");
  place_.axes[s.axis.id] = i;
}

void ProgramText::emit_store(const Statement& s) {
  if (s.unless_same >= 0)
    f_.open("if ((const void*)", f_.pointer(s.operand), " != (const void*)", f_.pointer(s.unless_same), ")");
  if (s.begin) open_loop(s);
  ExprText exprs(f_, place_);
  const std::string v = exprs.value(s.value);
  exprs.store(s.operand, s.index, v);
  if (s.begin) f_.close();
  if (s.unless_same >= 0) f_.close();
}

void ProgramText::emit_reduce(const Statement& s) {
  f_.line(variable(s.local), " = ", constant_text(*reduce_identity(s.reduce, s.value->dtype)), ";");
  open_loop(s);
  ExprText(f_, place_).accumulate(s.reduce, s.value, variable(s.local));
  f_.close();
}

void ProgramText::emit_merge(const Statement& s) {
  const bool adds = s.reduce == ReduceOp::sum;
  GCG_CHECK(is_int(s.value->dtype) && size_of(s.value->dtype) >= 4 &&
                (adds || s.reduce == ReduceOp::max || s.reduce == ReduceOp::min),
            "the merged type has no atomic form");
  ExprText exprs(f_, place_);
  const std::string v = exprs.value(s.value), offset = exprs.access(s.operand, s.index).offset.text;
  std::string type = type_of(s.value->dtype);
  if (adds && s.value->dtype == DType::i64) type = "unsigned long long";
  const char* function = adds ? "atomicAdd" : s.reduce == ReduceOp::max ? "atomicMax" : "atomicMin";
  f_.line(function, "((", type, "*)(", f_.pointer(s.operand), " + ", offset, "), (", type, ")", v, ");");
}

KernelText emit_program(const Kernel& kernel, const Target&) {
  const auto& program = std::get<ProgramKernel>(kernel.body);
  if (!has_launches(program)) return ProgramText(kernel, program, {program.outer, program.body, false, true}).emit();
  KernelText text;
  for (size_t i = program.body.size(); i-- > 0;) {
    const Statement& s = program.body[i];
    GCG_CHECK(is_launch(s), "a program of launches has a statement beside them");
    KernelText launch =
        ProgramText(kernel, program, {{s.axis}, s.body, s.kind == Statement::Kind::shared_launch, false}).emit();
    if (i + 1 < program.body.size()) launch.then.push_back(std::move(text));
    text = std::move(launch);
  }
  return text;
}

}  // namespace gcg::cuda
