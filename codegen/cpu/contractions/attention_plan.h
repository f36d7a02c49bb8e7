// How an attention is cut into blocks of query rows, and the two products and the softmax that it consists of.
//
// A task is one block of rows of one batch entry. Its scores lie in scratch memory, whole rows of them: so each step
// does what a product, a Softmax and a product by themselves do, in the same order of sums, and gives the same bits. A
// thread packs the panels of an entry's keys and values when it begins with the entry, for all blocks of rows that it
// does.
#pragma once

#include <string>
#include <vector>

#include "codegen/cpu/contractions/matmul_plan.h"
#include "codegen/cpu/llvm/function_builder.h"
#include "codegen/cpu/loops/loop_plan.h"
#include "compiler/kernel/kernel.h"

namespace gcg::cpu {

struct AttentionPlan {
  /// Scores = Q K and sums = P V; the last of their batch axes is the first row of a block, whose elements lie in
  /// `rows`.
  MatMulKernel scores, sums;
  MatMulPlan scores_plan, sums_plan;  // with the same row tiles
  Axis first;
  int rows = -1;                   // operand: an array [row of the block][row_words]
  std::vector<StagePlan> softmax;  // of a row: reductions, then the store
  Dim block_tiles, blocks;         // row tiles of a block; the last block may have fewer

  Dim tasks() const;
  /// Panels of a product's right factor that lie in scratch memory: all of them if several blocks use them.
  Dim kept_panels(const MatMulPlan& product) const;
  /// Of the scratch memory, in words after the arrays: the sums of a row tile, panels of K, panels of V.
  Dim panel_offset(const MatMulPlan& product) const;
  Dim words() const;
  std::string note() const;
};

/// Adds the array of scores to the function's kernel.
AttentionPlan plan_attention(FunctionBuilder& f, const AttentionKernel& attention);

}  // namespace gcg::cpu
