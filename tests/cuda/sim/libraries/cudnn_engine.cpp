#include "tests/cuda/sim/libraries/cudnn_engine.h"

#include <algorithm>
#include <span>
#include <string>

#include "tests/cuda/sim/libraries/library_work.h"

namespace gart_sim::cudnn {
namespace {

constexpr int kEngines = 4, kFirstIndex = 10;

// If the caller does not set a knob, the heuristic gives it a value other than the default.
struct Knob {
  int type;
  int64_t least, most, unturned, chosen;
};
constexpr int kTileSize = 2, kSplitKBuffers = 12, kStages = 14;

std::span<const Knob> knobs_of(int engine) {
  static constexpr Knob kTensorCores[] = {{kTileSize, 0, 7, 0, 5}};
  static constexpr Knob kGreedy[] = {{kSplitKBuffers, 0, 1, 0, 1}};
  static constexpr Knob kGood[] = {{kTileSize, 0, 3, 0, 2}, {kStages, 1, 4, 1, 3}};
  if (engine == 0) return kTensorCores;
  if (engine == 1) return kGreedy;
  return engine == 2 ? std::span<const Knob>(kGood) : std::span<const Knob>();
}

std::vector<int> notes_of(const Descriptor& engine, int name) {
  if (name == 1303) return engine.engine == 0 ? std::vector<int>{0, 1} : std::vector<int>{};
  return fills_graphs(engine) ? std::vector<int>{3} : std::vector<int>{};
}

using Getter = int (*)(const Descriptor& d, int name, int64_t requested, int64_t* count, void* values);

// True if `values` holds live descriptors of this type, one for each result.
bool has_places(int64_t requested, void* values, int64_t count, DescriptorType type) {
  const auto* places = static_cast<Descriptor**>(values);
  return std::all_of(places, places + std::min(requested, count),
                     [type](const Descriptor* d) { return is_alive(d) && d->type == type; });
}

int get_configs(const Descriptor& d, int, int64_t requested, int64_t* count, void* values) {
  *count = kEngines;
  if (!values) return kSuccess;
  if (!has_places(requested, values, *count, kEngineConfig)) return refuse(kBadParam, "other than configurations");
  for (int i = 0; i < std::min<int64_t>(requested, kEngines); ++i) {
    Descriptor& config = *static_cast<Descriptor**>(values)[i];
    config.engine = i;
    config.knobs.clear();
    for (const Knob& knob : knobs_of(i)) config.knobs[knob.type] = knob.chosen;
    config.graph = d.at(201);
    config.is_final = true;
  }
  return kSuccess;
}

int get_engine(const Descriptor& d, int, int64_t requested, int64_t* count, void* values) {
  if (requested < 1 || !values || !has_places(1, values, 1, kEngine))
    return refuse(kBadParam, "no place for the engine");
  Descriptor& engine = **static_cast<Descriptor**>(values);
  engine.engine = d.engine;
  engine.graph = d.graph;
  engine.is_final = true;
  *count = 1;
  return kSuccess;
}

int get_knob_choices(const Descriptor& d, int, int64_t requested, int64_t* count, void* values) {
  *count = 0;  // without a buffer, the real library does not report their number
  if (!values) return kSuccess;
  *count = static_cast<int64_t>(d.knobs.size());
  if (!has_places(requested, values, *count, kKnobChoice)) return refuse(kBadParam, "other than knob choices");
  auto knob = d.knobs.begin();
  for (int64_t i = 0; i < std::min(requested, *count); ++i, ++knob) {
    Descriptor& choice = *static_cast<Descriptor**>(values)[i];
    const auto keep = [&choice](int name, int type, const auto& value) {
      const auto* bytes = reinterpret_cast<const unsigned char*>(&value);
      choice.values[name] = {type, {bytes, bytes + sizeof value}};
    };
    keep(600, kKnobType, knob->first);
    keep(601, kInt64, knob->second);
    choice.is_final = true;
  }
  return kSuccess;
}

// The value that the caller has set.
int get_value(const Descriptor& d, int name, int64_t requested, int64_t* count, void* values) {
  *count = 1;
  const auto& bytes = d.values.at(name).bytes;
  if (values && requested > 0) memcpy(values, bytes.data(), bytes.size());
  return kSuccess;
}

int get_index(const Descriptor& d, int, int64_t requested, int64_t* count, void* values) {
  const int64_t index = kFirstIndex + d.engine;
  *count = 1;
  if (values && requested > 0) memcpy(values, &index, sizeof index);
  return kSuccess;
}

int get_notes(const Descriptor& d, int name, int64_t requested, int64_t* count, void* values) {
  const std::vector<int> notes = notes_of(d, name);
  *count = static_cast<int64_t>(notes.size());
  if (values)
    memcpy(values, notes.data(), std::min<size_t>(notes.size(), static_cast<size_t>(requested)) * sizeof(int));
  return kSuccess;
}

struct Attribute {
  int name;
  DescriptorType of;
  AttributeType type;
  Getter get;
};
constexpr Attribute kAttributes[] = {{202, kHeuristic, kDescriptor, get_configs},
                                     {300, kEngineConfig, kDescriptor, get_engine},
                                     {302, kEngineConfig, kDescriptor, get_knob_choices},
                                     {600, kKnobChoice, kKnobType, get_value},
                                     {601, kKnobChoice, kInt64, get_value},
                                     {1301, kEngine, kInt64, get_index},
                                     {1303, kEngine, kNumericalNote, get_notes},
                                     {1305, kEngine, kBehaviorNote, get_notes}};
const Attribute* find(int name) {
  const auto* it = std::find_if(std::begin(kAttributes), std::end(kAttributes),
                                [name](const Attribute& attribute) { return attribute.name == name; });
  return it == std::end(kAttributes) ? nullptr : it;
}

// The value chosen for this engine, given the knobs so far.
int turn_knob(Descriptor& config, const Descriptor* choice) {
  if (!is_final(choice, kKnobChoice)) return refuse(kNotSupported, "a knob choice that is not final");
  const int type = choice->one<int>(600);
  const auto value = choice->one<int64_t>(601);
  const auto knobs = knobs_of(config.engine);
  const auto knob = std::find_if(knobs.begin(), knobs.end(), [type](const Knob& k) { return k.type == type; });
  if (knob == knobs.end()) return refuse(kNotSupported, "a knob that the engine has not");
  if (value < knob->least || value > knob->most) return refuse(kNotSupported, "a value that the knob has not");
  if (!config.knobs.emplace(type, value).second) return refuse(kNotSupported, "a knob that is chosen twice");
  return kSuccess;
}

}  // namespace

int finalize_engine(Descriptor& d) {
  if (!d.has_one(1300, kDescriptor) || !d.has_one(1301, kInt64))
    return refuse(kBadParam, "an engine without graph or index");
  const int64_t engine = d.one<int64_t>(1301) - kFirstIndex;
  if (const int status = check_graph(d.at(1300))) return status;
  if (engine < 0 || engine >= kEngines) return refuse(kNotSupported, "an index of no engine");
  d.engine = static_cast<int>(engine);
  d.graph = d.at(1300);
  return kSuccess;
}

int finalize_knob_choice(Descriptor& d) {
  const bool complete = d.has_one(600, kKnobType) && d.has_one(601, kInt64);
  return complete ? int{kSuccess} : refuse(kBadParam, "a knob choice without knob or value");
}

int finalize_config(Descriptor& d) {
  const Descriptor* engine = d.at(300);
  if (!d.has_one(300, kDescriptor) || !is_final(engine, kEngine))
    return refuse(kBadParam, "a configuration without an engine that is final");
  if (d.has({302}) && d.values.at(302).type != kDescriptor) return refuse(kBadParam, "knobs that are no descriptors");
  d.engine = engine->engine;
  d.graph = engine->graph;
  d.knobs.clear();
  for (const Descriptor* choice : d.list<const Descriptor*>(302)) {
    if (const int status = turn_knob(d, choice)) return status;
  }
  for (const Knob& knob : knobs_of(d.engine)) d.knobs.emplace(knob.type, knob.unturned);
  return kSuccess;
}

bool is_of_engines(int name) { return find(name) != nullptr; }

int get_of_engines(const Descriptor& d, int name, int type, int64_t requested, int64_t* count, void* values) {
  const Attribute& attribute = *find(name);
  if (d.type != attribute.of || !d.is_final) return refuse(kBadParam, "an attribute of another descriptor");
  if (type != attribute.type || requested < 0) return refuse(kBadParam, "an attribute of another type");
  return attribute.get(d, name, requested, count, values);
}

bool fills_graphs(const Descriptor& d) {
  return (d.engine == 0 || d.engine == 2) && setting("GART_SIM_CUDNN_FILLS", 1) != 0;
}

int64_t workspace_of(const Descriptor& plan) {
  if (plan.engine == 1) return int64_t{1} << 40;
  return plan.engine == 3 ? 0 : 256;
}

void count_run(const Descriptor& plan) {
  gart_sim::count("engine " + std::to_string(kFirstIndex + plan.engine) + " of cuDNN");
  for (const auto& [knob, value] : plan.knobs)
    gart_sim::count("knob " + std::to_string(knob) + " at " + std::to_string(value) + " of cuDNN");
}

}  // namespace gart_sim::cudnn
