#include "tools/gcc-graph/inspect/inspect_precision.h"

#include <algorithm>
#include <iostream>
#include <map>

#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

namespace fb = gart::fb;
using Json = nlohmann::ordered_json;

/// The significant binary digits of a type; 0: integers, which are exact.
int digits_of(const std::string& type) {
  static const std::map<std::string, int> kDigits = {
      {"f64", 53},     {"f32", 24},       {"3xtf32", 22}, {"3xbf16", 24},   {"tf32", 11},
      {"f16", 11},     {"bf16", 8},       {"i24", 24},    {"i16", 16},  // floats as integers with a scale per block
      {"f8e4m3fn", 4}, {"f8e4m3fnuz", 4}, {"f8e5m2", 3},  {"f8e5m2fnuz", 3}};
  const auto known = kDigits.find(type);
  return known == kDigits.end() ? 0 : known->second;
}

/// The fewest digits of factors and sums; 0: all are exact.
int fewest_digits(const gart::KernelTypes& types) {
  int fewest = 0;
  for (const std::string* type : {&types.left, &types.right, &types.sums})
    if (const int digits = digits_of(*type); digits > 0 && (fewest == 0 || digits < fewest)) fewest = digits;
  return fewest;
}

/// A call names the precision of its f32 factors; its sums are f32.
gart::KernelTypes types_of(const fb::Call& call) {
  const fb::DType left = call.views()->Get(0)->dtype(), right = call.views()->Get(1)->dtype();
  const auto factor = [&](fb::DType type) -> std::string {
    if (type != fb::DType::f32 || call.precision() == fb::Precision::fp32) return fb::EnumNameDType(type);
    return call.precision() == fb::Precision::fp16 ? "f16" : fb::EnumNamePrecision(call.precision());
  };
  const bool is_f32 = left == fb::DType::f32 || right == fb::DType::f32;
  return {factor(left), factor(right), "f32", is_f32 ? "f32" : fb::EnumNameDType(left)};
}

Json step_json(const fb::Step& step, const fb::Plan& plan) {
  gart::KernelTypes types;
  std::string name;
  if (step.kind() == fb::StepKind::call) {
    types = types_of(*step.call());
    name = fb::EnumNameOperation(step.call()->operation());
  } else if (step.kind() == fb::StepKind::launch) {
    const fb::Kernel& kernel = *plan.kernels()->Get(step.kernel());
    types = gart::parse_note(gart::view_of(kernel.note())).types;
    name = gart::view_of(kernel.name());
  }
  if (name.empty()) return nullptr;
  Json out = {{"source", std::string(gart::view_of(step.source()))}, {"kernel", name}};
  const std::string arithmetic = arithmetic_text(types);
  if (arithmetic.empty()) return out;
  out["arithmetic"] = arithmetic;
  const int digits = fewest_digits(types), own = digits_of(types.model);
  if (digits > 0) out["digits"] = digits;
  if (!types.model.empty()) out["model"] = types.model;
  if (own > 0) out["model_digits"] = own;
  if (digits > 0 && own > 0) out["lower"] = digits < own;
  return out;
}

Json plan_json(const fb::Manifest& manifest, const fb::Plan& plan, const std::string& shapes) {
  Json steps = Json::array();
  size_t lower = 0;
  for (const fb::Sequence* sequence : *plan.sequences())
    for (uint32_t i = 0; i < gart::count_of(sequence->steps()); ++i)
      if (Json step = step_json(*sequence->steps()->Get(i), plan); !step.is_null()) {
        lower += step.value("lower", false);
        steps.push_back(std::move(step));
      }
  return {{"target", std::string(gart::view_of(manifest.targets()->Get(plan.target())->name()))},
          {"shapes", shapes},
          {"lower", lower},
          {"steps", std::move(steps)}};
}

void print_step(const Json& step) {
  std::cout << "    " << step.value("arithmetic", "not known");
  if (step.value("lower", false))
    std::cout << "  LOWER: " << step["digits"] << " of the " << step["model_digits"] << " binary digits of "
              << step["model"].get<std::string>();
  std::cout << "  " << step["kernel"].get<std::string>() << "  // " << step["source"].get<std::string>() << '\n';
}

}  // namespace

std::string arithmetic_text(const gart::KernelTypes& types) {
  if (types.right.empty()) return types.left;
  return concat(types.left, " x ", types.right, ", sums ", types.sums);
}

Json precision_json(const fb::Manifest& manifest,
                    const std::function<std::string(const fb::EntryPoint&, const fb::Plan&)>& shapes) {
  Json out = Json::array();
  for (const fb::EntryPoint* entry : *manifest.entry_points()) {
    Json plans = Json::array();
    for (uint32_t i = 0; i < gart::count_of(entry->plans()); ++i) {
      const fb::Plan& plan = *entry->plans()->Get(i);
      plans.push_back(plan_json(manifest, plan, shapes(*entry, plan)));
    }
    out.push_back({{"name", std::string(gart::view_of(entry->name()))}, {"plans", std::move(plans)}});
  }
  return out;
}

void print_precision(const Json& report) {
  for (const Json& entry : report["entry_points"])
    for (const Json& plan : entry["plans"]) {
      const size_t lower = plan["lower"].get<size_t>();
      std::cout << entry["name"].get<std::string>() << " on " << plan["target"].get<std::string>() << " ["
                << plan["shapes"].get<std::string>()
                << "]: " << (lower == 0 ? "no layer has" : concat(lower, " of ", plan["steps"].size(), " layers have"))
                << " fewer digits than the model's own type\n";
      for (const Json& step : plan["steps"]) print_step(step);
    }
}

}  // namespace gcg::tools
