// Results of a product, and epilogue inputs with the same layout, as tensors that are copied as boxes.
#include <algorithm>

#include "codegen/cuda/contractions/product.h"
#include "codegen/cuda/text/vector_access.h"

namespace gcg::cuda {
namespace {

/// The address of an access as an offset in elements at point 0, and a stride along each axis. Null if a stride is not
/// the same everywhere.
std::optional<Affine> address_of(const Kernel& kernel, int operand, const std::vector<Expr>& index) {
  const std::vector<Dim> strides = access_strides(kernel.operands[static_cast<size_t>(operand)], index);
  Affine address;
  for (size_t d = 0; d < index.size(); ++d) {
    const auto at = as_affine(index[d]);
    if (!at) return std::nullopt;
    address.base = address.base + at->base * strides[d];
    for (const auto& [axis, step] : at->strides) address.strides[axis] = address.strides[axis] + step * strides[d];
  }
  return address;
}

/// Merges several axes, outermost first, into one with a constant stride.
std::optional<Product::TmaView::Dimension> joined(const std::vector<Axis>& axes, Affine& address, const char* at,
                                                  char kind) {
  Product::TmaView::Dimension d{1, 0, at, kind};
  for (size_t k = axes.size(); k-- > 0;) {
    if (axes[k].extent.is(1)) continue;
    const Dim stride = address.strides[axes[k].id];
    address.strides.erase(axes[k].id);
    if (d.extent.is(1))
      d.stride = stride;
    else if (!(stride == d.stride * d.extent))
      return std::nullopt;
    d.extent = d.extent * axes[k].extent;
  }
  return d;
}

/// A tensor of 16- or 32-bit floats in rows whose columns are neighbours; null for other accesses.
std::optional<Product::TmaView> view_of(const Kernel& kernel, int operand, const std::vector<Expr>& index,
                                        const ResultAxes& axes) {
  const DType stored = kernel.operands[static_cast<size_t>(operand)].dtype;
  if (stored != DType::f16 && stored != DType::bf16 && stored != DType::f32) return std::nullopt;
  auto address = address_of(kernel, operand, index);
  if (!address) return std::nullopt;
  const auto columns = joined(axes.columns, *address, "box_column", 'c'),
             rows = joined(axes.rows, *address, "box_row", 'r');
  if (!columns || !rows || !columns->stride.is(1) || rows->stride.is(0)) return std::nullopt;
  Product::TmaView view{operand, stored, address->base, {*columns, *rows}};
  for (const Axis& axis : axes.batch) {
    if (axis.extent.is(1)) continue;
    const Dim stride = address->strides[axis.id];
    if (stride.is(0)) return std::nullopt;
    view.dimensions.push_back({axis.extent, stride, concat("a", axis.id), 'b'});
    address->strides.erase(axis.id);
  }
  if (std::any_of(address->strides.begin(), address->strides.end(), [](const auto& s) { return !s.second.is(0); }))
    return std::nullopt;
  return as_tma_view(std::move(view));
}

}  // namespace

std::optional<Product::ResultBoxes> find_result_boxes(const Kernel& kernel, const Epilogue& product,
                                                      const ResultAxes& axes) {
  Product::ResultBoxes boxes;
  const auto results = view_of(kernel, product.result, product.index, axes);
  if (!results) return std::nullopt;
  boxes.results = *results;
  visit(product.epilogue, [&](const ExprNode& n) {
    if (n.kind != ExprKind::load || n.guarded || boxes.read != nullptr) return;
    if (kernel.operands[static_cast<size_t>(n.operand)].dtype != results->stored) return;
    const auto view = view_of(kernel, n.operand, n.args, axes);
    if (!view || view->dimensions.size() != results->dimensions.size()) return;
    boxes.read = &n;
    boxes.read_view = *view;
  });
  return boxes;
}

}  // namespace gcg::cuda
