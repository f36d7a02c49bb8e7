// Random numbers and exponentials that are the same on every machine.
#pragma once

#include <cstdint>

namespace gart::detail {

/// A number in [0, 1) with 53 random bits, by Philox4x32-10 (Salmon et al., 2011). `seed` is the key and `position` the
/// counter, so each position has its own number, whatever was drawn before.
double random_at(uint64_t seed, uint64_t position);

/// e^x for x <= 0, within 2 ulp. It uses only additions and products, because the exponential of the C library differs
/// between versions.
double exponential(double x);

}  // namespace gart::detail
