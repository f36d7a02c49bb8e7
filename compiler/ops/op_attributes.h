// The attributes that the readers of a node ask for: op_attributes.inc lists them.
#pragma once

#include <string>

#include "compiler/ops/op_def.h"

namespace gcg {

/// Why a node of a model must not have this attribute: nothing that computes the node asks for it, or its value says
/// what nothing here computes, or it is a flag that is neither 0 nor 1. Empty where it may. `value` is null for
/// attributes that are graphs, types or tensors of a kind that is not supported.
std::string why_not_attribute(const OpDef& op, const std::string& name, const Attribute* value);

}  // namespace gcg
