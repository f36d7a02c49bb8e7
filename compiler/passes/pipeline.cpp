// Which passes run, and why in this order.
#include "compiler/passes/block_channels.h"
#include "compiler/passes/pack_weights.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/resolve_ranks.h"

namespace gcg {

const std::vector<Pass>& model_passes() {
  static const std::vector<Pass> passes = {
      // Ranks first: nothing else can look at a value of unknown rank.
      {"resolve-ranks", [](Graph& g, const Target*) { return resolve_ranks(g); }},
  };
  return passes;
}

const std::vector<Pass>& device_passes() {
  static const std::vector<Pass> passes = {
      {"block-channels", [](Graph& g, const Target* t) { return block_channels(g, *t); }},
      {"pack-weights", [](Graph& g, const Target* t) { return pack_weights(g, *t); }},
  };
  return passes;
}

}  // namespace gcg
