// Constants whose elements are computed when they are read. The compiler need not hold a large model's weights in every
// order and type at the same time.
#pragma once

#include <functional>
#include <mutex>
#include <optional>

#include "compiler/ir/graph.h"

namespace gcg {

/// How the elements of a constant follow from other constants: the only result of op(inputs) with these attributes.
struct Recipe {
  const OpDef* op;
  std::map<std::string, Attribute> attributes;
  std::vector<TensorRef> inputs;
};

/// Elements that the first read computes. Once released, they are computed again by the next read. Views of the same
/// elements share them.
class DeferredElements {
 public:
  using Compute = std::function<Tensor(const Recipe&)>;
  /// `compute` must give the same elements each time.
  DeferredElements(Recipe recipe, Compute compute) : recipe_(std::move(recipe)), compute_(std::move(compute)) {}

  const Recipe& recipe() const { return recipe_; }
  /// The elements, which stay until they are released. Several threads may read.
  const uint8_t* read() const;
  /// The elements that an earlier read has left, or new ones, which this object does not keep.
  Tensor compute() const;
  /// Frees the elements. No thread may use them any more.
  void release() const;

 private:
  Recipe recipe_;
  Compute compute_;
  mutable std::mutex mutex_;
  mutable std::optional<Tensor> elements_;
};

/// True if both have the same bytes. Two deferred constants are compared by their recipes, and are not computed.
bool same_elements(const Tensor& a, const Tensor& b);

/// Frees the constants of the graph that nothing else holds: no other graph, no plan, and no constant made from them.
/// Requires: nothing reads the graph's constants any more.
void free_unshared_constants(Graph& graph);

/// Releases the elements of all deferred constants of the graph and its subgraphs.
void release_constants(const Graph& graph);

}  // namespace gcg
