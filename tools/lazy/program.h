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
  enum class State : uint8_t { wanted, compiling, ready, failed };

  Pattern pattern;
  std::vector<int64_t> made_of;     // the extents that it was first wanted for
  std::string cause;                // why it is compiled
  double work = 0;                  // of one run, in element operations
  std::vector<Weight> weights;      // that its products read
  std::vector<Weight> panels;       // its last inputs: the packed form of these
  int64_t runs = 0;                 // of compiled code, where there are weights
  std::shared_ptr<Program> packed;  // the same graph with panels in place of weights that last; null: not wanted yet
  gcg::Graph graph;                 // until it is compiled
  std::atomic<State> state{State::wanted};
  std::string error;  // why it failed
  bool from_disk = false;
  double milliseconds = 0;

  /// Compiles, or takes from `cache_folder` (empty: none), and loads. Never throws: failing is a state.
  void make(const Settings& settings);

  /// What to run compiled code of the cut with: this, or `packed` where that is compiled and all that it reads packed
  /// lasts.
  Program& form_for(const Cut& cut);

  /// Runs on the cut's given values. What it gives belongs to the caller, one buffer per result.
  gart::Result<std::vector<Buffer*>> run(const Cut& cut, const std::vector<int64_t>& symbols);

 private:
  void load(std::vector<uint8_t> bytes, int threads);
  std::shared_ptr<Program> packed_form(const Cut& cut, const std::function<bool(const Weight&)>& lasts) const;

  std::unique_ptr<uint8_t[], void (*)(uint8_t*)> artifact_{nullptr, [](uint8_t* p) { std::free(p); }};
  std::optional<gart::Invocation> invocation_;
};

/// "x86-64-v3": the best code that this machine runs.
const char* host_target();
/// The artifact, for this machine where `targets` names none. `parameters`: CompileOptions'. Throws gcg::CompileError.
std::vector<uint8_t> compile_for(gcg::Graph graph, const std::vector<std::string>& targets,
                                 std::map<std::string, gcg::TensorRef> parameters = {});

}  // namespace gcc_graph::lazy
