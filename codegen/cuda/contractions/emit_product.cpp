#include <algorithm>
#include <cmath>

#include "codegen/cuda/contractions/choice.h"
#include "codegen/cuda/contractions/cluster_product.h"
#include "codegen/cuda/contractions/epilogue_text.h"
#include "codegen/cuda/contractions/product.h"
#include "codegen/cuda/text/vector_access.h"
#include "compiler/kernel/typical_extent.h"
#include "compiler/support/error.h"

namespace gcg::cuda {
namespace {

bool has_loads(const Expr& e) {
  bool found = false;
  visit(e, [&](const ExprNode& n) { found = found || n.kind == ExprKind::load; });
  return found;
}

class ProductText {
 public:
  ProductText(const Kernel& kernel, const Product& product, const ProductTile& tile)
      : f_(kernel),
        p_(product),
        tile_(tile),
        vector_(std::min(product.vector, neighbours(product, tile))),
        epilogue_(f_, product, vector_) {}

  KernelText emit(const std::string& kind) {
    const Dim row_tiles = ceil_div(p_.rows, Dim(tile_.rows)), column_tiles = ceil_div(p_.columns, Dim(tile_.columns));
    f_.include(tile_.producers > 0 ? "gart_tma_ring.cuh" : tile_.is_wide ? "gart_warpgroup.cuh" : "gart_product.cuh");
    f_.include("gart_register_pressure.cuh");
    f_.include("gart_window.cuh");
    coordinates(row_tiles, column_tiles);
    p_.declare_batch(f_, batch_);
    if (tile_.producers > 0)
      declare_ring(f_, p_, tile_);
    else
      p_.declare_operands(f_, tile_);
    multiply();
    if (tile_.splits > 1) {
      store_partial_sums();
    } else {
      store_results();
    }
    KernelText text = f_.finish(kind, tile_.threads(), tile_.blocks);
    text.tasks = row_tiles * column_tiles * p_.batch * tile_.splits;
    text.shared_bytes = shared_bytes(tile_, {p_.left.along_depth, p_.right.along_depth});
    if (tile_.producers > 0) text.least_registers = registers_at_entry(tile_);
    text.note = concat(describe(tile_), ", expected ", std::round(tile_.microseconds * 10) / 10, " us", assumed_text());
    if (tile_.splits > 1) text.scratch_bytes = p_.batch * p_.rows * p_.columns * (4 * tile_.splits);
    return text;
  }

 private:
  /// Sums of neighbouring columns that a thread has.
  static int neighbours(const Product& product, const ProductTile& tile) {
    if (tile.arithmetic != Arithmetic::scalar) return 2;
    return product.right.along_depth ? 1 : 4;
  }

  /// What the cost model had to assume.
  std::string assumed_text() const {
    for (const Dim& d : {p_.batch, p_.rows, p_.columns, p_.depth})
      if (!d.is_constant()) return concat(" with open extents of ", kTypicalExtent);
    return "";
  }

  static std::string sum_name(int v) { return v == 0 ? "sums.sum(i, j)" : concat("sums.sum(i, j + ", v, ")"); }

  /// Blocks that run at the same time share rows, and the columns one after the other.
  void coordinates(const Dim& row_tiles, const Dim& column_tiles) {
    const std::string columns = int_text(f_, column_tiles), rows = int_text(f_, row_tiles);
    f_.line("const int column0 = blockIdx.x % ", columns, " * ", tile_.columns, ";");
    f_.line("const int row0 = blockIdx.x / ", columns, " % ", rows, " * ", tile_.rows, ";");
    f_.line("const int rest = blockIdx.x / ", columns, " / ", rows, ";");
    if (tile_.splits == 1) return f_.line("const int batch = rest;");
    f_.line("const int batch = rest % ", int_text(f_, p_.batch), ", split = rest / ", int_text(f_, p_.batch), ";");
  }

  /// Of which operand, a constant, the first tiles are copied before the last launch has ended: 1 the left, 2 the right
  /// one, 0 neither.
  int copy_ahead() {
    const auto tile_bytes = [&](int lines, const Product::Copy& copy) {
      const int first_steps = tile_.stages - (tile_.producers > 0 ? 0 : tile_.is_wide ? 2 : 1);
      return static_cast<int64_t>(first_steps) * lines * tile_.depth * size_of(copy.stored);
    };
    if (is_constant(f_.kernel(), p_.right_operand)) {
      f_.wait_later(p_.right_operand, tile_bytes(tile_.columns, p_.right));
      return 2;
    }
    if (is_constant(f_.kernel(), p_.left_operand)) {
      f_.wait_later(p_.left_operand, tile_bytes(tile_.rows, p_.left));
      return 1;
    }
    f_.wait_later(-1, 0);
    return 0;
  }

  void multiply() {
    const std::string depth = concat(tile_.depth), shape = concat(tile_.warp_rows, ", ", tile_.warp_columns, ", ",
                                                                  tile_.rows_each, ", ", tile_.columns_each);
    if (tile_.is_wide) {
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
    const std::string steps = int_text(f_, ceil_div(p_.depth, Dim(tile_.depth)));
    std::string first = "0", count = steps;
    if (tile_.splits > 1) {
      const std::string each = int_text(f_, ceil_div(ceil_div(p_.depth, Dim(tile_.depth)), Dim(tile_.splits)));
      f_.line("const int first_step = split * ", each, ", steps = gart_max(0, gart_min(", each, ", ", steps,
              " - first_step));");
      first = concat("first_step * ", depth);
      count = "steps";
    }
    if (tile_.producers > 0) {
      f_.line("Ring ring(shared);");
      f_.line("if (!ring.multiplies()) return ring.feed<", copy_ahead(), ">(left, right, ", first, ", ", count, ");");
      f_.line("ring.prepare();");
      f_.line("Sums sums;");
      return f_.line("ring.add(sums, ", count, ");");
    }
    f_.line("Sums sums;");
    const std::string loop = tile_.is_wide ? "gart_add_wide_products<" : concat("gart_add_products<", depth, ", ");
    f_.line(loop, tile_.stages, ", ", copy_ahead(), ">(left, right, sums, shared, ", first, ", ", count, ");");
  }

  /// What the epilogue reads is on its way before the first result is stored; where a thread has many sums, of some at
  /// a time.
  void store_results() {
    constexpr int kPart = 8;
    const bool in_parts = tile_.is_wide && has_loads(p_.epilogue);
    if (in_parts) {
      f_.line("#pragma unroll");
      f_.open("for (int part = 0; part < Sums::kColumns; part += ", kPart, ")");
    }
    const std::string first = in_parts ? "part" : "0", end = in_parts ? concat("part + ", kPart) : "Sums::kColumns";
    if (has_loads(p_.epilogue)) {
      each_sum("row0", first, end, [&](const EvaluationPoint& place) { compute(place); });
      f_.line("const int same_row0 = gart_computed_again(row0);");
    }
    each_sum(has_loads(p_.epilogue) ? "same_row0" : "row0", first, end, [&](const EvaluationPoint& place) {
      if (!has_loads(p_.epilogue)) compute(place);
      epilogue_.store(place, sum_name);
    });
    if (in_parts) f_.close();
  }

  /// Calls body(place) where this thread of the tile whose first row is `row0` has a result in row `row`, `vector`
  /// columns from `column` on, for columns number `first` to `end` of its own.
  template <class Body>
  void each_sum(const std::string& row0, const std::string& first, const std::string& end, const Body& body) {
    EvaluationPoint place = batch_;
    f_.line("#pragma unroll");
    f_.open("for (int i = 0; i < Sums::kRows; ++i)");
    f_.line("const int row = ", row0, " + Sums::row(i);");
    p_.declare_row(f_, place);
    f_.line("#pragma unroll");
    f_.open("for (int j = ", first, "; j < ", end, "; j += ", vector_, ")");
    f_.line("const int column = column0 + Sums::column(j);");
    f_.open("if (row < ", int_text(f_, p_.rows), " && column < ", int_text(f_, p_.columns), ")");
    p_.declare_column(f_, place);
    body(place);
    for (int k = 0; k < 3; ++k) f_.close();
  }

  void compute(const EvaluationPoint& place) { epilogue_.values(place, sum_name); }

  /// As emit_split_sum reads it.
  void store_partial_sums() {
    const std::string rows = int_text(f_, p_.rows), columns = int_text(f_, p_.columns);
    f_.line("float* const partial = static_cast<float*>(workspace) + ((long long)split * ", int_text(f_, p_.batch),
            " + batch) * ", rows, " * ", columns, ";");
    f_.line("#pragma unroll");
    f_.open("for (int i = 0; i < Sums::kRows; ++i)");
    f_.line("#pragma unroll");
    f_.open("for (int j = 0; j < Sums::kColumns; ++j)");
    f_.line("const int row = row0 + Sums::row(i), column = column0 + Sums::column(j);");
    f_.line("if (row < ", rows, " && column < ", columns, ") partial[(long long)row * ", columns,
            " + column] = sums.sum(i, j);");
    f_.close();
    f_.close();
  }

  FunctionText f_;
  const Product& p_;
  const ProductTile& tile_;
  int vector_;
  EpilogueText epilogue_;
  EvaluationPoint batch_;
};

}  // namespace

std::string shape_text(const Product& p) {
  const auto copy = [](const Product::Copy& c) {
    return concat(name_of(c.stored), c.along_depth ? " along" : " across", " depth by ", c.vector);
  };
  std::string text = concat(p.rows.str(), " x ", p.columns.str(), " x ", p.depth.str());
  if (!p.batch.is(1)) text = concat(p.batch.str(), " of ", text);
  text += concat(", left ", copy(p.left), ", right ", copy(p.right));
  return p.form.empty() ? text : concat(text, ", ", p.form);
}

KernelText emit_product(const Kernel& kernel, const Product& product, const ProductTile& tile,
                        const std::string& kind) {
  if (tile.is_cluster) return emit_cluster_product(kernel, product, tile, kind);
  KernelText text = ProductText(kernel, product, tile).emit(kind);
  if (tile.splits > 1) text.then.push_back(emit_split_sum(kernel, product, tile.splits, kind));
  return text;
}

ProductSize size_for_cost(const Kernel& kernel, const Product& product) {
  ProductSize size{typical(product.batch), typical(product.rows), typical(product.columns), typical(product.depth)};
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

ProductForm form_of(const Product& product, const Target& target) {
  const auto is_held = [&](const Product::Copy& copy) {
    const Conversion conversion = conversion_of(copy.stored, arithmetic_of(target));
    return !conversion.is_kept || size_of(copy.stored) * copy.vector < 4;
  };
  return {product.left.along_depth, product.right.along_depth, is_held(product.left) || is_held(product.right),
          product.whole_steps,      product.divides,           product.gathers,
          product.left.vector == 1, product.right.vector == 1, product.tma_view(true) && product.tma_view(false)};
}

std::string tile_type(const Conversion& conversion, const ProductTile& tile, int rows, bool along_depth) {
  if (tile.is_wide) return concat("gart_swizzled_tile<", rows, ", ", along_depth ? "true" : "false", ">");
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
