#include <gtest/gtest.h>

#include "tests/ops/op_test.h"

namespace gcg::test {
namespace {

using Ints = std::vector<int64_t>;

OpCase internal(std::string what, const char* op, std::vector<OpInput> inputs,
                std::map<std::string, Attribute> attributes = {}) {
  OpCase row = {std::move(what), op, std::move(inputs), std::move(attributes)};
  row.domain = "gart";
  row.tolerance = 1e-5;
  return row;
}

Tensor blocked(const Tensor& x) { return run_reference(internal("block", "BlockChannels", {data(x)}))[0]; }

TEST(Blocking, ThereAndBackIsTheIdentity) {
  for (const int64_t channels : {1, 15, 16, 17, 32, 40}) {
    Ints shape = {2, channels, 3, 2};
    if (channels == 17) shape.push_back(2);
    const Tensor x = pattern(DType::f32, shape);
    const Tensor y = check_op(internal("block", "BlockChannels", {data(x)}))[0];
    OpCase back = internal("unblock", "UnblockChannels", {data(y)}, {{"channels", channels}});
    back.expected = {x};
    back.symbolic = false;
    check_op(back);
  }
}

struct ConvForm {
  const char* what;
  int64_t inputs, outputs;
  Ints kernel, strides, pads, dilations;
  int64_t group = 1;
  bool plain = false;
};

TEST(BlockedConv, EqualsConv) {
  const ConvForm forms[] = {
      {"1x1", 16, 32, {1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}},
      {"3x3, channel tails", 20, 40, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}},
      {"strided, uneven pads, dilated", 5, 17, {3, 2}, {2, 1}, {0, 1, 2, 0}, {1, 2}},
      {"stem reads NCHW", 3, 33, {3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}, 1, true},
      {"depthwise", 24, 24, {3, 3}, {2, 1}, {1, 1, 1, 1}, {1, 1}, 24},
      {"groups of whole blocks", 32, 64, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 2},
      {"groups of one block", 32, 32, {1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}, 2},
      {"narrow groups", 12, 24, {3, 1}, {1, 1}, {1, 0, 1, 0}, {1, 1}, 6},
      {"groups across blocks", 40, 60, {1, 3}, {1, 2}, {0, 1, 0, 1}, {1, 1}, 2},
      {"two outputs a channel", 10, 20, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 10},
      {"three dimensions", 17, 18, {2, 3, 3}, {1, 2, 1}, {1, 1, 0, 0, 1, 1}, {2, 1, 1}},
      {"three dimensions, plain", 3, 18, {2, 3, 3}, {1, 2, 1}, {1, 1, 0, 0, 1, 1}, {1, 1, 1}, 1, true},
      {"three dimensions, depthwise", 18, 18, {3, 3, 1}, {2, 1, 1}, {1, 1, 0, 1, 1, 0}, {1, 1, 1}, 18},
  };
  for (const ConvForm& f : forms) {
    Ints image = {2, f.inputs, 4, 3, 4}, weights = {f.outputs, f.inputs / f.group};
    if (f.kernel.size() == 2) image.erase(image.begin() + 2);
    weights.insert(weights.end(), f.kernel.begin(), f.kernel.end());
    const Tensor x = pattern(DType::f32, image), w = pattern(DType::f32, weights, 2);
    std::map<std::string, Attribute> attributes = {
        {"strides", f.strides}, {"pads", f.pads}, {"dilations", f.dilations}};
    OpCase plain = {"plain", "Conv", {data(x), data(w)}, attributes};
    plain.attributes["group"] = f.group;
    const std::map<std::string, Attribute> form = {{"group", f.group}, {"plain", int64_t{f.plain}}};
    const Tensor packed = check_op(internal(f.what, "PackConv", {known(w)}, form))[0];
    attributes.insert(form.begin(), form.end());
    attributes["in_channels"] = f.inputs;
    attributes["out_channels"] = f.outputs;
    attributes["kernel_shape"] = f.kernel;
    OpCase row = internal(f.what, "BlockedConv", {data(f.plain ? x : blocked(x)), known(packed)}, attributes);
    row.channels = f.outputs;
    const Tensor y = check_op(row)[0];
    const OpCase back = internal("unblock", "UnblockChannels", {data(y)}, {{"channels", f.outputs}});
    expect_near(run_reference(back)[0], run_reference(plain)[0], 1e-5, f.what);
  }
}

TEST(WinogradConv, EqualsConv) {
  for (const int64_t tile : {2, 4})
    for (const Ints& pads : {Ints{1, 1, 1, 1}, Ints{0, 2, 1, 0}}) {
      const Tensor x = pattern(DType::f32, {1, 4, 3, 4}), w = pattern(DType::f32, {5, 4, 3, 3}, 2);
      const OpCase plain = {"plain", "Conv", {data(x), data(w)}, {{"pads", pads}}};
      const Tensor u = run_reference(internal("weights", "WinogradWeights", {known(w)}, {{"tile", tile}}))[0];
      const Tensor packed =
          check_op(internal("packed", "PackConv", {known(u)}, {{"group", int64_t{1}}, {"plain", int64_t{0}}}))[0];
      OpCase row =
          internal("winograd", "WinogradConv", {data(blocked(x)), known(packed)},
                   {{"in_channels", int64_t{4}}, {"out_channels", int64_t{5}}, {"tile", tile}, {"pads", pads}});
      row.channels = 5;
      const Tensor y = check_op(row)[0];
      const OpCase back = internal("unblock", "UnblockChannels", {data(y)}, {{"channels", int64_t{5}}});
      expect_near(run_reference(back)[0], run_reference(plain)[0], 1e-4, "winograd");
    }
}

}  // namespace
}  // namespace gcg::test
