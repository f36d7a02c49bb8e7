// From an ONNX file to an artifact: all that gcc-graph compile does.
#pragma once

#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gcc_graph/compile.h"

namespace gcc_graph {

/// A text that somebody wrote or measured, and what messages call it.
struct NamedText {
  std::string text, name;
};

/// As the options of gcc-graph compile of the same names.
struct ModelOptions : CompileOptions {
  ModelOptions() { targets.clear(); }

  /// Where there are no `targets`, code is made for x86-64-v3 and x86-64-v4, of models of 8-bit integers also for
  /// x86-64-v4-vnni, in bf16 also for x86-64-v4-bf16, of both also for x86-64-v4-amx, for these and for what the
  /// devices of the fleet run.
  std::vector<std::string> gpus;
  std::vector<std::string> custom_ops;  ///< "acme::Blend(T[n, c], f32[c]?) -> T[n, 2*c]; workspace 4*n"
  std::vector<std::string> functions;   ///< files of functions that nodes may name
  std::vector<std::string> outputs;     ///< values that become the outputs; none: the model's
  std::optional<NamedText> tuning;      ///< JSON of gcc-graph tune

  std::optional<NamedText> fleet;   ///< JSON of devices: the model is cut and placed for them
  std::string cut;                  ///< rules in order, "support,shared"; empty: what the fleet asks for
  std::vector<std::string> labels;  ///< "PATTERN=GROUP"
  std::vector<std::string> keep;    ///< values that can be fetched from runs on a fleet, "V" or "V,W"

  std::vector<std::string> print_after;  ///< names of passes, or "all"
  std::string stop_after;                ///< a pass, or "plan": the artifact is empty then
  bool time_passes = false, print_plan = false, print_code = false;
  std::ostream* out = nullptr;  ///< where graphs, times, plans and code are printed; null: nowhere
};

/// What became of measurements.
struct TuningReport {
  int64_t used = 0, stale = 0;  ///< choices taken, and such as this compiler does not have
};

struct CompiledModel : Compiled {
  std::optional<TuningReport> tuning;  ///< where there were measurements, of the model's functions, too
};

/// What a model asks for and the compiler cannot do: all of it in one error, a line per node.
class GCC_GRAPH_API Unsupported : public Error {
 public:
  struct Node {
    std::string name, op, domain;  ///< domain "": ai.onnx
    int64_t version = 0;           ///< of the domain's opset; 0: not known
    std::string why;
  };
  Unsupported(const std::string& text, std::vector<Node> nodes) : Error(text), nodes_(std::move(nodes)) {}
  ~Unsupported() override;
  const std::vector<Node>& nodes() const { return nodes_; }

 private:
  std::vector<Node> nodes_;
};

/// Throws Error that says what is wrong with a text that is none of gcc-graph tune.
GCC_GRAPH_API void check_tuning(const NamedText& tuning);

/// Throws Unsupported, or Error of one sentence.
GCC_GRAPH_API CompiledModel compile_model(const std::string& path, const ModelOptions& options = {});

}  // namespace gcc_graph
