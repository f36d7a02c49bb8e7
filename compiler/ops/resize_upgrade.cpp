// Upgrades Resize of opset 10, and Upsample, to the current Resize.
#include "compiler/ops/op_def.h"
#include "compiler/ops/resize_params.h"

namespace gcg {
namespace {

enum : int { kRoi = 1, kScales = 2 };

void set_simple_coordinates(Node& node, const char* nearest) {
  node.attributes["coordinate_transformation_mode"] = std::string("asymmetric");
  node.attributes["nearest_mode"] = std::string(nearest);
}

}  // namespace

/// Opset 10 has no roi, and 'asymmetric' is its only coordinate mode. When shrinking, it rounds positions up.
void upgrade_resize(UpgradeContext& ctx) {
  if (ctx.version >= 11) return;
  ctx.node.inputs.insert(ctx.node.inputs.begin() + kRoi, ValueId());
  set_simple_coordinates(ctx.node, "simple");
}

void upgrade_upsample(UpgradeContext& ctx) {
  Node& node = ctx.node;
  if (node.inputs.size() == 1) {
    const std::vector<double> scales = node.floats_attribute("scales");
    Tensor tensor(DType::f32, {static_cast<int64_t>(scales.size())});
    for (size_t i = 0; i < scales.size(); ++i) tensor.set_double(static_cast<int64_t>(i), scales[i]);
    node.attributes.erase("scales");
    ctx.set_input(kScales, std::move(tensor));
  } else {
    node.inputs.insert(node.inputs.begin() + kRoi, ValueId());
  }
  if (node.string_attribute("mode", "nearest") == "bilinear") node.attributes["mode"] = std::string("linear");
  set_simple_coordinates(node, "floor");
  node.op = &op("Resize");
}

}  // namespace gcg
