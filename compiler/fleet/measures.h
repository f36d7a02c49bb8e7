// Checks the rates and times that a user passes in against the limits of an artifact.
#pragma once

#include <string>

#include "compiler/fleet/fleet.h"

namespace gcg {

/// Checks a rate in GFLOP/s or GB/s: it must be 0 (not known) or accepted by the verifier. Throws CompileError with a
/// message that begins with `what`.
double checked_rate(double rate, const std::string& what);

/// Checks the time of a measurement or a link, in microseconds. Throws CompileError with a message that begins with
/// `what`.
double checked_microseconds(double time, const std::string& what);

/// Checks all rates and times of a fleet that was not read from a text. Throws CompileError naming the device or link.
void check_measures(const Fleet& fleet);

/// Limits a computed time to the longest one that an artifact can hold.
double bounded_microseconds(double time);

}  // namespace gcg
