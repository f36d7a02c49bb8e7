// Deferred graphs: operators are recorded as they are written, and run when somebody wants a value.
//
//   using namespace gcc_graph;
//   lazy::Array x(DType::f32, {2, 3}, numbers);
//   const lazy::Operator tanh = lazy::Operator::make("Tanh", "x");
//   lazy::Array y = lazy::record(tanh, x);            // typed at once, computed later
//   auto* values = static_cast<const float*>(y.data());  // what y needs runs now, as one graph
//
// What a wanted value needs is cut out of what was recorded, breadth first. A cut seen for the first time is answered
// by the interpreter, while a thread of low priority compiles it for this machine's CPU; from then on compiled code
// answers, whatever the numbers are. A second shape makes extents symbolic. Compiled cuts are kept in memory and on
// disk.
//
// Threads: any thread records and evaluates; arrays may be handed from thread to thread, and used by several at once.
// One evaluation runs at a time. Errors of type and shape are thrown where an operator is recorded.
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

/// Where an operator was recorded, in numbers that only the caller can read; Failure gives them back.
struct Source {
  uint32_t code = 0;
  int32_t at = 0;
};

/// A value could not be computed.
class GCC_GRAPH_API Failure : public Error {
 public:
  Failure(const std::string& message, Source where) : Error(message), source(where) {}
  ~Failure() override;
  Source source;  ///< of the operator that failed; code 0: not known
};

/// A handle to a value, computed or not. Copies share it.
class GCC_GRAPH_API Array {
 public:
  Array() = default;
  /// A copy of dense, row-major data.
  Array(DType dtype, std::span<const int64_t> shape, const void* data);
  Array(DType dtype, std::initializer_list<int64_t> shape, const void* data)
      : Array(dtype, std::span(shape.begin(), shape.size()), data) {}
  /// Of rank 0, cheaper than the above. `data`: one element.
  static Array scalar(DType dtype, const void* data);
  /// A type without a value: what a Recording's inputs stand for while it is made. Whatever needs its elements throws.
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
  bool is_ready() const;  ///< computed already?

  /// The elements, computed now if they are not yet. They live as long as any handle to the value, or what hold()
  /// gives.
  const void* data() const;
  std::shared_ptr<const void> hold() const;

  // Of an operator's result that has not been computed, or was under a Tape: what made it. Empty for what is given.
  std::string made_by() const;
  Attributes attributes() const;
  std::vector<Array> operands() const;  ///< an omitted or static operand is an empty handle
  std::vector<std::vector<int64_t>> static_operands() const;
  int output_index() const;  ///< which of the operator's results
  const void* identity() const { return node_; }
  int64_t serial() const;  ///< grows with every value that is recorded

  /// Takes over one reference.
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

/// An operator with its attributes: a cheap handle, equal ones are made once.
class GCC_GRAPH_API Operator {
 public:
  /// `name`: ONNX's, or "domain::Name". `operands`: a letter each. x: an array; i: integers, s: one integer of rank 0,
  /// which are part of the program (shapes, axes, limits); f: numbers of the attribute "#k" of operand k, a constant;
  /// _: omitted.
  static Operator make(const std::string& name, const std::string& operands, const Attributes& attributes = {},
                       int outputs = 1);
  const Op* op() const { return op_; }
  Operator() = default;

 private:
  const Op* op_ = nullptr;
};

/// Records one operator and gives its first result. Throws Error for operands that it does not take, naming operator
/// and types.
GCC_GRAPH_API Array record(const Operator& op, const Array& x, Source source = {});
GCC_GRAPH_API Array record(const Operator& op, const Array& x, const Array& y, Source source = {});
GCC_GRAPH_API Array record(const Operator& op, const Array& x, const Array& y, const Array& z, Source source = {});
/// Of one array and operands i and s: `ints`, the lists in a row, and how long each is.
GCC_GRAPH_API Array record(const Operator& op, const Array& x, std::span<const int64_t> ints,
                           std::span<const uint32_t> lengths, Source source = {});
/// All results. `ints`: the lists of operands i and s, in order.
GCC_GRAPH_API std::vector<Array> record(const Operator& op, std::span<const Array> inputs,
                                        const std::vector<std::vector<int64_t>>& ints = {}, Source source = {});

/// What was recorded between placeholders and outputs, to be recorded again with other inputs at the cost of its nodes
/// alone. Any number of threads may do so at once.
class GCC_GRAPH_API Recording {
 public:
  /// Throws Error where an output needs an array that was there before the placeholders: its value would stay as it is.
  Recording(std::span<const Array> placeholders, std::span<const Array> outputs);
  /// `inputs`: of the placeholders' types; throws Error naming the first that is not.
  std::vector<Array> record(std::span<const Array> inputs) const;
  int64_t node_count() const;

 private:
  struct Body;
  std::shared_ptr<const Body> body_;
};

/// The names ("functions::Block") of the functions in these ONNX libraries (gcc-graph function). Throws Error for a
/// name that two of them have.
GCC_GRAPH_API std::vector<std::string> functions(const std::vector<std::string>& libraries);
/// The graph of such a function on inputs of the types of `like`. `name`: NAME, of the domain "functions", or
/// DOMAIN::NAME. Throws Error: for a name that no library has, with the nearest ones; for other numbers of inputs than
/// it takes; for types that its operators refuse.
GCC_GRAPH_API Recording import_function(const std::string& name, std::span<const Array> like,
                                        const std::vector<std::string>& libraries);

/// Computes these values, and on the way those that somebody holds a handle to.
GCC_GRAPH_API void evaluate(std::span<const Array> wanted);

/// While one lives, computed values remember what made them (for gradients and for saving).
class GCC_GRAPH_API Tape {
 public:
  Tape();
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;
};

struct Stats {
  int64_t nodes_recorded = 0, nodes_run = 0;
  int64_t compiles = 0;     ///< by the compiler, in this process
  int64_t cache_hits = 0;   ///< evaluations by compiled code that was there
  int64_t disk_hits = 0;    ///< programs that came from the disk
  int64_t interpreted = 0;  ///< evaluations by the interpreter
  int64_t evaluations = 0, pending_compiles = 0, programs = 0;
  int64_t bytes_live = 0, peak_bytes = 0, nodes_live = 0;
};
GCC_GRAPH_API Stats stats();
/// A line per compilation of this process, oldest first (the last thousand): what was compiled, why, how long it took.
GCC_GRAPH_API std::vector<std::string> explain();

struct Settings {
  /// Compiled code alone gives values: the first one waits for the compiler. Values are then the same bits wherever the
  /// program asks for them, as far as docs/lazy.md says.
  bool deterministic = false;
  std::string cache_folder;  ///< of compiled cuts; empty: none on disk. At first $GCC_GRAPH_LAZY_CACHE, or the user's
                             ///< cache folder
  int64_t max_programs = 1024;                 ///< in memory; the one unused for longest goes first
  int64_t max_cache_bytes = int64_t{1} << 30;  ///< on disk
  int threads = 0;  ///< of a compiled cut; 0: one, or one per core where there is enough to do
};
GCC_GRAPH_API Settings settings();
GCC_GRAPH_API void set(const Settings& settings);

/// Waits until nothing is being compiled. False after `milliseconds`.
GCC_GRAPH_API bool wait_for_compiler(int64_t milliseconds = 60000);
/// Ends the thread that compiles, once it is through with what it is at; what is new is interpreted from then on. To be
/// called before a process ends; Python's does.
GCC_GRAPH_API void stop_compiler();
/// Forgets compiled programs in memory, and gives back the memory of earlier values that is kept for later ones.
GCC_GRAPH_API void clear_programs();

/// The graph from `inputs` to `outputs`, for a file that runs without the compiler: other values are constants in it.
/// Under the Tape that the outputs were recorded under. `targets` as of gcc-graph compile; empty: this machine's CPU.
struct SaveOptions {
  std::vector<std::string> input_names, output_names, targets;
  bool open_batch = false;  ///< the first extent of every input stays open
  /// May factors and offsets be multiplied into weights, and filters be transformed, ahead of time, as `gcc-graph
  /// compile` does? Faster for networks of convolutions, but last bits differ from those of values computed here.
  bool folds = false;
};
GCC_GRAPH_API std::vector<uint8_t> compile(std::span<const Array> inputs, std::span<const Array> outputs,
                                           const SaveOptions& options);

/// The same graph as an ONNX model.
GCC_GRAPH_API std::vector<uint8_t> to_onnx(std::span<const Array> inputs, std::span<const Array> outputs,
                                           const SaveOptions& options);

/// The operators of the standard that can be recorded, with what they take: "Conv 2 3 1 1" is name, least and most
/// inputs, least and most outputs (-1: any number).
GCC_GRAPH_API std::vector<std::string> operators();

}  // namespace gcc_graph::lazy
