// The inputs of NonMaxSuppression.
#pragma once

namespace gcg {

enum : int { kNmsBoxes, kNmsScores, kNmsMost, kNmsOverlap, kNmsScore };

}  // namespace gcg
