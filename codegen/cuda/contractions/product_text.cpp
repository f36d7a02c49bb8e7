#include "codegen/cuda/contractions/product_text.h"

#include <algorithm>
#include <cmath>

#include "compiler/kernel/typical_extent.h"

namespace gcg::cuda {
namespace {

/// The number of neighbouring columns whose sums a thread holds.
int neighbours(const Product& product, const ProductTile& tile) {
  if (tile.arithmetic != Arithmetic::scalar) return 2;
  return product.right.along_depth ? 1 : 4;
}

std::string sum_name(int v) { return v == 0 ? "sums.sum(i, j)" : concat("sums.sum(i, j + ", v, ")"); }

}  // namespace

bool has_loads(const Expr& e) {
  bool found = false;
  visit(e, [&](const ExprNode& n) { found = found || n.kind == ExprKind::load; });
  return found;
}

ProductText::ProductText(const Kernel& kernel, const Product& product, const ProductTile& tile)
    : f_(kernel),
      p_(product),
      tile_(tile),
      vector_(std::min(product.vector, neighbours(product, tile))),
      epilogue_(f_, product, vector_) {}

void ProductText::coordinates(const std::string& number) {
  const std::string columns = int_text(f_, ceil_div(p_.columns, Dim(tile_.columns))),
                    rows = int_text(f_, ceil_div(p_.rows, Dim(tile_.rows)));
  f_.line("const int column0 = ", number, " % ", columns, " * ", tile_.columns, ";");
  f_.line("const int row0 = ", number, " / ", columns, " % ", rows, " * ", tile_.rows, ";");
  f_.line("const int rest = ", number, " / ", columns, " / ", rows, ";");
  if (tile_.splits == 1) return f_.line("const int batch = rest;");
  f_.line("const int batch = rest % ", int_text(f_, p_.batch), ", split = rest / ", int_text(f_, p_.batch), ";");
}

Dim ProductText::tile_count() const {
  return ceil_div(p_.rows, Dim(tile_.rows)) * ceil_div(p_.columns, Dim(tile_.columns)) * p_.batch * tile_.splits;
}

int ProductText::copy_ahead(int stages) {
  const auto tile_bytes = [&](int lines, const Product::Copy& copy) {
    return static_cast<int64_t>(stages) * lines * tile_.depth * size_of(copy.stored);
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

ProductText::Steps ProductText::steps(const Dim& all) {
  const std::string count = int_text(f_, all);
  if (tile_.splits == 1) return {"0", count};
  const std::string each = int_text(f_, ceil_div(all, Dim(tile_.splits)));
  f_.line("const int first_step = split * ", each, ", steps = gart_max(0, gart_min(", each, ", ", count,
          " - first_step));");
  return {"first_step", "steps"};
}

/// Issues the epilogue's loads before the first result is stored. A thread with many sums does this in parts.
void ProductText::store_results() {
  constexpr int kPart = 8;
  const bool in_parts = tile_.is_wide() && has_loads(p_.epilogue);
  if (in_parts) {
    f_.line("#pragma unroll");
    f_.open("for (int part = 0; part < Sums::kColumns; part += ", kPart, ")");
  }
  const std::string first = in_parts ? "part" : "0", end = in_parts ? concat("part + ", kPart) : "Sums::kColumns";
  if (has_loads(p_.epilogue)) {
    each_sum("row0", first, end, [&](const EvaluationPoint& place) { epilogue_.values(place, sum_name); });
    f_.line("const int same_row0 = gart_computed_again(row0);");
  }
  each_sum(has_loads(p_.epilogue) ? "same_row0" : "row0", first, end, [&](const EvaluationPoint& place) {
    if (!has_loads(p_.epilogue)) epilogue_.values(place, sum_name);
    epilogue_.store(place, sum_name);
  });
  if (in_parts) f_.close();
}

/// Calls body(place) for each result of this thread in the tile that begins at `row0`. A result is `vector` columns,
/// from `column` on, in row `row`. `first` and `end` limit the thread's own columns.
template <class Body>
void ProductText::each_sum(const std::string& row0, const std::string& first, const std::string& end,
                           const Body& body) {
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

void ProductText::store_partial_sums() {
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

KernelText ProductText::finish(const std::string& kind, int least_blocks) const {
  KernelText text = f_.finish(kind, tile_.threads(), least_blocks);
  text.shared_bytes = shared_bytes(tile_, memory_constraints(p_));
  text.note = concat(describe(tile_), ", expected ", std::round(tile_.microseconds * 10) / 10, " us", assumed_text());
  if (tile_.splits > 1) text.scratch_bytes = p_.batch * p_.rows * p_.columns * (4 * tile_.splits);
  return text;
}

/// The assumptions of the cost model, for the kernel's note.
std::string ProductText::assumed_text() const {
  for (const Dim& d : {p_.batch, p_.rows, p_.columns, p_.depth})
    if (!d.is_constant()) return concat(" with open extents of ", kTypicalExtent);
  return "";
}

}  // namespace gcg::cuda
