// Matches an epilogue with the operations that libraries apply after a contraction: scale, add a vector, add a tensor,
// activate.
#pragma once

#include <optional>

#include "compiler/kernel/library_call.h"

namespace gcg::library {

/// An access: its operand, and its address in elements as a function of the kernel's axes.
struct Access {
  int operand = -1;
  Affine address;
};

struct EpilogueMatch {
  double scale = 1;                    // of the sum
  std::optional<Access> bias, addend;  // a vector along one axis; a tensor with the result's strides
  LibraryActivation activation = LibraryActivation::none;
};

/// The address of an element; nullopt if it is not linear in the axes.
std::optional<Affine> address_of(const Operand& operand, const std::vector<Expr>& index);
/// The stride of `address` along the axis.
Dim stride_of(const Affine& address, const Axis& axis);

/// The access behind an f32 value that is exactly one element of memory; nullopt for other values.
std::optional<Access> access_of(const Kernel& kernel, Expr term);

/// The factor by which `e` multiplies the accumulator; nullopt for another expression.
std::optional<double> accumulator_scale(const Expr& e);

/// `epilogue` of `kernel` as activation(scale * accumulator + bias + addend), in f32. Nullopt if it has another form.
/// The bias runs along `bias_axis`.
std::optional<EpilogueMatch> match_epilogue(const Kernel& kernel, const Expr& epilogue, const Axis& bias_axis,
                                            const Affine& result);

}  // namespace gcg::library
