// Writes the text of one launch of a program (compiler/kernel/program.h).
#pragma once

#include "codegen/cuda/text/expr_text.h"
#include "compiler/kernel/program.h"

namespace gcg::cuda {

/// A launch that executes `body` for these tasks. Either one thread runs a task, or the threads of a block share it.
struct ProgramLaunch {
  std::vector<Axis> tasks;
  const Statements& body;
  bool shared = false;
  bool arrays_per_task = false;  // if false, all launches share one set of arrays
};

class ProgramText {
 public:
  ProgramText(const Kernel& kernel, const ProgramKernel& program, const ProgramLaunch& launch);
  KernelText emit();

 private:
  KernelText emit_threads(const Dim& bytes);
  void declare_arrays(const std::string& base);
  void declare_variables();

  void emit(const Statements& block);
  void emit(const Statement& s);
  void emit_store(const Statement& s);
  void emit_reduce(const Statement& s);
  void emit_merge(const Statement& s);
  void open_loop(const Statement& s);
  std::string value(const Expr& e) { return ExprText(f_, place_).value(e); }
  std::string variable(int local) const { return place_.locals.at(local); }
  std::string loop_type(const Statement& s) { return index_type(f_.ranges().of_axis(s.axis.id)); }

  // ---- program_shared.cpp: the threads of a block share a task. Statements that all of them execute use the same
  // values.

  KernelText emit_shared();
  void share(const Statement& s);
  void share_store(const Statement& s);
  void share_reduce(const Statement& s);
  void share_scan(const Statement& s);
  void share_order(const Statement& s);
  /// Emits a barrier of the block, after which all threads have read the memory that the next statement may write.
  void meet() { f_.line("__syncthreads();"); }

  FunctionText f_;
  const Kernel& kernel_;
  const ProgramKernel& program_;
  const ProgramLaunch& launch_;
  EvaluationPoint place_;
  bool together_ = false;  // true if the whole block executes the statement, false if one of its threads does
  int threads_ = 0;        // number of threads of a block that shares tasks
};

}  // namespace gcg::cuda
