// A compiled cut.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "gart/gart.hpp"
#include "tools/lazy/pattern.h"
#include "tools/lazy/weights.h"

namespace gcc_graph::lazy {

struct Program {
  enum class State : uint8_t { requested, compiling, ready, failed };

  Pattern pattern;
  std::vector<int64_t> made_of;     // the extents of the first cut that needed the program
  std::string cause;                // the reason for the compilation
  double work = 0;                  // cost of one run, in element operations
  std::vector<Weight> weights;      // weights that its products read
  std::vector<Weight> panels;       // weights whose packed forms are the last inputs of the program
  int64_t runs = 0;                 // number of runs of compiled code, counted if there are weights
  std::shared_ptr<Program> packed;  // the same graph with panels in place of weights that last; null: not requested yet
  gcg::Graph graph;                 // kept until the graph is compiled
  std::atomic<State> state{State::requested};
  std::string error;  // the reason for a failure
  bool from_disk = false;
  double milliseconds = 0;

  /// Compiles the graph, or loads the program from `cache_folder` (empty: no cache). Never throws: a failure is a
  /// state.
  void make(const Settings& settings);

  /// The program whose compiled code runs the cut: `packed` if it is compiled and all its packed weights last, else
  /// this one.
  Program& variant_for(const Cut& cut);

  /// Runs on the cut's evaluated values. The caller owns the results, one buffer per result.
  gart::Result<std::vector<Buffer*>> run(const Cut& cut, const std::vector<int64_t>& symbols);

 private:
  void load(std::vector<uint8_t> bytes, int threads);
  std::shared_ptr<Program> packed_variant(const Cut& cut, const std::function<bool(const Weight&)>& lasts) const;

  std::unique_ptr<uint8_t[], void (*)(uint8_t*)> artifact_{nullptr, [](uint8_t* p) { std::free(p); }};
  std::optional<gart::Invocation> invocation_;
};

/// Compiles to an artifact, for this machine if `targets` is empty. `parameters`: as in CompileOptions. Throws
/// gcg::CompileError.
std::vector<uint8_t> compile_for(gcg::Graph graph, const std::vector<std::string>& targets,
                                 std::map<std::string, gcg::TensorRef> parameters = {});

}  // namespace gcc_graph::lazy
