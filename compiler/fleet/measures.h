// Rates and times that a user hands in, held to what an artifact may say of them.
#pragma once

#include <string>

#include "compiler/fleet/fleet.h"

namespace gcg {

/// GFLOP/s or GB/s: 0 (not known), or one that the verifier takes. Throws CompileError that begins with `what`.
double checked_rate(double rate, const std::string& what);

/// Of a measurement or a link. Throws CompileError that begins with `what`.
double checked_microseconds(double time, const std::string& what);

/// All of a fleet that was not read from a text. Throws CompileError naming device or link.
void check_measures(const Fleet& fleet);

/// A time that was computed from others, no longer than an artifact can say it.
double bounded_microseconds(double time);

}  // namespace gcg
