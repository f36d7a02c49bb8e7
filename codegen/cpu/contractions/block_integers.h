// Products by low-bit integers (BlockPacking) in integer arithmetic, for CPUs with VPDPBUSD.
//
// Rows of A become integers, with a scale for each of their blocks. An integer has two or three bytes, which are
// multiplied one after the other. A word of weights then takes a few instructions, while floats take three for each
// integer in the word. With two bytes, an element of A loses at most 2^-16 of the largest element in its block. Three
// bytes keep the digits of f32 (BlockPacking::exact). With three bytes, elements much larger than the others of their
// block are multiplied as floats, one by one.
#pragma once

#include "codegen/cpu/contractions/block_weights.h"

namespace gcg::cpu {

/// The most rows of A that are multiplied as integers: the rows of two register tiles.
constexpr int kIntegerRows = 18;

/// True if the target multiplies few rows as integers. Requires a single matrix whose rows are contiguous.
bool multiplies_rows_as_integers(const CpuTarget& target, const MatMulKernel& matmul, int lanes);

/// Bytes of a row of A as integers.
int64_t integer_row_bytes(const MatMulKernel& matmul);

/// Emits the conversion of the first `rows` rows of A, `row_stride` floats apart, to integers.
void emit_integer_rows(FunctionBuilder& f, const MatMulKernel& matmul, llvm::Value* a, llvm::Value* row_stride,
                       llvm::Value* rows, llvm::Value* integers);

/// Emits sums = A * panel for `rows` rows, whose integers are at `integers`. A's columns are adjacent.
void emit_integer_tile(FunctionBuilder& f, const MatMulKernel& matmul, int lanes, int rows, const BlockPanel& panel,
                       llvm::Value* integers, const BlockTile& tile);

}  // namespace gcg::cpu
