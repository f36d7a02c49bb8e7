// Compiles an ONNX file to an artifact: everything that gcc-graph compile does.
#pragma once

#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gcc_graph/compile.h"

namespace gcc_graph {

/// A text from a file or a measurement, and the name that messages use for it.
struct NamedText {
  std::string text, name;
};

/// The fields mean the same as the options of gcc-graph compile with these names.
struct ModelOptions : CompileOptions {
  ModelOptions() { targets.clear(); }

  /// If `targets` is empty, the compiler makes code for x86-64-v3, x86-64-v4, these GPUs and the targets of the fleet's
  /// devices. Models of 8-bit integers also get x86-64-v4-vnni, models in bf16 x86-64-v4-bf16, and models with both
  /// x86-64-v4-amx.
  std::vector<std::string> gpus;
  /// "NAME=FILE.onnx": further models for the same file, which run as the entry point NAME. Equal weights are stored
  /// once; states of the same name are one.
  std::vector<std::string> entries;
  /// For gart::Generator: states as `{"auto"}` makes them if `states` is empty, and an entry point "extend" that
  /// computes the logits of the last token only, which suffices for prompts.
  bool generate = false;
  std::vector<std::string> custom_ops;  ///< "acme::Blend(T[n, c], f32[c]?) -> T[n, 2*c]; workspace 4*n"
  std::vector<std::string> functions;   ///< files with functions that nodes may call
  std::vector<std::string> outputs;     ///< values that become the outputs; empty: the model's own
  bool training = true;                 ///< entry points for the model's training_info; not with a fleet or `outputs`
  bool check_finite = false;  ///< a training step with a loss, gradient or new value that is NaN or infinite fails
  std::optional<NamedText> tuning;  ///< the JSON that gcc-graph tune writes

  std::optional<NamedText> fleet;   ///< JSON of devices: the model is cut and placed for them
  std::string cut;                  ///< rules in order, "support,shared"; empty: the fleet's own rules
  std::vector<std::string> labels;  ///< "PATTERN=GROUP"
  std::vector<std::string> keep;    ///< values that runs on a fleet can fetch, "V" or "V,W"

  std::vector<std::string> print_after;  ///< names of passes, or "all"
  std::string stop_after;                ///< a pass, or "plan"; the artifact is then empty
  bool time_passes = false, print_plan = false, print_source = false, print_code = false;
  std::ostream* out = nullptr;  ///< where graphs, times, plans and code are printed; null: nowhere
};

/// How many measurements were used.
struct TuningReport {
  /// Number of measured choices that were used, and number of choices that this compiler does not offer.
  int64_t used = 0, stale = 0;
};

struct CompiledModel : Compiled {
  std::optional<TuningReport> tuning;  ///< set if there were measurements, including those of the model's functions
};

/// Lists everything in a model that the compiler does not support: one error, a line per node.
class GCC_GRAPH_API Unsupported : public Error {
 public:
  struct Node {
    std::string name, op, domain;  ///< domain "": ai.onnx
    int64_t version = 0;           ///< version of the domain's opset; 0: not known
    std::string why;
  };
  Unsupported(const std::string& text, std::vector<Node> nodes) : Error(text), nodes_(std::move(nodes)) {}
  ~Unsupported() override;
  const std::vector<Node>& nodes() const { return nodes_; }

 private:
  std::vector<Node> nodes_;
};

/// Throws Error if the text is not valid JSON of gcc-graph tune, and says what is wrong.
GCC_GRAPH_API void check_tuning(const NamedText& tuning);

/// Throws Unsupported, or Error with one sentence.
GCC_GRAPH_API CompiledModel compile_model(const std::string& path, const ModelOptions& options = {});

}  // namespace gcc_graph
