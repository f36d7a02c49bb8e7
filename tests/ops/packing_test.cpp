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
    const Tensor x = pattern(DType::f32, {2, channels, 3, 2});
    const Tensor y = check_op(internal("block", "BlockChannels", {data(x)}))[0];
    OpCase back = internal("unblock", "UnblockChannels", {data(y)}, {{"channels", channels}});
    back.expected = {x};
    back.symbolic = false;
    check_op(back);
  }
}

struct ConvForm {
  const char* what;
  int64_t inputs, outputs, kh, kw;
  Ints strides, pads, dilations;
  bool depthwise = false, plain = false;
};

TEST(BlockedConv, EqualsConv) {
  const ConvForm forms[] = {
      {"1x1", 16, 32, 1, 1, {1, 1}, {0, 0, 0, 0}, {1, 1}},
      {"3x3, channel tails", 20, 40, 3, 3, {1, 1}, {1, 1, 1, 1}, {1, 1}},
      {"strided, uneven pads, dilated", 5, 17, 3, 2, {2, 1}, {0, 1, 2, 0}, {1, 2}},
      {"stem reads NCHW", 3, 33, 3, 3, {2, 2}, {1, 1, 1, 1}, {1, 1}, false, true},
      {"depthwise", 24, 24, 3, 3, {2, 1}, {1, 1, 1, 1}, {1, 1}, true},
  };
  for (const ConvForm& f : forms) {
    const Tensor x = pattern(DType::f32, {2, f.inputs, 5, 6});
    const Tensor w = pattern(DType::f32, {f.outputs, f.depthwise ? 1 : f.inputs, f.kh, f.kw}, 2);
    std::map<std::string, Attribute> attributes = {
        {"strides", f.strides}, {"pads", f.pads}, {"dilations", f.dilations}};
    OpCase plain = {"plain", "Conv", {data(x), data(w)}, attributes};
    plain.attributes["group"] = f.depthwise ? f.inputs : int64_t{1};
    const std::map<std::string, Attribute> form = {{"depthwise", int64_t{f.depthwise}}, {"plain", int64_t{f.plain}}};
    const Tensor packed = check_op(internal(f.what, "PackConv", {known(w)}, form))[0];
    attributes.insert(form.begin(), form.end());
    attributes["in_channels"] = f.inputs;
    attributes["out_channels"] = f.outputs;
    attributes["kernel_shape"] = Ints{f.kh, f.kw};
    const Tensor y =
        check_op(internal(f.what, "BlockedConv", {data(f.plain ? x : blocked(x)), known(packed)}, attributes))[0];
    const OpCase back = internal("unblock", "UnblockChannels", {data(y)}, {{"channels", f.outputs}});
    expect_near(run_reference(back)[0], run_reference(plain)[0], 1e-5, f.what);
  }
}

}  // namespace
}  // namespace gcg::test
