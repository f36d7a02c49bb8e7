#include "codegen/cuda/contractions/block_product.h"

#include <algorithm>
#include <array>
#include <vector>

#include "codegen/cuda/contractions/choice.h"
#include "codegen/cuda/contractions/epilogue_text.h"
#include "compiler/kernel/block_products.h"
#include "compiler/kernel/machine.h"
#include "compiler/support/error.h"

namespace gcg::cuda {
namespace {

constexpr int kTile = 16, kPiece = 64;  // columns of a tile; rows that a warp processes at once

/// How the product is divided among blocks and warps.
struct BlockTiling {
  int tiles;   // number of tiles of 16 columns that a block of threads processes at once: 1, or the 3 of a panel
  int warps;   // number of warps of a block of threads; they share the depth
  int stages;  // number of pieces in the ring of a warp
  int blocks() const { return warps > 8 ? 1 : 2; }  // resident on a multiprocessor
};
constexpr std::array kForms = {BlockTiling{3, 8, 4}, BlockTiling{1, 8, 8}, BlockTiling{3, 16, 3}, BlockTiling{1, 4, 8}};

std::string describe(const BlockTiling& f) {
  return concat(f.tiles * kTile, " columns, ", f.warps, " warps, ", f.stages, " stages");
}

class BlockText {
 public:
  BlockText(const Kernel& kernel, const Target& target, const Product& product, const BlockTiling& tiling)
      : f_(kernel),
        target_(target),
        mm_(std::get<MatMulKernel>(kernel.body)),
        p_(product),
        packing_(*mm_.blocks),
        tiling_(tiling) {}

  KernelText emit() {
    f_.include("gart_block_weights.cuh");
    const Dim units = ceil_div(p_.columns, Dim(int64_t{kTile} * tiling_.tiles));
    const Dim blocks = min(units, Dim(int64_t{tiling_.blocks()} * machine_of(target_).processors));
    f_.line("const int blocks = ", int_text(f_, blocks),
            ", first_unit = blockIdx.x % blocks, batch = blockIdx.x / blocks;");
    EvaluationPoint place;
    p_.declare_batch(f_, place);
    declare_operands();
    f_.wait_later(mm_.b.operand, int64_t{tiling_.stages - 1} * tiling_.warps * stage_bytes());
    f_.wait_later(mm_.scales, 0);
    if (mm_.offsets >= 0) f_.wait_later(mm_.offsets, 0);
    f_.open("const auto finish = [&](int row, int column, float sum)");
    finish_one_sum(f_, p_, place);
    f_.close(";");
    f_.line("GART_SHARED(shared);");
    f_.line("const gart_block_product<Form, ", p_.left.along_depth ? p_.left.vector : 1,
            ", Few, Weights> product = {few, "
            "weights, shared};");
    f_.line("product.run(first_unit, blocks, finish);");
    KernelText text = f_.finish("matmul_blocks", kWarpThreads * tiling_.warps, tiling_.blocks());
    text.tasks = blocks * p_.batch;
    text.shared_bytes = shared_bytes();
    text.note = concat("vectors of ", rows(), " by ", packing_.bits, " bits in blocks of ", packing_.block, ", ",
                       describe(tiling_), parts() > 1 ? ", factors as three bf16" : "");
    return text;
  }

  /// Must match the layout of device/gart_block_weights.cuh.
  int64_t shared_bytes() const {
    return int64_t{tiling_.warps} *
           (tiling_.stages * stage_bytes() + int64_t{4} * kTile * tiling_.tiles * rows() * parts());
  }

 private:
  int64_t rows() const { return p_.rows.constant(); }
  int parts() const { return parts_of_factors(target_); }
  DType scale_type() const { return f_.kernel().operands[static_cast<size_t>(mm_.scales)].dtype; }
  /// Rows per scale; 0: all rows share one scale.
  int64_t block() const { return packing_.block >= packing_.rows ? 0 : packing_.block; }

  int64_t stage_bytes() const {
    const int64_t columns = int64_t{kTile} * tiling_.tiles, line = columns + (packing_.bits == 4 ? 8 : 4);
    const int64_t blocks = block() == 0 ? 1 : std::max<int64_t>(1, kPiece / block());
    const int64_t numbers = static_cast<int64_t>(size_of(scale_type())) + (packing_.offsets ? 4 : 0);
    return kPiece * packing_.bits / 32 * line * 4 + blocks * columns * numbers;
  }

  void declare_operands() {
    const Product::Matrix m = *p_.matrix(f_, true);
    const Arithmetic arithmetic = parts() > 1 ? Arithmetic::scalar : arithmetic_of(target_);
    const std::string scale = stored_type(scale_type());
    f_.line("typedef gart_lines<", conversion_of(p_.left.stored, arithmetic).name, "> Few;");
    f_.line("const Few few = {", m.base, ", ", f_.dim(m.line_stride).as_wide(), ", ", f_.dim(m.depth_stride).as_wide(),
            ", ", rows(), "};");
    f_.line("typedef gart_block_matrix<", scale, "> Weights;");
    f_.line("const Weights weights = {", f_.pointer(mm_.b.operand), ", ", f_.pointer(mm_.scales), ", ",
            mm_.offsets >= 0 ? f_.pointer(mm_.offsets) : "nullptr", ", ", int_text(f_, p_.columns), ", ",
            int_text(f_, p_.depth), "};");
    const char* kind = parts() == 1 && arithmetic == Arithmetic::f16 ? "gart_f16" : "gart_bf16";
    f_.line("typedef gart_block_plan<", kind, ", ", rows(), ", ", parts(), ", ", packing_.bits, ", ", block(), ", ",
            tiling_.tiles, ", ", tiling_.warps, ", ", tiling_.stages, ", ", packing_.offsets ? "true" : "false", ", ",
            scale, "> Form;");
  }

  FunctionText f_;
  const Target& target_;
  const MatMulKernel& mm_;
  const Product& p_;
  const BlockPacking& packing_;
  BlockTiling tiling_;
};

/// The tilings whose rings fit shared memory, best first. Uses whole panels if they occupy all multiprocessors.
std::vector<BlockTiling> forms_of(const Kernel& kernel, const Target& target, const Product& product) {
  const Machine& gpu = machine_of(target);
  std::vector<BlockTiling> tilings;
  for (const BlockTiling& f : kForms)
    if (BlockText(kernel, target, product, f).shared_bytes() <= gpu.shared_block_bytes) tilings.push_back(f);
  const bool fills = product.columns.constant() / (3 * kTile) >= gpu.processors;
  std::stable_sort(tilings.begin(), tilings.end(), [&](const BlockTiling& a, const BlockTiling& b) {
    return (a.tiles == 3) == fills && (b.tiles == 3) != fills;
  });
  GCG_CHECK(!tilings.empty(), "no ring of weights fits a multiprocessor of ", gpu.name);
  return tilings;
}

}  // namespace

KernelText emit_block_product(const Kernel& kernel, const Target& target) {
  const auto product = matmul_product(kernel);
  const BlockPacking& packing = *std::get<MatMulKernel>(kernel.body).blocks;
  const std::vector<BlockTiling> tilings = forms_of(kernel, target, *product);
  std::vector<std::string> names;
  for (const BlockTiling& f : tilings) names.push_back(describe(f));
  const std::string shape = concat(shape_text(*product), ", ", packing.bits, " bits, blocks of ", packing.block);
  const Choice choice = choose(target, "matmul_blocks", shape, std::move(names));
  KernelText text = BlockText(kernel, target, *product, tilings[choice.index]).emit();
  text.note += choice.note();
  return text;
}

}  // namespace gcg::cuda
