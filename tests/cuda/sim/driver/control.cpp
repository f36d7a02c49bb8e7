#include <deque>

#include "tests/cuda/sim/driver/gart_sim.h"
#include "tests/cuda/sim/driver/graph.h"

using namespace gart_sim;

#define GART_SIM_EXPORT extern "C" __attribute__((visibility("default")))

namespace {
std::unique_lock<std::recursive_mutex> lock() { return std::unique_lock(World::get().mutex); }

std::deque<std::string>& reports() {
  static auto* list = new std::deque<std::string>;
  for (std::string& text : take_reports()) list->push_back(std::move(text));
  return *list;
}
}  // namespace

GART_SIM_EXPORT uint64_t gart_sim_count(const char* name) {
  const auto held = lock();
  const auto it = World::get().counts.find(name);
  return it == World::get().counts.end() ? 0 : it->second;
}

GART_SIM_EXPORT void gart_sim_forget_counts(void) {
  const auto held = lock();
  World::get().counts.clear();
}

GART_SIM_EXPORT void gart_sim_fail(const char* text) {
  const auto held = lock();
  World::get().set_failures(text);
}

GART_SIM_EXPORT void gart_sim_drop_edge(uint64_t k) {
  const auto held = lock();
  World::get().dropped_edge = k;
}

GART_SIM_EXPORT int gart_sim_set_order(const char* text) {
  const auto held = lock();
  return World::get().set_order(text);
}

GART_SIM_EXPORT void gart_sim_set_memory(size_t bytes) {
  const auto held = lock();
  DeviceMemory::get().set_capacity(bytes);
}

GART_SIM_EXPORT void gart_sim_set_driver_version(int version) {
  const auto held = lock();
  World::get().driver_version = version;
}

GART_SIM_EXPORT void gart_sim_set_sm(int sm) {
  const auto held = lock();
  World::get().sm = sm;
}

GART_SIM_EXPORT size_t gart_sim_report_count(void) {
  const auto held = lock();
  return reports().size();
}

GART_SIM_EXPORT const char* gart_sim_take_report(void) {
  const auto held = lock();
  static std::string text;
  if (reports().empty()) return nullptr;
  text = std::move(reports().front());
  reports().pop_front();
  return text.c_str();
}

GART_SIM_EXPORT const char* gart_sim_alive(void) {
  const auto held = lock();
  static std::string text;
  text = World::get().alive();
  return text.c_str();
}

GART_SIM_EXPORT uint64_t gart_sim_used_bytes(int device) {
  const auto held = lock();
  return DeviceMemory::get().used(device);
}

GART_SIM_EXPORT void gart_sim_revive(void) {
  const auto held = lock();
  World& world = World::get();
  for (const auto& context : world.contexts) {
    if (!context->sticky) continue;
    context->sticky = 0;
    context->retained = 0;
    DeviceMemory::get().free_all(context->device);
  }
  DeviceMemory::get().free_all(DeviceMemory::kHost);
  world.execs.clear();
  world.graphs.clear();
  world.events.clear();
  world.streams.clear();
  world.default_streams.clear();
  world.modules.clear();
  current_context() = nullptr;
}
