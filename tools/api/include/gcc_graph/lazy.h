// Deferred graphs: operators are recorded when they are called, and run when the program needs a value.
//
//   using namespace gcc_graph;
//   lazy::Array x(DType::f32, {2, 3}, numbers);
//   const lazy::Operator tanh = lazy::Operator::make("Tanh", "x");
//   lazy::Array y = lazy::record(tanh, x);            // typed at once, computed later
//   auto* values = static_cast<const float*>(y.data());  // what y needs runs now, as one graph
//
// When the program reads a value, the subgraph that it needs (a cut) is taken out of the recorded graph, breadth first.
// The interpreter computes a cut that is seen for the first time, while a thread of low priority compiles it for this
// machine's CPU. From then on compiled code runs, whatever the numbers are. A second shape makes extents symbolic.
// Compiled cuts are kept in memory and on disk.
//
// Threads: any thread may record and evaluate. Several threads may share arrays and use them at once. One evaluation
// runs at a time. Errors of type and shape are thrown where an operator is recorded.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gcc_graph/types.h"

namespace gcc_graph::lazy {

struct Node;
struct Op;

/// Where an operator was recorded, as numbers that only the caller interprets. Failure returns them.
struct Source {
  uint32_t code = 0;
  int32_t at = 0;
};

/// A value could not be computed.
class GCC_GRAPH_API Failure : public Error {
 public:
  Failure(const std::string& message, Source where) : Error(message), source(where) {}
  ~Failure() override;
  Source source;  ///< source of the operator that failed; code 0: unknown
};

/// A handle to a value, computed or not. Copies share it.
class GCC_GRAPH_API Array {
 public:
  Array() = default;
  /// Copies dense, row-major data.
  Array(DType dtype, std::span<const int64_t> shape, const void* data);
  Array(DType dtype, std::initializer_list<int64_t> shape, const void* data)
      : Array(dtype, std::span(shape.begin(), shape.size()), data) {}
  /// An array of rank 0; cheaper than the constructors. `data`: one element.
  static Array scalar(DType dtype, const void* data);
  /// A type without a value, used as an input while a Recording is made. Reading its elements throws.
  static Array placeholder(DType dtype, std::span<const int64_t> shape);
  Array(const Array& other) noexcept;
  Array(Array&& other) noexcept : node_(other.node_) { other.node_ = nullptr; }
  Array& operator=(Array other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~Array();

  explicit operator bool() const { return node_ != nullptr; }
  DType dtype() const;
  std::span<const int64_t> shape() const;
  int64_t elements() const;
  int64_t bytes() const;
  bool is_ready() const;  ///< true if the value has been computed

  /// The elements, computed now if necessary. They live as long as any handle to the value, or as the result of hold().
  const void* data() const;
  std::shared_ptr<const void> hold() const;

  // The following functions describe the operator that made this value. They return nothing for given values, and for
  // values that were computed without a Tape.
  std::string made_by() const;
  Attributes attributes() const;
  std::vector<Array> operands() const;  ///< an omitted or static operand is an empty handle
  std::vector<std::vector<int64_t>> static_operands() const;
  int output_index() const;  ///< index among the operator's results
  const void* identity() const { return node_; }
  int64_t serial() const;  ///< increases with every recorded value

  /// Takes ownership of one reference.
  explicit Array(Node* node) : node_(node) {}
  Node* node() const { return node_; }
  Node* release() {
    Node* node = node_;
    node_ = nullptr;
    return node;
  }

 private:
  Node* node_ = nullptr;
};

/// An operator with its attributes: a cheap handle. Equal operators share one object.
class GCC_GRAPH_API Operator {
 public:
  /// `name`: ONNX's name, or "domain::Name". `operands`: one letter per operand. x: an array. i: a list of integers, s:
  /// one integer of rank 0; both are part of the program (shapes, axes, limits). f: a constant whose numbers are the
  /// attribute "#k" of operand k. _: omitted.
  static Operator make(const std::string& name, const std::string& operands, const Attributes& attributes = {},
                       int outputs = 1);
  const Op* op() const { return op_; }
  Operator() = default;

 private:
  const Op* op_ = nullptr;
};

/// Records one operator and returns its first result. Throws Error if it does not take these operands, naming operator
/// and types.
GCC_GRAPH_API Array record(const Operator& op, const Array& x, Source source = {});
GCC_GRAPH_API Array record(const Operator& op, const Array& x, const Array& y, Source source = {});
GCC_GRAPH_API Array record(const Operator& op, const Array& x, const Array& y, const Array& z, Source source = {});
/// For one array and operands i and s. `ints`: their lists, concatenated. `lengths`: the length of each list.
GCC_GRAPH_API Array record(const Operator& op, const Array& x, std::span<const int64_t> ints,
                           std::span<const uint32_t> lengths, Source source = {});
/// Returns all results. `ints`: the lists of operands i and s, in order.
GCC_GRAPH_API std::vector<Array> record(const Operator& op, std::span<const Array> inputs,
                                        const std::vector<std::vector<int64_t>>& ints = {}, Source source = {});

/// The operators recorded between placeholders and outputs. They can be recorded again with other inputs; this costs
/// only the new nodes. Any number of threads may do so at once.
class GCC_GRAPH_API Recording {
 public:
  /// Throws Error if an output needs an array that existed before the placeholders, because its value would never
  /// change.
  Recording(std::span<const Array> placeholders, std::span<const Array> outputs);
  /// `inputs`: arrays of the placeholders' types. Throws Error that names the first array of another type.
  std::vector<Array> record(std::span<const Array> inputs) const;
  int64_t node_count() const;

 private:
  struct Body;
  std::shared_ptr<const Body> body_;
};

/// The names ("functions::Block") of the functions in these ONNX libraries (gcc-graph function). Throws Error if two
/// libraries have the same name.
GCC_GRAPH_API std::vector<std::string> functions(const std::vector<std::string>& libraries);
/// The graph of such a function on inputs with the types of `like`. `name`: NAME, of the domain "functions", or
/// DOMAIN::NAME. Throws Error if no library has the name (listing the nearest ones), if the number of inputs is wrong,
/// or if an operator refuses the types.
GCC_GRAPH_API Recording import_function(const std::string& name, std::span<const Array> like,
                                        const std::vector<std::string>& libraries);

/// Computes these values. Values on the way that have handles are computed, too.
GCC_GRAPH_API void evaluate(std::span<const Array> values);

/// While a Tape exists, computed values keep the nodes that made them (for gradients and for saving).
class GCC_GRAPH_API Tape {
 public:
  Tape();
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;
};

struct Stats {
  int64_t nodes_recorded = 0, nodes_run = 0;
  int64_t compiles = 0;     ///< compilations in this process
  int64_t cache_hits = 0;   ///< evaluations by code that was already compiled
  int64_t disk_hits = 0;    ///< programs loaded from the disk cache
  int64_t interpreted = 0;  ///< evaluations by the interpreter
  int64_t evaluations = 0, pending_compiles = 0, programs = 0;
  int64_t bytes_live = 0, peak_bytes = 0, nodes_live = 0;
};
GCC_GRAPH_API Stats stats();
/// One line per compilation of this process, oldest first (the last thousand): what was compiled, why, and how long it
/// took.
GCC_GRAPH_API std::vector<std::string> explain();

struct Settings {
  /// Only compiled code computes values; the first evaluation waits for the compiler. Values then have the same bits
  /// wherever the program reads them, within the limits in docs/lazy.md.
  bool deterministic = false;
  std::string cache_folder;  ///< folder for compiled cuts; empty: no disk cache. Default: $GCC_GRAPH_LAZY_CACHE, else a
                             ///< folder in the user's cache
  int64_t max_programs = 1024;                 ///< programs kept in memory; the least recently used one is dropped
                                               ///< first
  int64_t max_cache_bytes = int64_t{1} << 30;  ///< on disk
  int threads = 0;  ///< threads that run a compiled cut; 0: one, or one per core if there is enough work
};
GCC_GRAPH_API Settings settings();
GCC_GRAPH_API void set(const Settings& settings);

/// Waits until no compilation is pending. Returns false after `milliseconds`.
GCC_GRAPH_API bool wait_for_compiler(int64_t milliseconds = 60000);
/// Stops the compiler thread after its current compilation; new graphs are interpreted from then on. Call it before the
/// process ends; the Python package does.
GCC_GRAPH_API void stop_compiler();
/// Drops compiled programs from memory, and returns the pooled memory of earlier values to the system.
GCC_GRAPH_API void clear_programs();

/// The graph from `inputs` to `outputs`, for a file that runs without the compiler; other values become constants. Call
/// it while the Tape exists under which the outputs were recorded. `targets`: the same as for gcc-graph compile; empty:
/// this machine's CPU.
struct SaveOptions {
  std::vector<std::string> input_names, output_names, targets;
  bool open_batch = false;  ///< the first extent of every input stays symbolic
  /// Allows folding factors and offsets into weights, and transforming filters ahead of time, as `gcc-graph compile`
  /// does. Convolutional networks become faster, but last bits differ from those of values computed here.
  bool folds = false;
};
GCC_GRAPH_API std::vector<uint8_t> compile(std::span<const Array> inputs, std::span<const Array> outputs,
                                           const SaveOptions& options);

/// The same graph as an ONNX model.
GCC_GRAPH_API std::vector<uint8_t> to_onnx(std::span<const Array> inputs, std::span<const Array> outputs,
                                           const SaveOptions& options);

/// The standard operators that can be recorded. "Conv 2 3 1 1" is the name, the least and most inputs, and the least
/// and most outputs (-1: any number).
GCC_GRAPH_API std::vector<std::string> operators();

}  // namespace gcc_graph::lazy
