// Computes wanted values: cuts out the subgraph that they need and runs it as one program. The interpreter runs it
// until the program is compiled.
#include <algorithm>
#include <atomic>
#include <mutex>

#include "compiler/export/export_onnx.h"
#include "compiler/support/error.h"
#include "tools/lazy/block_pool.h"
#include "tools/lazy/cut.h"
#include "tools/lazy/graph_of_cut.h"
#include "tools/lazy/interpret.h"
#include "tools/lazy/program_cache.h"

namespace gcc_graph::lazy {
namespace {

constexpr uint32_t kMostNodes = 2048;        // nodes of one program; larger cuts run in pieces
constexpr double kInterpreterWork = 400000;  // a cut with more element operations than this waits for the compiler,
                                             // because compiling takes about as long

class Engine {
 public:
  static Engine& instance() {
    static auto* engine = new Engine;
    return *engine;
  }

  /// `waits`: waits for compiled code, even if the interpreter could compute the values meanwhile.
  void evaluate(std::span<Node* const> requested, bool waits) {
    const std::lock_guard lock(cut_mutex());
    waits_ = waits || ProgramCache::instance().is_deterministic();
    make_cut(requested, cut_);
    if (cut_.runs == 0) return;
    ++evaluations;
    if (cut_.runs <= kMostNodes)
      run(cut_);
    else
      run_in_pieces();
  }

  std::atomic<int64_t> evaluations{0}, nodes_run{0}, hits{0}, interpreted{0};

 private:
  void run(const Cut& cut) {
    std::vector<Buffer*> values = values_of(cut);
    nodes_run += cut.runs;
    // set_value() may free nodes of the cut, except nodes that have a handle or a reader.
    results_.clear();
    for (const uint32_t at : cut.results) {
      results_.push_back(cut.nodes[at]);
      retain(results_.back(), 1);
    }
    for (size_t i = 0; i < values.size(); ++i) set_value(results_[i], values[i]);
    for (Node* node : results_) drop(node, 1);
  }

  std::vector<Buffer*> values_of(const Cut& cut) {
    ProgramCache& programs = ProgramCache::instance();
    KnownCut& found = programs.find(cut);
    const std::shared_ptr<Program> program = found.program;
    if (program->state < Program::State::ready) {
      if (waits_ || program->work < 0 || program->work > kInterpreterWork)
        programs.wait_for(program);
      else if (program->state == Program::State::requested)
        programs.request(program);
    }
    if (program->state == Program::State::ready) {
      auto values = variant_of(*program, cut).run(cut, found.symbols);
      if (values.ok()) {
        ++hits;
        return std::move(values).value();
      }
      throw_failure(cut, *program, values.error().message);
    }
    if (program->work < 0) throw Failure(program->error, cut.nodes[cut.results.front()]->source);
    ++interpreted;
    return interpret(cut);
  }

  /// The program to run: with plain or with packed weights. Requests the packed program if it is not compiled yet.
  static Program& variant_of(Program& program, const Cut& cut) {
    Program& variant = program.variant_for(cut);
    if (program.packed != nullptr && program.packed->state == Program::State::requested)
      ProgramCache::instance().request(program.packed);
    return variant;
  }

  /// Interprets the cut first if it is small enough, because the interpreter's error names the operator that fails.
  [[noreturn]] static void throw_failure(const Cut& cut, const Program& program, const std::string& message) {
    if (program.work >= 0 && program.work <= 100 * kInterpreterWork)
      for (Buffer* value : interpret(cut)) value->release();
    throw Failure(message, {});
  }

  void run_in_pieces() {
    struct Piece {
      Node* node;
      uint32_t last_reader;  // the position of the last reader in the order
      bool is_wanted;
    };
    const std::vector<uint32_t> order = running_order(cut_);
    std::vector<Piece> pieces;
    std::vector<uint32_t> index(cut_.nodes.size(), 0);
    for (uint32_t i = 0; i < order.size(); ++i) {
      index[order[i]] = i;
      pieces.push_back({cut_.nodes[order[i]], 0, false});
    }
    for (const uint32_t at : cut_.results) pieces[index[at]].is_wanted = true;
    for (uint32_t i = 0; i < order.size(); ++i)
      for (const Node* input : pieces[i].node->inputs()) {
        const uint32_t k = index[input->position];
        if (k < pieces.size() && pieces[k].node == input) pieces[k].last_reader = i;
      }
    Cut part;
    for (size_t begin = 0; begin < pieces.size(); begin += kMostNodes) {
      const size_t end = std::min(pieces.size(), begin + kMostNodes);
      std::vector<Node*> roots;
      for (size_t i = begin; i < end; ++i)
        if (pieces[i].node->type != nullptr && (pieces[i].is_wanted || pieces[i].last_reader >= end))
          roots.push_back(pieces[i].node);
      std::reverse(roots.begin(), roots.end());
      make_cut(roots, part);
      if (part.runs > 0) run(part);
    }
  }

  Cut cut_;
  bool waits_ = false;  // for the compiler
  std::vector<Node*> results_;
};

void evaluate_arrays(std::span<const Array> requested, bool waits) {
  std::vector<Node*> nodes;
  nodes.reserve(requested.size());
  for (const Array& a : requested)
    if (!a.is_ready()) nodes.push_back(a.node());
  if (nodes.empty()) return;
  try {
    Engine::instance().evaluate(nodes, waits);
  } catch (const gcg::CompileError& error) {
    throw Error(error.what());
  }
}

}  // namespace

void evaluate(std::span<const Array> requested) { evaluate_arrays(requested, false); }

Stats stats() {
  const Engine& engine = Engine::instance();
  const Counters& c = counters();
  Stats out;
  out.nodes_recorded = c.recorded;
  out.nodes_run = engine.nodes_run;
  out.cache_hits = engine.hits;
  out.interpreted = engine.interpreted;
  out.evaluations = engine.evaluations;
  out.bytes_live = c.bytes;
  out.peak_bytes = c.peak;
  out.nodes_live = c.live;
  ProgramCache::instance().fill(out);
  return out;
}

std::vector<std::string> explain() { return ProgramCache::instance().explain(); }
Settings settings() { return ProgramCache::instance().settings(); }
void set(const Settings& settings) { ProgramCache::instance().set(settings); }
bool wait_for_compiler(int64_t milliseconds) { return ProgramCache::instance().wait_for_all(milliseconds); }

void stop_compiler() { ProgramCache::instance().stop(); }

void clear_programs() {
  const std::lock_guard lock(cut_mutex());
  ProgramCache::instance().clear();
  drop_blocks();
}

namespace {

std::vector<Node*> nodes_of(std::span<const Array> arrays) {
  std::vector<Node*> nodes;
  for (const Array& a : arrays) nodes.push_back(a.node());
  return nodes;
}

/// `parameters`: null if the graph contains its constants.
gcg::Graph graph_between(std::span<const Array> inputs, std::span<const Array> outputs, const SaveOptions& options,
                         std::map<std::string, gcg::TensorRef>* parameters) {
  const std::vector<Node*> ends = nodes_of(inputs), requested = nodes_of(outputs);
  const std::lock_guard lock(cut_mutex());
  return graph_to_save(requested, ends, options, parameters);
}

/// Computes the values that depend on no input, with compiled code, so that their bits are the same as in other
/// evaluations.
void compute_fixed_values(std::span<const Array> inputs, std::span<const Array> outputs) {
  std::vector<Array> fixed;
  {
    const std::lock_guard lock(cut_mutex());
    for (Node* node : fixed_values(nodes_of(outputs), nodes_of(inputs))) {
      retain(node, Node::kHandle);
      fixed.emplace_back(node);
    }
  }
  evaluate_arrays(fixed, true);
}

}  // namespace

std::vector<uint8_t> compile(std::span<const Array> inputs, std::span<const Array> outputs,
                             const SaveOptions& options) {
  try {
    if (options.folds) return compile_for(graph_between(inputs, outputs, options, nullptr), options.targets);
    std::map<std::string, gcg::TensorRef> parameters;
    compute_fixed_values(inputs, outputs);
    gcg::Graph graph = graph_between(inputs, outputs, options, &parameters);
    return compile_for(std::move(graph), options.targets, std::move(parameters));
  } catch (const gcg::CompileError& error) {
    throw Error(error.what());
  }
}

std::vector<uint8_t> to_onnx(std::span<const Array> inputs, std::span<const Array> outputs,
                             const SaveOptions& options) {
  try {
    return gcg::export_onnx(graph_between(inputs, outputs, options, nullptr));
  } catch (const gcg::CompileError& error) {
    throw Error(error.what());
  }
}

Failure::~Failure() = default;

}  // namespace gcc_graph::lazy
