// The attributes that code reads from each node; op_attributes.inc lists them.
#pragma once

#include <string>

#include "compiler/ops/op_def.h"

namespace gcg {

/// The reason why a node of a model must not have this attribute; empty if it may. The reasons: no code reads the
/// attribute, its value asks for something unsupported, or it is a flag other than 0 and 1. `value` is null for
/// attributes that are graphs, types or unsupported tensors.
std::string why_not_attribute(const OpDef& op, const std::string& name, const Attribute* value);

}  // namespace gcg
