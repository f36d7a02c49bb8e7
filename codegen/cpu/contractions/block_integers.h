// Products by integers of few bits (BlockPacking) in integers, where the CPU has VPDPBUSD: rows of A become 16-bit
// integers with a scale for each of their blocks, in two bytes that are multiplied one after the other. So a word of
// weights takes a few instructions where floats take three for each of its integers, and what an element of A loses is
// at most 2^-16 of the largest in its block.
#pragma once

#include "codegen/cpu/contractions/block_weights.h"

namespace gcg::cpu {

/// Rows of A, at most, that are multiplied as integers: two tiles of registers.
constexpr int kIntegerRows = 18;

/// Does the target multiply a few rows so? Of one matrix, whose rows' elements lie side by side.
bool multiplies_rows_as_integers(const CpuTarget& target, const MatMulKernel& matmul, int lanes);

/// Of a row of A as integers.
int64_t integer_row_bytes(const MatMulKernel& matmul);

/// Emits the first `rows` rows of A, `row_stride` floats apart, as integers.
void emit_integer_rows(FunctionBuilder& f, const MatMulKernel& matmul, llvm::Value* a, llvm::Value* row_stride,
                       llvm::Value* rows, llvm::Value* integers);

/// Emits sums = A * panel for `rows` rows; sums [rows][columns of a panel], aligned to a vector.
void emit_integer_tile(FunctionBuilder& f, const MatMulKernel& matmul, int lanes, int rows, const BlockPanel& panel,
                       llvm::Value* integers, llvm::Value* sums);

}  // namespace gcg::cpu
