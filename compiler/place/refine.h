// Placing anew by what was measured, round by round: run, measure, correct the problem's times, decide.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/place/place.h"
#include "compiler/place/problem.h"

namespace gcg::place {

struct RefineOptions {
  double threshold = 0.02;  // that a move has to gain, of the run
  /// Of a run. A move has to gain more than that, and more than the noise of the groups that stay on top.
  double noise_us = 0;
  Options place;
};

struct Refined {
  Placement placement;
  double us = 0;      // of a run so placed
  double was_us = 0;  // of one as it was placed
  bool moved = false;
  std::string by;                // what found it
  std::optional<Misfit> misfit;  // nothing fits: why
};

/// `problem`: with measured times. The best of: as it is; one group on another device; all groups of two devices
/// exchanged where the larger one (that needs less for all of both's groups) idles longer; what place() finds. It stays
/// where nothing gains enough, unless it does not fit.
Refined refine(const Problem& problem, const Placement& now, const RefineOptions& options = {});

/// What a round of `bench --replace` was.
struct Round {
  Placement placement;
  double predicted_us = 0, measured_us = 0, noise_us = 0;
};

struct NextRound {
  bool stop = false;
  Placement placement;      // of the next round; at the end the one that was measured least
  double predicted_us = 0;  // of it; at the end what was measured
  std::string why;
};

/// What to do after the last of `rounds` (at least one), with the problem's times corrected by all that was measured:
/// the best placement that has not been tried yet, if it promises to gain enough on the least that was measured, else
/// the end.
NextRound next_round(const Problem& problem, const std::vector<Round>& rounds, const RefineOptions& options = {},
                     int most_rounds = 8);

}  // namespace gcg::place
