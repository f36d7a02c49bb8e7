// The inputs of DeformConv.
#pragma once

namespace gcg {

enum : int { kDeformX, kDeformW, kDeformOffset, kDeformBias, kDeformMask };

}  // namespace gcg
