#include "tests/cuda/sim/driver/world.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "tests/cuda/sim/driver/graph.h"
#include "tests/cuda/sim/engine/block.h"

namespace gart_sim {
namespace {

thread_local bool in_host_function = false;

const char* setting(const char* name) {
  const char* value = getenv(name);
  return value && *value ? value : nullptr;
}

}  // namespace

bool& is_in_host_function() { return in_host_function; }

Context*& current_context() {
  thread_local Context* current = nullptr;
  return current;
}

World& World::get() {
  static World world;
  return world;
}

World::World() {
  DeviceMemory::get();
  set_conditional_callback([](unsigned long long handle, unsigned value) { conditional_value(handle) = value; });
  read_environment();
}

// $GART_SIM_STATS=1: prints the counts to stderr at the end of the process.
void World::print_counts() const {
  const char* wanted = setting("GART_SIM_STATS");
  if (!wanted || *wanted == '0') return;
  for (const auto& [name, count] : counts)
    fprintf(stderr, "gart-sim: %s %llu\n", name.c_str(), static_cast<unsigned long long>(count));
}

World::~World() {
  print_counts();
  const char* leaks = setting("GART_SIM_LEAKS");
  if (!leaks || *leaks == '0') return;
  if (const std::string left = alive(); !left.empty()) {
    report(Finding::leak, "at the end of the process there are " + left);
    _exit(86);
  }
}

void World::read_environment() {
  if (const char* text = setting("GART_SIM_DRIVER")) driver_version = atoi(text);
  if (const char* text = setting("GART_SIM_SM")) sm = atoi(text);
  if (const char* text = setting("GART_SIM_ORDER")) set_order(text);
  if (const char* text = setting("GART_SIM_FAIL")) set_failures(text);
  if (const char* text = setting("GART_SIM_DROP_EDGE")) dropped_edge = strtoull(text, nullptr, 0);
  if (const char* text = setting("GART_SIM_EXEC_OVERLAP")) allows_exec_overlap = *text == '1';
  if (const char* text = setting("GART_SIM_PEERS")) has_peers = *text == '1';
  const char* devices = setting("GART_SIM_DEVICES");
  const int count = devices ? atoi(devices) : 1;
  for (int i = 0; i < count; ++i) {
    contexts.push_back(std::make_unique<Context>());
    contexts.back()->device = i;
  }
}

// "KIND" or "KIND:SEED".
bool World::set_order(const std::string& text) {
  const size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  constexpr std::pair<const char*, Order::Kind> kinds[] = {{"first_in", Order::Kind::first_in},
                                                           {"last_in", Order::Kind::last_in},
                                                           {"random", Order::Kind::random},
                                                           {"delay", Order::Kind::delay},
                                                           {"mixed", Order::Kind::mixed}};
  for (const auto& [name, value] : kinds) {
    if (kind != name) continue;
    order.kind = value;
    if (colon != std::string::npos) order.seed = strtoull(text.c_str() + colon + 1, nullptr, 0);
    return true;
  }
  return false;
}

// "[NAME:]K:CODE", or several with commas.
void World::set_failures(const std::string& text) {
  failures.clear();
  std::istringstream list(text);
  for (std::string item; std::getline(list, item, ',');) {
    std::vector<std::string> words;
    std::istringstream parts(item);
    for (std::string word; std::getline(parts, word, ':');) words.push_back(word);
    if (words.size() < 2 || words.size() > 3) continue;
    Failure failure;
    if (words.size() == 3) failure.name = words[0];
    failure.at = strtoull(words[words.size() - 2].c_str(), nullptr, 0);
    failure.code = atoi(words.back().c_str());
    failures.push_back(failure);
  }
}

int World::count(const std::string& name) {
  const bool is_call = name.starts_with("cu");
  const uint64_t of_name = ++counts[name];
  const uint64_t of_all = is_call ? ++counts["calls"] : 0;
  for (const Failure& failure : failures) {
    if (failure.name.empty() ? is_call && failure.at == of_all : failure.name == name && failure.at == of_name) {
      return failure.code;
    }
  }
  return 0;
}

bool World::is_sticky(int error) {
  constexpr int codes[] = {214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 810, 911};
  return std::find(std::begin(codes), std::end(codes), error) != std::end(codes);
}

void World::lose(Context* context, int error) {
  context->sticky = error;
  context->queue.abandon();
}

std::string World::alive() const {
  std::string text;
  const auto add = [&text](size_t count, const std::string& kind) {
    if (count) text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + kind;
  };
  size_t allocations = 0, retained = 0;
  for (const auto& context : contexts) {
    if (context->sticky) return "";  // Objects of a lost context cannot be freed.
    allocations += DeviceMemory::get().live(context->device);
    retained += static_cast<size_t>(context->retained);
  }
  add(allocations, "allocations");
  add(DeviceMemory::get().live(DeviceMemory::kHost), "host allocations");
  add(streams.count(), streams.kind());
  add(events.count(), events.kind());
  add(modules.count(), modules.kind());
  add(graphs.count(), graphs.kind());
  add(execs.count(), execs.kind());
  add(retained, "retained contexts");
  return text;
}

Function* World::find_function(void* handle) const {
  for (const auto& [module, owned] : modules.all()) {
    for (const auto& function : owned->functions) {
      if (function.get() == handle) return function.get();
    }
  }
  return nullptr;
}

Call::Call(const char* name, Needs needs) : name_(name), lock_(World::get().mutex) {
  World& world = World::get();
  Context* current = current_context();
  if (is_in_host_function()) {
    report(Finding::api_misuse, std::string(name) + " is called by a host function");
    failed_ = kNotPermitted;
    return;
  }
  const int injected = world.count(name);
  if (needs != nothing && !world.is_initialized) {
    failed_ = kNotInitialized;
  } else if (needs == context && !current) {
    failed_ = misuse("no context is current", kInvalidContext);
  } else if (needs == context && current->sticky) {
    failed_ = current->sticky;
  } else if (injected) {
    if (current && World::is_sticky(injected)) world.lose(current, injected);
    failed_ = injected;
  }
}

int Call::misuse(const std::string& what, int code) const {
  report(Finding::api_misuse, std::string(name_) + ": " + what);
  return code;
}

Stream* Call::stream(void* handle) const {
  World& world = World::get();
  const auto legacy = reinterpret_cast<void*>(uintptr_t{1});  // cuda.h: CU_STREAM_LEGACY, the default stream by name
  if (handle && handle != legacy) {
    Stream* stream = world.streams.find(handle);
    return stream && stream->context == current_context() ? stream : nullptr;
  }
  auto& owned = world.default_streams[current_context()];
  if (!owned) owned = std::make_unique<Stream>(Stream{current_context()});
  return owned.get();
}

}  // namespace gart_sim
