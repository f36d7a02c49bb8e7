#include "tools/gcc-graph/inspect/inspect_calls.h"

#include <algorithm>
#include <iostream>

#include "artifact_schema/call_layout.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

namespace fb = gart::fb;
using Json = nlohmann::ordered_json;

std::string version_text(uint32_t version) {
  return concat(version / 10000, ".", version / 100 % 100, ".", version % 100);
}

std::string library_name(const fb::Manifest& manifest, const fb::Call& call) {
  return std::string(gart::view_of(manifest.libraries()->Get(call.library())->name()));
}

template <class See>
void for_each_call(const fb::Plan& plan, const See& see) {
  for (const auto* sequence : *plan.sequences())
    for (uint32_t i = 0; i < gart::count_of(sequence->steps()); ++i)
      if (sequence->steps()->Get(i)->kind() == fb::StepKind::call) see(*sequence, i, *sequence->steps()->Get(i));
}

template <class See>
void for_each_call(const fb::Manifest& manifest, const See& see) {
  for (const auto* entry : *manifest.entry_points())
    for (uint32_t i = 0; i < gart::count_of(entry->plans()); ++i) for_each_call(*entry->plans()->Get(i), see);
}

bool has_fallback(const fb::Sequence& sequence, uint32_t call) {
  for (const auto* step : *sequence.steps())
    if (step->fallback_for() == static_cast<int32_t>(call)) return true;
  return false;
}

/// "[1,32,64] x [1,64,10] + bias, relu": the extents of the operands, and the epilogue.
std::string describe(const fb::Step& step, const std::function<std::string(uint32_t)>& slot) {
  const fb::Call& call = *step.call();
  const size_t read = gart::call_result(call);
  std::string out;
  uint32_t at = 0;
  for (uint32_t i = 0; i < read; ++i) {
    const uint32_t rank = call.views()->Get(i)->rank();
    out += i == 0 ? "[" : " x [";
    for (uint32_t d = 0; d < rank; ++d) out += concat(d == 0 ? "" : ",", slot(step.params()->Get(at + 1 + d)));
    out += "]";
    at += static_cast<uint32_t>(gart::call_params(rank));
  }
  if (call.bias()) out += " + bias";
  if (call.addend()) out += " + addend";
  if (call.activation() != fb::Activation::none) out += concat(", ", fb::EnumNameActivation(call.activation()));
  return out;
}

/// "sm_80 and version 13.1.0"; null: the library chooses the algorithm itself.
Json measured_for(const fb::Algorithm* algorithm) {
  if (algorithm == nullptr) return nullptr;
  return concat("sm_", algorithm->sm(), " and version ", version_text(algorithm->version()));
}

}  // namespace

Json libraries_json(const fb::Manifest& manifest) {
  Json out = Json::array();
  for (uint32_t i = 0; i < gart::count_of(manifest.libraries()); ++i) {
    const fb::Library& library = *manifest.libraries()->Get(i);
    uint32_t from = library.oldest(), all_calls_from = from;
    for_each_call(manifest, [&](const fb::Sequence& sequence, uint32_t index, const fb::Step& step) {
      if (step.call()->library() != i) return;
      all_calls_from = std::max(all_calls_from, step.call()->oldest());
      if (!has_fallback(sequence, index)) from = std::max(from, step.call()->oldest());
    });
    out.push_back({{"name", std::string(gart::view_of(library.name()))},
                   {"from", version_text(from)},
                   {"below", version_text(library.below())},
                   {"all_calls_from", version_text(all_calls_from)}});
  }
  return out;
}

Json calls_json(const fb::Manifest& manifest, const fb::Plan& plan) {
  Json out = Json::object();
  for_each_call(plan, [&](const fb::Sequence&, uint32_t, const fb::Step& step) {
    const std::string name = library_name(manifest, *step.call());
    out[name] = out.value(name, 0) + 1;
  });
  return out;
}

Json call_list_json(const fb::Manifest& manifest, const fb::Plan& plan,
                    const std::function<std::string(uint32_t)>& slot) {
  Json out = Json::array();
  for_each_call(plan, [&](const fb::Sequence& sequence, uint32_t index, const fb::Step& step) {
    out.push_back({{"library", library_name(manifest, *step.call())},
                   {"operation", fb::EnumNameOperation(step.call()->operation())},
                   {"what", describe(step, slot)},
                   {"precision", fb::EnumNamePrecision(step.call()->precision())},
                   {"workspace_bytes", step.call()->workspace()},
                   {"from", version_text(std::max(step.call()->oldest(),
                                                  manifest.libraries()->Get(step.call()->library())->oldest()))},
                   {"own_kernel_too", has_fallback(sequence, index)},
                   {"measured_for", measured_for(step.call()->algorithm())},
                   {"source", std::string(gart::view_of(step.source()))}});
  });
  return out;
}

void print_libraries(const Json& libraries) {
  for (const Json& library : libraries) {
    std::cout << "library " << library["name"].get<std::string>() << ": versions from "
              << library["from"].get<std::string>() << " on, below " << library["below"].get<std::string>();
    if (library["all_calls_from"] != library["from"])
      std::cout << ", all its calls from " << library["all_calls_from"].get<std::string>() << " on";
    std::cout << '\n';
  }
}

void print_call(const Json& call) {
  std::cout << "    call of " << call["library"].get<std::string>() << "  " << call["operation"].get<std::string>()
            << "  " << call["what"].get<std::string>() << "  " << call["precision"].get<std::string>() << ", "
            << (call["own_kernel_too"].get<bool>() ? "or a kernel of its own" : "no kernel of its own")
            << (call["measured_for"].is_null() ? "" : ", tuned for " + call["measured_for"].get<std::string>())
            << "  // " << call["source"].get<std::string>() << '\n';
}

}  // namespace gcg::tools
