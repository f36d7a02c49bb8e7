#include <gtest/gtest.h>

#include "tests/ops/op_test.h"

// Literals come from onnxruntime 1.31 on the same pattern() tensors.
namespace gcg::test {
namespace {

using Ints = std::vector<int64_t>;
using Attributes = std::map<std::string, Attribute>;

OpInput x(Ints shape, int seed = 1) { return data(pattern(DType::f32, std::move(shape), seed)); }
OpInput scalar(int64_t value) { return known(Tensor::scalar_i64(value)); }
const Attributes kOnesided = {{"onesided", int64_t{1}}}, kInverse = {{"inverse", int64_t{1}}},
                 kToReal = {{"inverse", int64_t{1}}, {"onesided", int64_t{1}}};

OpCase transform(std::string what, const char* op, std::vector<OpInput> inputs, Attributes attributes,
                 std::vector<Tensor> expected = {}) {
  OpCase row = {std::move(what), op, std::move(inputs), std::move(attributes), std::move(expected)};
  row.symbolic = row.inputs[0].tensor.shape().back() != 2;  // the axis of real and imaginary parts must be static
  row.tolerance = 1e-5;                                     // the angles are f32, and the literals have six digits
  return row;
}

TEST(Dft, GivesTheLiteral) {
  check_op(transform("real to half a spectrum", "DFT", {x({1, 5, 1})}, kOnesided,
                     {f32({1, 3, 2}, {-0.375, 0, -1.3125, 6.16609, -1.3125, -2.26791})}));
  check_op(transform("padded along axis 0", "DFT", {x({3, 2, 2}), scalar(4), scalar(0)}, {},
                     {f32({4, 2, 2}, {0.875, -0.625, -2.125, 1.5, 0.375, -3.125, -0.625, 3, -3.125, -3.625, -4.125, 0.5,
                                      -2.625, 0.875, -1.625, 5})}));
  check_op(transform("cut", "DFT", {x({1, 4, 2}), scalar(3)}, kInverse,
                     {f32({1, 3, 2}, {-0.416666, 0.791667, -0.642842, -2.39912, -0.0654916, -0.0175486})}));
  check_op(transform("half a spectrum to real", "DFT", {x({1, 3, 2}), scalar(5)}, kToReal,
                     {f32({1, 5, 1}, {-0.275, -2.43861, 0.692727, 0.727029, 0.16885})}));
}

TEST(Dft, TakesEveryFormAndLength) {
  for (const Attributes& form : {Attributes{}, kOnesided, kInverse, kToReal}) {
    for (int64_t parts : {1, 2}) {
      check_op(transform("own length", "DFT", {x({2, 6, parts})}, form));
      for (int64_t length : {1, 2, 5, 6, 9}) {
        check_op(transform("length", "DFT", {x({2, 6, 3, parts}), scalar(length), scalar(1)}, form));
        check_op(transform("last axis", "DFT", {x({2, 6, parts}), scalar(length), scalar(-2)}, form));
      }
    }
  }
}

TEST(Stft, GivesTheLiteral) {
  check_op(transform("real, windowed", "STFT", {x({1, 9, 1}), scalar(2), x({4}, 2)}, {},
                     {f32({1, 3, 3, 2}, {-1.40625, 0, -1.875, -3.53125, 4.03125, 0, -4.53125, 0, 0.96875, -1.25,
                                         0.46875, 0, -1.25, 0, 1.25, -0.25, 0.75, 0})}));
  check_op(transform("complex", "STFT", {x({1, 5, 2}), scalar(3), omitted(), scalar(2)}, {{"onesided", int64_t{0}}},
                     {f32({1, 2, 2, 2}, {-3.25, 0.875, 1, -4.125, 1, 0, 1, 1})}));
}

TEST(Stft, TakesEveryForm) {
  for (int64_t onesided : {0, 1}) {
    const Attributes form = {{"onesided", onesided}};
    for (const Ints& signal : {Ints{2, 11, 1}, {2, 11, 2}, {2, 11}}) {
      check_op(transform("window", "STFT", {x(signal), scalar(3), x({5}, 2)}, form));
      check_op(transform("length", "STFT", {x(signal), scalar(1), omitted(), scalar(4)}, form));
      check_op(transform("both", "STFT", {x(signal), scalar(20), x({11}, 2), scalar(11)}, form));
      check_op(transform("neither", "STFT", {x(signal), scalar(1)}, form));
    }
  }
}

TEST(Fourier, RefusesWhatDoesNotFit) {
  const auto refused = [](const OpCase& row, const char* why) {
    EXPECT_NE(refusal(row).find(why), std::string::npos) << refusal(row);
  };
  refused(transform("", "DFT", {x({1, 4, 3})}, {}), "it must be 1 (real) or 2 (complex)");
  refused(transform("", "DFT", {x({1, 4, 1}), scalar(0)}, {}), "the length is 0");
  refused(transform("", "DFT", {x({1, 4, 1}), omitted(), scalar(-1)}, {}), "axis -1 out of range");
  refused(transform("", "STFT", {x({1, 4, 1}), scalar(0), x({2})}, {}), "frame_step is 0");
  refused(transform("", "STFT", {x({1, 4, 1}), scalar(1), omitted(), scalar(6)}, {}), "a frame of 6 is longer");
  refused(transform("", "STFT", {x({1, 4, 1}), scalar(1), x({3}), scalar(2)}, {}), "window and frame_length");
}

TEST(SignalWindow, GivesTheLiteral) {
  const Attributes symmetric = {{"periodic", int64_t{0}}};
  const auto row = [](const char* op, const Attributes& attributes, const std::vector<double>& v) {
    const auto size = static_cast<int64_t>(v.size());
    check_op({"window", op, {scalar(size)}, attributes, {f32({size}, v)}});
  };
  row("HannWindow", {}, {0, 0.345491503, 0.904508497, 0.904508497, 0.345491503});
  row("HannWindow", symmetric, {0, 0.75, 0.75, 0});
  row("HammingWindow", {}, {0.0869565, 0.402405284, 0.912812106, 0.912812106, 0.402405284});
  row("HammingWindow", symmetric, {0.0869565, 0.77173913, 0.77173913, 0.0869565});
  row("BlackmanWindow", {}, {0, 0.200770143, 0.849229857, 0.849229857, 0.200770143});
  row("BlackmanWindow", symmetric, {0, 0.63, 0.63, 0});
}

TEST(MelWeightMatrix, GivesTheLiteral) {
  const auto hertz = [](double v) { return known(f32({}, {v})); };
  check_op({"three bands",
            "MelWeightMatrix",
            {scalar(3), scalar(16), scalar(8000), hertz(0), hertz(4000)},
            {},
            {f32({9, 3}, {1, 0, 0, 0, 1, 0, 0, 0.5, 0.5, 0, 0, 1, 0, 0, 0.5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})}});
  EXPECT_NE(refusal({"", "MelWeightMatrix", {scalar(3), scalar(16), scalar(8000), hertz(0), hertz(9000)}}).find("of 9"),
            std::string::npos);
}

}  // namespace
}  // namespace gcg::test
