// The plan of an attention: its blocks of query rows, its two products and its softmax.
//
// A task is one block of rows of one batch entry. Whole rows of its scores lie in scratch memory. So the steps do the
// same as three separate operators (product, Softmax, product), with the same order of sums, and give the same bits.
// When a thread begins an entry, it packs the panels of the entry's keys and values. The thread uses these panels for
// all blocks of rows that it computes.
#pragma once

#include <string>
#include <vector>

#include "codegen/cpu/contractions/matmul_plan.h"
#include "codegen/cpu/llvm/function_builder.h"
#include "codegen/cpu/loops/loop_plan.h"
#include "compiler/kernel/kernel.h"

namespace gcg::cpu {

struct AttentionPlan {
  /// Scores = Q K and sums = P V. Their last batch axis is the first row of a block. The scores of a block are stored
  /// in operand `rows`.
  MatMulKernel scores, sums;
  MatMulPlan scores_plan, sums_plan;  // the plans have the same row tiles
  Axis first;
  int rows = -1;                   // operand: an array [row of the block][row_words]
  std::vector<StagePlan> softmax;  // stages for a row: reductions, then the store
  Dim block_tiles, blocks;         // row tiles of a block; the last block may have fewer

  Dim tasks() const;
  /// The number of panels of a product's right factor that are kept in scratch memory. If several blocks use the
  /// panels, all are kept.
  Dim kept_panels(const MatMulPlan& product) const;
  /// Offset of a product's panels in scratch memory, in words after the arrays. The order is: the sums of a row tile,
  /// panels of K, panels of V.
  Dim panel_offset(const MatMulPlan& product) const;
  Dim words() const;
  std::string note() const;
};

/// Adds the array of scores to the function's kernel.
AttentionPlan plan_attention(FunctionBuilder& f, const AttentionKernel& attention);

}  // namespace gcg::cpu
