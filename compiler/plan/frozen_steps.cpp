#include "compiler/plan/frozen_steps.h"

#include <algorithm>
#include <functional>
#include <string>

#include "compiler/support/error.h"

namespace gcg {
namespace {

template <class T>
void add(size_t& hash, const T& value) {
  hash ^= std::hash<T>()(value) + 0x9e3779b97f4a7c15 + (hash << 6) + (hash >> 2);
}

template <class Id>
void add(size_t& hash, const std::vector<Id>& ids) {
  add(hash, ids.size());
  for (const Id& id : ids) add(hash, id);
}

size_t hash_of(const Step& step, FrozenSteps::Facts facts) {
  size_t hash = step.work.index();
  add(hash, step.source);
  for (const std::vector<BufferId>& buffers : {step.reads(), step.writes(), step.in_place()}) add(hash, buffers);
  add(hash, step.bodies());
  const auto* launch = step.as<Launch>();
  if (launch != nullptr) add(hash, launch->kernel), add(hash, launch->continues);
  if (facts == FrozenSteps::Facts::work) return hash;
  add(hash, step.waits);
  add(hash, step.stream);
  if (launch != nullptr) add(hash, launch->overlaps);
  return hash;
}

std::vector<size_t> hashes_of(const Sequence& sequence, FrozenSteps::Facts facts) {
  std::vector<size_t> hashes;
  for (const Step& step : sequence.steps) hashes.push_back(hash_of(step, facts));
  return hashes;
}

}  // namespace

FrozenSteps::FrozenSteps(const std::vector<Plan>& plans, Facts facts) : facts_(facts) {
  for (const Plan& plan : plans) {
    auto& sequences = steps_.emplace_back();
    for (const Sequence& sequence : plan.sequences) sequences.push_back(hashes_of(sequence, facts));
  }
}

void FrozenSteps::check(const std::vector<Plan>& plans) const {
  GCG_CHECK(plans.size() == steps_.size(), "there were ", steps_.size(), " plans, now there are ", plans.size());
  for (size_t p = 0; p < plans.size(); ++p) {
    const auto& sequences = plans[p].sequences;
    GCG_CHECK(sequences.size() == steps_[p].size(), "plan ", p, " had ", steps_[p].size(), " sequences, now it has ",
              sequences.size());
    for (const SequenceId s : sequences.ids()) {
      const std::vector<size_t>& before = steps_[p][static_cast<size_t>(s.index)];
      const std::vector<size_t> now = hashes_of(sequences[s], facts_);
      GCG_CHECK(now.size() == before.size(), "sequence ", s.index, " of plan ", p, " had ", before.size(),
                " steps, now it has ", now.size());
      const auto differs = std::mismatch(now.begin(), now.end(), before.begin()).first - now.begin();
      GCG_CHECK(static_cast<size_t>(differs) == now.size(), "step ", differs, " ('",
                sequences[s].steps[StepId(differs)].source, "') of plan ", p, " changed after it was final");
    }
  }
}

}  // namespace gcg
