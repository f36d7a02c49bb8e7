// An epilogue as what libraries can do after a contraction: scale, add a vector, add a tensor, activate.
#pragma once

#include <optional>

#include "compiler/kernel/library_call.h"

namespace gcg::library {

/// Where an access lies for the values of the kernel's axes, in elements.
struct Access {
  int operand = -1;
  Affine address;
};

struct EpilogueMatch {
  double scale = 1;                    // of the sum
  std::optional<Access> bias, addend;  // a vector along one axis; a tensor that moves as the result does
  LibraryActivation activation = LibraryActivation::none;
};

/// nullopt where the address is not linear in the axes.
std::optional<Affine> address_of(const Operand& operand, const std::vector<Expr>& index);
/// How far `address` moves along the axis.
Dim stride_of(const Affine& address, const Axis& axis);

/// What an f32 value reads, where it is nothing but one element of memory.
std::optional<Access> access_of(const Kernel& kernel, Expr term);

/// The factor that `e` gives the accumulator; nullopt if it is something else.
std::optional<double> accumulator_scale(const Expr& e);

/// `epilogue` of `kernel` as activation(scale * accumulator + bias + addend), in f32; nullopt if it is anything else.
/// The bias runs along `bias_axis`.
std::optional<EpilogueMatch> match_epilogue(const Kernel& kernel, const Expr& epilogue, const Axis& bias_axis,
                                            const Affine& result);

}  // namespace gcg::library
