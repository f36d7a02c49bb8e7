#include <algorithm>

#include "codegen/cuda/contractions/choice.h"
#include "codegen/cuda/contractions/cluster_product.h"
#include "codegen/cuda/contractions/product_text.h"
#include "codegen/cuda/text/vector_access.h"
#include "compiler/kernel/access_analysis.h"
#include "compiler/kernel/typical_extent.h"
#include "compiler/support/error.h"

namespace gcg::cuda {
namespace {

/// Estimated instructions per element.
double operations_of(const Expr& epilogue) {
  constexpr double kFunction = 12;
  double all = 0;
  visit(epilogue, [&](const ExprNode& n) {
    if (n.dtype == DType::i64 || n.kind == ExprKind::constant || n.kind == ExprKind::accumulator) return;
    all += is_elementary_function(n) ? kFunction : 1;
  });
  return all;
}

class BlockProductText : public ProductText {
 public:
  using ProductText::ProductText;

  KernelText emit(const std::string& kind) {
    f_.include(traits_of(tile_.mma).header);
    f_.include("gart_register_pressure.cuh");
    f_.include("gart_window.cuh");
    coordinates("blockIdx.x");
    p_.declare_batch(f_, batch_);
    p_.declare_operands(f_, tile_);
    multiply();
    if (tile_.splits > 1) {
      store_partial_sums();
    } else {
      store_results();
    }
    KernelText text = finish(kind, tile_.blocks);
    text.tasks = tile_count();
    return text;
  }

 private:
  void multiply() {
    const std::string depth = concat(tile_.depth), shape = concat(tile_.warp_rows, ", ", tile_.warp_columns, ", ",
                                                                  tile_.rows_each, ", ", tile_.columns_each);
    if (tile_.is_wide()) {
      f_.line("typedef gart_warpgroup_sums<gart_wide_", name_of(tile_.arithmetic), ", Left, Right, ",
              tile_.warp_rows / 4, ", ", tile_.columns, "> Sums;");
    } else if (is_half(tile_.arithmetic)) {
      f_.line("typedef gart_half_sums<gart_", name_of(tile_.arithmetic), ", Left, Right, ", depth, ", ", shape,
              "> Sums;");
    } else if (tile_.arithmetic == Arithmetic::scalar) {
      f_.line("typedef gart_scalar_sums<Left, Right, ", depth, ", ", shape, ", ",
              p_.left.along_depth ? "true" : "false", ", ", p_.right.along_depth ? "true" : "false", "> Sums;");
    } else {
      static constexpr const char* kinds[] = {"", "gart_tf32x3", "gart_tf32"};
      f_.line("typedef gart_tensor_sums<", kinds[static_cast<size_t>(tile_.arithmetic)], ", Left, Right, ", depth, ", ",
              shape, "> Sums;");
    }
    f_.line("GART_SHARED(shared);");
    const Steps of_tile = steps(all_steps());
    const std::string first = of_tile.first == "0" ? "0" : concat(of_tile.first, " * ", depth);
    f_.line("Sums sums;");
    const std::string loop = tile_.is_wide() ? "gart_add_wide_products<" : concat("gart_add_products<", depth, ", ");
    f_.line(loop, tile_.stages, ", ", copy_ahead(tile_.stages - traits_of(tile_.mma).held_stages),
            ">(left, right, sums, shared, ", first, ", ", of_tile.count, ");");
  }
};

}  // namespace

std::string shape_text(const Product& p) {
  const auto copy = [](const Product::Copy& c) {
    return concat(name_of(c.stored), c.along_depth ? " along" : " across", " depth by ", c.vector);
  };
  std::string text = concat(p.rows.str(), " x ", p.columns.str(), " x ", p.depth.str());
  if (!p.batch.is(1)) text = concat(p.batch.str(), " of ", text);
  text += concat(", left ", copy(p.left), ", right ", copy(p.right));
  return p.properties.empty() ? text : concat(text, ", ", p.properties);
}

KernelText emit_product(const Kernel& kernel, const Product& product, const ProductTile& tile,
                        const std::string& kind) {
  if (tile.mma == Mma::wgmma_cluster) return emit_cluster_product(kernel, product, tile, kind);
  KernelText text = tile.has_boxes() ? emit_tile_loop(kernel, product, tile, kind)
                                     : BlockProductText(kernel, product, tile).emit(kind);
  if (tile.splits > 1) text.then.push_back(emit_split_sum(kernel, product, tile.splits, kind));
  return text;
}

ProductSize size_for_cost(const Kernel& kernel, const Product& product) {
  ProductSize size{typical(product.batch), typical(product.rows), typical(product.columns), typical(product.depth)};
  if (product.tap_channels > 0) size.box_depth = static_cast<double>(product.taps * box_channels(product));
  size.left_bytes = static_cast<double>(size_of(product.left.stored));
  size.right_bytes = static_cast<double>(size_of(product.right.stored));
  size.result_bytes = static_cast<double>(size_of(kernel.operands[static_cast<size_t>(product.result)].dtype));
  return size;
}

KernelText emit_product(const Kernel& kernel, const Target& target, const Product& product, const std::string& kind) {
  if (KernelText text = emit_skinny_gemm(kernel, target, product, kind); !text.source.empty()) return text;
  const std::vector<ProductTile> tiles = candidate_tiles(kernel, target, product, kMostCandidates);
  std::vector<std::string> candidates;
  for (const ProductTile& tile : tiles) candidates.push_back(describe(tile));
  const Choice choice = choose(target, kind, shape_text(product), std::move(candidates));
  KernelText text = emit_product(kernel, product, tiles[choice.index], kind);
  text.note += choice.note();
  return text;
}

Conversion conversion_of(DType stored, Arithmetic arithmetic) {
  const bool to_half = is_half(arithmetic);
  const std::string half = stored == DType::f32 ? name_of(arithmetic) : std::string(name_of(stored));
  GCG_CHECK(stored == DType::f32 || !to_half || half == name_of(arithmetic), name_of(arithmetic), " products of ",
            half);
  if (to_half)
    return {stored == DType::f32 ? "gart_narrowed_" + half : "gart_kept<unsigned short>", "unsigned short",
            stored != DType::f32};
  return {stored == DType::f32 ? "gart_kept<float>" : "gart_widened_" + half, "float", stored == DType::f32};
}

TileConstraints constraints_of(const Product& product, const Target& target) {
  const auto is_held = [&](const Product::Copy& copy) {
    const Conversion conversion = conversion_of(copy.stored, arithmetic_of(target));
    return !conversion.is_kept || size_of(copy.stored) * copy.vector < 4;
  };
  TileConstraints constraints = memory_constraints(product);
  constraints.is_held = is_held(product.left) || is_held(product.right);
  constraints.whole_steps = product.whole_steps;
  constraints.divides = product.divides;
  constraints.gathers = product.gathers;
  constraints.left_by_element = product.left.vector == 1;
  constraints.right_by_element = product.right.vector == 1;
  const auto left = product.tma_view(true), right = product.tma_view(false);
  const Arithmetic arithmetic = arithmetic_of(target);
  const auto fits = [&](const std::optional<Product::TmaView>& view) {
    if (!view || size_of(view->stored) != element_bytes(arithmetic)) return false;
    // tf32 products only read lines along the depth
    return is_half(arithmetic) || (arithmetic == Arithmetic::tf32x3 && view->dimensions[0].kind == 'd');
  };
  constraints.has_tma_views = fits(left) && fits(right);
  constraints.left_has_windows = left && left->window;
  constraints.has_windows = constraints.left_has_windows || (right && right->window);
  constraints.epilogue_operations = operations_of(product.epilogue);
  return constraints;
}

TileConstraints memory_constraints(const Product& product) {
  TileConstraints constraints;
  constraints.left_along_depth = product.left.along_depth;
  constraints.right_along_depth = product.right.along_depth;
  if (product.boxes) {
    constraints.box_bytes = static_cast<int>(size_of(product.boxes->results.stored));
    constraints.reads_boxes = product.boxes->read != nullptr;
  }
  return constraints;
}

std::string tile_type(const Conversion& conversion, const ProductTile& tile, int rows, bool along_depth) {
  if (tile.is_wide()) return concat("gart_swizzled_tile<", rows, ", ", along_depth ? "true" : "false", ">");
  return tile_type(conversion, concat(rows, ", ", tile.depth), along_depth);
}

std::string tile_type(const Conversion& conversion, const std::string& shape, bool along_depth) {
  return concat("gart_tile<", conversion.element, ", ", shape, ", ", along_depth ? "true" : "false", ">");
}

int widest_vector(DType stored, const std::vector<Dim>& multiples) {
  const auto fits = [&](int64_t n) {
    return std::all_of(multiples.begin(), multiples.end(), [n](const Dim& d) { return is_multiple(d, n); });
  };
  if (stored == DType::f32) return fits(4) ? 4 : 1;
  for (int n : {8, 4, 2})
    if (fits(n)) return n;
  return 1;
}

int epilogue_vector(const Kernel& kernel, const Epilogue& epilogue, const Dim& columns, int lane) {
  const Operand& result = kernel.operands[static_cast<size_t>(epilogue.result)];
  for (int vector : {4, 2})
    if (is_multiple(columns, vector) && is_aligned(result, epilogue.index, lane, vector)) return vector;
  return 1;
}

std::string int_text(FunctionText& f, const Dim& dim) {
  const IndexText i = f.dim(dim);
  return i.wide ? concat("(int)", i.text) : i.text;
}

void declare_axis(FunctionText& f, EvaluationPoint& place, const Axis& axis, const std::string& text) {
  if (axis.extent.is(1)) return;
  const std::string name = place.axes[axis.id] = concat("a", axis.id);
  f.line("const ", index_type(f.ranges().of_axis(axis.id)), " ", name, " = ", text, ";");
}

}  // namespace gcg::cuda
