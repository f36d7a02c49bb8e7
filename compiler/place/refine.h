// Improves a placement by measurements, in rounds: run, measure, correct the problem's times, decide.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/place/place.h"
#include "compiler/place/problem.h"

namespace gcg::place {

struct RefineOptions {
  double threshold = 0.02;  // least gain of a move, as a share of the run
  /// Noise of a run. A move has to gain more than this and the noise of the groups that stay.
  double noise_us = 0;
  Options place;
};

struct Refined {
  Placement placement;
  double us = 0;      // predicted time of a run
  double was_us = 0;  // predicted time of a run with the current placement
  bool moved = false;
  std::string by;                           // the method that found the placement
  std::optional<PlacementFailure> failure;  // set if nothing fits: the reason
};

/// `problem`: with measured times. Compares four kinds of placements: the current one; one group on another device; the
/// groups of two devices exchanged; the result of place(). Two devices are exchanged only if one would run all groups
/// of both faster than the other, and now idles longer. Keeps the current placement if nothing gains enough, unless it
/// does not fit.
Refined refine(const Problem& problem, const Placement& now, const RefineOptions& options = {});

/// One round of `bench --replace`.
struct Round {
  Placement placement;
  double predicted_us = 0, measured_us = 0, noise_us = 0;
};

struct NextRound {
  bool stop = false;
  Placement placement;      // placement of the next round; at the end, the placement with the least measured time
  double predicted_us = 0;  // predicted time of `placement`; at the end, its measured time
  std::string why;
};

/// Decides what to do after `rounds`, which must not be empty. The problem's times are corrected by all
/// measurements. The next round tries the best untried placement, if it promises to gain enough over the least measured
/// time. Otherwise the rounds end.
NextRound next_round(const Problem& problem, const std::vector<Round>& rounds, const RefineOptions& options = {},
                     int most_rounds = 8);

}  // namespace gcg::place
